"""How does a page get here?

In: a `Request` with a canonical URL. Out: a `Page` with the bytes as the host sent them, or a `Failure` that says why
there is none. The life of a request:

1. `names` knows or finds the addresses of the name, through a `Resolver` of `resolve`. Those of private networks are
   dropped unless they are allowed. A request may also carry its address, chosen before among those of
   `CurlTransport.resolve`; it is judged in the same way.
2. `handle` tells libcurl to connect to one address and to no other, so a name that changes its mind is not followed
   (rebinding). A connection is used again only for the same name at the same address, and what it leads to is compared
   once more before anything is sent. `kept` notices those that their host has closed meanwhile.
3. `multi` runs all transfers at once on the event loop. `patience` ends those of whom not even the first byte comes.
4. `answer` gathers header and body within their bounds: a body is cut and marked, too large a header is a failure. When
   the header is whole, `wanted` says whether the body is worth reading; if not, we hang up.
5. `outcome` makes the page or the failure. Where there was no connection at all, the name's next address is tried.
6. `decode` undoes the content coding for whoever reads the page, by `codings`, each within its own bound; the page
   keeps the original.

Not done here: following redirects (each hop is a URL of its own), waiting for a host's turn, robots.txt, retries,
cookies. A request goes out once: libcurl would repeat it when a used connection breaks, and is kept from it. Proxies
named in the environment are ignored; one named in the configuration (`proxy`) looks up and connects by itself, so that
only addresses written in a URL are judged then. Certificates are checked against the system's store, found by
`certificates`; where broken ones are accepted, the page says what is wrong.
"""

from tarrafa.fetch.curl import CurlTransport
from tarrafa.fetch.decode import Decoded, decode
from tarrafa.fetch.proxy import parse_proxy
from tarrafa.fetch.resolve import Resolver, SystemResolver, TableResolver
from tarrafa.fetch.wanted import Types

__all__ = ["CurlTransport", "Decoded", "Resolver", "SystemResolver", "TableResolver", "Types", "decode", "parse_proxy"]
