"""From the parameters of a request to what is asked. Pure. What is out of bounds is refused in words."""

import re
from collections.abc import Mapping
from datetime import date
from http import HTTPStatus

from tarrafa.errors import InputError
from tarrafa.search import TOP_MAX, ClauseKind, SearchRequest, has_semantic_model
from tarrafa.search import parse as read_query
from tarrafa.texts import cut
from tarrafa.urls import URL_MAX_CHARS, parse

QUERY_MAX_CHARS = 1_000
FILTER_MAX_CHARS = 300
RESULTS_LIMIT = 1_000  # that one can page through
PAGE_HITS = 10
SUGGESTIONS_LIMIT = 8
EXPLAINED_LIMIT = 100  # results among which a page looks for its own explanation

_API_SWITCHES = ("fresh", "expand", "semantic", "explain")
# What each address of the API understands; openapi.json describes the same.
PARAMETERS: dict[str, frozenset[str]] = {
    "/api/search": frozenset(("q", "page", "top", "per_site", "site", "language", "after", "before", *_API_SWITCHES)),
    "/api/facts": frozenset(("url", "q")),
    "/api/suggest": frozenset(("q",)),
}

_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?", re.ASCII)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})?", re.ASCII)
_SWITCHES = {"": False, "0": False, "false": False, "1": True, "true": True, "on": True}

Given = Mapping[str, str]


class RefusedError(InputError):
    """What a reader asked for is not answered. `key` names the words for it, which `values` complete."""

    def __init__(self, key: str, status: int = HTTPStatus.BAD_REQUEST, **values: object) -> None:
        super().__init__(key)
        self.key = key
        self.status = int(status)
        self.values = values


def only_known(path: str, given: Given) -> None:
    """A program that misspells a parameter is told, instead of getting what it did not ask for."""
    for name in given:
        if name not in PARAMETERS[path]:
            raise RefusedError("refused_name", name=cut(name, 50), known=", ".join(sorted(PARAMETERS[path])))


def query_of(given: Given) -> str:
    text = given.get("q", "").replace("\0", " ").strip()
    if len(text) > QUERY_MAX_CHARS:
        raise RefusedError("refused_query", count=len(text), limit=QUERY_MAX_CHARS)
    return text


def search_request(given: Given) -> SearchRequest:
    """What a page of results is asked for."""
    site = _text(given, "site")
    return SearchRequest(
        text=query_of(given),
        top=PAGE_HITS,
        page=_page(given, PAGE_HITS),
        # Who asks for one site wants to see all of it.
        per_site=0 if site else 1,
        site=site,
        language=_language(given),
        after=_date(given, "after"),
        before=_date(given, "before"),
        fresh=_switch(given, "fresh"),
        expand=_switch(given, "expand"),
    )


def api_request(given: Given) -> SearchRequest:
    """The same for a program, which may also say how many, and ask why."""
    only_known("/api/search", given)
    top = _number(given, "top", PAGE_HITS, 1, TOP_MAX)
    return SearchRequest(
        text=query_of(given),
        top=top,
        page=_page(given, top),
        per_site=_number(given, "per_site", 1, 0, TOP_MAX),
        site=_text(given, "site"),
        language=_language(given),
        after=_date(given, "after"),
        before=_date(given, "before"),
        fresh=_switch(given, "fresh"),
        expand=_switch(given, "expand"),
        semantic=_semantic(given),
        explain=_switch(given, "explain"),
    )


def explained_request(query: str) -> SearchRequest:
    """The results of a query among which one page looks for itself."""
    return SearchRequest(text=query, top=EXPLAINED_LIMIT, per_site=0, explain=True)


def has_phrase(request: SearchRequest) -> bool:
    return any(clause.kind is ClauseKind.PHRASE for clause in read_query(request.text).clauses)


def url_of(given: Given) -> str:
    text = given.get("url", "").strip()
    if len(text) > URL_MAX_CHARS:
        raise RefusedError("refused_long_url", limit=URL_MAX_CHARS)
    parsed = parse(text)
    if parsed is None:
        raise RefusedError("refused_url")
    return parsed.url


def _page(given: Given, top: int) -> int:
    return _number(given, "page", 1, 1, -(-RESULTS_LIMIT // top))


def _number(given: Given, name: str, default: int, least: int, most: int) -> int:
    text = given.get(name, "").strip()
    if not text:
        return default
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else -1
    if not least <= number <= most:
        raise RefusedError("refused_number", name=name, least=least, most=most)
    return number


def _text(given: Given, name: str) -> str | None:
    text = given.get(name, "").replace("\0", " ").strip()
    if len(text) > FILTER_MAX_CHARS:
        raise RefusedError("refused_filter", name=name, limit=FILTER_MAX_CHARS)
    return text or None


def _language(given: Given) -> str | None:
    text = _text(given, "language")
    if text is not None and not _LANGUAGE.fullmatch(text):
        raise RefusedError("refused_language")
    return text


def _date(given: Given, name: str) -> str | None:
    text = _text(given, name)
    if text is None:
        return None
    try:
        matched = _DATE.fullmatch(text)
        # A year or a month alone stands for its beginning.
        date.fromisoformat(f"{text}-01-01"[:10] if len(text) != 7 else f"{text}-01")
    except ValueError:
        matched = None
    if matched is None:
        raise RefusedError("refused_date", name=name)
    return text


def _semantic(given: Given) -> bool:
    is_wanted = _switch(given, "semantic")
    if is_wanted and not has_semantic_model():
        raise RefusedError("refused_semantic")
    return is_wanted


def _switch(given: Given, name: str) -> bool:
    value = _SWITCHES.get(given.get(name, "").strip().lower())
    if value is None:
        raise RefusedError("refused_switch", name=name)
    return value
