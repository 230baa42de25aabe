"""The text of a page in blocks, the way a browser puts it on lines of its own.

The walk hands over texts, breaks and anchors as it meets them, as cheaply as can be; the text is put together once, at
the end. A block belongs to the main text unless it stands beside it (in a menu, a foot, a form) or consists mostly of
links.
"""

from collections.abc import Iterable

# Characters that no text needs: one stands between two blocks, the other where an anchor begins.
BREAK = "\x01"
ANCHOR = "\x02"


def collapsed(text: str) -> str:
    """The text with every run of white space as one space, and none around it."""
    is_tidy = text.isprintable() and "  " not in text
    return text.strip() if is_tidy else " ".join(text.split())


class Blocks:
    def __init__(self) -> None:
        self._main: list[str] = []
        self._beside: list[str] = []
        self._anchor_chars: list[int] = []
        # Filled by the walk: the main list, or the other one while it is beside the main text.
        self.pieces = self._main

    @property
    def is_beside(self) -> bool:
        return self.pieces is self._beside

    def step_aside(self) -> None:
        self._main.append(BREAK)
        self.pieces = self._beside

    def step_back(self) -> None:
        self._beside.append(BREAK)
        self.pieces = self._main

    def begin_anchor(self, chars: int) -> None:
        if self.pieces is self._main:
            self.pieces.append(ANCHOR)
            self._anchor_chars.append(chars)

    def joined(self) -> tuple[str, str]:
        """The main text, and all the other text; one block on each line."""
        main, links = _apart(_blocks(self._main), self._anchor_chars)
        return "\n".join(main), "\n".join(links + _blocks(self._beside))


def _blocks(pieces: Iterable[str]) -> list[str]:
    text = "".join(pieces)
    for sign in "\n\t\r\f\xa0":
        if sign in text:
            text = text.replace(sign, " ")
    blocks = [block for block in map(str.strip, text.split(BREAK)) if block]
    return [" ".join(block.split()) for block in blocks] if "  " in text else blocks


def _apart(blocks: list[str], anchor_chars: list[int]) -> tuple[list[str], list[str]]:
    """The blocks that are mostly text, and those that are mostly links; the signs of anchors are gone from both."""
    texts: list[str] = []
    links: list[str] = []
    at = 0
    for block in blocks:
        if ANCHOR in block:
            plain = block.replace(ANCHOR, "")
            end = at + len(block) - len(plain)
            is_text = sum(anchor_chars[at:end]) * 2 <= len(plain)
            at, block = end, plain.strip()
            (texts if is_text and block else links).append(block)
        else:
            texts.append(block)
    return texts, links
