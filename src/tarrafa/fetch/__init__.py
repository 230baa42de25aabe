"""How does a page get here?

In: a `Request` with a canonical URL. Out: a `Page` with the bytes as the host sent them, or a `Failure` that says why
there is none. The life of a request:

1. `names` resolves the name, through a cache and a `Resolver` of `resolvers`. Addresses of private networks are dropped
   unless they are allowed. A request may carry its address, chosen before among those of `CurlTransport.resolve`; it is
   checked in the same way.
2. `handle` tells libcurl to connect to one address and to no other, so a name that changes its address is not followed
   (DNS rebinding). A connection is reused only for the same name at the same address. The address of the peer is
   compared once more before the request is sent, and `IdleSockets` notices connections that their host has closed.
3. `transfers` runs all transfers at once on the event loop; `FirstByteTimeout` ends those without an answer.
4. `response` collects header and body within their bounds: a body is cut and marked, too large a header is a failure.
   When the header is complete, its media type decides whether the body is read; if not, the connection is closed.
5. `outcome` makes the page or the failure. If there was no connection at all, the name's next address is tried.
6. `codings` undoes the content coding, within a bound, for the caller that reads the page; the page keeps the original.

Not done here: following redirects (each hop is a URL of its own), waiting for a host's turn, robots.txt, retries,
cookies. A request is sent once: libcurl would repeat it when a reused connection breaks, and is kept from it. Proxies
named in the environment are ignored. One named in the configuration (`proxy`) resolves and connects by itself, so only
addresses written in a URL and names that are never public are checked then. Certificates are checked against the
system's store; if broken ones are accepted, the page says what is wrong.
"""

from tarrafa.fetch.codings import Decoded, decode
from tarrafa.fetch.curl import CurlTransport
from tarrafa.fetch.handle import parse_proxy
from tarrafa.fetch.resolvers import CaresResolver, NameAnswer, Resolver, TableResolver, parse_name_servers
from tarrafa.fetch.response import MediaTypes

__all__ = [
    "CaresResolver",
    "CurlTransport",
    "Decoded",
    "MediaTypes",
    "NameAnswer",
    "Resolver",
    "TableResolver",
    "decode",
    "parse_name_servers",
    "parse_proxy",
]
