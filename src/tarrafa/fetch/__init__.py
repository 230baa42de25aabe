"""How does a page get here?

In: a `Request` with a canonical URL. Out: a `Page` with the bytes as the host sent them, or a `Failure` that says why
there is none. The life of a request:

1. `resolve` turns the name into addresses; those of private networks are dropped unless they are allowed.
2. `curl` connects to these addresses and to no other, so a name that changes its mind is not followed (rebinding).
3. `answer` gathers header and body within their bounds: a body is cut and marked, too large a header is a failure.
4. `decode` undoes the content coding for whoever reads the page, within its own bound; the page keeps the original.

Not done here: following redirects (each hop is a URL of its own), waiting for a host's turn, robots.txt, retries,
cookies. Proxies named in the environment are ignored. Certificates are checked against the system's store, which is
found as Python finds it.
"""

from tarrafa.fetch.curl import CurlTransport
from tarrafa.fetch.decode import Decoded, decode
from tarrafa.fetch.resolve import Resolver, SystemResolver, TableResolver

__all__ = ["CurlTransport", "Decoded", "Resolver", "SystemResolver", "TableResolver", "decode"]
