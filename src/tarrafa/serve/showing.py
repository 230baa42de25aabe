"""From what was found to HTML: the templates, the words, and how addresses, dates and sizes are written."""

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any
from urllib.parse import quote_plus, unquote, urlencode

from jinja2 import PackageLoader, StrictUndefined, select_autoescape
from starlette.types import Scope

from tarrafa.agent import Outcome
from tarrafa.search import SearchRequest
from tarrafa.serve.languages import LANGUAGES, Words, known_codes
from tarrafa.serve.wording import SpeakingEnvironment
from tarrafa.texts import cut, printable
from tarrafa.units import rough_size
from tarrafa.urls import host_of, path_of

ASSETS = {
    "style.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_TRAIL_PARTS = 4
_PART_CHARS = 40
_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](?::[0-9]{1,5})?", re.ASCII)


def read_assets() -> dict[str, bytes]:
    folder = files("tarrafa.serve") / "assets"
    return {name: (folder / name).read_bytes() for name in ASSETS}


class Pages:
    """Fills the templates."""

    def __init__(self) -> None:
        self.assets = read_assets()
        mark = hashlib.sha256(b"".join(self.assets.values())).hexdigest()[:12]
        self._environments = {code: _environment(Words(code), mark) for code in LANGUAGES}

    def render(self, template: str, words: Words, values: Mapping[str, Any]) -> str:
        return self._environments[words.code].get_template(template).render(values)


def _environment(words: Words, asset_mark: str) -> SpeakingEnvironment:
    made = SpeakingEnvironment(
        words,
        loader=PackageLoader("tarrafa.serve"),
        autoescape=select_autoescape(("html", "xml")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # They do not change while we run, and to look whether they did takes longer than much else.
        auto_reload=False,
    )
    # Whatever is done to every result is a filter: a template calls a filter at once, a function by way of many checks.
    made.filters.update(
        trail=trail,
        quoted=quote_plus,
        size=rough_size,
        iso=iso,
        day=words.day,
        moment=words.moment,
        number=words.number,
        language_name=words.language,
    )
    made.globals.update(
        say=words.say,
        spoken=words.code,
        with_query=with_query,
        parameters=parameters,
        pages_addresses=pages_addresses,
        asset_mark=asset_mark,
        codes=known_codes(),
        outcomes=frozenset(Outcome),
    )
    return made


def trail(url: str) -> list[str]:
    """The address as a path, for people: the host, then the parts, as readable as can be and safe to show."""
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
    """A path of ours with its parameters; those that are empty are left out."""
    given = parameters(**values)
    return f"{path}?{given}" if given else path


def parameters(**values: object) -> str:
    return urlencode({name: "1" if value is True else str(value) for name, value in values.items() if value})


def pages_addresses(asked: SearchRequest, lang: str) -> Callable[[int], str]:
    """From the number of a page of results to its address. What all of them share is written once."""
    words = parameters(q=asked.text)
    rest = parameters(
        site=asked.site,
        language=asked.language,
        after=asked.after,
        before=asked.before,
        fresh=asked.fresh,
        expand=asked.expand,
        lang=lang,
    )

    def address(number: int) -> str:
        page = f"page={number}" if number > 1 else ""
        return "/search?" + "&".join(part for part in (words, page, rest) if part)

    return address


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def page_numbers(page: int, last: int) -> list[int]:
    """Pages around this one that can be asked for."""
    first = max(1, min(page - 4, last - 8))
    return list(range(first, min(last, first + 8) + 1))


def base_of(scope: Scope) -> str:
    """Where the reader sees us; a browser needs it in full. Whoever asks may say anything, so it must look like one."""
    given = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    if _HOST.fullmatch(given):
        return f"{scope['scheme']}://{given}"
    host, port = scope.get("server") or ("127.0.0.1", 80)
    return f"{scope['scheme']}://{f'[{host}]' if ':' in host else host}:{port}"
