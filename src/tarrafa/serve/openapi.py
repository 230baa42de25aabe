"""The description of the API, by which programs and their authors know it: OpenAPI 3.1, as data."""

from typing import Any

from tarrafa import __version__
from tarrafa.search import TOP_MAX
from tarrafa.serve.asking import FILTER_MAX_CHARS, PAGE_HITS, QUERY_MAX_CHARS, RESULTS_LIMIT
from tarrafa.urls import URL_MAX_CHARS

_DATE = r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$"


def _parameter(name: str, text: str, schema: dict[str, Any], is_required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": is_required, "description": text, "schema": schema}


def _switch(name: str, text: str) -> dict[str, Any]:
    return _parameter(name, text, {"type": "string", "enum": ["0", "1", "true", "false"], "default": "0"})


def _number(name: str, text: str, default: int, least: int, most: int) -> dict[str, Any]:
    return _parameter(name, text, {"type": "integer", "minimum": least, "maximum": most, "default": default})


def _words(name: str, text: str, limit: int, is_required: bool = False) -> dict[str, Any]:
    return _parameter(name, text, {"type": "string", "maxLength": limit}, is_required)


_QUERY = _words("q", 'the question: words, +all, -without, "a phrase", site:, title: and so on', QUERY_MAX_CHARS)

_SEARCH_PARAMETERS = [
    _QUERY,
    _number("page", f"which page of results; the best {RESULTS_LIMIT} can be reached", 1, 1, RESULTS_LIMIT),
    _number("top", "results on a page", PAGE_HITS, 1, TOP_MAX),
    _number("per_site", "results of one site before others have their turn; 0 for any number", 1, 0, TOP_MAX),
    _words("site", "only pages of this site", FILTER_MAX_CHARS),
    _words("language", "only pages in this language, by its code", FILTER_MAX_CHARS),
    _parameter("after", "only pages from this year, month or day on", {"type": "string", "pattern": _DATE}),
    _parameter("before", "only pages before this year, month or day", {"type": "string", "pattern": _DATE}),
    _switch("fresh", "newer pages first"),
    _switch("expand", "also words that the best results have in common"),
    _switch("semantic", "raise results that mean the like; refused where the extra for it is not installed"),
    _switch("explain", "tell the parts of each score"),
]

_URL = _words("url", "the page, by its address", URL_MAX_CHARS, is_required=True)
_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "number"}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_FLAG: dict[str, Any] = {"type": "boolean"}
_TIME: dict[str, Any] = {"type": "string", "format": "date-time"}
_TIME_OR_NONE: dict[str, Any] = {"type": ["string", "null"], "format": "date-time"}
_PARTS: dict[str, Any] = {"type": ["object", "null"], "additionalProperties": {"type": "number"}}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


SCHEMAS: dict[str, Any] = {
    "Hit": _object(
        url=_TEXT,
        title=_TEXT,
        snippet=_list(_object(text=_TEXT, is_marked=_FLAG)),
        site=_TEXT,
        host=_TEXT,
        language=_TEXT,
        fetched_at=_TIME,
        published_at=_TIME_OR_NONE,
        score=_NUMBER,
        rank={**_NUMBER, "description": "importance by links; the mean is 1, and 0 is not known"},
        copies=_list(_TEXT),
        explanation=_PARTS,
    ),
    "Results": _object(
        query=_TEXT,
        count={**_COUNT, "description": "documents that match, copies included"},
        is_estimated={**_FLAG, "description": "the count is about right: not all documents were looked at"},
        seconds=_NUMBER,
        page=_COUNT,
        suggestion={"type": ["string", "null"], "description": "the question spelt as documents spell it"},
        filters=_list(_object(name=_TEXT, value=_TEXT, is_excluded=_FLAG)),
        hits=_list({"$ref": "#/components/schemas/Hit"}),
        is_indexed={**_FLAG, "description": "false while there is nothing to search"},
    ),
    "Facts": _object(
        url=_TEXT,
        title=_TEXT,
        description=_TEXT,
        media_type=_TEXT,
        language=_TEXT,
        canonical=_TEXT,
        directives=_list(_TEXT),
        published_at=_TIME_OR_NONE,
        modified_at=_TIME_OR_NONE,
        visits=_list(
            _object(
                fetched_at=_TIME,
                outcome=_TEXT,
                status=_COUNT,
                size_bytes=_COUNT,
                is_changed={"type": ["boolean", "null"]},
            )
        ),
        links_out=_list(_object(url=_TEXT, text=_TEXT, kind=_TEXT, rel=_TEXT)),
        links_out_count=_COUNT,
        links_in=_list(_object(url=_TEXT, text=_TEXT, fetched_at=_TIME)),
        links_in_count=_COUNT,
        is_links_in_bounded={**_FLAG, "description": "there are more than were counted"},
        copies=_list(_TEXT),
        status_line=_TEXT,
        headers=_list({"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2}),
        rank={"type": ["number", "null"]},
        host_rank={"type": ["number", "null"]},
        anchors=_list(_object(text=_TEXT, hosts=_COUNT)),
        may_copy={**_FLAG, "description": "false where the author asked for noarchive; no copy is shown then"},
        position={"type": ["integer", "null"], "description": "among the results of q, if it is given"},
        explanation=_PARTS,
    ),
    "Suggestions": _object(query=_TEXT, suggestions=_list(_TEXT)),
    "Error": _object(error=_object(status=_COUNT, message=_TEXT)),
}


def _answer(text: str, schema: str) -> dict[str, Any]:
    return {
        "description": text,
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
    }


def _route(summary: str, schema: str, parameters: list[dict[str, Any]], may_be_unknown: bool = False) -> dict[str, Any]:
    answers = {
        "200": _answer("the answer", schema),
        "400": _answer("a parameter is unknown or out of its bounds", "Error"),
        "429": _answer("asked too often; the header Retry-After says how long to wait", "Error"),
        "503": _answer("too many ask at once", "Error"),
    }
    if may_be_unknown:
        answers["404"] = _answer("the page was never visited", "Error")
    return {"get": {"summary": summary, "parameters": parameters, "responses": dict(sorted(answers.items()))}}


DESCRIPTION: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "Tarrafa",
        "version": __version__.partition("+")[0],
        "description": "Search a collection of pages, and ask what is known of each.",
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    },
    "paths": {
        "/api/search": _route("Search", "Results", _SEARCH_PARAMETERS),
        "/api/facts": _route(
            "What is known of a page",
            "Facts",
            [_URL, _words("q", "tell where the page stands for this question, and why", QUERY_MAX_CHARS)],
            may_be_unknown=True,
        ),
        "/api/suggest": _route("Questions that begin so", "Suggestions", [_QUERY]),
    },
    "components": {"schemas": SCHEMAS},
}
