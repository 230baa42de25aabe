"""Make text from strangers safe to show: one line, of bounded length, without control sequences."""


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def printable(text: str) -> str:
    """Return the text with every character that is neither visible nor a plain space as an escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def quoted(text: str, limit: int = 80) -> str:
    """Return the text in double quotes, for a message."""
    return '"{}"'.format(printable(cut(text, limit).replace("\\", "\\\\").replace('"', '\\"')))
