"""What has become of copies of the web's pages: are they still what the web sends, or when did they become stale?"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from tarrafa.lab.web.synthetic_web import SyntheticWeb, WebRequest
from tarrafa.lab.web.truth import kind_of
from tarrafa.lab.web.web_time import WebTime

COPIES_PATH = "/__copies"
COPIES_MAX = 1_000  # of one request
COPIES_MAX_BYTES = 4_000_000
_URL_MAX = 4_000
_HINT = (
    f"send at most {COPIES_MAX:,} copies as JSON: "
    f'POST {COPIES_PATH} {{"copies": [["http://127.0.0.1:8800/", 1767225600.0]]}}'
)


class CopiedUrl(NamedTuple):
    url: str
    at_seconds: float  # when it was copied, since 1970


class CopyFate(NamedTuple):
    is_judged: bool  # False if the web does not know the URL, or did not exist yet when it was copied
    changed_seconds: float | None = None  # of a stale copy: when the page changed, since 1970
    stale_web_seconds: float = 0.0  # for how long it has been stale, in the web's time

    def as_json(self) -> dict[str, Any]:
        return self._asdict()


_UNKNOWN = CopyFate(False)


def read_copies(body: bytes) -> list[CopiedUrl]:
    """Read the body of a request; raise ValueError if it is not as it should be."""
    try:
        rows = json.loads(body)["copies"]
        copies = [CopiedUrl(url, float(at)) for url, at in rows[: COPIES_MAX + 1]]
    except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
        raise ValueError(_HINT) from None
    if len(copies) > COPIES_MAX or not all(isinstance(url, str) and len(url) <= _URL_MAX for url, _ in copies):
        raise ValueError(_HINT)
    return copies


def copy_fates(
    web: SyntheticWeb, web_time: WebTime, copies: Sequence[CopiedUrl], opened_at: float, open_seconds: float
) -> list[CopyFate]:
    """Return what became of copies. The web was opened at `opened_at`, since 1970, and `open_seconds` ago."""
    now_ms = int((web_time.at(open_seconds) or 0.0) * 1000)

    def fate_of(copy: CopiedUrl) -> CopyFate:
        moment = copy.at_seconds - opened_at
        copied = web_time.at(moment) if moment <= open_seconds else None
        changed_ms = None if copied is None else _changed_ms(web, copy.url, int(copied * 1000), now_ms)
        if changed_ms is None:
            return _UNKNOWN
        if not changed_ms:
            return CopyFate(True)
        return CopyFate(True, opened_at + web_time.reached(changed_ms / 1000), (now_ms - changed_ms) / 1000)

    return [fate_of(copy) for copy in copies]


def _changed_ms(web: SyntheticWeb, url: str, copied_ms: int, now_ms: int) -> int | None:
    """Return when a URL first changed after it was copied; 0 if it did not, None if that cannot be told."""
    authority, _, rest = url.removeprefix("http://").partition("/")
    port = authority.partition(":")[2] or "80"
    host, path = web.hosts.find(authority), f"/{rest}"
    if host is None or port != str(web.plan.port):
        return None
    page = web.find(host, path)
    if page is not None:
        return web.pages.first_change_ms(host, page, copied_ms, now_ms)
    # Sitemaps change with their pages. Nothing else that is not a page ever changes.
    answer = web.resource(WebRequest(host, path), now_ms)
    return 0 if answer.status == 200 and kind_of(host, path, 200) not in ("sitemap", "missing") else None
