"""What a visit brought to what is known of its host: new content, or which kind of nothing.

Pure. `TrapWatch` keeps what is known of each host, and asks by `fruit_of` about each answer that is stored.
"""

from tarrafa.extract import Extract, LinkKind, PageFormat
from tarrafa.obey import Directives, read_directives
from tarrafa.records import Page
from tarrafa.schedule import BUSY_STATUSES, Fruit, HostYields, PageText, SeenContents
from tarrafa.schedule.url_patterns import parameters_count
from tarrafa.urls import host_of

LINKS_LIMIT = 20_000  # of a host that are remembered; then all are forgotten
_LINKS_CHECKED = 100  # of a page
_READ_FORMATS = (PageFormat.HTML, PageFormat.TEXT)


class WatchedHost:
    """What is known of the URLs and pages of one host."""

    __slots__ = ("contents", "has_indexed", "keeps_links", "links", "yields")

    def __init__(self, yields: HostYields) -> None:
        self.yields = yields
        self.contents = SeenContents()
        self.has_indexed = False  # a page of the host may be indexed
        self.keeps_links = False  # a page was visited that is only of use if it leads on
        # Hashes of URLs that pages link to, if it keeps them. Filled by _leads_on, cleared at the limit.
        self.links: set[int] = set()

    @property
    def marks_count(self) -> int:
        return len(self.contents) + len(self.links) + self.yields.pages_count


def fruit_of(watched: WatchedHost, page: Page, found: Extract, token: str) -> Fruit:
    """Return what a visit brought; `token` is our name in directives of pages."""
    status = page.status
    if 300 <= status < 400:
        return _fruit_of_redirect(watched, page.url, found)
    if status >= 500 or status in BUSY_STATUSES:
        return Fruit.NEUTRAL
    if status >= 400:
        return Fruit.ERROR
    if page.unread:
        return Fruit.TYPE
    if found.format is PageFormat.FEED:
        return _fruit_of_feed(watched, page.url, found)
    if found.format not in _READ_FORMATS:
        return Fruit.NEUTRAL
    return _fruit_of_content(watched, page.url, found, read_directives(page.headers, found.robots, token))


def _fruit_of_content(watched: WatchedHost, url: str, found: Extract, directives: Directives) -> Fruit:
    document, contents = found.document, watched.contents
    contents.has_variants |= parameters_count(url) > 0
    text = PageText(document.signature, document.title, document.text, not directives.noindex)
    is_thorough = contents.has_variants or watched.yields.is_doubtful(url)
    says_new = contents.is_new(url, text) if is_thorough else contents.is_new_signature(url, text)
    is_wanted = says_new and not directives.noindex
    watched.keeps_links |= contents.has_variants or not is_wanted
    leads = watched.keeps_links and not directives.nofollow and _leads_on(watched, url, found.links.targets)
    if is_wanted or leads:
        watched.has_indexed |= not directives.noindex
        return Fruit.NEW
    if directives.noindex and watched.has_indexed:
        return Fruit.NOINDEX
    return Fruit.NEW if says_new else Fruit.COPY


def _fruit_of_feed(watched: WatchedHost, url: str, found: Extract) -> Fruit:
    """A feed is a list of URLs, and nothing else."""
    watched.keeps_links = True
    return Fruit.NEW if _leads_on(watched, url, found.listed.urls) else Fruit.COPY


def _leads_on(watched: WatchedHost, url: str, targets: tuple[str, ...]) -> bool:
    """Return True if a page links to what no page has linked to, since links of the host are kept.

    Links to more of the same path or pattern do not count: every page of a trap has them.
    """
    links, yields, contents = watched.links, watched.yields, watched.contents
    fresh = [target for target in targets[:_LINKS_CHECKED] if hash(target) not in links]
    if len(links) > LINKS_LIMIT:
        links.clear()
    links.update(map(hash, fresh))
    own, path, leads = yields.patterns(url), url.partition("?")[0], False
    for target in fresh:
        if target.partition("?")[0] != path and contents.is_new_mark(yields.without_identifiers(target)):
            leads = leads or yields.deciding_pattern(target) not in own
    return leads


def _fruit_of_redirect(watched: WatchedHost, url: str, found: Extract) -> Fruit:
    """A redirect is fruitful if it leads to where none has led before, and not to one more URL of its own pattern."""
    kinds, targets = found.links.kinds, found.links.targets
    target = next((each for each, kind in zip(targets, kinds, strict=True) if kind is LinkKind.REDIRECT), None)
    if target is None:
        return Fruit.NEUTRAL if found.links else Fruit.ERROR
    yields = watched.yields
    is_same = host_of(target) == host_of(url) and yields.patterns(target).fine == yields.patterns(url).fine
    is_new = watched.contents.is_new_mark(f"redirect {target.partition('?')[0]}")
    return Fruit.NEW if is_new and not is_same else Fruit.REDIRECT
