"""Parse the seeds that a user writes.

A seed is a URL, or a bare name such as `example.org` or `example.org/news`. A bare name is fetched by http, because
most hosts redirect to https from there. A bad seed is reported with its position and does not stop the others.
"""

from collections.abc import Iterable
from typing import NamedTuple

from tarrafa.texts import quoted
from tarrafa.urls import parse


class BadSeed(NamedTuple):
    origin: str  # a file, `-` or the command line
    line: int  # from 1
    text: str
    problem: str

    def __str__(self) -> str:
        return f"{self.origin}:{self.line}: {quoted(self.text)} {self.problem}"


class Seeds(NamedTuple):
    urls: tuple[str, ...] = ()  # canonical, without duplicates, in the given order
    bad: tuple[BadSeed, ...] = ()


def read_seeds(origin: str, lines: Iterable[str]) -> Seeds:
    """Read one seed a line. A `#` at the beginning or after a space starts a comment."""
    urls: dict[str, None] = {}
    bad = []
    for number, line in enumerate(lines, 1):
        text = _without_comment(line)
        if text:
            url, problem = _read(text)
            if problem:
                bad.append(BadSeed(origin, number, text, problem))
            else:
                urls[url] = None
    return Seeds(tuple(urls), tuple(bad))


def join_seeds(parts: Iterable[Seeds]) -> Seeds:
    parts = tuple(parts)
    urls = dict.fromkeys(url for part in parts for url in part.urls)
    return Seeds(tuple(urls), tuple(bad for part in parts for bad in part.bad))


def _without_comment(line: str) -> str:
    text = line.strip("\ufeff \t\r\n\f\v")  # some editors write a byte order mark first
    if text.startswith("#"):
        return ""
    places = [place for place in (text.find(" #"), text.find("\t#")) if place >= 0]
    return text[: min(places)].rstrip() if places else text


def _read(text: str) -> tuple[str, str]:
    """Return the URL and an empty problem, or an empty URL and the problem."""
    has_scheme = "://" in text.partition("?")[0]
    parsed = parse(text if has_scheme else f"http://{text.removeprefix('//')}")
    if parsed is None:
        return "", "is not an http or https URL, nor the name of a host"
    if parsed.userinfo:
        return "", "names a user; pages behind a password are not visited"
    return parsed.url, ""
