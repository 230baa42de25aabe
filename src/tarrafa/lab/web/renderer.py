"""Render a page as HTML: head, navigation, text with links, lists of links, footer.

A page is rendered anew for each request, so speed matters: it is joined from cached bytes (the template of its host,
passages of its topic, blocks of links), and only a small part is its own.
"""

import struct
from typing import NamedTuple

from tarrafa.chance import draws
from tarrafa.lab.web.faults import Fault
from tarrafa.lab.web.history import day, modified_seconds
from tarrafa.lab.web.outlines import BASE_PATH, TEXT_BYTES, Outline, Outlines, write_link
from tarrafa.lab.web.pages import PageEntry, anchor, escape_href
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.lab.web.vocabulary import PASSAGES, passages, tail_word

PASSAGES_MIN, PASSAGES_SPREAD = 4, 6
KEYWORDS = 2
TEMPLATES_MAX = 20_000
_DRAWN = struct.Struct(f"<I{PASSAGES_MIN + PASSAGES_SPREAD}H{KEYWORDS}H")
assert _DRAWN.size == TEXT_BYTES

_LABELS = {
    "pt": ("pt-BR", "Início", "Palavras", "Veja também", "Em outros lugares", "Atualizado em"),
    "en": ("en", "Home", "Keywords", "See also", "Elsewhere", "Updated on"),
}
# Characters that windows-1252 has and ISO-8859-1 lacks.
_SIGNS = {"windows-1252": "<p>“Isto” – disse… custa 10 €.</p>\n"}


class PageTemplate(NamedTuple):
    """The parts that all pages of a host share, in the order of the page."""

    start: bytes  # then the title
    description: bytes  # then the title again
    marks: bytes  # then the page's own lines of the head
    heading: bytes  # then the title again
    navigation: bytes  # then links to the parent and the page itself
    image: bytes  # then the image's number
    text: bytes  # then the text and the links within the host
    keywords: bytes  # then rare words
    elsewhere: bytes  # then links to other hosts
    also: bytes  # then links to resources that are not pages
    foot: bytes  # then the day of the last change
    end: bytes


def _page_template(host: SyntheticHost) -> PageTemplate:
    language, home, keywords, also, elsewhere, updated = _LABELS[host.language]
    texts = (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="{host.charset}">\n<title>',
        '</title>\n<meta name="description" content="',
        f', {host.topic}.">\n',
        "</head>\n<body>\n<h1>",
        f'</h1>\n<nav>\n<a href="{host.origin}/">{home}</a>\n',
        f'</nav>\n<img alt="{host.topic}" src="{host.origin}/img/',
        f'.png">\n<div>\n{_SIGNS.get(host.charset, "")}',
        f"</div>\n<p>{keywords}: ",
        f"</p>\n<h2>{elsewhere}</h2>\n<div>\n",
        f"</div>\n<h2>{also}</h2>\n<div>\n",
        f"</div>\n<footer>{updated} ",
        "</footer>\n</body>\n</html>\n",
    )
    return PageTemplate(*(text.encode(host.charset) for text in texts))


class Renderer:
    def __init__(self, links: Outlines) -> None:
        self._outlines = links
        self._pages = links.pages
        # Filled when a host's first page is rendered, cleared when full.
        self._templates: dict[int, PageTemplate] = {}

    def page(self, host: SyntheticHost, page: int, now_ms: int, session: str = "") -> bytes:
        """Return the bytes of a page at a moment; an exact copy is rendered as its source."""
        source = self._pages.copy_of(host, page)
        if source and source.exact:
            host, page, source = source.host, source.page, None
        entry = self._pages.entry(host, page)
        changed = self._pages.text_changed_ms(host, page, now_ms)
        outline = self._outlines.outline(host, page, now_ms)
        if source is None and not changed:
            text = self._text(host, entry.topic, outline.text, None)
        elif source is None:
            text = self._text(host, entry.topic, outline.text, f"{self._pages.seed(host, page)}/{changed}")
        else:
            # A near copy has the title and text of its source except one passage, and its own links.
            copied = self._outlines.outline(source.host, source.page, 0).text
            entry = entry._replace(title=self._pages.entry(source.host, source.page).title)
            topic = self._pages.entry(source.host, source.page).topic
            text = self._text(host, topic, copied, f"{self._pages.seed(host, page)}/{changed}")
        return self._join(host, page, entry, outline, text, changed, session)

    def _join(
        self,
        host: SyntheticHost,
        page: int,
        entry: PageEntry,
        outline: Outline,
        text: list[bytes],
        changed: int,
        session: str,
    ) -> bytes:
        template = self._templates.get(host.number) or self._remember(host)
        start, description, marks, heading, navigation, image, before, keywords, elsewhere, also, foot, end = template
        title = entry.title.encode(host.charset)
        parent = self._pages.entry(host, (page - 1) // host.branching if page else 0)
        parts = [start, title, description, title, marks]
        if entry.marked or entry.copies:
            parts.append(self._marks(host, page, entry))
        parts += (heading, title, navigation, parent.absolute(host), entry.absolute(host), image, b"%d" % (page % 97))
        parts += (before, text[0], *self._inner_links(host, page, entry, outline, session), *text[1:-1])
        parts += (keywords, text[-1], elsewhere, *[partners.html for partners in outline.partners])
        if outline.child_hosts or outline.dead or outline.aliases:
            parts += self._host_links(host, outline)
        parts.append(also)
        if outline.special:
            parts += [anchor(host.origin + escape_href(path), path[1:6]) for path in outline.special]
        parts += (foot, day(modified_seconds(entry.rate, changed) // 86_400), end)
        return b"".join(parts)

    def _remember(self, host: SyntheticHost) -> PageTemplate:
        if len(self._templates) >= TEMPLATES_MAX:
            self._templates.clear()
        template = self._templates[host.number] = _page_template(host)
        return template

    def canonical(self, host: SyntheticHost, page: int) -> str | None:
        """Return the URL that the page declares canonical, if any: its own, or that of the page it nearly copies."""
        entry = self._pages.entry(host, page)
        source = self._pages.copy_of(host, page)
        if source and source.exact:
            return self.canonical(source.host, source.page)
        if source and entry.fate & 1:
            return source.host.origin + self._pages.entry(source.host, source.page).path
        return host.origin + entry.path if entry.says_canonical else None

    def _marks(self, host: SyntheticHost, page: int, entry: PageEntry) -> bytes:
        """Return the page's own lines of the head: base, canonical URL, robots."""
        canonical = self.canonical(host, page)
        robots = "noindex" * entry.noindex or "nofollow" * entry.nofollow or "noarchive" * entry.noarchive
        base = f'<base href="{host.origin}{BASE_PATH}">\n' if entry.has_base else ""
        link = f'<link rel="canonical" href="{escape_href(canonical)}">\n' if canonical else ""
        return (base + link + (f'<meta name="robots" content="{robots}">\n' if robots else "")).encode()

    def _text(self, host: SyntheticHost, topic: str, drawn: bytes, salt: str | None) -> list[bytes]:
        """Return passages, followed by a few rare words. With a salt, one passage is replaced by another."""
        first, *numbers = _DRAWN.unpack(drawn)
        count = PASSAGES_MIN + first % PASSAGES_SPREAD
        if salt:
            word = draws(f"{salt}/rewritten", 1)[0]
            # The replacement always differs from the first passage.
            numbers[word % count] += 1 + (word >> 16) % (PASSAGES - 1)
        pool = passages(host.language, topic, host.charset)
        text = [pool[number % PASSAGES] for number in numbers[:count]]
        rare = f"{tail_word(host.language, numbers[-1])}, {tail_word(host.language, numbers[-2])}"
        text.append(rare.encode(host.charset))
        return text

    def _inner_links(
        self, host: SyntheticHost, page: int, entry: PageEntry, outline: Outline, session: str
    ) -> list[bytes]:
        """Return the links within the host: the page's own, and blocks."""
        entries = self._pages.entries
        links = [child.item for child in entries(host, outline.children)] if outline.children else []
        if entry.syndicated:
            links += [target.absolute(host) for target in entries(host, outline.own)]
            return links + [block.absolute for block in outline.blocks]
        if Fault.SESSION in host.faults:
            targets = [*outline.own, *(target for block in outline.blocks for target in block.targets)]
            return links + [_with_session(page, target, session) for target in entries(host, targets)]
        base_path = BASE_PATH if entry.has_base else entry.path
        own = zip(entries(host, outline.own), outline.own_forms, strict=False)
        links += [write_link(host, base_path, target, form) for target, form in own]
        links += [block.html for block in outline.blocks]
        return links

    def _host_links(self, host: SyntheticHost, outline: Outline) -> list[bytes]:
        """Return links to the hosts below a front page, to hosts that do not exist, and to other names of the host."""
        port = host.authority.rpartition(":")[2]
        children = [self._pages.entry(other, 0).absolute(other) for other in outline.child_hosts]
        return children + [anchor(f"http://{name}:{port}/", name) for name in (*outline.dead, *outline.aliases)]


def _with_session(page: int, entry: PageEntry, session: str) -> bytes:
    number = draws(f"{session}/{page}{entry.path}", 1)[0]
    return anchor(escape_href(f"{entry.path}{'&' if '?' in entry.path else '?'}sid={number:08x}"), entry.title)
