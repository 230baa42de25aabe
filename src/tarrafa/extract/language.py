"""Which language is it in? As the page says, else as its text looks."""

import re

from resiliparse.parse.lang import detect_fast

from tarrafa.extract import bounds

# Fewer say nothing: every short text looks like some language.
_DETECTED_CHARS_MIN = 40
_UNKNOWN = "unknown"
_TAG = re.compile(r"\s*+([A-Za-z]{2,3})(?![A-Za-z0-9])")
_SAYS_NOTHING = ("und", "mul", "zxx", "mis")


def language_of(declared: tuple[str | None, ...], text: str) -> str:
    """The primary subtag of the first declaration that holds one, else what the text looks like, else nothing."""
    for tag in declared:
        match = _TAG.match(tag or "")
        if match and match[1].lower() not in _SAYS_NOTHING:
            return match[1].lower()
    sample = text[: bounds.LANGUAGE_CHARS]
    if len(sample) < _DETECTED_CHARS_MIN:
        return ""
    language = str(detect_fast(sample)[0])
    return "" if language == _UNKNOWN else language
