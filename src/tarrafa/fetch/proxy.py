"""The proxy that fetches for us, if there is one."""

from tarrafa.errors import InputError
from tarrafa.texts import quoted
from tarrafa.urls import parse

NONE = "none"


def parse_proxy(text: str) -> str:
    """Empty for none; else `http://name:port`, with `user:password@` before the name where the proxy wants that."""
    if text == NONE:
        return ""
    url = parse(text)
    if url is None or url.scheme != "http" or url.path != "/" or url.query is not None:
        raise InputError(f'{quoted(text)} is not a proxy; write for example "http://proxy.your.site:3128", or "none"')
    return url.url
