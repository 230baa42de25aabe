"""Parse the seeds that a user writes.

A seed is a URL, or a bare name such as `example.org` or `example.org/news`. A bare name is fetched by http, because
most hosts redirect to https from there. A bad seed is reported with its position and does not stop the others.
"""

from collections.abc import Iterable
from typing import NamedTuple

from tarrafa.errors import InputError
from tarrafa.texts import quoted
from tarrafa.urls import parse

BAD_SEEDS_LIMIT = 10  # a file that is no list of seeds may have millions


class BadSeed(NamedTuple):
    origin: str  # a file, `-` or the command line
    line: int  # from 1
    text: str
    problem: str

    def __str__(self) -> str:
        return f"{self.origin}:{self.line}: {quoted(self.text)} {self.problem}"


class Seeds(NamedTuple):
    urls: tuple[str, ...] = ()  # canonical, without duplicates, in the given order
    bad: tuple[BadSeed, ...] = ()  # the first of them
    bad_count: int = 0  # of all


def read_seeds(origin: str, lines: Iterable[str]) -> Seeds:
    """Read one seed a line. A `#` at the beginning or after a space starts a comment."""
    urls: dict[str, None] = {}
    bad: list[BadSeed] = []
    bad_count = 0
    for number, line in enumerate(lines, 1):
        text = _without_comment(line)
        if text:
            url, problem = _read(text)
            if not problem:
                urls[url] = None
                continue
            bad_count += 1
            if len(bad) < BAD_SEEDS_LIMIT:
                bad.append(BadSeed(origin, number, text, problem))
    return Seeds(tuple(urls), tuple(bad), bad_count)


def read_seed(text: str) -> str:
    """Return the canonical URL of one seed; raise InputError if it is none."""
    url, problem = _read(text.strip())
    if problem:
        raise InputError(f"{quoted(text)} {problem}; write for example https://example.org/ or example.org")
    return url


def join_seeds(parts: Iterable[Seeds]) -> Seeds:
    parts = tuple(parts)
    urls = dict.fromkeys(url for part in parts for url in part.urls)
    bad = [bad for part in parts for bad in part.bad]
    return Seeds(tuple(urls), tuple(bad[:BAD_SEEDS_LIMIT]), sum(part.bad_count for part in parts))


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
