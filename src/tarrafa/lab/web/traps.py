"""Places without end: each of their pages leads to more of them, and none says anything new."""

import re
from html import escape

from tarrafa.lab.web.faults import Fault
from tarrafa.lab.web.plan import Host

_CALENDAR = re.compile(r"/calendario/(\d{1,6})/(\d{1,2})")
_ECHO = re.compile(r"/eco/(?:eco/)*")
_FILTER = re.compile(r"/filtro\?[a-z0-9=&]*")
_SESSION = re.compile(r"[?&]sid=[0-9a-f]{8}$")
_FILTERS = ("cor", "tamanho", "marca", "ordem", "preco", "pagina")


def page(host: Host, path: str) -> bytes | None:
    """The page of a trap, if this host has one at this path."""
    hrefs = _hrefs(host, path)
    if hrefs is None:
        return None
    anchors = "".join(f'<a href="{escape(href)}">{escape(href[-12:])}</a><br>\n' for href in hrefs)
    return f"<!DOCTYPE html>\n<title>{escape(path[:60])}</title>\n<p>Mais:</p>\n{anchors}".encode()


def _hrefs(host: Host, path: str) -> list[str] | None:
    if Fault.CALENDAR in host.faults and (match := _CALENDAR.fullmatch(path)):
        return _months(int(match[1]), int(match[2]))
    if Fault.REPETITION in host.faults and _ECHO.fullmatch(path):
        return ["eco/", "/"]
    if Fault.COMBINATIONS in host.faults and _FILTER.fullmatch(path):
        return [f"{path}&{name}={number}" for name in _FILTERS for number in range(3)]
    return None


def leads_on(host: Host, path: str) -> bool:
    """Whether this path belongs to a trap of the host."""
    return _hrefs(host, path) is not None or (Fault.SESSION in host.faults and bool(_SESSION.search(path)))


def without_session(path: str) -> str:
    return _SESSION.sub("", path)


def _months(year: int, month: int) -> list[str]:
    ahead = f"/calendario/{year + month // 12}/{month % 12 + 1}"
    back = f"/calendario/{year - (month <= 1)}/{12 if month <= 1 else month - 1}"
    return [ahead, back, "/"]
