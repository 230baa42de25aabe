"""The perfect crawl of a web at a moment: all that can be found, and its distance from the start.

It starts at the first host's front page and obeys robots.txt, `rel=nofollow` and the meta tag `nofollow`. It follows
links and redirects to any host: first by links alone, then with the sitemaps of the hosts it has met, which list the
pages that no page links to. It enters traps but does not follow them, because they are endless and empty.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from tarrafa.lab.web import history
from tarrafa.lab.web.outlines import Place
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.lab.web.synthetic_web import SyntheticWeb, WebRequest


@dataclass(frozen=True, slots=True)
class FoundAt:
    """How the perfect crawl found a place."""

    depth: int  # links from the start
    by: str  # "links", or "sitemap" if only a sitemap leads there


class PerfectCrawl:
    def __init__(self, web: SyntheticWeb, now_ms: int) -> None:
        self._web = web
        self._now_ms = now_ms
        # All filled by the crawl, then only read.
        self.found: dict[Place, FoundAt] = {}
        self.images: set[tuple[int, str]] = set()
        self.dead: dict[str, FoundAt] = {}  # addresses where no host answers
        self._met: set[int] = set()
        self._sitemaps_read: set[int] = set()
        self._crawl()

    def _crawl(self) -> None:
        self._follow_from([(0, 0)], 0, "links")
        while waiting := sorted(self._met - self._sitemaps_read):
            for number in waiting:
                self._sitemaps_read.add(number)
                self._follow_from(self._in_sitemap(self._web.hosts.host(number)), 1, "sitemap")

    def _follow_from(self, starts: Iterable[Place], depth: int, by: str) -> None:
        """Follow links breadth first from places that may be new."""
        queue: deque[Place] = deque()
        self._discover(starts, FoundAt(depth, by), queue)
        while queue:
            place = queue.popleft()
            how = FoundAt(self.found[place].depth + 1, by)
            self._discover(self._leads_to(place, how), how, queue)

    def _discover(self, places: Iterable[Place], how: FoundAt, queue: deque[Place]) -> None:
        found = self.found
        for place in places:
            if place not in found:
                found[place] = how
                self._met.add(place[0])
                queue.append(place)

    def _in_sitemap(self, host: SyntheticHost) -> list[Place]:
        if not host.sitemap or not self._web.robots.readable(host):
            return []
        paths = [path for path in self._web.sitemaps.paths(host, self._now_ms) if self._web.robots.allows(host, path)]
        numbers = range(history.size_at(host.size, self._now_ms)) if paths else ()
        return [(host.number, page) for page in numbers if self._web.pages.alive(host, page, self._now_ms)]

    def _leads_to(self, place: Place, how: FoundAt) -> Iterable[Place]:
        """Return the places that the crawl continues to from here."""
        number, what = place
        host = self._web.hosts.host(number)
        if not self._web.robots.allows(host, self.path(place)):
            return ()
        if isinstance(what, str):
            target = self.location(host, what)
            return [self._place(host, target)] if target else ()
        if not self._web.pages.alive(host, what, self._now_ms):
            return ()
        return self._links(*self._web.pages.shown(host, what), how)

    def _links(self, host: SyntheticHost, page: int, how: FoundAt) -> Iterable[Place]:
        self.images.add((host.number, f"/img/{page % 97}.png"))
        if self._web.pages.entry(host, page).nofollow:
            return ()
        outline = self._web.outlines.outline(host, page, self._now_ms)
        for name in outline.dead:
            self.dead.setdefault(name, how)
        return self._web.outlines.followed(host, page, outline)

    def location(self, host: SyntheticHost, path: str) -> str | None:
        """Return the Location of a redirect; None if there is no redirect at the path."""
        if not path.startswith("/ir/"):
            return None
        return next((v for k, v in self._web.resource(WebRequest(host, path)).headers if k == "Location"), None)

    def _place(self, host: SyntheticHost, location: str) -> Place:
        """Return the place that a Location header names: a page, or the path of another resource."""
        if location.startswith("http://"):
            authority, _, rest = location.removeprefix("http://").partition("/")
            found = self._web.hosts.find(authority)
            assert found is not None, location
            host, location = found, f"/{rest}"
        page = self._web.find(host, location)
        return (host.number, location if page is None else page)

    def path(self, place: Place) -> str:
        number, what = place
        return what if isinstance(what, str) else self._web.pages.entry(self._web.hosts.host(number), what).path
