"""From what a user writes to the URLs that a crawl begins with.

A seed is a URL, or a bare name such as `example.org` or `example.org/news`, which is asked for by http as most hosts
lead on from there. A bad one is reported with its place and does not stop the others.
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
    urls: tuple[str, ...] = ()  # canonical, each once, in the order in which they came
    bad: tuple[BadSeed, ...] = ()


def read_seeds(origin: str, lines: Iterable[str]) -> Seeds:
    """One seed a line. What follows a `#` at the beginning or after a space is a comment."""
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
    text = line.strip("\ufeff \t\r\n\f\v")  # a byte order mark is what some editors put first
    if text.startswith("#"):
        return ""
    places = [place for place in (text.find(" #"), text.find("\t#")) if place >= 0]
    return text[: min(places)].rstrip() if places else text


def _read(text: str) -> tuple[str, str]:
    """The URL, or what is wrong with the text."""
    has_scheme = "://" in text.partition("?")[0]
    parsed = parse(text if has_scheme else f"http://{text.removeprefix('//')}")
    if parsed is None:
        return "", "is not an http or https URL, nor the name of a host"
    if parsed.userinfo:
        return "", "names a user; pages behind a password are not visited"
    return parsed.url, ""
