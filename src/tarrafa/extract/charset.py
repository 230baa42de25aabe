"""In which encoding is a page written? As browsers decide it: mark, header, declaration in the page, then a guess.

Encodings go by the names of the WHATWG, so that `latin1` is windows-1252, as every browser has it.
"""

import re

import webencodings
from resiliparse.parse.encoding import EncodingDetector

from tarrafa.extract import bounds

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_PARAMETER = re.compile(r"charset\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s;\"']++))", re.IGNORECASE | re.ASCII)

_WITHIN = rb"""(?:[^>"']++|"[^"]*+"|'[^']*+')*"""
# What the prescan of the HTML standard steps over, and the meta elements that it looks into.
_STEPS = re.compile(
    rb"<!--.*?(?:-->|\Z)|<meta[\s/](?P<attributes>%b)|<[/!?]?[A-Za-z]%b" % (_WITHIN, _WITHIN), re.IGNORECASE | re.DOTALL
)
_ATTRIBUTES = re.compile(r"([^\s/>=\"']++)\s*+(?:=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"']++)))?", re.ASCII)
_XML_ENCODING = re.compile(rb"<\?xml[^>]*?\sencoding\s*+=\s*+[\"']([^\"'>]*+)[\"']")
_AS_UTF8 = ("utf-16le", "utf-16be")  # a declaration that could be read says that it is not so


def encoding_of(content_type: str, body: bytes) -> str:
    return _marked(body) or _by_header(content_type) or _declared(body[: bounds.PRESCAN_BYTES]) or _guessed(body)


def as_utf8(body: bytes, encoding: str) -> bytes:
    """The body in UTF-8, without a mark. What cannot be read becomes U+FFFD, if need be only in the parser."""
    if encoding == "utf-8":
        return body.removeprefix(b"\xef\xbb\xbf")
    return as_text(body, encoding).encode("utf-8", "replace")


def as_text(body: bytes, encoding: str) -> str:
    # The standard reads GBK as its superset.
    codec = webencodings.lookup("gb18030" if encoding == "gbk" else encoding)
    text: str = webencodings.decode(body, codec, "replace")[0]
    return text


def _name(label: str) -> str:
    """The WHATWG's name for a label; empty for one that it does not know."""
    encoding = webencodings.lookup(label.strip()) if label.isascii() else None
    return str(encoding.name) if encoding else ""


def _marked(body: bytes) -> str:
    return next((name for mark, name in _MARKS if body.startswith(mark)), "")


def _by_header(content_type: str) -> str:
    match = _PARAMETER.search(content_type)
    return _name(next(filter(None, match.groups()), "")) if match else ""


def _declared(head: bytes) -> str:
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
    if name in _AS_UTF8:
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


def _guessed(body: bytes) -> str:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start > len(body) - 4:  # cut within a character
            return "utf-8"
        start = max(0, error.start - bounds.DETECT_BYTES // 2)
        detector = EncodingDetector()
        detector.update(body[start : start + bounds.DETECT_BYTES])
        return _name(detector.encoding() or "") or "windows-1252"
    return "utf-8"
