"""Find the encoding of a page as browsers do: byte order mark, header, declaration in the page, then a guess.

Encodings have the names of the WHATWG, where `latin1` is windows-1252, as in every browser.
"""

import re

import webencodings
from resiliparse.parse.encoding import EncodingDetector

from tarrafa.extract import bounds

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_PARAMETER = re.compile(r"charset\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s;\"']++))", re.IGNORECASE | re.ASCII)

_WITHIN = rb"""(?:[^>"']++|"[^"]*+"|'[^']*+')*"""
# What the prescan of the HTML standard skips, and the meta elements that it reads.
_STEPS = re.compile(
    rb"<!--.*?(?:-->|\Z)|<meta[\s/](?P<attributes>%b)|<[/!?]?[A-Za-z]%b" % (_WITHIN, _WITHIN), re.IGNORECASE | re.DOTALL
)
_ATTRIBUTES = re.compile(r"([^\s/>=\"']++)\s*+(?:=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"']++)))?", re.ASCII)
_XML_ENCODING = re.compile(rb"<\?xml[^>]*?\sencoding\s*+=\s*+[\"']([^\"'>]*+)[\"']")
_NOT_DECLARABLE = ("utf-16le", "utf-16be")  # a declaration in these could not have been read


def encoding_of(content_type: str, body: bytes) -> str:
    return _by_mark(body) or _by_header(content_type) or _by_declaration(body[: bounds.PRESCAN_BYTES]) or _guess(body)


def as_utf8(body: bytes, encoding: str) -> bytes:
    """Return the body in UTF-8, without byte order mark. The parser replaces invalid bytes by U+FFFD."""
    if encoding == "utf-8":
        return body.removeprefix(b"\xef\xbb\xbf")
    return as_text(body, encoding).encode("utf-8", "replace")


def as_text(body: bytes, encoding: str) -> str:
    # By the standard, GBK is decoded as its superset.
    codec = webencodings.lookup("gb18030" if encoding == "gbk" else encoding)
    text: str = webencodings.decode(body, codec, "replace")[0]
    return text


def _name(label: str) -> str:
    """Return the WHATWG's name for a label; empty for an unknown one."""
    encoding = webencodings.lookup(label.strip()) if label.isascii() else None
    return str(encoding.name) if encoding else ""


def _by_mark(body: bytes) -> str:
    return next((name for mark, name in _MARKS if body.startswith(mark)), "")


def _by_header(content_type: str) -> str:
    match = _PARAMETER.search(content_type)
    return _name(next(filter(None, match.groups()), "")) if match else ""


def _by_declaration(head: bytes) -> str:
    for step in _STEPS.finditer(head) if b"<meta" in head.lower() else ():
        if step["attributes"]:
            name = _in_meta(step["attributes"].decode("latin-1"))
            if name:
                return name
    xml = _XML_ENCODING.match(head)
    return _declarable(xml[1].decode("latin-1")) if xml else ""


def _in_meta(attributes: str) -> str:
    given: dict[str, str] = {}
    for name, *values in _ATTRIBUTES.findall(attributes):
        given.setdefault(name.lower(), "".join(values))
    if "charset" in given:
        return _declarable(given["charset"])
    if given.get("http-equiv", "").lower() == "content-type":
        match = _PARAMETER.search(given.get("content", ""))
        return _declarable(next(filter(None, match.groups()), "")) if match else ""
    return ""


def _declarable(label: str) -> str:
    name = _name(label)
    if name in _NOT_DECLARABLE:
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


def _guess(body: bytes) -> str:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start > len(body) - 4:  # the body is cut within a character
            return "utf-8"
        start = max(0, error.start - bounds.DETECT_BYTES // 2)
        detector = EncodingDetector()
        detector.update(body[start : start + bounds.DETECT_BYTES])
        return _name(detector.encoding() or "") or "windows-1252"
    return "utf-8"
