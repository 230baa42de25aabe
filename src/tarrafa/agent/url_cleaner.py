"""Drop parameters from URLs that never change a page: names of campaigns, and identifiers of sessions.

Each visitor of some hosts gets links of its own, and each click of an advertisement another URL for the same page. The
order of the other parameters is kept, because it may matter to the host.
"""

import re
from collections.abc import Iterable

from tarrafa.configuration import HostTables, matches_glob
from tarrafa.errors import InputError
from tarrafa.extract import Extract, LinkKind, ListedUrls, PageLinks
from tarrafa.texts import quoted
from tarrafa.urls import canonical, host_of

_NAME = re.compile(r"[A-Za-z0-9_*.\-\[\]%]+")
_HEX_VALUE = re.compile(r"[0-9a-fA-F]{16,}")
_HEX = "hex"
_NAMES_LIMIT = 10_000  # verdicts on names of parameters in the cache; a full one is cleared


class DroppedParameters:
    """Names of parameters: `gclid`, `utm_*`, and `sid=hex` for one whose value looks like an identifier."""

    def __init__(self, text: str) -> None:
        words = [] if text.strip() == "none" else [word.strip().lower() for word in text.split(",")]
        self._patterns: list[str] = []
        self._hex_patterns: list[str] = []
        for word in words:
            name, equals, kind = word.partition("=")
            if not _NAME.fullmatch(name) or (equals and kind != _HEX):
                raise InputError(
                    f'{quoted(word)} is not the name of a parameter; write for example "utm_*" or "sid=hex"'
                )
            (self._hex_patterns if equals else self._patterns).append(name)
        # Of each name: True if it is dropped, False if it is kept, None if its value tells. Filled by _verdict.
        self._verdicts: dict[str, bool | None] = {}

    def __bool__(self) -> bool:
        return bool(self._patterns or self._hex_patterns)

    def drops(self, parameter: str) -> bool:
        """Return True if a parameter such as `sid=0123` is dropped."""
        name, _, value = parameter.partition("=")
        verdict = self._verdicts.get(name, ...)
        if verdict is ...:
            verdict = self._verdict(name)
        return _HEX_VALUE.fullmatch(value) is not None if verdict is None else bool(verdict)

    def _verdict(self, name: str) -> bool | None:
        if len(self._verdicts) >= _NAMES_LIMIT:
            self._verdicts.clear()
        plain = name.lower()
        verdict: bool | None = any(matches_glob(each, plain) for each in self._patterns)
        if not verdict and any(matches_glob(each, plain) for each in self._hex_patterns):
            verdict = None
        self._verdicts[name] = verdict
        return verdict

    def clean(self, url: str) -> str:
        """Return a URL without the parameters, of the query and of the path."""
        path, mark, query = url.partition("?")
        if ";" in path:
            path = "/".join(map(self._clean_segment, path.split("/")))
            # A segment of dots that is left would lead elsewhere.
            path = canonical(path) or path
        if not mark:
            return path
        kept = [each for each in query.split("&") if not self.drops(each)]
        if len(kept) == query.count("&") + 1:
            return f"{path}?{query}"
        return f"{path}?{'&'.join(kept)}" if kept else path

    def _clean_segment(self, segment: str) -> str:
        first, *parameters = segment.split(";")
        return ";".join([first, *[each for each in parameters if "=" not in each or not self.drops(each)]])


class UrlCleaner:
    """Cleans URLs as their host's settings say. A URL without a `?` or `;` costs next to nothing."""

    def __init__(self, drop_parameters: str, tables: HostTables) -> None:
        self._general = DroppedParameters(drop_parameters)
        self._tables = tables
        # By the setting of a table; as many as there are tables.
        self._own: dict[str, DroppedParameters] = {}
        self._is_idle = not self._general and not tables

    def clean(self, url: str) -> str:
        if "?" not in url and ";" not in url:
            return url
        own = self._tables.of(host_of(url)).drop_parameters
        if own is None:
            return self._general.clean(url)
        if own not in self._own:
            self._own[own] = DroppedParameters(own)
        return self._own[own].clean(url)

    def clean_extract(self, found: Extract) -> Extract:
        """Clean the URLs that a page names. A redirect that would lead back to the page itself is left as it is."""
        if self._is_idle:
            return found
        links, listed = found.links, found.listed
        targets = self._clean_all(links.targets)
        if targets is not links.targets:
            kept = _keep_redirects(found.url, links, targets)
            links = PageLinks(kept, links.texts, links.rels, links.kinds)
            found = found._replace(links=links)
        urls = self._clean_all(listed.urls)
        if urls is not listed.urls:
            others = (listed.titles, listed.modified_seconds, listed.priorities, listed.are_sitemaps, listed.is_cut)
            found = found._replace(listed=ListedUrls(urls, *others))
        return found

    def _clean_all(self, urls: tuple[str, ...]) -> tuple[str, ...]:
        """Return the same tuple if there is nothing to clean."""
        text = "\n".join(urls)
        if "?" not in text and ";" not in text:
            return urls
        clean = self.clean
        return tuple([clean(url) if "?" in url or ";" in url else url for url in urls])


def _keep_redirects(own: str, links: PageLinks, targets: Iterable[str]) -> tuple[str, ...]:
    """Return the targets, but the original of a redirect that adds a parameter to its own URL.

    Hosts that want an identifier in each URL send visitors there, and would do so for ever.
    """
    pairs = zip(targets, links.targets, links.kinds, strict=True)
    return tuple([before if after == own and kind is LinkKind.REDIRECT else after for after, before, kind in pairs])
