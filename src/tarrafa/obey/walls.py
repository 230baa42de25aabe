"""Recognise the challenge pages of bot walls: a host that wants to see a browser, or a human, does not want a crawler.

A challenge is not what the URL leads to, whatever its status says. Each wall is known by a header or by marks of its
page that no other page has. Words that an article about walls may contain are not enough: marks are parts of the HTML,
and those that protected pages may have as well count only in a short answer, or in one that is refused.
"""

from collections.abc import Mapping
from enum import StrEnum

from tarrafa.records import Page

_BODY_BYTES = 20_000  # of a page that are searched for marks
_SHORT_BYTES = 10_000
_REFUSING = frozenset({401, 403, 405, 429, 503})


class Wall(StrEnum):
    CLOUDFLARE = "Cloudflare"
    AKAMAI = "Akamai"
    DATADOME = "DataDome"
    ANUBIS = "Anubis"
    INCAPSULA = "Incapsula"
    AWS = "AWS WAF"
    PERIMETERX = "PerimeterX"


# By header: its name, the beginning of its value, and the wall.
_HEADERS = (
    ("cf-mitigated", "challenge", Wall.CLOUDFLARE),
    ("x-amzn-waf-action", "c", Wall.AWS),  # challenge or captcha
)
# By marks of a page, whatever its status.
_MARKS = (
    (b'id="anubis_challenge"', Wall.ANUBIS),
    (b"/_sec/verify?provider=interstitial", Wall.AKAMAI),
)
# By marks of a short page, which longer ones have as well.
_SHORT_MARKS = ((b"_Incapsula_Resource", Wall.INCAPSULA),)
# By marks of an answer that refuses the page.
_REFUSING_MARKS = (
    (b"/cdn-cgi/challenge-platform/", Wall.CLOUDFLARE),
    (b"captcha-delivery.com", Wall.DATADOME),
    (b"_pxAppId", Wall.PERIMETERX),
    (b"Incapsula incident ID", Wall.INCAPSULA),
)
_NAMES = frozenset(name for name, _, _ in _HEADERS) | {"server", "x-datadome"}


def wall_of(page: Page, body: bytes) -> Wall | None:
    """Return the wall whose challenge this answer is; None if it is an answer of the host. `body` has no coding."""
    headers = {name.lower(): value for name, value in page.headers if name.lower() in _NAMES}
    for name, begin, wall in _HEADERS:
        if headers.get(name, "").lower().startswith(begin):
            return wall
    if 300 <= page.status < 400 or page.unread:
        return None
    return _wall_of_body(page.status, headers, body[:_BODY_BYTES])


def _wall_of_body(status: int, headers: Mapping[str, str], body: bytes) -> Wall | None:
    marks = [*_MARKS]
    if len(body) <= _SHORT_BYTES:
        marks += _SHORT_MARKS
    if status in _REFUSING:
        marks += _REFUSING_MARKS
        if "x-datadome" in headers:
            return Wall.DATADOME
        if headers.get("server", "").startswith("AkamaiGHost") and (b"Reference #" in body or b"&#35;" in body):
            return Wall.AKAMAI
    return next((wall for mark, wall in marks if mark in body), None)
