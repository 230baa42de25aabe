"""Challenge pages of bot walls, as these services send them, and pages that only look like them."""

import pytest

from tarrafa.obey import Wall, wall_of
from tarrafa.records import Headers, Page

LONG = b"<p>An article that says much about bots and walls.</p>" * 400


def answer(status: int, body: bytes, *headers: tuple[str, str], unread: bool = False) -> tuple[Page, bytes]:
    return Page("http://a.example/", status, headers, body, 0.0, unread=unread), body


@pytest.mark.parametrize(
    ("wall", "status", "body", "headers"),
    [
        (Wall.CLOUDFLARE, 403, b"<title>Just a moment...</title>", (("cf-mitigated", "challenge"),)),
        (Wall.CLOUDFLARE, 503, b'<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/jsch/v1"></script>', ()),
        (Wall.AKAMAI, 403, b"<H1>Access Denied</H1>Reference&#32;&#35;18&#46;1d", (("Server", "AkamaiGHost"),)),
        (Wall.AKAMAI, 200, b'<script>f("/_sec/verify?provider=interstitial")</script>', ()),
        (Wall.DATADOME, 403, b"{}", (("X-DataDome", "protected"),)),
        (Wall.DATADOME, 403, b'<script src="https://ct.captcha-delivery.com/c.js"></script>', ()),
        (Wall.ANUBIS, 200, b'<title>Wait</title><script id="anubis_challenge" type="application/json">', ()),
        (Wall.INCAPSULA, 200, b'<iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31"></iframe>', ()),
        (Wall.INCAPSULA, 403, b"Request unsuccessful. Incapsula incident ID: 892-1" + LONG, ()),
        (Wall.AWS, 202, b"", (("x-amzn-waf-action", "challenge"),)),
        (Wall.PERIMETERX, 403, b"<script>window._pxAppId = 'PX1';</script>", ()),
    ],
)  # fmt: skip
def test_challenges(wall: Wall, status: int, body: bytes, headers: Headers) -> None:
    assert wall_of(*answer(status, body, *headers)) is wall


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (200, b"<p>Hello</p>", (("server", "cloudflare"), ("cf-ray", "8"))),
        (404, b"<h1>Not found</h1>", (("server", "cloudflare"),)),
        (403, b"<h1>Forbidden</h1>", ()),
        (403, b"<h1>Forbidden</h1>", (("server", "AkamaiGHost"),)),
        (200, b"Reference #18", (("server", "AkamaiGHost"),)),
        (200, b"<p>Hello</p>", (("x-datadome", "protected"),)),
        (200, LONG + b'<script src="/_Incapsula_Resource?SWJIYLWA=719"></script>', ()),
        (200, b'<code>&lt;script id=&quot;anubis_challenge&quot;&gt;</code>', ()),
        (200, b'<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script><p>Hello</p>', ()),
        (200, b"<p>My page says: Incapsula incident ID: 892-1. What does that mean?</p>", ()),
        (302, b'<script id="anubis_challenge">', ()),
    ],
)  # fmt: skip
def test_answers_of_a_host_are_no_challenges(status: int, body: bytes, headers: Headers) -> None:
    assert wall_of(*answer(status, body, *headers)) is None


def test_body_that_was_not_read_is_no_challenge_but_its_header_may_be() -> None:
    assert wall_of(*answer(403, b'id="anubis_challenge"', unread=True)) is None
    assert wall_of(*answer(403, b"", ("CF-Mitigated", "challenge"), unread=True)) is Wall.CLOUDFLARE


def test_mark_beyond_the_bound_does_not_count() -> None:
    assert wall_of(*answer(200, b" " * 100_000 + b'id="anubis_challenge"')) is None
