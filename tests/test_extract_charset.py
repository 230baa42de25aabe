"""In which encoding a page is read: mark, header, declaration, guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.extract import extract
from tarrafa.extract.charset import as_text, as_utf8, encoding_of
from tarrafa.records import Page

HTML = "text/html"
PORTUGUESE = "A informação não é só para você: também há ações à noite, amanhã e até às três. " * 5


@pytest.mark.parametrize(
    ("content_type", "body", "encoding"),
    [
        (f"{HTML}; charset=iso-8859-1", b"\xef\xbb\xbfx", "utf-8"),
        (HTML, b"\xff\xfex\x00", "utf-16le"),
        (HTML, b"\xfe\xff\x00x", "utf-16be"),
        (f"{HTML}; charset=latin1", b"<meta charset=utf-8>", "windows-1252"),
        (f'{HTML}; Charset = "UTF-8"', b"\xff", "utf-8"),
        (f"{HTML}; charset='gbk'", b"", "gbk"),
        (f"{HTML};charset=nonsense", b"<meta charset=koi8-r>", "koi8-r"),
        (HTML, b"<META CHARSET='ISO-8859-2'>", "iso-8859-2"),
        (HTML, b"<meta charset = utf8 />", "utf-8"),
        (HTML, b"<meta http-equiv=Content-Type content='text/html; charset=euc-jp'>", "euc-jp"),
        (HTML, b"<meta content='text/html; charset=euc-jp' http-equiv=content-type>", "euc-jp"),
        (HTML, b"<meta name=x content='charset=euc-jp'>", "utf-8"),
        (HTML, b"<meta charset=nonsense><meta charset=big5>", "big5"),
        (HTML, b"<!-- <meta charset=big5> --><meta charset=koi8-u>", "koi8-u"),
        (HTML, b"<a title='<meta charset=big5>'><meta charset=koi8-u>", "koi8-u"),
        (HTML, b"<meta charset=utf-16>", "utf-8"),
        (HTML, b"<meta charset=x-user-defined>", "windows-1252"),
        (HTML, b"<metal charset=big5>", "utf-8"),
        (HTML, b" " * 1100 + b"<meta charset=big5>", "utf-8"),
        ("text/xml", b'<?xml version="1.0" encoding="ISO-8859-1"?><rss/>', "windows-1252"),
        (HTML, PORTUGUESE.encode(), "utf-8"),
        (HTML, PORTUGUESE.encode()[:-1] + "ã".encode()[:1], "utf-8"),
        (HTML, PORTUGUESE.encode("windows-1252"), "windows-1252"),
        (HTML, b"x" * 100_000 + PORTUGUESE.encode("windows-1252"), "windows-1252"),
        (HTML, ("Это русский текст, который никто не объявил. " * 5).encode("koi8-r"), "koi8-r"),
        (HTML, b"", "utf-8"),
    ],
)
def test_encoding_is_found_as_browsers_find_it(content_type: str, body: bytes, encoding: str) -> None:
    assert encoding_of(content_type, body) == encoding


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252", "utf-16le", "utf-16be", "shift_jis", "gbk", "koi8-r"])
def test_title_is_the_same_in_every_encoding(encoding: str) -> None:
    title = {"shift_jis": "日本語", "gbk": "中文", "koi8-r": "мир"}.get(encoding, "ação")
    mark = {"utf-16le": b"\xff\xfe", "utf-16be": b"\xfe\xff"}.get(encoding, b"")
    body = mark + f"<meta charset={encoding}><title>{title}</title>".encode(encoding)
    page = Page("http://a.test/", 200, (("Content-Type", "text/html"),), body, at=0.0)
    found = extract(page, body)
    assert (found.document.title, found.encoding) == (title, encoding)


@given(st.text(), st.binary())
def test_any_header_and_body_give_an_encoding_that_reads_it(content_type: str, body: bytes) -> None:
    encoding = encoding_of(content_type, body)
    assert isinstance(as_text(body, encoding), str)
    assert isinstance(as_utf8(body, encoding), bytes)


@given(st.lists(st.sampled_from([b"<meta ", b"<!--", b"-->", b"charset=", b'"', b"'", b">", b"big5", b"/", b"\x00"])))
def test_any_declaration_gives_an_encoding(parts: list[bytes]) -> None:
    assert encoding_of(HTML, b"".join(parts))


def test_prescan_of_hostile_head_ends() -> None:
    for part in (b"<!--", b"<meta ", b'<meta "', b"<a'", b"<meta charset='", b"<meta a="):
        assert encoding_of(HTML, part * 300)
