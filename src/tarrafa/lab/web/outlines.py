"""Outlines of pages: the links of a page, and how they are written.

As on real hosts, most links of a page belong to blocks that many pages share: menus, latest pages, partners. A block is
drawn and rendered once and cached. The other links are the page's own: its children, a few links in its text, and links
to resources that are not pages.
"""

import struct
from collections.abc import Iterator
from hashlib import shake_128
from typing import NamedTuple, TypeVar

from tarrafa.chance import draws
from tarrafa.lab.web.faults import Fault
from tarrafa.lab.web.pages import PageEntry, SyntheticPages, anchor, escape_href
from tarrafa.lab.web.plan import CUBES, MIRROR_LABEL, NEIGHBOURS, SyntheticHost, power_law

BLOCKS_MAX = 40_000
BLOCK_LINKS = 20  # in a block of links within the host; a page has two such blocks
BLOCKS_A_PAGE = 2
PARTNER_LINKS = 7  # in a block of links to other hosts; a page has two such blocks
PARTNER_BLOCKS = 16
OWN_LINKS = 3  # on a page without children
TEXT_BYTES = 28
BASE_PATH = "/base/dos/elos/"

# Forms of an href, and the share (of 256) of the links in each form. Blocks have no relative links, because many pages
# share them.
PLAIN, ABSOLUTE, RELATIVE, FRAGMENT, UPPER, DOTTED, ENCODED, SCHEMELESS, NOFOLLOW = range(9)
_SHARED_FORMS = bytes(form for form, share in enumerate((190, 37, 0, 10, 4, 4, 4, 4, 3)) for _ in range(share))
_OWN_FORMS = bytes(form for form, share in enumerate((100, 24, 100, 16, 3, 3, 4, 3, 3)) for _ in range(share))
# The draws for a page: two words, its blocks, its partners, its own links with their forms, and its text.
_DRAWN = struct.Struct(f"<2I{BLOCKS_A_PAGE}I2B{OWN_LINKS}H{OWN_LINKS}s{TEXT_BYTES}s")

T = TypeVar("T")

# A host's number with a page's number, or with the path of another resource.
Place = tuple[int, int | str]


class LinkBlock(NamedTuple):
    """Links within a host that many of its pages share: target pages, the form of each link, and the HTML."""

    targets: tuple[int, ...]
    forms: bytes
    html: bytes
    absolute: bytes  # the same links, all in the absolute form


class PartnerLinks(NamedTuple):
    """Links to other hosts: (host, page, nofollow) for each, and the HTML."""

    targets: tuple[tuple[SyntheticHost, int, bool], ...]
    html: bytes


class Outline(NamedTuple):
    """The links of a page, before they are rendered as HTML."""

    children: list[int]
    own: list[int]
    own_forms: bytes
    blocks: list[LinkBlock]
    partners: list[PartnerLinks]
    child_hosts: list[SyntheticHost]  # hosts that this front page links to
    special: list[str]  # paths on this host that are not pages: redirects, missing pages, files, traps
    dead: list[str]  # addresses where no host answers
    aliases: list[str]  # other names of this host
    text: bytes  # draws for the text of the page


class Outlines:
    def __init__(self, pages: SyntheticPages) -> None:
        self.pages = pages
        # Filled when a block is first needed, cleared when full.
        self._blocks: dict[tuple[int, int], LinkBlock] = {}
        self._partners: dict[tuple[int, int], PartnerLinks] = {}

    def outline(self, host: SyntheticHost, page: int, now_ms: int) -> Outline:
        seed = self.pages.seed(host, page)
        drawn = _DRAWN.unpack(shake_128(f"{seed}/page".encode()).digest(_DRAWN.size))
        first, second = drawn[:2]
        count = 1 + host.linked_size // (BLOCK_LINKS // 2)
        blocks = [self.block(host, word % count) for word in drawn[2 : 2 + BLOCKS_A_PAGE]]
        left, right, *own = drawn[2 + BLOCKS_A_PAGE : -2]
        partners = [self.partners(host, left % PARTNER_BLOCKS), self.partners(host, right % PARTNER_BLOCKS)]
        children = self.pages.children(host, page, now_ms)
        if now_ms > 0 and (changed := self.pages.text_changed_ms(host, page, now_ms)):
            own = [word >> 16 for word in draws(f"{seed}/links/{changed}", OWN_LINKS)]
        size = host.linked_size
        targets = [(CUBES[word] * size) >> 32 for word in own[: max(1, OWN_LINKS - len(children))]]
        special = _special(host, page, first, second)
        dead = [f"127.250.{page % 256}.9"] if Fault.DEAD in host.faults else []
        aliases = _aliases(host, page, first) if host.faults and self.pages.hosts.plan.names else []
        child_hosts = self._child_hosts(host) if page == 0 else []
        forms = drawn[-2].translate(_OWN_FORMS)
        return Outline(children, targets, forms, blocks, partners, child_hosts, special, dead, aliases, drawn[-1])

    def followed(self, host: SyntheticHost, page: int, outline: Outline) -> Iterator[Place]:
        """Yield the places that a crawl follows the links of a page to, some of them more than once."""
        own = host.number
        yield from ((own, target) for target in (0, max(0, (page - 1) // host.branching), page))
        yield from ((own, child) for child in outline.children)
        if self.pages.entry(host, page).syndicated:
            yield from ((own, target) for target in outline.own)
            yield from ((own, target) for block in outline.blocks for target in block.targets)
        elif Fault.SESSION not in host.faults:
            # Links with session ids lead to endless copies, not to the pages.
            for targets, forms in [(outline.own, outline.own_forms), *((b.targets, b.forms) for b in outline.blocks)]:
                yield from ((own, target) for target, form in zip(targets, forms, strict=False) if form != NOFOLLOW)
        for partners in outline.partners:
            yield from ((other.number, target) for other, target, nofollow in partners.targets if not nofollow)
        yield from ((other.number, 0) for other in outline.child_hosts)
        yield from ((own, path) for path in outline.special)

    def _child_hosts(self, host: SyntheticHost) -> list[SyntheticHost]:
        """Return the hosts below this one: front pages form a tree, so every host can be reached from the first."""
        hosts = self.pages.hosts
        numbers = (2 * host.number + 1, 2 * host.number + 2)
        return [hosts.host(number) for number in numbers if number < hosts.plan.hosts]

    def block(self, host: SyntheticHost, number: int) -> LinkBlock:
        return self._blocks.get((host.number, number)) or self._cache(
            self._blocks, (host.number, number), self._make_block(host, number)
        )

    def partners(self, host: SyntheticHost, number: int) -> PartnerLinks:
        return self._partners.get((host.number, number)) or self._cache(
            self._partners, (host.number, number), self._make_partners(host, number)
        )

    def _cache(self, known: dict[tuple[int, int], T], key: tuple[int, int], made: T) -> T:
        if len(known) >= BLOCKS_MAX:
            known.clear()
        known[key] = made
        return made

    def _make_block(self, host: SyntheticHost, number: int) -> LinkBlock:
        words = draws(f"{self.pages.seed(host, number)}/block", BLOCK_LINKS)
        targets = tuple(power_law(word, host.linked_size) for word in words)
        forms = bytes(word & 255 for word in words).translate(_SHARED_FORMS)
        entries = self.pages.entries(host, targets)
        html = b"".join(write_link(host, "", entry, form) for entry, form in zip(entries, forms, strict=True))
        return LinkBlock(targets, forms, html, b"".join(entry.absolute(host) for entry in entries))

    def _make_partners(self, host: SyntheticHost, number: int) -> PartnerLinks:
        near = self.pages.hosts.neighbourhood(host)
        links = []
        for word in draws(f"{self.pages.seed(host, number)}/partners", PARTNER_LINKS):
            other = near[word % NEIGHBOURS]
            if other.number != host.number:
                # Half of the links from outside go to a front page.
                links.append((other, 0 if word & 64 else power_law(word, other.linked_size), word & 0xF80 == 0))
        return PartnerLinks(tuple(links), b"".join(self._partner(*link) for link in links))

    def _partner(self, other: SyntheticHost, page: int, nofollow: bool) -> bytes:
        entry = self.pages.entry(other, page)
        if not nofollow:
            return entry.absolute(other)
        return anchor(other.origin + escape_href(entry.path), entry.title, ' rel="nofollow"')


def write_link(host: SyntheticHost, base_path: str, entry: PageEntry, form: int) -> bytes:
    """Return a link to a page of the host, in this form."""
    if form == PLAIN:
        return entry.item
    if form == ABSOLUTE:
        return entry.absolute(host)
    rel = ' rel="nofollow"' if form == NOFOLLOW else ""
    return anchor(escape_href(_href(host, base_path, entry.path, form)), entry.title, rel)


def _href(host: SyntheticHost, base_path: str, path: str, form: int) -> str:
    """Return an href for the path, in this form."""
    if form == RELATIVE:
        return relative(path, base_path)
    if form == FRAGMENT:
        return f"{path}#texto"
    if form == UPPER:
        return f"HTTP://{host.authority.upper()}{path}"
    if form == DOTTED:
        return f"/x/..{path}"
    if form == ENCODED and path[1:2].isalpha():
        return f"/%{ord(path[1]):02x}{path[2:]}"
    return f"//{host.authority}{path}" if form == SCHEMELESS else path


def relative(path: str, base_path: str) -> str:
    """Return the path relative to base: shorter if it lies below, otherwise up to the root and down again."""
    folder = base_path.partition("?")[0].rpartition("/")[0] + "/"
    if path.startswith(folder) and len(path) > len(folder):
        return path[len(folder) :]
    return "../" * (folder.count("/") - 1) + path[1:] or "./"


def _aliases(host: SyntheticHost, page: int, word: int) -> list[str]:
    """Return the other names of the host that a page links to."""
    found = [f"{MIRROR_LABEL}.{host.name}"] if Fault.MIRROR in host.faults and page % 5 == 0 else []
    return found + ([f"x{word % 1_000_000}.{host.name}"] if Fault.WILDCARD in host.faults else [])


def _special(host: SyntheticHost, page: int, first: int, second: int) -> list[str]:
    """Return the paths of resources that the page links to; most pages link to one or two."""
    target = power_law(first, host.size)
    special = []
    if first % 2:
        special.append(f"/ir/{'pmtsucx'[(first >> 3) % 7]}{target}")
    if first % 5 == 0:
        special.append(f"/antigo/{target}")
    if second % 5 == 0:
        special.append(f"/doc/{target}.pdf")
    if host.faults:
        special += [path.format(k=page % 5) for fault, path in _FAULT_PATHS if fault in host.faults]
    return special


_FAULT_PATHS = (
    (Fault.REDIRECT_LOOP, "/ir/l{k}"),
    (Fault.ENDLESS, "/fluxo/{k}"),
    (Fault.FALSE_LENGTH, "/curto/{k}"),
    (Fault.FALSE_LENGTH, "/longo/{k}"),
    (Fault.FALSE_TYPE, "/falso/{k}"),
    (Fault.GZIP_BOMB, "/bomba/{k}"),
    (Fault.CALENDAR, "/calendario/2026/{k}"),
    (Fault.REPETITION, "/eco/"),
    (Fault.COMBINATIONS, "/filtro?cor={k}"),
    (Fault.SORT_ORDERS, "/lista/{k}/"),
    (Fault.REVISIONS, "/revisoes?pagina={k}"),
)
