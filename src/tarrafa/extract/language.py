"""Tell in which language a page is: by what it declares, else by its text, with the address as a hint.

Code, names and numbers mislead the detector, so it reads the lines of prose. Chinese and Japanese are told by their
script. A language part of the address, as in `/pt-br/guide` or `ch01.fr.html`, decides if the text agrees: the
translation of a manual is often half in English. Too little text has no language rather than a wrong one.
"""

import re
from collections.abc import Iterable, Iterator

from resiliparse.parse.lang import detect_fast

from tarrafa.extract import bounds

# Every text that is shorter looks like some language.
_DETECTED_CHARS_MIN = 40
_LINE_CHARS_MIN = 40
_LINES_LIMIT = 400  # looked at
_PROSE_SHARE = 0.9  # of a line of prose, letters and spaces
_SCRIPT_SHARE = 0.05  # of a text in Chinese or Japanese, characters that only these have
_KANA_SHARE = 0.1  # of a Japanese text, kana for each of these characters
_CANDIDATES_COUNT = 5  # of the detector, which a hint may choose from
_UNKNOWN = "unknown"
_LANGUAGE_TAG = re.compile(r"\s*+([A-Za-z]{2,3})(?![A-Za-z0-9])")
_NO_LANGUAGE = ("und", "mul", "zxx", "mis")
_LETTERS = re.compile(r"[^\W\d_]+")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
# A part of an address between marks: a primary subtag, perhaps with a region or a script.
_ADDRESS_PART = re.compile(r"(?<![a-z0-9])([a-z]{2})(?:[-_][a-z]{2,4})?(?![a-z0-9])")


def language_of(declared: Iterable[str | None], url: str, text: str) -> str:
    """Return the primary subtag of the first declaration that has one, else the language of the text; or ""."""
    for tag in declared:
        match = _LANGUAGE_TAG.match(tag or "")
        if match and match[1].lower() not in _NO_LANGUAGE:
            return match[1].lower()
    candidates = _candidates(_prose(text))
    for hint in _hints(url):
        if hint in candidates or _has_line_in(hint, text):
            return hint
    return candidates[0] if candidates else ""


def _prose(text: str) -> str:
    """Return lines of prose as far as they are needed; the beginning of the text if there are hardly any."""
    found: list[str] = []
    chars = 0
    for line in _long_lines(text):
        if chars < bounds.LANGUAGE_CHARS and _is_prose(line):
            found.append(line)
            chars += len(line)
    prose = " ".join(found) if chars >= 2 * _DETECTED_CHARS_MIN else text
    return prose[: bounds.LANGUAGE_CHARS]


def _long_lines(text: str) -> Iterator[str]:
    lines = text.split("\n", _LINES_LIMIT)[:_LINES_LIMIT]
    return (line[: bounds.LANGUAGE_CHARS] for line in lines if len(line) >= _LINE_CHARS_MIN)


def _is_prose(line: str) -> bool:
    return sum(map(len, _LETTERS.findall(line))) + line.count(" ") >= _PROSE_SHARE * len(line)


def _candidates(sample: str) -> list[str]:
    """Return the languages that the sample may be in, the likeliest first."""
    if script := _language_of_script(sample):
        return [script]
    if len(sample) < _DETECTED_CHARS_MIN:
        return []
    return [str(name) for name, _ in detect_fast(sample, n_results=_CANDIDATES_COUNT) if name != _UNKNOWN]


def _language_of_script(sample: str) -> str:
    kana, han = len(_KANA.findall(sample)), len(_HAN.findall(sample))
    if kana + han <= _SCRIPT_SHARE * len(sample):
        return ""
    return "ja" if kana >= _KANA_SHARE * han else "zh"


def _hints(url: str) -> list[str]:
    """Return the parts of an address that may name a language, the last first. A country is none."""
    host, _, path = url.partition("://")[2].partition("?")[0].lower().partition("/")
    parts = _ADDRESS_PART.findall(f"{host.rpartition('.')[0]}/{path}")
    return list(dict.fromkeys(reversed(parts)))


def _has_line_in(language: str, text: str) -> bool:
    """Return True if a line of the text is in this language."""
    return any(language in _candidates(line)[:1] for line in _long_lines(text))
