"""What a web serves besides pages: sitemaps, images, PDF files, a gzip bomb, and traps.

A trap is an endless set of URLs: each of its pages links to more of them, and none has any content.
"""

import re
import struct
import zlib
from functools import lru_cache
from html import escape

from isal import igzip

from tarrafa.chance import draws
from tarrafa.lab.web import history
from tarrafa.lab.web.faults import Fault
from tarrafa.lab.web.history import EPOCH_SECONDS, iso_day, modified_seconds
from tarrafa.lab.web.pages import SyntheticPages
from tarrafa.lab.web.plan import SyntheticHost

SITEMAP_URLS = 500
BOMB_BYTES = 200_000_000
_PART = re.compile(r"/mapa-(0|[1-9]\d{0,7})\.xml\.gz", re.ASCII)
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@lru_cache(maxsize=128)
def png(number: int) -> bytes:
    """Return a small image in one colour."""
    side, colour = 32, struct.pack("<I", draws(f"png/{number}", 1)[0])[:3]
    rows = (b"\x00" + colour * side) * side
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    # Stored, not compressed: compression differs between versions of zlib.
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


@lru_cache(maxsize=128)
def pdf(title: str) -> bytes:
    """Return a PDF of one page with this title."""
    plain = title.encode("ascii", "replace").replace(b"(", b"").replace(b")", b"")
    stream = b"BT /F1 18 Tf 72 720 Td (" + plain + b") Tj ET"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    )
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


@lru_cache(maxsize=1)
def bomb() -> bytes:
    """Return some hundred kilobytes of gzip that expand to 200 MB: one compressed block, repeated."""
    block, count = bytes(1_000_000), BOMB_BYTES // 1_000_000
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 0
    for _ in range(count):
        check = zlib.crc32(block, check)
    head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    return head + packed * count + packer.flush() + struct.pack("<II", check, BOMB_BYTES)


class SitemapFiles:
    """`/sitemap.xml` lists the pages of a small host; for a large one it is an index of compressed parts."""

    def __init__(self, pages: SyntheticPages) -> None:
        self._pages = pages

    def answer(self, host: SyntheticHost, path: str, now_ms: int) -> tuple[bytes, str] | None:
        """Return body and type of the sitemap at this path, if the host has one there."""
        parts = self.parts(host, now_ms)
        if path == "/sitemap.xml":
            if len(parts) == 1:
                return self._urls(host, parts[0], now_ms), "application/xml"
            return _index(host, len(parts)), "application/xml"
        match = _PART.fullmatch(path)
        if match and int(match[1]) < len(parts) > 1:
            return igzip.compress(self._urls(host, parts[int(match[1])], now_ms), 1, mtime=0), "application/gzip"
        return None

    def paths(self, host: SyntheticHost, now_ms: int) -> list[str]:
        """Return the paths of the host's sitemaps."""
        count = len(self.parts(host, now_ms))
        return ["/sitemap.xml", *(f"/mapa-{number}.xml.gz" for number in range(count) if count > 1)]

    def parts(self, host: SyntheticHost, now_ms: int) -> list[range]:
        size = history.size_at(host.size, now_ms)
        return [range(start, min(start + SITEMAP_URLS, size)) for start in range(0, size, SITEMAP_URLS)]

    def _urls(self, host: SyntheticHost, numbers: range, now_ms: int) -> bytes:
        lines = [self._url(host, page, now_ms) for page in numbers if self._pages.alive(host, page, now_ms)]
        return f"{_XML}<urlset {_NAMESPACE}>\n{''.join(lines)}</urlset>\n".encode()

    def _url(self, host: SyntheticHost, page: int, now_ms: int) -> str:
        entry = self._pages.entry(host, page)
        seconds = modified_seconds(entry.rate, self._pages.changed_ms(host, page, now_ms))
        location = f"{host.origin}{entry.path}".replace("&", "&amp;")
        return f"<url><loc>{location}</loc><lastmod>{iso_day(seconds // 86_400)}</lastmod></url>\n"


def _index(host: SyntheticHost, count: int) -> bytes:
    begun = iso_day(EPOCH_SECONDS // 86_400)
    lines = [
        f"<sitemap><loc>{host.origin}/mapa-{number}.xml.gz</loc><lastmod>{begun}</lastmod></sitemap>\n"
        for number in range(count)
    ]
    return f"{_XML}<sitemapindex {_NAMESPACE}>\n{''.join(lines)}</sitemapindex>\n".encode()


_CALENDAR = re.compile(r"/calendario/(\d{1,6})/(\d{1,2})")
_ECHO = re.compile(r"/eco/(?:eco/)*")
_FILTER = re.compile(r"/filtro\?[a-z0-9=&]*")
_LISTING = re.compile(r"/lista/\d/(?:\?C=[NMSD];O=[AD])?")
_REVISION = re.compile(r"/revisoes\?pagina=(\d+)(?:&acao=[a-z]+(?:&rev=(\d{1,9}))?)?")
_SESSION = re.compile(r"[?&]sid=[0-9a-f]{8}$")
_LISTED = "".join(f"<p>arquivo {name}.txt</p>" for name in ("primeiro", "segundo", "terceiro", "quarto", "quinto"))
_FILTERS = ("cor", "tamanho", "marca", "ordem", "preco", "pagina")


def trap_page(host: SyntheticHost, path: str) -> bytes | None:
    """Return the page of a trap, if this host has one at this path."""
    hrefs = _hrefs(host, path)
    if hrefs is None:
        return None
    anchors = "".join(f'<a href="{escape(href)}">{escape(href[-12:])}</a><br>\n' for href in hrefs)
    text = _LISTED if path.startswith("/lista/") else "<p>Mais:</p>"
    return f"<!DOCTYPE html>\n<title>{escape(path[:60])}</title>\n{text}\n{anchors}".encode()


def _hrefs(host: SyntheticHost, path: str) -> list[str] | None:
    if Fault.CALENDAR in host.faults and (match := _CALENDAR.fullmatch(path)):
        return _months(int(match[1]), int(match[2]))
    if Fault.REPETITION in host.faults and _ECHO.fullmatch(path):
        return ["eco/", "/"]
    if Fault.COMBINATIONS in host.faults and _FILTER.fullmatch(path):
        return [f"{path}&{name}={number}" for name in _FILTERS for number in range(3)]
    if Fault.SORT_ORDERS in host.faults and _LISTING.fullmatch(path):
        folder = path.partition("?")[0]
        return [f"{folder}?C={column};O={order}" for column in "NMSD" for order in "AD"]
    if Fault.REVISIONS in host.faults and (match := _REVISION.fullmatch(path)):
        return _revisions(int(match[1]), int(match[2] or 0))
    return None


def _revisions(page: int, revision: int) -> list[str]:
    """Return where a history, a form or a difference leads: to more of the same, of this page and the next."""
    own, following = f"/revisoes?pagina={page}", f"/revisoes?pagina={page + 1}"
    numbers = (revision + 1, revision + 2, revision + 7)
    differences = [f"{own}&acao=comparar&rev={number % 1_000_000}" for number in numbers]
    return [following, f"{own}&acao=editar", f"{own}&acao=historico", *differences]


def is_trap(host: SyntheticHost, path: str) -> bool:
    """Return True if this path belongs to a trap of the host."""
    return _hrefs(host, path) is not None or (Fault.SESSION in host.faults and bool(_SESSION.search(path)))


def without_session(path: str) -> str:
    return _SESSION.sub("", path)


def _months(year: int, month: int) -> list[str]:
    ahead = f"/calendario/{year + month // 12}/{month % 12 + 1}"
    back = f"/calendario/{year - (month <= 1)}/{12 if month <= 1 else month - 1}"
    return [ahead, back, "/"]
