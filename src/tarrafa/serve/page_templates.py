"""HTML pages: Jinja templates, and how URLs, dates and sizes are written in them."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any
from urllib.parse import quote_plus, unquote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.types import Scope

from tarrafa.agent import Outcome
from tarrafa.search import SearchRequest
from tarrafa.serve.i18n import LANGUAGES, Translator, named_languages
from tarrafa.texts import cut, printable, without_bidi_controls
from tarrafa.units import rough_size
from tarrafa.urls import host_of, path_of

_TRAIL_PARTS = 4
_PART_CHARS = 40
_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](?::[0-9]{1,5})?", re.ASCII)


class PageTemplates:
    """Renders templates; there is one Jinja environment for each language."""

    def __init__(self) -> None:
        version = _assets_version()
        self._environments = {code: make_environment(Translator(code), version) for code in LANGUAGES}

    def render(self, template: str, translator: Translator, values: Mapping[str, Any]) -> str:
        return self._environments[translator.code].get_template(template).render(values)


def _assets_version() -> str:
    """Return a hash of all assets; as a part of their URLs it makes browsers fetch them when they change."""
    assets = sorted((files("tarrafa.serve") / "assets").iterdir(), key=lambda each: each.name)
    return hashlib.sha256(b"".join(each.read_bytes() for each in assets)).hexdigest()[:12]


def make_environment(translator: Translator, assets_version: str) -> Environment:
    environment = Environment(
        loader=PackageLoader("tarrafa.serve"),
        autoescape=select_autoescape(("html", "xml")),
        undefined=StrictUndefined,
        finalize=_in_order,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        trail=trail,
        quoted=quote_plus,
        size=rough_size,
        iso=iso,
        exact=exact,
        translate=translator.translate,
        day=translator.day,
        moment=translator.moment,
        number=translator.number,
        language_name=translator.language_name,
    )
    environment.globals.update(
        spoken=translator.code,
        with_query=with_query,
        parameters=parameters,
        result_page_url=result_page_url,
        facet_url=facet_url,
        assets_version=assets_version,
        codes=named_languages(),
        outcomes=frozenset(Outcome),
    )
    return environment


def _in_order(value: object) -> object:
    """Remove bidirectional controls, which reorder the text after them, from every text that a template shows."""
    return without_bidi_controls(value) if isinstance(value, str) else value


def trail(url: str) -> list[str]:
    """Return a URL as a breadcrumb trail: the host, then the segments of its path, decoded and safe to show."""
    host = host_of(url).partition("//")[2]
    path, _, query = path_of(url).partition("?")
    parts = [_readable(part) for part in path.split("/") if part]
    if query:
        parts.append("?" + _readable(query))
    if len(parts) > _TRAIL_PARTS:
        parts = [*parts[:2], "…", *parts[-(_TRAIL_PARTS - 2) :]]
    return [host, *parts]


def _readable(part: str) -> str:
    return cut(printable(unquote(part, errors="replace")), _PART_CHARS)


def with_query(path: str, /, **values: object) -> str:
    """Return a path of this server with its query string; empty parameters are left out."""
    query = parameters(**values)
    return f"{path}?{query}" if query else path


def parameters(**values: object) -> str:
    return urlencode({name: "1" if value is True else str(value) for name, value in values.items() if value})


def facet_url(request: SearchRequest, lang: str, name: str, value: str) -> str:
    """Return the URL of the same search among the results with this value of a facet."""
    match name:
        case "site":
            narrowed = replace(request, site=value)
        case "language":
            narrowed = replace(request, language=value)
        case "year":
            narrowed = replace(request, after=f"{value}-01-01", before=f"{int(value) + 1}-01-01")
        case _:
            narrowed = replace(request, text=f"{request.text} {name}:{value}".strip())
    return result_page_url(narrowed, lang)(1)


def result_page_url(request: SearchRequest, lang: str) -> Callable[[int], str]:
    """Return a function from the number of a page of results to its URL."""
    query = parameters(q=request.text)
    filters = parameters(
        site=request.site,
        language=request.language,
        after=request.after,
        before=request.before,
        fresh=request.fresh,
        expand=request.expand,
        verbatim=request.verbatim,
        lang=lang,
    )

    def url(number: int) -> str:
        page = f"page={number}" if number > 1 else ""
        return "/search?" + "&".join(part for part in (query, page, filters) if part)

    return url


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def exact(at: float) -> str:
    """Return a moment to the microsecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def page_numbers(page: int, last: int) -> list[int]:
    """Return the numbers of the pages around this one."""
    first = max(1, min(page - 4, last - 8))
    return list(range(first, min(last, first + 8) + 1))


def base_url(scope: Scope) -> str:
    """Return the base URL of this server as the client sees it. The Host header is used only if it is well-formed."""
    given = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    if _HOST.fullmatch(given):
        return f"{scope['scheme']}://{given}"
    host, port = scope.get("server") or ("127.0.0.1", 80)
    return f"{scope['scheme']}://{f'[{host}]' if ':' in host else host}:{port}"
