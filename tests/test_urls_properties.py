"""What `tarrafa.urls` promises for any text, by its numbers; and thousands of URLs put on a real wire."""

import asyncio
import re
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes, urlsplit

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tarrafa import urls
from tarrafa.chance import Chance
from tarrafa.urls import BaseUrl, canonical, parse, resolve

many = settings(max_examples=600)

# What breaks URL code, in pieces: text made of them is far nastier than random text.
STARTS = ["", "/", "//", "?", "#", "http:", "http://", "HTTPS://", "https:/", "ftp://h/", "file:///", "mailto:", "\\"]
NAMES = ["example.org", "WWW.Example.COM.br", "h", "bücher.example", "xn--a.org", "a..b", "example.org.", 'a"{b}`.org']
NUMBERS = ["127.0.0.1:8080", "0x7f.1", "1.2.3.256", "[::1]", "[::1]:81", "a.b.net:80", "a.b.net:8080", "u:p@h.org"]
HOSTS = [*NAMES, *NUMBERS]
DOTS = ["//", "/.", "/..", "..", "/%2e", "%2E%2e/", "index.html", "C|"]
ESCAPES = ["%%", "%4", "%41", "%34%31", "%7e", "%2f", "%2F", "%25", "%c3%a9", "%C3%A9", "%00", "%u00e7"]
SIGNS = "aF9-_~/.%\\?#&=+;:@[]|{}^`\"'<>!$()*, \t\n\r\0\x0e\x1b\x7f\x80é€日\u2212\u3002\u200d\ud800\udfff😀"
PIECES = [*DOTS, *ESCAPES, *SIGNS]
ENCODINGS = ["utf-8", "iso-8859-1", "koi8-r", "shift_jis", "iso-2022-jp", "gb18030", "big5", "utf-16", "x", "\udc80"]

tails = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
hrefs = st.one_of(
    st.tuples(st.sampled_from(STARTS), tails).map("".join),
    st.tuples(st.sampled_from(["http://", "https://", "//"]), st.sampled_from(HOSTS), tails).map("".join),
    st.text(st.characters(), max_size=30),
)
addresses = st.tuples(st.sampled_from(["http://", "https://"]), st.sampled_from(HOSTS), st.just("/"), tails).map(
    "".join
)
bases = st.one_of(addresses, hrefs)


@many
@given(hrefs, bases, st.sampled_from(ENCODINGS))
def test_1_any_text_is_a_url_or_none_and_nothing_raises(href: str, base: str, encoding: str) -> None:
    for text in (href, resolve(href, base, encoding), BaseUrl(base, encoding).link(href)):
        if text is not None:
            url = canonical(text)
            assert url is None or ":" in url
            assert parse(text) is None or (url or "").startswith(("http://", "https://"))


@many
@given(st.one_of(hrefs, addresses))
@example("http://h/%%34%31")
@example("http://h/%4%31")
@example("http://h/?%%5b[")
def test_2_canonical_is_idempotent_and_plain(text: str) -> None:
    url = canonical(text)
    if url is not None:
        assert canonical(url) == url
        assert resolve(url, None) == url
        assert "#" not in url
        assert url.isascii()
        assert len(url) <= urls.URL_MAX_CHARS


@many
@given(addresses)
@example("http://h/a%2Fb/%2e%2e/c?d%26e=f%2Bg+h&%3D")
@example("http://h/%%34%31?%4%31")
def test_2_server_is_asked_for_the_same_thing(text: str) -> None:
    """A server splits the target at its delimiters and decodes the pieces: both are the same, delimiters and pieces."""
    address, url = resolve(text, None), canonical(text)
    if url is not None:
        assert address is not None
        assert urls.host_of(url) == urls.host_of(address.partition("#")[0])
        assert meaning(urls.path_of(url)) == meaning(urls.path_of(address.partition("#")[0]))


def meaning(target: str) -> list[bytes]:
    # %u00e7 is an escape to some old servers, and a stray % means different things: neither may appear or vanish.
    pieces = re.split(r"([/?&=+;:@!$'(),*]|%(?![0-9A-Fa-f]{2})[0-9A-Fa-f]?)", target)
    return [unquote_to_bytes(piece) for piece in pieces]


@many
@given(hrefs, bases, st.sampled_from(ENCODINGS))
@example("a:b", "http://h/", "utf-8")
@example("/a/%2e%2E/b", "http://h/", "utf-8")
@example("http://h.org:59999/", "http://h/", "utf-8")
@example("http://h.org:0443/", "http://h/", "utf-8")
@example("http://1.2.3.256/", "http://h/", "utf-8")
@example("//xn--a.org/", "http://h/", "utf-8")
def test_3_fast_way_and_slow_way_agree(href: str, base: str, encoding: str) -> None:
    address = resolve(href, base, encoding)
    url = canonical(address) if address is not None else None
    expected = url if url is not None and url.startswith(("http://", "https://")) else None
    assert BaseUrl(base, encoding).link(href) == expected


@many
@given(addresses)
def test_4_parts_make_up_the_whole(text: str) -> None:
    parts = parse(text)
    if parts is not None:
        host, path = urls.host_of(parts.url), urls.path_of(parts.url)
        credentials = parts.userinfo and parts.userinfo + "@"
        assert parts.url == host.replace("://", f"://{credentials}", 1) + path
        assert path == parts.path + ("" if parts.query is None else f"?{parts.query}")
        assert parts.name == urls.host_name(parts.url) == urls.host_name(host)
        assert parts.name.rstrip(".").endswith(urls.site(parts.name).rstrip("."))
        assert 0 <= urls.fingerprint(parts.url, seed=1) < 2**64
        assert urls.level(parts.url) >= 10


@dataclass
class StrictServer:
    """Answers 204 to a well-formed request; what is malformed is kept with its reason, and answered 400."""

    # Filled by the connections, read by the test when all are done.
    asked: list[tuple[str, str]] = field(default_factory=list)
    malformed: list[tuple[str, bytes]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await self._head(reader):
            reason = self.judge(head)
            if reason:
                self.malformed.append((reason, head))
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" if reason else b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def _head(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            return error.partial

    def judge(self, head: bytes) -> str:
        line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        parts = line.split(b" ")
        if len(parts) != 3 or parts[0] != b"GET" or parts[2] != b"HTTP/1.1":
            return "request line"
        if not parts[1].startswith(b"/"):
            return "target does not start with a slash"
        if not re.fullmatch(rb"[A-Za-z0-9\-._~:/?@!$&'()*+,;=%]+", parts[1]):
            return "character that RFC 3986 does not allow in a target"
        host = [value for name, _, value in (entry.partition(b": ") for entry in fields) if name == b"Host"]
        if len(host) != 1 or not re.fullmatch(rb"([a-z0-9._~!$&'()*+,;=-]+|\[[0-9a-f:]+\])(:[0-9]+)?", host[0]):
            return "Host"
        self.asked.append((parts[1].decode(), host[0].decode()))
        return ""


REQUESTS_COUNT = 5_000
CONNECTIONS_COUNT = 4
PIPELINED_COUNT = 50


def random_urls(count: int) -> list[str]:
    """From nasty texts, half of them as an href of a page elsewhere."""
    chance = Chance("urls on the wire")
    page = BaseUrl("http://example.org/a/b/c.html?d", "iso-8859-1")
    found: list[str] = []
    while len(found) < count:
        tail = "".join(chance.pick(PIECES) for _ in range(chance.below(12)))
        url = page.link(tail) if chance.happens(0.5) else canonical(f"http://{chance.pick(HOSTS)}/{tail}")
        if url is not None:
            found.append(url)
    return found


async def ask(port: int, wanted: list[str]) -> int:
    """Sends every URL over one kept connection; gives the number of 204 that came back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answers = 0
    for start in range(0, len(wanted), PIPELINED_COUNT):
        group = wanted[start : start + PIPELINED_COUNT]
        for url in group:
            host = urls.host_of(url).partition("//")[2]
            writer.write(f"GET {urls.path_of(url)} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        for _ in group:
            answers += (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
    writer.close()
    await writer.wait_closed()
    return answers


async def ask_all(strict: StrictServer, wanted: list[str]) -> int:
    server = await asyncio.start_server(strict.serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        return sum(await asyncio.gather(*(ask(port, wanted[n::CONNECTIONS_COUNT]) for n in range(CONNECTIONS_COUNT))))


def test_no_request_for_a_canonical_url_is_malformed() -> None:
    wanted, strict = random_urls(REQUESTS_COUNT), StrictServer()
    answers = asyncio.run(ask_all(strict, wanted))
    assert strict.malformed == []
    assert answers == REQUESTS_COUNT
    assert sorted(strict.asked) == sorted(map(target_and_host, wanted))


def target_and_host(url: str) -> tuple[str, str]:
    """By another parser, which is right about URLs that are canonical already."""
    parts = urlsplit(url)
    return url.partition("//")[2].removeprefix(parts.netloc), parts.netloc.rpartition("@")[2]


def test_strict_server_sees_what_is_malformed() -> None:
    strict = StrictServer()
    heads = ["GET /a b HTTP/1.1\r\nHost: h", "GET /é HTTP/1.1\r\nHost: h", "GET /#f HTTP/1.1\r\nHost: h"]
    heads += [
        "GET /\\ HTTP/1.1\r\nHost: h",
        "GET a HTTP/1.1\r\nHost: h",
        "GET /\x01 HTTP/1.1\r\nHost: h",
        'GET /<"> HTTP/1.1\r\nHost: h',
    ]
    heads += ["GET / HTTP/1.1\r\nHost: u@h", "GET / HTTP/1.1"]
    for head in heads:
        assert strict.judge(f"{head}\r\n\r\n".encode()), head
    assert strict.judge(b"GET /?a HTTP/1.1\r\nHost: h:8080\r\n\r\n") == ""
