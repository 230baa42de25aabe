"""The JSON API: its responses, and the OpenAPI description of them. Responses have the same facts as the HTML pages."""

from typing import Any

from tarrafa import __version__
from tarrafa.collection.history import PastVisit
from tarrafa.explain import Explanation
from tarrafa.search import QUERY_MAX_CHARS, TOP_MAX, Facets, Hit, Results
from tarrafa.serve.facts import Facts
from tarrafa.serve.page_templates import exact, iso
from tarrafa.serve.params import FILTER_MAX_CHARS, PAGE_HITS, RESULTS_LIMIT
from tarrafa.urls import URL_MAX_CHARS


def results_json(results: Results | None, query: str) -> dict[str, Any]:
    """Return the response of /api/search; `results` is None if nothing is indexed yet."""
    if results is None:
        return {
            "query": query, "count": 0, "is_estimated": False, "seconds": 0.0, "page": 1, "suggestion": None,
            "is_corrected": False, "facets": None, "filters": [], "hits": [], "is_indexed": False,
        }  # fmt: skip
    return {
        "query": query,
        "count": results.count,
        "is_estimated": results.is_estimated,
        "seconds": round(results.seconds, 6),
        "page": results.page,
        "suggestion": results.suggestion,
        "is_corrected": results.is_corrected,
        "facets": _facets_json(results.facets),
        "filters": [each._asdict() for each in results.filters],
        "hits": [_hit_json(hit) for hit in results.hits],
        "is_indexed": True,
    }


def _facets_json(facets: Facets | None) -> dict[str, Any] | None:
    if facets is None:
        return None
    return {name: [each.as_json() for each in counts] for name, counts in facets.items()}


def _hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "url": hit.url,
        "title": hit.title,
        "snippet": [{"text": text, "is_marked": is_marked} for text, is_marked in hit.snippet],
        "site": hit.site,
        "host": hit.host,
        "language": hit.language,
        "fetched_at": iso(hit.fetched_at),
        "published_at": None if hit.published_at is None else iso(hit.published_at),
        "score": hit.score,
        "rank": hit.rank,
        "copies": list(hit.copies),
        "translations": [{"language": code, "url": url} for code, url in hit.translations],
        "explanation": hit.explanation or None,
    }


def facts_json(facts: Facts, hit: Hit | None, position: int | None) -> dict[str, Any]:
    rank = facts.link_rank
    return {
        "url": facts.url,
        "title": facts.title,
        "description": facts.description,
        "media_type": facts.media_type,
        "language": facts.language,
        "canonical": facts.canonical,
        "directives": list(facts.directives),
        "published_at": None if facts.published_at is None else iso(facts.published_at),
        "modified_at": None if facts.modified_at is None else iso(facts.modified_at),
        "visits": [_visit_json(visit) for visit in facts.visits],
        "links_out": [link._asdict() for link in facts.links_out],
        "links_out_count": facts.links_out_count,
        "links_in": [{"url": link.url, "text": link.text, "fetched_at": iso(link.at)} for link in facts.links_in],
        "links_in_count": facts.links_in_count,
        "is_links_in_bounded": facts.is_links_in_bounded,
        "copies": facts.copies,
        "status_line": facts.status_line,
        "headers": [list(pair) for pair in facts.headers],
        "rank": rank.rank if rank else None,
        "host_rank": rank.host_rank if rank else None,
        "anchors": [{"text": text, "hosts": count} for text, count in rank.anchors] if rank else [],
        "may_copy": facts.may_copy,
        "position": position,
        "explanation": hit.explanation if hit else None,
    }


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return the response of /api/explain."""
    at = explanation.may_fetch_at
    return {
        "url": explanation.subject,
        "verdict": str(explanation.verdict),
        "why": explanation.why,
        "remedy": explanation.remedy,
        "may_fetch_at": None if at is None else iso(at),
        "facts": dict(explanation.facts),
    }


def _visit_json(visit: PastVisit) -> dict[str, Any]:
    return {
        "fetched_at": iso(visit.at),
        "outcome": visit.outcome,
        "status": visit.status,
        "size_bytes": visit.size_bytes,
        "is_changed": visit.is_changed,
        "is_version": visit.is_version,
        "is_current": visit.is_current,
        "copy_at": exact(visit.at) if visit.has_copy else None,
    }


# Patterns of ECMA-262 for whole values. Dates that no calendar has, such as 30 February, are refused too.
_DATE = r"^(?!0000)[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?$"
_TIME_OF_DAY = r"[Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)?"
_MOMENT = (
    r"^(19[7-9][0-9]|20[0-9]{2}|2100)"
    rf"(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01])({_TIME_OF_DAY})?)?)?$"
)
_LANGUAGE = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})?$"
_LANGUAGES = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})?( *, *[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})?)*$"
_HTTP = r"^https?://[^/?#]"


def _parameter(name: str, text: str, schema: dict[str, Any], is_required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": is_required, "description": text, "schema": schema}


def _switch(name: str, text: str) -> dict[str, Any]:
    return _parameter(name, text, {"type": "string", "enum": ["0", "1", "true", "false"], "default": "0"})


def _number(name: str, text: str, default: int, least: int, most: int) -> dict[str, Any]:
    return _parameter(name, text, {"type": "integer", "minimum": least, "maximum": most, "default": default})


def _words(name: str, text: str, limit: int, is_required: bool = False) -> dict[str, Any]:
    return _parameter(name, text, {"type": "string", "maxLength": limit}, is_required)


_QUERY = _words("q", 'the query: words, +required, -excluded, "a phrase", site:, title: and so on', QUERY_MAX_CHARS)

_SEARCH_PARAMETERS = [
    _QUERY,
    _number("page", f"page of results; paging reaches the best {RESULTS_LIMIT}", 1, 1, RESULTS_LIMIT),
    _number("top", "results per page", PAGE_HITS, 1, TOP_MAX),
    _number("per_site", "results of one site before results of other sites; 0 for no limit", 1, 0, TOP_MAX),
    _words("site", "only pages of this site", FILTER_MAX_CHARS),
    _parameter("language", "only pages in this language, by its code", {"type": "string", "pattern": _LANGUAGE}),
    _parameter(
        "lang",
        "your languages, best first: of translations, the first one that there is is shown; else by Accept-Language",
        {"type": "string", "pattern": _LANGUAGES, "maxLength": FILTER_MAX_CHARS},
    ),
    _parameter("after", "only pages since this year, month or day", {"type": "string", "pattern": _DATE}),
    _parameter("before", "only pages before this year, month or day", {"type": "string", "pattern": _DATE}),
    _switch("fresh", "prefer recent pages"),
    _switch("expand", "add words that the best results have in common"),
    _switch("semantic", "prefer results of similar meaning; an error if the extra tarrafa[semantic] is not installed"),
    _switch("explain", "return the parts of each score"),
    _switch("facets", "count the results by site, language, media type and year"),
    _switch("verbatim", "search as it is spelled, also if no page has a word"),
]

_URL = _parameter(
    "url", "the URL of the page", {"type": "string", "pattern": _HTTP, "maxLength": URL_MAX_CHARS}, is_required=True
)
_AT = _parameter(
    "at",
    "the page as it was then: the end of a year, month, day, minute or second, in UTC unless it has a zone",
    {"type": "string", "pattern": _MOMENT, "maxLength": FILTER_MAX_CHARS},
)
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
        rank={**_NUMBER, "description": "importance by links; the mean is 1, and 0 means unknown"},
        copies=_list(_TEXT),
        translations=_list(_object(language=_TEXT, url=_TEXT)),
        explanation=_PARTS,
    ),
    "Results": _object(
        query=_TEXT,
        count={**_COUNT, "description": "matching documents, duplicates included"},
        is_estimated={**_FLAG, "description": "the count is an estimate: not all documents were scored"},
        seconds=_NUMBER,
        page=_COUNT,
        suggestion={"type": ["string", "null"], "description": "the query with its spelling corrected"},
        is_corrected={**_FLAG, "description": "the hits are those of the suggestion"},
        facets={
            "type": ["object", "null"],
            "additionalProperties": _list(_object(value=_TEXT, count=_COUNT)),
            "description": "how many results there are by site, language, media type and year; null if not asked for",
        },
        filters=_list(_object(name=_TEXT, value=_TEXT, is_excluded=_FLAG)),
        hits=_list({"$ref": "#/components/schemas/Hit"}),
        is_indexed={**_FLAG, "description": "false if nothing is indexed yet"},
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
                is_version={**_FLAG, "description": "the visit found new content"},
                is_current={**_FLAG, "description": "the visit says what the page is now"},
                copy_at={**_TIME_OR_NONE, "description": "value of at that shows its stored copy; null without one"},
            )
        ),
        links_out=_list(_object(url=_TEXT, text=_TEXT, kind=_TEXT, rel=_TEXT)),
        links_out_count=_COUNT,
        links_in=_list(_object(url=_TEXT, text=_TEXT, fetched_at=_TIME)),
        links_in_count=_COUNT,
        is_links_in_bounded={**_FLAG, "description": "more pages link to it than were counted"},
        copies=_list(_TEXT),
        status_line=_TEXT,
        headers=_list({"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2}),
        rank={"type": ["number", "null"]},
        host_rank={"type": ["number", "null"]},
        anchors=_list(_object(text=_TEXT, hosts=_COUNT)),
        may_copy={**_FLAG, "description": "false if the author forbids copies (noarchive)"},
        position={"type": ["integer", "null"], "description": "position among the results of q, if q is given"},
        explanation=_PARTS,
    ),
    "Explanation": _object(
        url=_TEXT,
        verdict={**_TEXT, "description": "why the URL is where it is, in a word"},
        why=_TEXT,
        remedy=_TEXT,
        may_fetch_at={**_TIME_OR_NONE, "description": "the earliest visit; null if there is none or it is not known"},
        facts={"type": "object"},
    ),
    "Suggestions": _object(query=_TEXT, suggestions=_list(_TEXT)),
    "Error": _object(error=_object(status=_COUNT, message=_TEXT)),
}


def _response(text: str, schema: str) -> dict[str, Any]:
    return {
        "description": text,
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
    }


def _route(summary: str, schema: str, parameters: list[dict[str, Any]], may_be_unknown: bool = False) -> dict[str, Any]:
    responses = {
        "200": _response("success", schema),
        "400": _response("a parameter is unknown or out of bounds", "Error"),
        "405": _response("only GET and HEAD are supported", "Error"),
        "421": _response("the server does not answer for the name in the Host header", "Error"),
        "429": _response("too many requests; the Retry-After header says how long to wait", "Error"),
        "500": _response("the request failed; the server has logged why", "Error"),
        "503": _response("the server is busy; the Retry-After header says how long to wait", "Error"),
    }
    if may_be_unknown:
        responses["404"] = _response("the page was never visited", "Error")
    return {"get": {"summary": summary, "parameters": parameters, "responses": dict(sorted(responses.items()))}}


OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "Tarrafa",
        "version": __version__.partition("+")[0],
        "description": "Search a collection of pages, and look up what is known of each.",
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    },
    "paths": {
        "/api/search": _route("Search", "Results", _SEARCH_PARAMETERS),
        "/api/facts": _route(
            "Look up a page",
            "Facts",
            [_URL, _words("q", "explain the position of the page for this query", QUERY_MAX_CHARS), _AT],
            may_be_unknown=True,
        ),
        "/api/explain": _route("Explain why a URL was not fetched", "Explanation", [_URL]),
        "/api/suggest": _route("Complete a query", "Suggestions", [_QUERY]),
    },
    "components": {"schemas": SCHEMAS},
}
