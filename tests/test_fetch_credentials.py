"""What a host table adds to requests: to whom logins go, and to whom they do not."""

import pytest

from tarrafa.configuration import HostSettings
from tarrafa.fetch.credentials import with_settings
from tarrafa.records import Request

LOGIN = HostSettings("host:a.org", basic_login="me:secret", cookies="k=v")
PUBLIC, PRIVATE = ("198.41.0.4",), ("10.0.0.7",)


@pytest.mark.parametrize(
    ("url", "addresses", "is_sent"),
    [
        ("https://a.org/", PUBLIC, True),
        ("http://a.org/", PRIVATE, True),
        ("http://a.org/", PUBLIC, False),
        ("http://a.org/", (*PRIVATE, *PUBLIC), False),
        ("http://a.org/", (), False),  # a proxy connects by name
    ],
)
def test_login_goes_over_https_or_to_a_private_address_only(
    url: str, addresses: tuple[str, ...], is_sent: bool
) -> None:
    headers = with_settings(Request(url), LOGIN, addresses, "Name/1").headers
    assert headers == ((("Cookie", "k=v"), ("Authorization", "Basic bWU6c2VjcmV0")) if is_sent else ())


def test_token_headers_and_suffix_are_added_before_those_of_the_request() -> None:
    settings = HostSettings("host:a.org", bearer_token="t", headers=(("X-A", "1"),), user_agent_suffix="(x)")
    found = with_settings(Request("https://a.org/", (("If-None-Match", "e"),)), settings, PUBLIC, "Name/1")
    assert found.headers == (
        *(("X-A", "1"), ("User-Agent", "Name/1 (x)"), ("Authorization", "Bearer t"), ("If-None-Match", "e")),
    )


def test_request_of_a_host_without_a_table_is_left_as_it_is() -> None:
    request = Request("https://b.org/")
    assert with_settings(request, HostSettings(), PUBLIC, "Name/1") is request
