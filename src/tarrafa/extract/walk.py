"""One walk through the tree of a page, in its order, that gathers whatever is asked of it later.

The walk is the parser's own, which tells where an element begins and not where it ends. So the texts of anchors and
headings are asked for when they begin, and what stands beside the main text is walked first and then taken out of the
tree. Nothing is resolved here: a base element may come after the links that depend on it.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tarrafa.extract import bounds
from tarrafa.extract.blocks import Blocks, collapsed
from tarrafa.extract.found import LinkKind, Options
from tarrafa.extract.hrefs import Href, leads, refresh_href, srcset_hrefs, tidy_rel

# Python 3.11 looks members of an enumeration up slowly, and there are many anchors.
_A = LinkKind.A
_LINKS_LIMIT = bounds.LINKS_LIMIT


class Walk:
    """What was gathered so far. What is public is filled by `through`, for whoever asked for it."""

    def __init__(self, options: Options) -> None:
        self._robots_names = ("robots", options.robots_name.lower())
        self._images = options.images
        self._tags = _tags()
        self._inner_chars = 0  # that may still be read of the texts of anchors and headings
        self.hrefs: list[Href] = []
        self.base_href: str | None = None
        self.canonical_href: str | None = None
        self.language = ""
        self.title = ""
        self.headings: list[str] = []
        self.blocks = Blocks()
        self.meta: dict[str, str] = {}  # by name, property or http-equiv; the first of a name counts
        self.robots: list[tuple[str, str]] = []
        self.times: dict[str, str] = {}  # what a time element is about, and its moment; the first counts

    def through(self, html: bytes) -> None:
        parser = LexborHTMLParser(html)
        # Anchors can stand within each other: without a bound, a text would be read once for each.
        self._inner_chars = 2 * len(html)
        if parser.root is not None:
            self._visit(parser.root)

    def _visit(self, top: LexborNode) -> None:
        acts, text, breaks, block_tags, _ = self._tags
        blocks, inline = self.blocks, self._inline
        pieces, (ended_texts, ended_anchor_chars) = blocks.pieces, blocks.ended
        for node in top.traverse(include_text=True, skip_empty=True):
            number = node.tag_id
            if number == text:
                # Where a block has just begun, what stood before is in another one anyway.
                if pieces and (before := node.prev) is not None and before.tag_id in block_tags:
                    blocks.end()
                pieces.append(node.text_content or "")
            elif number in breaks:
                # As `blocks.end` does; there are so many of them that the call would be felt.
                if pieces:
                    ended_texts.append(pieces[0] if len(pieces) == 1 else "".join(pieces))
                    ended_anchor_chars.append(blocks.anchor_chars)
                    pieces.clear()
                blocks.anchor_chars = 0
            elif number in acts:
                acts[number](self, node)
            elif pieces:
                inline(node)

    def _inline(self, node: LexborNode) -> None:
        """White space alone between two elements is not visited; it counts where it stands before one in a line."""
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
        self.blocks.step_aside()
        self._visit(node)
        self.blocks.step_back()
        while (within := node.first_child) is not None:
            within.decompose()

    def _raw(self, node: LexborNode) -> None:
        """Script, style and the like have one text within, which is not for reading."""
        within = node.first_child
        if within is not None:
            within.decompose()

    def _inner(self, node: LexborNode) -> str:
        if self._inner_chars <= 0:
            return ""
        text = node.text_lexbor()
        self._inner_chars -= len(text)
        return text

    def _heading(self, node: LexborNode) -> None:
        self.blocks.end()
        if len(self.headings) < bounds.HEADINGS_LIMIT:
            text = collapsed(self._inner(node))[: bounds.HEADING_CHARS]
            if text:
                self.headings.append(text)

    def _anchor(self, node: LexborNode) -> None:
        blocks, hrefs, given = self.blocks, self.hrefs, node.attributes
        if blocks.pieces:
            self._inline(node)
        href = given.get("href") or _href(given)
        if href is not None and len(hrefs) < _LINKS_LIMIT:
            text = node.text_lexbor() if self._inner_chars > 0 else ""
            chars = len(text)
            self._inner_chars -= chars
            blocks.anchor_chars += chars
            if text.isspace():
                # Nothing of it will be visited, so the text that comes next may stand after the end of this block.
                blocks.pieces.append("")
            hrefs.append((href, text, given.get("rel") or "", _A))

    def _add(self, href: str | None, kind: LinkKind, rel: str | None = None, text: str | None = None) -> None:
        if href is not None and len(self.hrefs) < bounds.LINKS_LIMIT:
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
        href, rel = given.get("href"), tidy_rel(given.get("rel") or "")
        if href and leads(rel, given.get("type") or ""):
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

    def _html(self, node: LexborNode) -> None:
        given = node.attributes
        self.language = self.language or given.get("lang") or given.get("xml:lang") or ""

    def _time(self, node: LexborNode) -> None:
        given = node.attributes
        moment = given.get("datetime")
        if moment and len(self.times) < bounds.META_LIMIT:
            about = given.get("itemprop") or ("pubdate" if "pubdate" in given else "")
            self.times.setdefault(about.strip().lower(), moment)

    def _title(self, node: LexborNode) -> None:
        parent = node.parent
        # Pictures in SVG have titles too.
        if parent is not None and parent.tag_id in self._tags.title_parents:
            self.title = self.title or collapsed(self._inner(node))[: bounds.TITLE_CHARS]
            self._raw(node)


def _href(given: dict[str, str | None]) -> str | None:
    """An href without a value is an empty one, which leads to the page itself. In SVG it may have a prefix."""
    if "href" in given:
        return given["href"] or ""
    return given.get("xlink:href")


_BLOCKS = (
    *("address", "article", "blockquote", "body", "br", "caption", "center", "dd", "details", "dir", "div", "dl"),
    *("dt", "fieldset", "figcaption", "figure", "form", "frameset", "head", "header", "hgroup", "hr"),
    *("legend", "li", "listing", "main", "ol", "optgroup", "option", "p", "plaintext", "pre", "search", "section"),
    *("summary", "table", "tbody", "td", "template", "tfoot", "th", "thead", "tr", "ul", "xmp"),
)
_BESIDE = ("aside", "button", "datalist", "dialog", "footer", "menu", "nav", "select", "svg")
_RAW = ("noembed", "noframes", "script", "style", "textarea")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

_Act = Callable[[Walk, LexborNode], None]


class _Tags(NamedTuple):
    """By the numbers under which the parser knows elements."""

    acts: dict[int, _Act]
    text: int
    breaks: frozenset[int]  # blocks of which nothing but their beginning counts
    blocks: frozenset[int]
    title_parents: frozenset[int]


@lru_cache(maxsize=1)
def _tags() -> _Tags:
    acts: dict[str, _Act] = dict.fromkeys(_BESIDE, Walk._beside)
    acts |= dict.fromkeys(_HEADINGS, Walk._heading) | dict.fromkeys(_RAW, Walk._raw)
    acts |= {"a": Walk._anchor, "area": Walk._area, "iframe": Walk._frame, "frame": Walk._frame}
    acts |= {"link": Walk._link, "meta": Walk._meta, "base": Walk._base, "html": Walk._html, "time": Walk._time}
    acts |= {"title": Walk._title, "img": Walk._image, "source": Walk._image}
    parser = LexborHTMLParser("<p>x")
    numbers = {name: parser.create_node(name).tag_id for name in (*acts, *_BLOCKS)}
    text = next(node.tag_id for node in parser.tags("p")[0].iter(include_text=True))
    breaks = frozenset(numbers[name] for name in _BLOCKS)
    blocks = breaks | {numbers[name] for name in (*_BESIDE, *_HEADINGS)}
    parents = frozenset(numbers[name] for name in ("html", "head", "body"))
    return _Tags({numbers[name]: act for name, act in acts.items()}, text, breaks, blocks, parents)
