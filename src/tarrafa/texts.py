"""Make text from strangers safe to show: one line, of bounded length, without control sequences."""

# The characters with the property Bidi_Control of Unicode: marks, embeddings, overrides and isolates.
_BIDI_CONTROLS = dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def printable(text: str) -> str:
    """Return the text with every character that is neither visible nor a plain space as an escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_lines(text: str) -> str:
    """Return the text as `printable` does, but with its line breaks and tabs."""
    if text.isprintable():
        return text
    return "".join(char if char in "\n\t" else printable(char) for char in text)


def without_bidi_controls(text: str) -> str:
    """Return the text without characters that change the order in which the text after them is shown."""
    return text if text.isascii() else text.translate(_BIDI_CONTROLS)


def quoted(text: str, limit: int = 80) -> str:
    """Return the text in double quotes, for a message."""
    return '"{}"'.format(printable(cut(text, limit).replace("\\", "\\\\").replace('"', '\\"')))
