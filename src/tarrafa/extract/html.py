"""Read HTML in one walk through its tree, in document order.

The parser's own traversal tells where an element begins and not where it ends. So the texts of anchors and headings are
read when these begin, and elements beside the main text (menus, footers, forms) are walked first and then removed from
the tree. Hrefs are not resolved here: a base element may come after the links that depend on it.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tarrafa.extract import bounds
from tarrafa.extract.hrefs import Href, leads_to_page, normalize_rel, refresh_href, srcset_hrefs
from tarrafa.extract.records import Cut, ExtractOptions, LinkKind

# White space apart from the space itself, as `str.split` knows it.
_OTHER_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def collapse(text: str) -> str:
    """Return the text with every run of white space as one space, and none around it."""
    # Most texts need no change, and to check that costs less than to split and join.
    return text.strip() if text.isprintable() and "  " not in text else " ".join(text.split())


def collapse_all(texts: Sequence[str]) -> list[str]:
    """Collapse many texts. If none of them needs a change, one check of all of them is enough."""
    whole = "|".join(texts)
    if "  " in whole or any(map(whole.__contains__, _OTHER_SPACES)):
        return [collapse(text) for text in texts]
    return [text.strip() for text in texts]


class _Section(NamedTuple):
    """Blocks that have ended: their texts, and how many characters of each are anchors."""

    texts: list[str]
    anchor_chars: list[int]


class TextBlocks:
    """The text of a page in blocks, as a browser puts it on lines of its own.

    A block is main text unless it stands beside it (in a menu, a footer, a form) or consists mostly of links.
    """

    def __init__(self) -> None:
        # The texts of the open block, and the length of its anchors. Filled by the walk, emptied by `end`.
        self.pieces: list[str] = []
        self.anchor_chars = 0
        self._main = _Section([], [])
        self._beside = _Section([], [])
        self._section = self._main

    @property
    def is_beside(self) -> bool:
        return self._section is self._beside

    def enter_beside(self) -> None:
        self.end()
        self._section = self._beside

    def leave_beside(self) -> None:
        self.end()
        self._section = self._main

    def end(self) -> None:
        """End the open block, if there is any text in it."""
        if self.pieces:
            self._section.texts.append("".join(self.pieces))
            self._section.anchor_chars.append(self.anchor_chars)
            self.pieces.clear()
        self.anchor_chars = 0

    def join(self) -> tuple[str, str]:
        """Return the main text, and all the other text; one block on each line."""
        self.end()
        main: list[str] = []
        rest: list[str] = []
        for text, anchor_chars in zip(collapse_all(self._main.texts), self._main.anchor_chars, strict=True):
            if text:
                (main if anchor_chars * 2 <= len(text) else rest).append(text)
        rest += filter(None, collapse_all(self._beside.texts))
        return "\n".join(main), "\n".join(rest)


class HtmlWalk:
    """Gathers what later stages need. Public fields are filled by `read`."""

    def __init__(self, options: ExtractOptions) -> None:
        self._robots_names = ("robots", options.robots_name.lower())
        self._images = options.images
        self._tags = _tag_table()
        self._inner_chars = 0  # of anchor and heading texts that may still be read
        self._targets: set[str] = set()  # hrefs without fragments
        self.hrefs: list[Href] = []
        self.cuts: set[Cut] = set()
        self.base_href: str | None = None
        self.canonical_href: str | None = None
        self.language = ""
        self.title = ""
        self.headings: list[str] = []
        self.blocks = TextBlocks()
        self.meta: dict[str, str] = {}  # by name, property or http-equiv; the first of a name counts
        self.robots: list[tuple[str, str]] = []
        self.times: dict[str, str] = {}  # datetime of time elements by itemprop; the first counts

    def read(self, html: bytes) -> None:
        """Parse one piece of the page and add what it holds."""
        parser = LexborHTMLParser(html)
        # Anchors can be nested. Without a bound, a text would be read once for each of them.
        self._inner_chars = 2 * len(html)
        if parser.root is not None:
            self._visit(parser.root)

    def _visit(self, top: LexborNode) -> None:
        handlers, text, breaks, block_tags, _ = self._tags
        blocks = self.blocks
        pieces, end_block = blocks.pieces, blocks.end
        for node in top.traverse(include_text=True, skip_empty=True):
            tag = node.tag_id
            if tag == text:
                # Where no block is open, there is none to be ended by an element before.
                if pieces and (before := node.prev) is not None and before.tag_id in block_tags:
                    end_block()
                pieces.append(node.text_content or "")
            elif tag in breaks:
                if pieces or blocks.anchor_chars:
                    end_block()
            elif tag in handlers:
                handlers[tag](self, node)
            elif pieces:
                self._inline(node)

    def _inline(self, node: LexborNode) -> None:
        """Add the space before an inline element. The traversal skips text of white space alone."""
        before = node.prev
        if before is not None and before.is_empty_text_node:
            self.blocks.pieces.append(" ")
            before = before.prev
        if before is not None and before.tag_id in self._tags.blocks:
            self.blocks.end()

    def _beside(self, node: LexborNode) -> None:
        if self.blocks.is_beside:
            self.blocks.end()
            return
        self.blocks.enter_beside()
        self._visit(node)
        self.blocks.leave_beside()
        while (child := node.first_child) is not None:
            child.decompose()

    def _raw(self, node: LexborNode) -> None:
        """Remove the text of a script, style or the like, which is not for reading."""
        child = node.first_child
        if child is not None:
            child.decompose()

    def _inner_text(self, node: LexborNode) -> str:
        if self._inner_chars <= 0:
            return ""
        text = node.text_lexbor()
        self._inner_chars -= len(text)
        return text

    def _heading(self, node: LexborNode) -> None:
        self.blocks.end()
        if len(self.headings) >= bounds.HEADINGS_LIMIT:
            self.cuts.add(Cut.HEADINGS)
            return
        text = self._cut(collapse(self._inner_text(node)), bounds.HEADING_CHARS, Cut.HEADINGS)
        if text:
            self.headings.append(text)

    def _cut(self, text: str, limit: int, what: Cut) -> str:
        if len(text) > limit:
            self.cuts.add(what)
        return text[:limit]

    def _has_room(self, href: str) -> bool:
        """Return True if a link with this href is kept: a new target, or one more link to a target."""
        target = href.partition("#")[0]
        if target not in self._targets:
            if len(self._targets) < bounds.LINKS_LIMIT:
                self._targets.add(target)
                return True
        elif len(self.hrefs) - len(self._targets) < bounds.REPEATED_LINKS_LIMIT:
            return True
        self.cuts.add(Cut.LINKS)
        return False

    def _anchor(self, node: LexborNode) -> None:
        given = node.attributes
        if self.blocks.pieces:
            self._inline(node)
        href = _href(given)
        if href is None or not self._has_room(href):
            return
        text = self._inner_text(node)
        self.blocks.anchor_chars += len(text)
        if text.isspace():
            # The traversal skips this text, and the next text may follow the end of a block within the anchor.
            self.blocks.pieces.append("")
        self.hrefs.append((href, text, given.get("rel") or "", LinkKind.A))

    def _add(self, href: str | None, kind: LinkKind, rel: str | None = None, text: str | None = None) -> None:
        if href is not None and self._has_room(href):
            self.hrefs.append((href, text or "", rel or "", kind))

    def _area(self, node: LexborNode) -> None:
        given = node.attributes
        self._add(_href(given), LinkKind.AREA, given.get("rel"), given.get("alt"))

    def _frame(self, node: LexborNode) -> None:
        self._raw(node)
        kind = LinkKind.IFRAME if node.tag == "iframe" else LinkKind.FRAME
        self._add(node.attributes.get("src") or None, kind)

    def _image(self, node: LexborNode) -> None:
        if self._images:
            given = node.attributes
            for href in (given.get("src") or None, *srcset_hrefs(given.get("srcset") or "")):
                self._add(href, LinkKind.IMAGE, text=given.get("alt"))

    def _link(self, node: LexborNode) -> None:
        given = node.attributes
        href, rel = given.get("href"), normalize_rel(given.get("rel") or "")
        if href and leads_to_page(rel, given.get("type") or ""):
            self._add(href, LinkKind.LINK, rel, given.get("title"))
            if self.canonical_href is None and "canonical" in rel.split():
                self.canonical_href = href

    def _meta(self, node: LexborNode) -> None:
        given = node.attributes
        content = given.get("content") or ""
        equivalent = (given.get("http-equiv") or "").strip().lower()
        name = (given.get("name") or given.get("property") or given.get("itemprop") or equivalent).strip().lower()
        if equivalent == "refresh":
            self._add(refresh_href(content), LinkKind.REFRESH)
        if name in self._robots_names or name.startswith("tdm-"):
            if len(self.robots) < bounds.ROBOTS_LIMIT:
                self.robots.append((name[: bounds.ROBOTS_CHARS], content.strip()[: bounds.ROBOTS_CHARS]))
        elif name and len(self.meta) < bounds.META_LIMIT:
            self.meta.setdefault(name, content)

    def _base(self, node: LexborNode) -> None:
        if self.base_href is None:
            self.base_href = node.attributes.get("href")

    def _body(self, node: LexborNode) -> None:
        self.blocks.end()
        self._html(node)

    def _html(self, node: LexborNode) -> None:
        """Take the language, of which the outermost declaration counts."""
        given = node.attributes
        self.language = self.language or given.get("lang") or given.get("xml:lang") or ""

    def _time(self, node: LexborNode) -> None:
        given = node.attributes
        date = given.get("datetime")
        if date and len(self.times) < bounds.META_LIMIT:
            meaning = given.get("itemprop") or ("pubdate" if "pubdate" in given else "")
            self.times.setdefault(meaning.strip().lower(), date)

    def _title(self, node: LexborNode) -> None:
        parent = node.parent
        # An SVG image may have a title as well.
        if parent is not None and parent.tag_id in self._tags.title_parents:
            self.title = self.title or self._cut(collapse(self._inner_text(node)), bounds.TITLE_CHARS, Cut.TITLE)
            self._raw(node)


def _href(given: dict[str, str | None]) -> str | None:
    """Return the href; empty, which means the page itself, if it has no value. In SVG it may have a prefix."""
    if "href" in given:
        return given["href"] or ""
    return given.get("xlink:href")


_BLOCKS = (
    *("address", "article", "blockquote", "br", "caption", "center", "dd", "details", "dir", "div", "dl"),
    *("dt", "fieldset", "figcaption", "figure", "form", "frameset", "head", "header", "hgroup", "hr"),
    *("legend", "li", "listing", "ol", "optgroup", "option", "p", "plaintext", "pre", "search", "section"),
    *("summary", "table", "tbody", "td", "template", "tfoot", "th", "thead", "tr", "ul", "xmp"),
)
_BODIES = ("body", "main")
_BESIDE = ("aside", "button", "datalist", "dialog", "footer", "menu", "nav", "select", "svg")
_RAW = ("noembed", "noframes", "script", "style", "textarea")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

_TagHandler = Callable[[HtmlWalk, LexborNode], None]


class _TagTable(NamedTuple):
    """Elements by the numbers that the parser gives them."""

    handlers: dict[int, _TagHandler]
    text: int
    breaks: frozenset[int]  # elements that only end the block before them
    blocks: frozenset[int]
    title_parents: frozenset[int]


@cache
def _tag_table() -> _TagTable:
    handlers: dict[str, _TagHandler] = dict.fromkeys(_BESIDE, HtmlWalk._beside)
    handlers |= dict.fromkeys(_HEADINGS, HtmlWalk._heading) | dict.fromkeys(_RAW, HtmlWalk._raw)
    handlers |= {"a": HtmlWalk._anchor, "area": HtmlWalk._area, "iframe": HtmlWalk._frame, "frame": HtmlWalk._frame}
    handlers |= {"link": HtmlWalk._link, "meta": HtmlWalk._meta, "base": HtmlWalk._base, "html": HtmlWalk._html}
    handlers |= dict.fromkeys(_BODIES, HtmlWalk._body)
    handlers |= {"title": HtmlWalk._title, "time": HtmlWalk._time, "img": HtmlWalk._image, "source": HtmlWalk._image}
    parser = LexborHTMLParser("<p>x")
    numbers = {name: parser.create_node(name).tag_id for name in (*handlers, *_BLOCKS)}
    text = next(node.tag_id for node in parser.tags("p")[0].iter(include_text=True))
    breaks = frozenset(numbers[name] for name in _BLOCKS)
    blocks = breaks | {numbers[name] for name in (*_BESIDE, *_BODIES, *_HEADINGS)}
    parents = frozenset(numbers[name] for name in ("html", "head", "body"))
    return _TagTable({numbers[name]: handler for name, handler in handlers.items()}, text, breaks, blocks, parents)
