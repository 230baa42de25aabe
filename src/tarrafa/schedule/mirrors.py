"""Which hosts say what other hosts of their site or address say: mirrors under several names, and wildcard names.

Evidence is a page: the same path with the same text at two hosts of one site, or of one address. The first pages of
each host are compared.

1. A host is a mirror if enough of its pages are at another host too, and at most a fifth of its pages are its own. A
   host that shares its first pages with another, and has pages of its own, is none.
2. A mirror loses no page that its original lacks: a URL of it is refused only if the original has answered at the same
   path, and the two had the same text somewhere in that folder. Such URLs are visited less and less, as long as what
   they bring is the same, and then no more.
3. A mirror that shows another text than its original at one path, or brings more than a few pages that the original
   does not have, is a host like any other from then on.
4. Of hosts that are alike, one is the original: it is never a mirror of its mirrors.
5. Names of a site that bring nothing but copies are visited less and less, as patterns of URLs are: see `yields`. Only
   hosts that have given no page yet are refused for their name.
6. Names are barren if they are refused and brought nothing new since the first copy of their site. Their mirrors need
   fewer copies, and share what they showed of folders; pages outside any folder are compared for each of them.
7. What is remembered has a bound, and forgetting only leads to more visits.
"""

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np
import xxhash

from tarrafa.schedule.pattern_yield import STEPS, Fruit, PatternYield
from tarrafa.schedule.yields import CREDIT_MAX, HostYields
from tarrafa.urls import host_name, site

SAMPLE = 64  # pages of a host that are compared with those of others
COPIES_MIN = 8  # that make a mirror; fewer where so many hosts of the site are mirrors, and names bring copies:
COPIES_FEW, MIRRORS_MIN = 2, 2
COPIES_BARREN = 4  # likewise where names are barren
CONTENTS_MIN = 3  # different ones among them: a host may show one text at every path
_OWN_SHARE = 4  # copies for each page of its own
_NAME_NEW, _NAME_COPIES = 3, 8  # visits of one host that count for the pattern of its name
HOSTS_LIMIT, MARKS_LIMIT, SITES_LIMIT = 20_000, 100_000, 2_000
_ANSWER_BITS = 20  # of a table of answers: 8 MB
FOLDERS_LIMIT = 500  # of a mirror
_CHAIN_MAX = 10  # mirrors of mirrors that are followed


class Mirror(NamedTuple):
    """A host that is, or is no longer, a mirror of another."""

    host: str
    original: str
    copies: int  # of its pages that were compared
    pages: int
    is_over: bool = False


class SlowedNames(NamedTuple):
    """Names of hosts of a site that are visited less, or not at all."""

    site: str
    pattern: str
    visits: int
    new: int
    is_refused: bool


@dataclass(slots=True)
class Likeness:
    """How much of one host is at others."""

    pages: int = 0  # that were compared
    copies: int = 0  # of these, pages that another host has too
    partners: Counter[str] = field(default_factory=Counter)  # hosts with the same pages
    contents: set[int] = field(default_factory=set)  # some different ones of the copies
    original: str = ""  # the host that this one is a mirror of; empty for none
    trust: PatternYield = field(default_factory=PatternYield)  # in what its original has; slowed while it is a mirror
    folders: set[str] = field(default_factory=set)  # where a mirror had the same as its original, or where mirrors had
    is_cleared: bool = False  # it was taken for a mirror, and was none
    name_new: int = 0  # visits that counted for the pattern of its name
    name_copies: int = 0

    def note_copy(self, partner: str, signature: int) -> None:
        self.copies += 1
        self.partners[partner] += 1
        if len(self.contents) < CONTENTS_MIN:
            self.contents.add(signature)

    def is_like(self, least: int) -> bool:
        own = self.pages - self.copies
        is_varied = len(self.contents) >= min(CONTENTS_MIN, least)
        return self.copies >= least and is_varied and self.copies >= _OWN_SHARE * own


class Mark(NamedTuple):
    """The first host with a text at a path of its site, or of its address."""

    host: str
    is_shared: bool = False  # another host has it, and this one's copy was counted


class AnswerTable:
    """Remembers which URLs were answered, and with which text, in fixed memory; the oldest make room for others."""

    def __init__(self, bits: int = _ANSWER_BITS) -> None:
        self._mask = (1 << bits) - 2  # of pairs of slots
        # The upper half of a slot tells URLs apart, the lower one texts. Filled by put.
        self._slots = np.zeros(1 << bits, np.uint64).data

    def put(self, url: str, signature: int) -> None:
        place, tag = self._place(url)
        first, second = self._slots[place], self._slots[place + 1]
        # The newer of a pair comes first.
        if first >> 32 != tag and second >> 32 != tag:
            self._slots[place + 1] = first
        elif second >> 32 == tag:
            self._slots[place + 1] = first if first >> 32 != tag else 0
        self._slots[place] = tag << 32 | _short(signature)

    def get(self, url: str) -> int | None:
        """Return what was put, shortened, or None."""
        place, tag = self._place(url)
        for slot in (self._slots[place], self._slots[place + 1]):
            if slot >> 32 == tag:
                return slot & 0xFFFFFFFF
        return None

    def _place(self, url: str) -> tuple[int, int]:
        number = xxhash.xxh3_64_intdigest(url.encode())
        return number & self._mask, number >> 32 | 1


class Mirrors:
    """Used by one thread. Hosts are named as `urls.host_of` does, paths begin with a slash."""

    def __init__(self, hosts_limit: int = HOSTS_LIMIT, marks_limit: int = MARKS_LIMIT) -> None:
        self._hosts_limit, self._marks_limit = hosts_limit, marks_limit
        # The least recently visited first. Filled by _likeness, which drops the first that are no mirrors.
        self._hosts: OrderedDict[str, Likeness] = OrderedDict()
        # By site or address, path and text. Filled by _compare; the oldest are dropped at the limit.
        self._marks: dict[int, Mark] = {}
        self._answers = AnswerTable()
        # Patterns of names, by site. Filled by _note_name; the first are dropped at the limit.
        self._names: OrderedDict[str, HostYields] = OrderedDict()
        self.has_slowed_names = False
        self._mirrors_of_sites: Counter[str] = Counter()  # those found; of the sites in _names

    @property
    def sizes(self) -> tuple[int, int]:
        """Return how many hosts and pages are remembered."""
        return len(self._hosts), len(self._marks)

    def note(self, host: str, path: str, signature: int, address: str) -> list[Mirror | SlowedNames]:
        """Count a stored answer. The signature is that of its text, 0 for none."""
        found, news = self._likeness(host), list[Mirror | SlowedNames]()
        if found.original:
            news += self._probe(host, found, path, signature)
        elif signature and found.pages < SAMPLE:
            news += self._compare(host, found, path, signature, address)
        self._answers.put(host + path, signature)
        return news

    def original_of(self, host: str) -> str | None:
        """Return the host that a host is a mirror of."""
        found = self._hosts.get(host)
        return self._root(found.original) if found is not None and found.original else None

    def restore(self, host: str, original: str) -> None:
        """Take what an earlier process found out about a host."""
        found = self._likeness(host)
        if not found.original and not found.is_cleared and self._root(original) != host:
            found.original, found.trust = original, PatternYield(step=1)
            found.pages = found.copies = COPIES_MIN

    def refuses(self, host: str, path: str) -> bool:
        """Return True if a URL of a mirror is not worth a visit: its original has answered at this path."""
        original = self.original_of(host)
        if original is None or self._answers.get(original + path) is None:
            return False
        trust = self._hosts[host].trust
        folder = _folder(path)
        if folder not in self._hosts[host].folders and not self._is_copied(host, original, folder):
            return False
        return trust.is_refused or xxhash.xxh3_64_intdigest(path.encode()) % (1 << trust.step) != 0

    def refuses_name(self, host: str) -> bool:
        """Return True if a host without pages is not to be visited, because names like its own brought copies."""
        if not self.has_slowed_names:
            return False
        known, owner = self._hosts.get(host), site(host_name(host))
        if owner == host_name(host) or (known is not None and known.pages):
            return False
        names = self._names.get(owner)
        return names is not None and names.refusal(_as_url(host)) is not None

    def _likeness(self, host: str) -> Likeness:
        found = self._hosts.get(host)
        if found is None:
            found = self._hosts[host] = Likeness()
            if len(self._hosts) > self._hosts_limit:
                self._drop_hosts()
        else:
            self._hosts.move_to_end(host)
        return found

    def _drop_hosts(self) -> None:
        """Forget an eighth of the hosts, those that are no mirrors first."""
        count = max(1, self._hosts_limit // 8)
        oldest = list(islice(self._hosts, len(self._hosts) - 1))
        chosen = [name for name in oldest if not self._hosts[name].original][:count]
        for name in chosen or oldest[:count]:
            del self._hosts[name]

    def _compare(
        self, host: str, found: Likeness, path: str, signature: int, address: str
    ) -> list[Mirror | SlowedNames]:
        """Compare a page with those of other hosts."""
        found.pages += 1
        partner = None
        for group in filter(None, dict.fromkeys((site(host_name(host)), address))):
            partner = self._partner(group, host, path, signature) or partner
        if partner is None:
            return [*self._note_name(host, found, Fruit.NEW)]
        found.note_copy(partner, signature)
        is_of_site = site(host_name(host)) == site(host_name(partner))
        news = self._note_name(host, found, Fruit.COPY) if is_of_site else []
        # Of two that are alike, the one with fewer pages is the mirror, or the one with the longer name.
        both = sorted((host, partner), key=lambda each: (self._likeness(each).pages, -len(each)))
        return [*news, *(mirror for each in both for mirror in self._judge(each))]

    def _partner(self, group: str, host: str, path: str, signature: int) -> str | None:
        """Return the first other host of a site or address with this page; remember the page if there is none."""
        key = xxhash.xxh3_64_intdigest(f"{group} {path}".encode(), signature & 0xFFFFFFFFFFFFFFFF)
        mark = self._marks.get(key)
        if mark is None:
            self._remember(key, Mark(host))
            return None
        if mark.host == host:
            return None
        if not mark.is_shared:
            self._marks[key] = Mark(mark.host, is_shared=True)
            other = self._likeness(mark.host)
            if other.copies < other.pages and not other.original:
                other.note_copy(host, signature)
        return mark.host

    def _remember(self, key: int, mark: Mark) -> None:
        if len(self._marks) >= self._marks_limit:
            for oldest in list(islice(self._marks, max(1, self._marks_limit // 8))):
                del self._marks[oldest]
        self._marks[key] = mark

    def _judge(self, host: str) -> list[Mirror]:
        """Take a host for a mirror if its pages say so, of a partner that has as many pages and is no mirror of it."""
        found = self._likeness(host)
        is_usual = self._is_usual(host)
        least = COPIES_FEW if is_usual else COPIES_BARREN if self._is_barren(host) else COPIES_MIN
        if found.original or found.is_cleared or not found.is_like(least):
            return []
        for partner, _ in found.partners.most_common():
            original = self._root(partner)
            if original != host and self._likeness(original).pages >= found.pages:
                # Where mirrors are usual, one page in many is compared from the beginning.
                found.original, found.trust = original, PatternYield(step=STEPS if is_usual else 1)
                if (name := site(host_name(host))) in self._names:
                    self._mirrors_of_sites[name] += 1
                return [Mirror(host, original, found.copies, found.pages)]
        return []

    def _is_usual(self, host: str) -> bool:
        """Return True if names like that of a host bring copies, and hosts of its site are known to be mirrors."""
        name = site(host_name(host))
        names = self._names.get(name)
        is_slowed = names is not None and names.is_slowed(_as_url(host))
        return is_slowed and self._mirrors_of_sites[name] >= MIRRORS_MIN

    def _is_copied(self, host: str, original: str, folder: str) -> bool:
        """Return True if mirrors of the original had the same in a folder, and have names like that of this host."""
        known = self._hosts.get(original)
        return bool(folder) and known is not None and folder in known.folders and self._is_barren(host)

    def _is_barren(self, host: str) -> bool:
        """Return True if names like that of a host are refused, and are not known to have brought anything new."""
        names = self._names.get(site(host_name(host)))
        return names is not None and names.is_barren(_as_url(host))

    def _root(self, host: str) -> str:
        for _ in range(_CHAIN_MAX):
            found = self._hosts.get(host)
            if found is None or not found.original:
                break
            host = found.original
        return host

    def _probe(self, host: str, found: Likeness, path: str, signature: int) -> list[Mirror]:
        """Compare an answer of a mirror with that of its original."""
        if not signature:
            return []
        twin = self._answers.get(self._root(found.original) + path)
        is_copy, is_barren = twin == _short(signature), self._is_barren(host)
        if is_copy:
            self._note_folder(found, _folder(path), is_barren=is_barren)
        found.trust.note(Fruit.COPY if is_copy else Fruit.NEW, CREDIT_MAX.fine)
        found.trust.step = max(STEPS if is_barren and self._is_usual(host) else 1, found.trust.step)
        found.pages += 1
        found.copies += is_copy
        is_other = twin is not None and not is_copy and twin != 0  # the same path, and another text
        if not is_other and found.copies >= _OWN_SHARE * (found.pages - found.copies):
            return []
        over = Mirror(host, found.original, found.copies, found.pages, is_over=True)
        if self._mirrors_of_sites[name := site(host_name(host))]:
            self._mirrors_of_sites[name] -= 1
        found.original, found.is_cleared = "", True
        return [over]

    def _note_folder(self, found: Likeness, folder: str, *, is_barren: bool) -> None:
        """Remember a folder where a mirror has the same as its original, also for others if its name is barren."""
        original = self._hosts.get(self._root(found.original)) if is_barren else None
        for each in filter(None, (found, original)):
            if len(each.folders) < FOLDERS_LIMIT:
                each.folders.add(folder)

    def _note_name(self, host: str, found: Likeness, fruit: Fruit) -> list[SlowedNames]:
        """Count a page for the pattern of the name of its host, if that is a name within its site."""
        if fruit is Fruit.NEW:
            found.name_new += 1
        else:
            found.name_copies += 1
        if found.name_new > _NAME_NEW or found.name_copies > _NAME_COPIES:
            return []
        name = site(host_name(host))
        if name == host_name(host):
            return []
        names = self._names.get(name)
        if names is None:
            if fruit is Fruit.NEW:
                return []
            if len(self._names) >= SITES_LIMIT:
                del self._mirrors_of_sites[self._names.popitem(last=False)[0]]
            names = self._names[name] = HostYields()
        news = names.note(_as_url(host), fruit)
        self.has_slowed_names = self.has_slowed_names or names.is_suspicious
        return [SlowedNames(name, each.pattern, each.visits, each.new, each.is_refused) for each in news]


def _as_url(host: str) -> str:
    """Return a name as a URL whose path has its labels in reverse, so that names have the patterns of URLs."""
    name = host_name(host)
    owner = site(name)
    labels = name.removesuffix(owner).rstrip(".").split(".")
    return f"http://{owner}/{'/'.join(reversed(labels))}"


def _folder(path: str) -> str:
    """Return the first segment of a path that has several; empty for others."""
    first, slash, _ = path[1:].partition("?")[0].partition("/")
    return first if slash else ""


def _short(signature: int) -> int:
    return signature & 0xFFFFFFFF
