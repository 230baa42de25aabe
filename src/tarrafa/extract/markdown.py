"""The main content of a page as Markdown (CommonMark, with tables of GitHub), for readers and language models.

Kept are headings, paragraphs, lists, quotes, code, tables of data, emphasis, images with a description, and links with
absolute URLs. Menus, footers and forms are left out, as in the text that is indexed, unless nothing else is there.

The walk needs no recursion, so no nesting is too deep, and the same bounds hold as for extraction. It never raises.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from tarrafa.extract import bounds
from tarrafa.extract.charset import as_text, encoding_of
from tarrafa.extract.elements import roots_of
from tarrafa.extract.formats import format_of
from tarrafa.extract.html import collapse
from tarrafa.extract.records import PageFormat
from tarrafa.records import Page
from tarrafa.urls import BaseUrl

_NESTED_LIMIT = 8  # lists and quotes within each other; deeper ones are written as if they were not
_BREAK = "\x01"  # stands for <br> until the block ends

_SPECIAL = re.compile(r"[\\`*\[\]<]|&(?=[#\w]+;)|(?<!\w)_|_(?!\w)|!(?=\[)")
_LINE_STARTS = frozenset("#+>=~|-")
_LEADING_NUMBER = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_LONG_BACKTICKS = re.compile(r"`+")

_RAW = frozenset(
    (
        *("audio", "canvas", "datalist", "embed", "head", "iframe", "math", "noembed", "noframes", "noscript"),
        *("object", "option", "script", "select", "style", "svg", "template", "textarea", "title", "video"),
    )
)
_BESIDE = frozenset(["aside", "button", "dialog", "footer", "menu", "nav"])
_EMPHASIS = {"b": "**", "strong": "**", "i": "*", "em": "*", "cite": "*"}
_HEADINGS = {f"h{number}": "#" * number + " " for number in range(1, 7)}
_BLOCKS = frozenset(
    (
        *("address", "article", "body", "caption", "center", "dd", "details", "div", "dl", "dt", "fieldset"),
        *("figcaption", "figure", "form", "header", "hgroup", "html", "legend", "main", "p", "search", "section"),
        *("summary", "tbody", "tfoot", "thead"),
    )
)


class _OpenInline(NamedTuple):
    """An inline element that is open: where its text begins in the line."""

    start: int
    block: int  # the number of the block in which it began


_Leave = Callable[[], None]


class _MarkdownBlock:
    """A paragraph or the like; a list or a table grows line by line."""

    def __init__(self, text: str, quotes: str) -> None:
        self.lines = [text]
        self.quotes = quotes  # what stands before a blank line after it, if the next block is in the same quotes

    @property
    def text(self) -> str:
        return "".join(self.lines)


class _MarkdownList:
    def __init__(self, is_numbered: bool) -> None:
        self._is_numbered = is_numbered
        self._items_count = 0

    def next_marker(self) -> str:
        self._items_count += 1
        return f"{self._items_count}. " if self._is_numbered else "- "


class MarkdownWriter:
    """Takes elements in document order, and gives the text."""

    def __init__(self, base: BaseUrl, skipped: frozenset[str]) -> None:
        self._base = base
        self._skipped = skipped
        self._blocks: list[_MarkdownBlock] = []
        self._size_chars = 0
        # The pieces of the open block. Filled by text and inline elements, emptied by `_end`.
        self._line: list[str] = []
        self._blocks_count = 0  # that were begun
        self._heading = ""
        # Quotes and list items that are open: what stands before each line, and before the first one of an item.
        self._prefixes: list[str] = []
        self._marker = ""
        self._is_after_item = False  # the last block is an item of one block, so another item may follow closely
        self._lists: list[_MarkdownList] = []
        self._is_joined = 0  # open links, headings and cells: blocks in them are no blocks
        self._open_marks: set[str] = set()
        self._cells: list[str] | None = None  # of the open row of a table
        self._rows_count = 0
        self._is_in_table = False
        self.has_title = False

    @property
    def is_full(self) -> bool:
        return self._size_chars > bounds.TEXT_CHARS

    def finish(self) -> str:
        self._end()
        pieces = [self._blocks[0].text] if self._blocks else []
        for before, block in pairwise(self._blocks):
            shared = min(before.quotes, block.quotes, key=len)
            blank = shared if before.quotes.startswith(shared) and block.quotes.startswith(shared) else ""
            pieces.append(f"\n{blank}\n{block.text}")
        return "".join(pieces)

    def text(self, text: str) -> None:
        self._line.append(_SPECIAL.sub(_escape, text.replace(_BREAK, "")))

    def enter(self, node: LexborNode) -> _Leave | None:
        """Begin an element; return what ends it, or None if its children are to be skipped."""
        tag = str(node.tag)
        if tag in _RAW or tag in self._skipped:
            self._line.append(" ")
            return None
        if tag in _EMPHASIS:
            return self._emphasis(_EMPHASIS[tag])
        if tag in _HEADINGS:
            return self._enter_heading(_HEADINGS[tag])
        return self._enter_other(tag, node)

    def _enter_other(self, tag: str, node: LexborNode) -> _Leave | None:
        handler = _HANDLERS.get(tag)
        if handler is not None:
            return handler(self, node)
        if tag in _BLOCKS:
            self._end()
            return self._end
        return _nothing

    def _end(self) -> None:
        """End the open block, if there is any text in it. Within a link, a heading or a cell it is only a space."""
        if self._is_joined:
            self._line.append(" ")
            return
        text = "".join(self._line)
        self._line.clear()
        self._blocks_count += 1
        lines = [collapse(line) for line in text.split(_BREAK)]
        while lines and not lines[-1]:
            lines.pop()
        whole = "  \n".join(_escape_start(line) for line in lines).strip()
        if whole:
            self._write(whole)

    def _write(self, text: str) -> None:
        """Write a block, with the marks of the quotes and list items that are open."""
        prefix = "".join(self._prefixes)
        first = prefix[: len(prefix) - len(self._marker)] + self._marker if self._marker else prefix
        is_item, self._marker = bool(self._marker), ""
        lines = text.split("\n")
        block = "\n".join([first + lines[0], *(f"{prefix}{line}".rstrip() for line in lines[1:])])
        self._size_chars += len(block)
        if is_item and self._is_after_item:
            self._append(f"\n{block}")
        else:
            self._blocks.append(_MarkdownBlock(block, prefix[: prefix.rfind(">") + 1]))
        self._is_after_item = is_item

    def _append(self, text: str) -> None:
        """Add lines to the last block."""
        self._blocks[-1].lines.append(text)

    def _enter_heading(self, mark: str) -> _Leave:
        if self._is_joined:
            return _nothing
        self._end()
        self._is_joined += 1

        def leave() -> None:
            self._is_joined -= 1
            text = collapse("".join(self._line).replace(_BREAK, " "))
            self._line.clear()
            self._blocks_count += 1
            if text:
                self.has_title |= mark == "# "
                self._write(mark + text)

        return leave

    def _emphasis(self, mark: str) -> _Leave:
        if mark in self._open_marks:
            return _nothing
        self._open_marks.add(mark)
        begun = _OpenInline(len(self._line), self._blocks_count)

        def leave() -> None:
            self._open_marks.discard(mark)
            text = self._taken(begun)
            if text.strip() and _BREAK not in text:
                start, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
                text = f"{start}{mark}{text.strip()}{mark}{end}"
            self._line.append(text)

        return leave

    def _taken(self, begun: _OpenInline) -> str:
        """Take the text since the beginning of an inline element; nothing if another block has begun since then."""
        if begun.block != self._blocks_count:
            return ""
        text = "".join(self._line[begun.start :])
        del self._line[begun.start :]
        return text

    def _link(self, node: LexborNode) -> _Leave:
        href = node.attributes.get("href") or ""
        url = None if href.startswith("#") else self._base.link(href)
        if url is None or "a" in self._open_marks:
            return _nothing
        self._open_marks.add("a")
        self._is_joined += 1
        begun = _OpenInline(len(self._line), self._blocks_count)

        def leave() -> None:
            self._open_marks.discard("a")
            self._is_joined -= 1
            text = self._taken(begun)
            label = collapse(text.replace(_BREAK, " "))
            if label:
                start, end = " " if text[0].isspace() else "", " " if text[-1].isspace() else ""
                text = f"{start}[{label}]({_destination(url)}){end}"
            self._line.append(text)

        return leave

    def _image(self, node: LexborNode) -> None:
        given = node.attributes
        url, description = self._base.link(given.get("src") or ""), collapse(given.get("alt") or "")
        if url and given.get("src") and description:
            text = _SPECIAL.sub(_escape, description[: bounds.ANCHOR_CHARS])
            self._line.append(f"![{text}]({_destination(url)})")

    def _break(self, _: LexborNode) -> None:
        self._line.append(" " if self._is_joined else _BREAK)

    def _rule(self, _: LexborNode) -> None:
        self._end()
        if not self._is_joined:
            self._write("---")

    def _code(self, node: LexborNode) -> None:
        text = collapse(node.text())
        if text:
            fence = "`" * (_longest_backticks(text) + 1)
            space = " " if "`" in (text[0], text[-1]) else ""
            self._line.append(f"{fence}{space}{text.replace(_BREAK, '')}{space}{fence}")

    def _preformatted(self, node: LexborNode) -> None:
        text = node.text().replace("\r\n", "\n").replace(_BREAK, "").strip("\n")
        if self._is_joined:
            self.text(text)
            return
        self._end()
        if text.strip():
            fence = "`" * max(3, _longest_backticks(text) + 1)
            self._write(f"{fence}\n{text}\n{fence}")

    def _quote(self, _: LexborNode) -> _Leave:
        return self._indent("> ")

    def _indent(self, prefix: str) -> _Leave:
        self._end()
        if len(self._prefixes) >= _NESTED_LIMIT or self._is_joined:
            return self._end
        self._prefixes.append(prefix)

        def leave() -> None:
            self._end()
            self._prefixes.pop()
            self._marker = ""
            self._is_after_item = self._is_after_item and bool(self._lists)

        return leave

    def _enter_list(self, node: LexborNode) -> _Leave:
        self._end()
        self._lists.append(_MarkdownList(node.tag == "ol"))
        return self._leave_list

    def _leave_list(self) -> None:
        self._end()
        self._lists.pop()
        self._is_after_item = self._is_after_item and bool(self._lists)

    def _item(self, _: LexborNode) -> _Leave:
        marker = self._lists[-1].next_marker() if self._lists else "- "
        before = len(self._prefixes)
        leave = self._indent(" " * len(marker))
        if len(self._prefixes) > before:
            self._marker = marker
        return leave

    def _table(self, node: LexborNode) -> _Leave:
        self._end()
        if self._is_joined or node.css_first("th") is None or node.css_first("td table, th table") is not None:
            return self._end
        self._is_in_table, self._rows_count = True, 0

        def leave() -> None:
            self._end()
            self._is_in_table = False

        return leave

    def _row(self, _: LexborNode) -> _Leave:
        self._end()
        if not self._is_in_table or self._cells is not None:
            return self._end
        self._cells = []
        self._is_joined += 1

        def leave() -> None:
            self._is_joined -= 1
            cells, self._cells = self._cells or [], None
            self._line.clear()
            self._blocks_count += 1
            if any(cells):
                self._write_row(cells)

        return leave

    def _write_row(self, cells: list[str]) -> None:
        row = f"| {' | '.join(cells)} |"
        self._rows_count += 1
        if self._rows_count == 1:
            self._write(f"{row}\n|{' --- |' * len(cells)}")
        else:
            self._append(f"\n{''.join(self._prefixes)}{row}")
            self._size_chars += len(row)

    def _cell(self, _: LexborNode) -> _Leave:
        if self._cells is None:
            self._end()
            return self._end
        begun = _OpenInline(len(self._line), self._blocks_count)

        def leave() -> None:
            text = self._taken(begun)
            if self._cells is not None:
                self._cells.append(collapse(text.replace(_BREAK, " ")).replace("|", "\\|"))

        return leave


_HANDLERS: dict[str, Callable[[MarkdownWriter, LexborNode], _Leave | None]] = {
    "a": MarkdownWriter._link,
    "img": MarkdownWriter._image,
    "br": MarkdownWriter._break,
    "hr": MarkdownWriter._rule,
    "code": MarkdownWriter._code,
    "kbd": MarkdownWriter._code,
    "samp": MarkdownWriter._code,
    "pre": MarkdownWriter._preformatted,
    "blockquote": MarkdownWriter._quote,
    "ul": MarkdownWriter._enter_list,
    "ol": MarkdownWriter._enter_list,
    "li": MarkdownWriter._item,
    "table": MarkdownWriter._table,
    "tr": MarkdownWriter._row,
    "td": MarkdownWriter._cell,
    "th": MarkdownWriter._cell,
}


def markdown_of(page: Page, body: bytes, title: str = "") -> str:
    """Return a page as Markdown; `body` is its body without content coding. Plain text stays as it is.

    The title becomes the first heading, if the page has no heading of the first level. Empty for other formats.
    """
    encoding = encoding_of(page.header("content-type") or "", body)
    form = format_of(page.media_type, body)
    if form is not PageFormat.HTML:
        return as_text(body, encoding)[: bounds.TEXT_CHARS].strip() if form is PageFormat.TEXT else ""
    roots = list(roots_of(body, encoding))
    base = BaseUrl(_base_url(page.url, roots, encoding), encoding)
    for skipped in (_BESIDE, frozenset[str]()):
        writer = MarkdownWriter(base, skipped)
        for root in roots:
            _walk(root, writer)
        text = writer.finish()
        if text:
            break
    heading = "" if writer.has_title or not title else f"# {_SPECIAL.sub(_escape, collapse(title))}"
    return "\n\n".join(part for part in (heading, text) if part)


def _walk(root: LexborNode, writer: MarkdownWriter) -> None:
    # Nodes still to be entered, and what ends those that were, the next one last.
    todo: list[LexborNode | _Leave] = [root]
    while todo:
        each = todo.pop()
        if not isinstance(each, LexborNode):
            each()
        elif writer.is_full:
            continue
        elif each.is_text_node:
            writer.text(each.text_content or "")
        elif (leave := writer.enter(each)) is not None:
            todo.append(leave)
            todo += reversed(list(each.iter(include_text=True, skip_empty=False)))


def _base_url(url: str, roots: Sequence[LexborNode], encoding: str) -> str:
    element = roots[0].css_first("base[href]") if roots else None
    href = None if element is None else element.attributes.get("href")
    return (BaseUrl(url, encoding).link(href) if href else None) or url


def _nothing() -> None:
    """End an element that needs no end."""


def _escape(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def _escape_start(line: str) -> str:
    """Escape what would make a line a heading, a list, a quote or a rule."""
    if line[:1] in _LINE_STARTS:
        return f"\\{line}"
    return _LEADING_NUMBER.sub(r"\1\\\2", line, count=1) if _LEADING_NUMBER.match(line) else line


def _destination(url: str) -> str:
    return f"<{url}>" if "(" in url or ")" in url else url


def _longest_backticks(text: str) -> int:
    return max(map(len, _LONG_BACKTICKS.findall(text)), default=0)
