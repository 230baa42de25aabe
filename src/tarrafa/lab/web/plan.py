"""Plan a web: the size of each host, its neighbours, its properties.

A web follows from a `Plan` alone. Everything in it is computed on demand, so a web of a million pages starts as fast as
one of ten. Only integers and operations that every machine rounds alike are used.
"""

import ipaddress
import math
import re
from dataclasses import dataclass
from functools import cached_property

from tarrafa.chance import WORD_BITS, draws
from tarrafa.errors import InputError
from tarrafa.lab.web.faults import Fault
from tarrafa.lab.web.vocabulary import LANGUAGES, TOPIC_NAMES, Language, tail_word

HOSTS_MAX = 1_000_000
PAGES_MAX = 1_000_000_000
COMMUNITY_SIZE = 20
FIRST_ADDRESS = int(ipaddress.IPv4Address("127.0.0.1"))
# Share of the hosts that get each chosen fault; at least one host, so that small webs have the fault too.
FAULT_SHARE_PERCENT = 2
# Labels with two hyphens in this place cannot be registered, so a synthetic name never leads to a real host.
LABEL_PREFIX = "tz--"
SUFFIXES = ("com.br", "org.br", "gov.br", "com.br", "edu.br", "com", "org", "pt", "net.br", "com")
CHARSETS = ("utf-8", "utf-8", "utf-8", "utf-8", "utf-8", "utf-8", "utf-8", "iso-8859-1", "iso-8859-1", "windows-1252")
NAME_MAX_CHARS = 253
MIRROR_LABEL = "espelho"
_WILD_LABEL = re.compile(r"x\d{1,9}")
NEIGHBOURS = 64
NEIGHBOURHOODS_MAX = 20_000
AUTHORITIES_MAX = 200_000
BRANCHINGS = (3, 6, 8, 8, 12)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a web follows from. `port` and `names` shape the addresses in its links."""

    hosts: int = 100
    pages: int = 5_000
    rng_seed: int = 1
    port: int = 8800
    names: bool = False
    faults: frozenset[Fault] = frozenset()

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= HOSTS_MAX:
            raise InputError(f"hosts must be from 1 to {HOSTS_MAX:,}, not {self.hosts:,}")
        if not self.hosts <= self.pages <= PAGES_MAX:
            raise InputError(f"pages must be from {self.hosts:,} (one a host) to {PAGES_MAX:,}, not {self.pages:,}")


@dataclass(frozen=True, slots=True)
class SyntheticHost:
    """One host of the web; everything about it follows from the plan and its number."""

    number: int
    name: str
    address: str
    authority: str
    origin: str
    opening: bytes  # beginning of an absolute link to the host, in HTML
    size: int  # pages when the web begins
    linked_size: int  # pages that other pages link to; only the sitemap of the host lists the others
    language: Language
    topic: str
    charset: str
    branching: int  # child pages of each page; few children make a deep host
    path_style: int
    faults: frozenset[Fault]
    gzip: bool
    chunked: bool
    html_type: str  # Content-Type of its pages, with or without the charset
    validators: int  # 0 none, 1 ETag, 2 Last-Modified, 3 both
    robots: bool  # has a robots.txt with rules
    sitemap: bool
    crawl_delay_seconds: int

    @property
    def robots_file(self) -> bool:
        """Return True if the host has a robots.txt: for rules, or only to name the sitemap."""
        return self.robots or self.sitemap


class SyntheticHosts:
    """The hosts of a web, by number, by address and by name; their neighbours and popularity."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.communities = max(1, plan.hosts // COMMUNITY_SIZE)
        self._hosts: dict[int, SyntheticHost] = {}
        self._by_authority: dict[str, SyntheticHost] = {}  # filled by find up to a bound
        # Filled by neighbourhood, cleared when full.
        self._neighbourhoods: dict[int, list[SyntheticHost]] = {}

    @cached_property
    def by_popularity(self) -> list[int]:
        """Host numbers, the largest and most linked first."""
        order = draws(f"{self.plan.rng_seed}/order", self.plan.hosts)
        return sorted(range(self.plan.hosts), key=lambda number: (order[number], number))

    @cached_property
    def sizes(self) -> list[int]:
        """Pages of each host: a power law that sums to exactly the plan's pages."""
        weights = [_power_law_weight(rank + 1) for rank in range(self.plan.hosts)]
        total = math.fsum(weights)
        spare = self.plan.pages - self.plan.hosts
        shares = [1 + int(spare * weight / total) for weight in weights]
        for rank in range(self.plan.pages - sum(shares)):
            shares[rank % self.plan.hosts] += 1
        sizes = [0] * self.plan.hosts
        for number, share in zip(self.by_popularity, shares, strict=True):
            sizes[number] = share
        return sizes

    @cached_property
    def _faults_by_host(self) -> dict[int, set[Fault]]:
        """Assign each chosen fault to its share of the hosts, spread so that few hosts have two."""
        victims = [number for number in self.by_popularity if number != 0]
        found: dict[int, set[Fault]] = {}
        share = max(1, len(victims) * FAULT_SHARE_PERCENT // 100)
        chosen = [fault for fault in Fault if fault in self.plan.faults] if victims else []
        for position, fault in enumerate(chosen):
            # Wide steps reach hosts of every size.
            for victim in victims[position % len(victims) :: len(victims) // share][:share]:
                found.setdefault(victim, set()).add(fault)
        return found

    def host(self, number: int) -> SyntheticHost:
        host = self._hosts.get(number)
        if host is None:
            host = self._hosts[number] = self._make(number)
        return host

    def _make(self, number: int) -> SyntheticHost:
        w = draws(f"{self.plan.rng_seed}/host/{number}", 16)
        faults = frozenset(self._faults_by_host.get(number, ()))
        language, topic = self._culture(number, w)
        name = self._name(number, w)
        address = self._address(number, w)
        authority = f"{name if self.plan.names else address}:{self.plan.port}"
        charset = CHARSETS[w[4] % len(CHARSETS)]
        size, sitemap = self.sizes[number], w[12] % 2 == 0
        return SyntheticHost(
            number=number,
            name=name,
            address=address,
            authority=authority,
            origin=f"http://{authority}",
            opening=f'<a href="http://{authority}'.encode(),
            size=size,
            linked_size=size - size // 50 if sitemap else size,
            language=language,
            topic=topic,
            charset=charset,
            branching=BRANCHINGS[w[5] % len(BRANCHINGS)],
            path_style=w[6] % 4,
            faults=faults,
            gzip=w[7] % 10 < 7,
            chunked=w[8] % 10 < 2,
            html_type=f"text/html; charset={charset}" if w[9] % 10 < 7 else "text/html",
            validators=(3, 3, 1, 2, 0)[w[10] % 5],
            robots=w[11] % 10 < 6 or any("robots" in fault for fault in faults),
            sitemap=sitemap,
            crawl_delay_seconds=1 + w[13] % 3 if Fault.CRAWL_DELAY in faults else 0,
        )

    def _culture(self, number: int, w: tuple[int, ...]) -> tuple[Language, str]:
        """Return the language and topic of a host; hosts of one community mostly share both."""
        community = draws(f"{self.plan.rng_seed}/community/{number % self.communities}", 2)
        language = (community if w[0] % 10 else w)[1] % 3  # two of three speak Portuguese
        topic = (community[0] if w[2] % 5 else w[3]) % len(TOPIC_NAMES)
        return LANGUAGES[language == 2], TOPIC_NAMES[topic]

    def _name(self, number: int, w: tuple[int, ...]) -> str:
        """Return a name such as `www.tz--word17.com.br`, or `blog17.tz--word3.org` on the site of another host."""
        head = number % self.communities
        if number != head and w[14] % 5 == 0:
            label = ("blog", "loja", "m", "news", "wiki")[w[15] % 5]
            return f"{label}{number}.{self._site(head)}"
        return f"www.{self._site(number)}" if w[15] % 4 else self._site(number)

    def _site(self, number: int) -> str:
        w = draws(f"{self.plan.rng_seed}/site/{number}", 2)
        word = re.sub("[^a-z]", "", tail_word("en", w[0] % 60_000))
        return f"{LABEL_PREFIX}{word}{number}.{SUFFIXES[w[1] % len(SUFFIXES)]}"

    def _address(self, number: int, w: tuple[int, ...]) -> str:
        """Return the host's own address; with names, some hosts share the address of their community's first host."""
        shared = self.plan.names and w[14] % 5 == 1
        return str(ipaddress.IPv4Address(FIRST_ADDRESS + (number % self.communities if shared else number)))

    def find(self, authority: str) -> SyntheticHost | None:
        """Return the host that a Host header means, by address or by name, with or without the port."""
        host = self._by_authority.get(authority)
        if host is None:
            host = self._look_up(authority)
            if host is not None and len(self._by_authority) < AUTHORITIES_MAX:
                self._by_authority[authority] = host
        return host

    def _look_up(self, authority: str) -> SyntheticHost | None:
        name = authority.rpartition(":")[0] or authority
        if name[-1:].isdigit():
            number = _number_of_address(name)
            return self.host(number) if number is not None and 0 <= number < self.plan.hosts else None
        return self._find_name(name)

    def resolve(self, name: str) -> str | None:
        """Return the address of a host name of this web, as a resolver would."""
        host = self._find_name(name)
        return host.address if host else None

    def _find_name(self, name: str) -> SyntheticHost | None:
        number = _number_of_name(name.lower())
        if number is not None and 0 <= number < self.plan.hosts and self.host(number).name == name.lower():
            return self.host(number)
        return self._find_alias(*name.lower().partition(".")[::2])

    def _find_alias(self, label: str, name: str) -> SyntheticHost | None:
        """Return the host that answers for a label before its name, too."""
        fault = Fault.MIRROR if label == MIRROR_LABEL else Fault.WILDCARD if _WILD_LABEL.fullmatch(label) else None
        host = self._find_name(name) if fault is not None else None
        return host if host is not None and host.name == name and fault in host.faults else None

    def neighbourhood(self, host: SyntheticHost) -> list[SyntheticHost]:
        """Return the hosts that this one links to, repeated by weight: mostly its community, else by popularity."""
        known = self._neighbourhoods.get(host.number)
        if known is None:
            if len(self._neighbourhoods) >= NEIGHBOURHOODS_MAX:
                self._neighbourhoods.clear()
            known = self._neighbourhoods[host.number] = self._draw_neighbours(host)
        return known

    def _draw_neighbours(self, host: SyntheticHost) -> list[SyntheticHost]:
        first = host.number % self.communities
        members = (self.plan.hosts - 1 - first) // self.communities + 1
        return [
            self.host(
                first + self.communities * ((word >> 7) % members)
                if word % 100 < 65
                else self.by_popularity[power_law(word, self.plan.hosts)]
            )
            for word in draws(f"{self.plan.rng_seed}/neighbours/{host.number}", NEIGHBOURS)
        ]


def _power_law_weight(rank: int) -> float:
    """Return 1 / rank ** 0.875 by square roots, which every machine rounds alike; powers are not."""
    half = math.sqrt(rank)
    quarter = math.sqrt(half)
    return 1.0 / (half * quarter * math.sqrt(quarter))


# The cube of a uniform draw of 16 bits, as a share of 2**32: half of all draws fall into the first eighth.
CUBES = tuple((draw * draw * draw) >> 16 for draw in range(1 << 16))


def power_law(word: int, limit: int) -> int:
    """Return a position below `limit`, the first ones much more often."""
    return (CUBES[word >> 16] * limit) >> WORD_BITS


def _number_of_address(text: str) -> int | None:
    try:
        return int(ipaddress.IPv4Address(text)) - FIRST_ADDRESS
    except ValueError:
        return None


_NUMBER_IN_NAME = re.compile(rf"(?:(?:blog|loja|m|news|wiki)(\d+)\.|www\.)?{LABEL_PREFIX}[a-z]+(\d+)\.[a-z.]+")


def _number_of_name(name: str) -> int | None:
    match = _NUMBER_IN_NAME.fullmatch(name) if len(name) <= NAME_MAX_CHARS else None
    return int(match[1] or match[2]) if match else None
