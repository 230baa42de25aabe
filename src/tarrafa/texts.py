"""Text from strangers, made safe to show: on one line, of bounded length, without what a terminal would obey."""


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def printable(text: str) -> str:
    """The text with everything that is not a visible character or a plain space written as an escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def quoted(text: str, limit: int = 80) -> str:
    """The text in double quotes, for a message."""
    return '"{}"'.format(printable(cut(text, limit).replace("\\", "\\\\").replace('"', '\\"')))
