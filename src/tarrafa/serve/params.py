"""Parameters of HTTP requests: read, checked against their bounds, and turned into search requests. Pure."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from http import HTTPStatus

from starlette.exceptions import HTTPException

from tarrafa.dates import parse_end
from tarrafa.search import QUERY_MAX_CHARS, TOP_MAX, ClauseKind, SearchRequest, has_semantic_model
from tarrafa.search import parse as parse_query
from tarrafa.texts import cut
from tarrafa.urls import URL_MAX_CHARS, parse

FILTER_MAX_CHARS = 300
RESULTS_LIMIT = 1_000  # results that paging can reach
PAGE_HITS = 10
SUGGESTIONS_LIMIT = 8
EXPLAINED_LIMIT = 100  # results searched for the page whose position is explained

_API_SWITCHES = ("fresh", "expand", "semantic", "explain", "verbatim", "facets")
# Parameters of each API endpoint; openapi.json describes the same.
PARAMETERS: dict[str, frozenset[str]] = {
    "/api/search": frozenset(
        ("q", "page", "top", "per_site", "site", "language", "lang", "after", "before", *_API_SWITCHES)
    ),
    "/api/facts": frozenset(("url", "q", "at")),
    "/api/explain": frozenset(("url",)),
    "/api/suggest": frozenset(("q",)),
}

_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?", re.ASCII)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})?", re.ASCII)
_SWITCHES = {"": False, "0": False, "false": False, "1": True, "true": True, "on": True}

Params = Mapping[str, str]


class RefusedError(HTTPException):
    """A request that is answered with an error page. `key` is the text to translate, `values` fill its placeholders."""

    def __init__(self, key: str, status: int = HTTPStatus.BAD_REQUEST, **values: object) -> None:
        super().__init__(int(status), key)
        self.key = key
        self.values = values


def require_known(path: str, params: Params) -> None:
    """Refuse misspelt parameters, so that an API client never gets results for something it did not ask for."""
    for name in params:
        if name not in PARAMETERS[path]:
            raise RefusedError("refused_name", name=cut(name, 50), known=", ".join(sorted(PARAMETERS[path])))


def query_of(params: Params) -> str:
    text = params.get("q", "").replace("\0", " ").strip()
    if len(text) > QUERY_MAX_CHARS:
        raise RefusedError("refused_query", count=len(text), limit=QUERY_MAX_CHARS)
    return text


def search_request(params: Params, accepted_languages: Sequence[str] = ()) -> SearchRequest:
    """Return the request of the HTML results page."""
    site = _text(params, "site")
    return SearchRequest(
        text=query_of(params),
        top=PAGE_HITS,
        page=_page(params, PAGE_HITS),
        # A search within one site shows all of its pages.
        per_site=0 if site else 1,
        site=site,
        language=_language(params),
        after=_date(params, "after"),
        before=_date(params, "before"),
        fresh=_switch(params, "fresh"),
        expand=_switch(params, "expand"),
        verbatim=_switch(params, "verbatim"),
        facets=True,
        reader_languages=(*filter(_LANGUAGE.fullmatch, _languages(params)), *accepted_languages),
    )


def api_request(params: Params, accepted_languages: Sequence[str] = ()) -> SearchRequest:
    """Return the request of the API, which also takes `top`, `per_site`, `semantic`, `explain` and more."""
    require_known("/api/search", params)
    top = _number(params, "top", PAGE_HITS, 1, TOP_MAX)
    return SearchRequest(
        text=query_of(params),
        top=top,
        page=_page(params, top),
        per_site=_number(params, "per_site", 1, 0, TOP_MAX),
        site=_text(params, "site"),
        language=_language(params),
        after=_date(params, "after"),
        before=_date(params, "before"),
        fresh=_switch(params, "fresh"),
        expand=_switch(params, "expand"),
        semantic=_semantic(params),
        explain=_switch(params, "explain"),
        facets=_switch(params, "facets"),
        verbatim=_switch(params, "verbatim"),
        reader_languages=(*_known_languages(params), *accepted_languages),
    )


def explained_request(query: str, language: str) -> SearchRequest:
    """Return the request that explains the position of one page, in its language, among the results of a query."""
    reader = (language,) if language else ()
    return SearchRequest(text=query, top=EXPLAINED_LIMIT, per_site=0, explain=True, reader_languages=reader)


def has_phrase(request: SearchRequest) -> bool:
    return any(clause.kind is ClauseKind.PHRASE for clause in parse_query(request.text).clauses)


def url_of(params: Params) -> str:
    text = params.get("url", "").strip()
    if len(text) > URL_MAX_CHARS:
        raise RefusedError("refused_long_url", limit=URL_MAX_CHARS)
    parsed = parse(text)
    if parsed is None:
        raise RefusedError("refused_url")
    return parsed.url


def moment_of(params: Params) -> float:
    """Return the end of the date for which versions are asked; infinity for now."""
    text = _text(params, "at")
    found = math.inf if text is None else parse_end(text)
    if found is None:
        raise RefusedError("refused_moment", name="at")
    return found


def _page(params: Params, top: int) -> int:
    return _number(params, "page", 1, 1, -(-RESULTS_LIMIT // top))


def _number(params: Params, name: str, default: int, least: int, most: int) -> int:
    text = params.get(name, "").strip()
    if not text:
        return default
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else -1
    if not least <= number <= most:
        raise RefusedError("refused_number", name=name, least=least, most=most)
    return number


def _text(params: Params, name: str) -> str | None:
    text = params.get(name, "").replace("\0", " ").strip()
    if len(text) > FILTER_MAX_CHARS:
        raise RefusedError("refused_filter", name=name, limit=FILTER_MAX_CHARS)
    return text or None


def _language(params: Params) -> str | None:
    text = _text(params, "language")
    if text is not None and not _LANGUAGE.fullmatch(text):
        raise RefusedError("refused_language", name="language")
    return text


def _languages(params: Params) -> list[str]:
    """Return the languages of the reader that a request names, best first."""
    return [each.strip() for each in (_text(params, "lang") or "").split(",") if each.strip()]


def _known_languages(params: Params) -> list[str]:
    languages = _languages(params)
    if not all(map(_LANGUAGE.fullmatch, languages)):
        raise RefusedError("refused_language", name="lang")
    return languages


def _date(params: Params, name: str) -> str | None:
    text = _text(params, name)
    if text is None:
        return None
    try:
        matched = _DATE.fullmatch(text)
        # A year or a month means its first day.
        date.fromisoformat(f"{text}-01-01"[:10] if len(text) != 7 else f"{text}-01")
    except ValueError:
        matched = None
    if matched is None:
        raise RefusedError("refused_date", name=name)
    return text


def _semantic(params: Params) -> bool:
    is_semantic = _switch(params, "semantic")
    if is_semantic and not has_semantic_model():
        raise RefusedError("refused_semantic")
    return is_semantic


def _switch(params: Params, name: str) -> bool:
    value = _SWITCHES.get(params.get(name, "").strip().lower())
    if value is None:
        raise RefusedError("refused_switch", name=name)
    return value
