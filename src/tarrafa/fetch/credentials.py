"""What a `[[host]]` table adds to the requests for its host: headers, cookies, a login, a name in the User-Agent.

They belong to one request: the next one, also that for a redirect, gets those of its own host. Cookies and logins go
only over https or to a private address, where no stranger on the way can read them.
"""

from base64 import b64encode
from collections.abc import Sequence

from tarrafa.addresses import is_public, parse_address
from tarrafa.configuration import HostSettings
from tarrafa.records import Headers, Request


def with_settings(request: Request, settings: HostSettings, addresses: Sequence[str], user_agent: str) -> Request:
    """Return the request with the headers that the settings of its host add."""
    found = list(settings.headers or ())
    if settings.user_agent_suffix:
        found.append(("User-Agent", f"{user_agent} {settings.user_agent_suffix}"))
    if request.url.startswith("https:") or _are_private(addresses):
        found += _login(settings)
    return request._replace(headers=(*found, *request.headers)) if found else request


def _login(settings: HostSettings) -> Headers:
    found = []
    if settings.cookies:
        found.append(("Cookie", settings.cookies))
    if settings.basic_login:
        found.append(("Authorization", f"Basic {b64encode(settings.basic_login.encode()).decode()}"))
    if settings.bearer_token:
        found.append(("Authorization", f"Bearer {settings.bearer_token}"))
    return tuple(found)


def _are_private(addresses: Sequence[str]) -> bool:
    parsed = [parse_address(each) for each in addresses]
    return bool(parsed) and not any(each is None or is_public(each) for each in parsed)
