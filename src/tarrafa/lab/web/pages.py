"""Pages of the hosts: paths, titles, robots marks, lifetime, changes and copies.

The pages of a host form a tree: page 0 is its front page, page p the parent of `branching` others, and every page links
to its children, so that every page can be reached except those that are meant to be unreachable.
"""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote, unquote

from tarrafa.chance import draws
from tarrafa.lab.web import history
from tarrafa.lab.web.plan import NEIGHBOURS, SyntheticHost, SyntheticHosts, power_law
from tarrafa.lab.web.vocabulary import TAIL_SIZE, TOPIC_NAMES, TOPICS, tail_word

ENTRIES_MAX = 200_000
# Limits of a draw below 1,000 for pages without children: exact copies below the first, near copies below the second,
# syndicated pages from the third on.
EXACT_COPIES, NEAR_COPIES, SYNDICATED = 20, 40, 900
LIFE_MS = 180 * history.DAY_MS

_TITLES = {
    "pt": (
        "{a} e {b}: {t}",
        "{a} de {t} com {b}",
        "Guia de {a}, {b} e {t}",
        "{t}: {a} para {b}",
        "{a}, {b} e mais {t}",
    ),
    "en": (
        "{a} and {b}: {t}",
        "{a} of {t} with {b}",
        "A guide to {a}, {b} and {t}",
        "{t}: {a} for {b}",
        "Why {a} {t} {b}",
    ),
}
_PATH_AT = len('<a href="')
_MARKED = 21  # pages of a hundred that carry a mark
_FRONT_MARK = 50  # a draw without marks, for front pages
_NOTHING: dict[int, "PageEntry"] = {}
_PLAIN_LETTERS = str.maketrans("áàãâéêíóôõúçÁÀÃÂÉÊÍÓÔÕÚÇ", "aaaaeeiooouc" * 2)
# The number of a page stands between these two texts in its path, by the path style of the host.
_NUMBER_BETWEEN = (("-", ""), ("-", ".html"), ("-", "/"), ("=", "&ordem=data"))


class PageEntry(NamedTuple):
    """The properties of a page that are used often, cached."""

    path: str
    folder: str  # beginning of its children's paths
    title: str
    topic: str  # of its text: mostly the host's
    item: bytes  # a link to it from a page of its host, in the plain form, as HTML
    mark: int  # a draw that decides its marks
    rate: int  # a draw that decides its changes
    fate: int  # a draw that decides its end, and whether it copies or is copied
    leaf: bool  # has no children and never will
    copies: bool  # copies another page, if a suitable one is found
    syndicated: bool  # may be copied; its links are absolute, so that a copy links to the same pages

    def absolute(self, host: SyntheticHost) -> bytes:
        """Return a link to the page in the absolute form: the plain one with the host before the path."""
        return host.opening + self.item[_PATH_AT:]

    @property
    def marked(self) -> bool:
        return self.mark % 100 < _MARKED

    @property
    def noindex(self) -> bool:
        return self.mark % 100 < 3

    @property
    def nofollow(self) -> bool:
        return 3 <= self.mark % 100 < 5

    @property
    def noarchive(self) -> bool:
        return self.mark % 100 == 5

    @property
    def says_canonical(self) -> bool:
        return 6 <= self.mark % 100 < 16

    @property
    def has_base(self) -> bool:
        return 16 <= self.mark % 100 < 20

    @property
    def robots_header(self) -> bool:
        return self.mark % 100 == 20


class CopySource(NamedTuple):
    """The page that another page copies. An exact copy has the same bytes; a near copy differs in a few sentences."""

    host: SyntheticHost
    page: int
    exact: bool


class SyntheticPages:
    def __init__(self, hosts: SyntheticHosts) -> None:
        self.hosts = hosts
        self._seed = hosts.plan.rng_seed
        # By host, then by page. Filled by entry, cleared when full.
        self._entries: dict[int, dict[int, PageEntry]] = {}
        self._entry_count = 0

    def seed(self, host: SyntheticHost, page: int) -> str:
        return f"{self._seed}/{host.number}/{page}"

    def entry(self, host: SyntheticHost, page: int) -> PageEntry:
        known = self._entries.get(host.number)
        if known is None:
            known = self._entries[host.number] = {}
        return known.get(page) or self._remember(host, page)

    def entries(self, host: SyntheticHost, pages: Iterable[int]) -> list[PageEntry]:
        """Return many entries of one host; rendering spends half of its time here."""
        known = self._entries.get(host.number, _NOTHING)
        return [known.get(page) or self.entry(host, page) for page in pages]

    def _remember(self, host: SyntheticHost, page: int) -> PageEntry:
        if self._entry_count >= ENTRIES_MAX:
            self._entries.clear()
            self._entry_count = 0
        entry = self._make(host, page)
        self._entries.setdefault(host.number, {})[page] = entry
        self._entry_count += 1
        return entry

    def _make(self, host: SyntheticHost, page: int) -> PageEntry:
        w = draws(self.seed(host, page), 8)
        first, second, tail = self._words(host, w)
        titles = _TITLES[host.language]
        title = titles[w[2] % len(titles)].format(a=first, b=second, t=tail)
        title = title[0].upper() + title[1:]
        path, folder = "/", ""
        if page:
            parent = self.entry(host, (page - 1) // host.branching)
            path, folder = _path(host, page, parent.folder, _slug(w[4], first, tail, page))
        rate, fate = w[6], w[7]
        leaf = page * host.branching + 1 >= 2 * host.size and page > 0
        return PageEntry(
            path=path,
            folder=folder,
            title=title,
            topic=host.topic if page == 0 or (rate >> 16) % 5 else TOPIC_NAMES[(rate >> 20) % len(TOPIC_NAMES)],
            item=anchor(escape_href(path), title),
            mark=w[5] if page else _FRONT_MARK,
            rate=rate,
            fate=fate,
            leaf=leaf,
            copies=leaf and (fate >> 8) % 1000 < NEAR_COPIES,
            syndicated=leaf and (fate >> 8) % 1000 >= SYNDICATED,
        )

    def _words(self, host: SyntheticHost, w: tuple[int, ...]) -> tuple[str, str, str]:
        """Return two words of the topic and a rare one, for the title and the path of a page."""
        words = TOPICS[host.topic][host.language]
        return words[power_law(w[0], len(words))], words[w[1] % len(words)], tail_word(host.language, w[3] % TAIL_SIZE)

    def find(self, host: SyntheticHost, path: str) -> int | None:
        """Return the page at this path, which must be spelt exactly so."""
        if path == "/":
            return 0
        before, after = _NUMBER_BETWEEN[host.path_style]
        digits = path.removesuffix(after).rpartition(before)[2]
        if not digits.isdecimal() or len(digits) > 10:
            return None
        page = int(digits)
        return page if 0 < page < 2 * host.size and self.entry(host, page).path == path else None

    def dies_ms(self, host: SyntheticHost, page: int) -> int | None:
        """Return when a page disappears; None for a page that stays. Only pages without children disappear."""
        entry = self.entry(host, page)
        if not entry.leaf or entry.fate % 20 >= 3:
            return None
        return history.born_ms(host.size, page) + 1 + ((entry.fate * LIFE_MS) >> 32)

    def alive(self, host: SyntheticHost, page: int, now_ms: int) -> bool:
        if now_ms <= 0:
            return page < host.size
        dies = self.dies_ms(host, page)
        return page < history.size_at(host.size, now_ms) and (dies is None or now_ms < dies)

    def children(self, host: SyntheticHost, page: int, now_ms: int) -> list[int]:
        first = page * host.branching + 1
        if now_ms <= 0:
            return list(range(first, min(first + host.branching, host.linked_size)))
        last = min(first + host.branching, history.size_at(host.size, now_ms))
        return [c for c in range(first, last) if not self.orphan(host, c) and self.alive(host, c, now_ms)]

    def orphan(self, host: SyntheticHost, page: int) -> bool:
        """Return True for a page that only the sitemap lists."""
        return host.linked_size <= page < host.size

    def interval_ms(self, host: SyntheticHost, page: int) -> int | None:
        return history.interval_ms(self.entry(host, page).rate)

    def text_changed_ms(self, host: SyntheticHost, page: int, now_ms: int) -> int:
        """Return when the text last changed; 0 if not since the web began. A copy changes with its source."""
        if now_ms <= 0:
            return 0
        host, page = self.shown(host, page)
        changed = history.last_change(self.seed(host, page), self.interval_ms(host, page), now_ms)
        return max(changed, history.born_ms(host.size, page))

    def shown(self, host: SyntheticHost, page: int) -> tuple[SyntheticHost, int]:
        """Return the page whose text is shown: the source of an exact copy, otherwise the page itself."""
        source = self.copy_of(host, page)
        return (source.host, source.page) if source and source.exact else (host, page)

    def changed_ms(self, host: SyntheticHost, page: int, now_ms: int) -> int:
        """Return when the page last changed: its text, or the list of its children."""
        if now_ms <= 0:
            return 0
        moments = self._family_changes(host, page, now_ms)
        return max(self.text_changed_ms(host, page, now_ms), history.born_ms(host.size, page), *moments)

    def _family_changes(self, host: SyntheticHost, page: int, now_ms: int) -> list[int]:
        """Return when children of the page appeared and disappeared, up to now."""
        first = page * host.branching + 1
        children = range(first, min(first + host.branching, history.size_at(host.size, now_ms)))
        linked = [child for child in children if not self.orphan(host, child)]
        moments = [history.born_ms(host.size, child) for child in linked]
        moments += [self.dies_ms(host, child) or 0 for child in linked]
        return [moment for moment in moments if moment <= now_ms]

    def all_changes(self, host: SyntheticHost, page: int, now_ms: int) -> list[int]:
        """Return every change of a page after its birth up to now, in order; the last is `changed_ms`."""
        born = history.born_ms(host.size, page)
        own = self.shown(host, page)
        moments = set(history.changes_until(self.seed(*own), self.interval_ms(*own), now_ms))
        moments.update(self._family_changes(host, page, now_ms))
        return sorted(moment for moment in moments if moment > born)

    def first_change_ms(self, host: SyntheticHost, page: int, after_ms: int, now_ms: int) -> int:
        """Return when the page first changed or disappeared after a moment and up to now; 0 if it did not."""
        if now_ms <= 0:
            return 0
        own = self.shown(host, page)
        moments = self._family_changes(host, page, now_ms)
        moments.append(history.first_change(self.seed(*own), self.interval_ms(*own), after_ms, now_ms))
        moments.append(self.dies_ms(host, page) or 0)
        return min((moment for moment in moments if after_ms < moment <= now_ms), default=0)

    def copy_of(self, host: SyntheticHost, page: int) -> CopySource | None:
        entry = self.entry(host, page)
        if not entry.copies:
            return None
        w = draws(f"{self.seed(host, page)}/copy", 64)
        for turn in range(0, 64, 2):
            other = host if w[turn] % 2 else self.hosts.neighbourhood(host)[w[turn] % NEIGHBOURS]
            candidate = w[turn + 1] % other.size
            alike = other.language == host.language and other.charset == host.charset
            if alike and self.entry(other, candidate).syndicated and not self.dies_ms(other, candidate):
                return CopySource(other, candidate, exact=(entry.fate >> 8) % 1000 < EXACT_COPIES)
        return None


def anchor(href: str, title: str, attributes: str = "") -> bytes:
    """Return a link on a line of its own. The href must be escaped; the title is written in ASCII for any charset."""
    return f'<a href="{href}"{attributes}>{title}</a><br>\n'.encode("ascii", "xmlcharrefreplace")


def escape_href(href: str) -> str:
    """Escape an href for an attribute."""
    return href.replace("&", "&amp;")


def normalise_escapes(path: str) -> str:
    """Return the path with each letter spelt as in page paths: `%61` and `a` are the same letter."""
    return quote(unquote(path), safe="/?&=~")


def _slug(word: int, first: str, second: str, page: int) -> str:
    if word % 20 == 0:
        return f"{quote(second)}-{page}"
    plain = f"{first}-{second}".translate(_PLAIN_LETTERS)
    return f"~{plain}-{page}" if word % 20 == 1 else f"{plain}-{page}"


def _path(host: SyntheticHost, page: int, parent_folder: str, slug: str) -> tuple[str, str]:
    """Return the path of a page, and the folder that its children's paths begin with."""
    folder = f"{parent_folder}/{slug}"
    if host.path_style == 1:
        return f"{folder}.html", folder
    if host.path_style == 2:
        return f"{folder}/", folder
    if host.path_style == 3:
        return f"{parent_folder}/ver?item={page}&ordem=data", folder
    return folder, folder
