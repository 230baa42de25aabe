"""The text of a page in blocks, the way a browser puts it on lines of its own.

The walk hands over texts as it meets them and says where a block ends; what is main text is told once, at the end. A
block belongs to it unless it stands beside it (in a menu, a foot, a form) or consists mostly of links.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_LONG_CHARS = 2_000
# White space other than the usual one, as `str.split` has it.
_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B)))
_SPACES += "\u2028\u2029\u202f\u205f\u3000"


def collapsed(text: str) -> str:
    """The text with every run of white space as one space, and none around it."""
    is_tidy = text.isprintable() and "  " not in text
    return text.strip() if is_tidy else " ".join(text.split())


def all_collapsed(texts: Sequence[str]) -> list[str]:
    """The same for many, looked at as a whole: where it holds nothing to collapse, that is cheaper than each alone."""
    whole = "|".join(texts)
    if _has_run(whole) or any(map(whole.__contains__, _SPACES)):
        return [" ".join(text.split()) for text in texts]
    return [text.strip() for text in texts]


def _has_run(text: str) -> bool:
    """Whether two spaces stand side by side. In a text of many single ones, numpy finds them sooner than Python."""
    if len(text) < _LONG_CHARS:
        return "  " in text
    try:
        is_space = np.frombuffer(text.encode("latin-1"), np.uint8) == ord(" ")
    except UnicodeEncodeError:
        return "  " in text
    return bool((is_space[1:] & is_space[:-1]).any())


class Blocks:
    def __init__(self) -> None:
        # Filled by the walk: the texts of the block that it is in, and how long those of its anchors are. `end` takes
        # them away.
        self.pieces: list[str] = []
        self.anchor_chars = 0
        self._main = _Ended([], [])
        self._beside = _Ended([], [])
        self.ended = self._main

    @property
    def is_beside(self) -> bool:
        return self.ended is self._beside

    def step_aside(self) -> None:
        self.end()
        self.ended = self._beside

    def step_back(self) -> None:
        self.end()
        self.ended = self._main

    def end(self) -> None:
        """What comes now is another block. It may be that nothing came since the last."""
        if self.pieces:
            self.ended.texts.append("".join(self.pieces))
            self.ended.anchor_chars.append(self.anchor_chars)
            self.pieces.clear()
        self.anchor_chars = 0

    def joined(self) -> tuple[str, str]:
        """The main text, and all the other text; one block on each line."""
        self.end()
        main: list[str] = []
        rest: list[str] = []
        for text, anchor_chars in zip(all_collapsed(self._main.texts), self._main.anchor_chars, strict=True):
            if text:
                (main if anchor_chars * 2 <= len(text) else rest).append(text)
        rest += filter(None, all_collapsed(self._beside.texts))
        return "\n".join(main), "\n".join(rest)


class _Ended(NamedTuple):
    """Blocks that have ended: their texts, and how many characters of each are anchors."""

    texts: list[str]
    anchor_chars: list[int]
