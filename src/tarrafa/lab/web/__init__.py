"""A synthetic web that follows from a `Plan`: hosts, pages, links, faults and changes all depend on its seed.

    plan ──► pages ──► outlines ──► renderer ─┐
    (hosts,  (paths,   (links of   (HTML)     ├──► synthetic_web ──┬──► web_server        sockets, HTTP/1.1
     faults)  titles,   a page)               │    (answers)       └──► memory_transport  a Transport on any clock
              history)  robots, resources ────┘

    truth     every URL, and the pages that a perfect crawl collects
    journal   the requests: which were too early, overlapping, against robots.txt, malformed

Nothing is stored. A page is computed when it is requested, from numbers that `chance` draws from the seed, so a web of
any size starts at once and is the same on every machine. Caches have a bound, and their contents can be computed again.

`SyntheticWeb` decides what a host answers. A server or a transport sends it: these know nothing of pages, and the web
knows nothing of sockets.
"""

from tarrafa.lab.web.faults import PROFILES, Fault, parse_faults
from tarrafa.lab.web.journal import Journal
from tarrafa.lab.web.memory_transport import MemoryTransport, NetworkCut
from tarrafa.lab.web.plan import Plan
from tarrafa.lab.web.synthetic_web import SyntheticWeb, WebRequest
from tarrafa.lab.web.truth import Truth, TruthRow
from tarrafa.lab.web.web_server import ServingOptions, SyntheticServer, open_server, run_server, served_in_process

__all__ = [
    "PROFILES",
    "Fault",
    "Journal",
    "MemoryTransport",
    "NetworkCut",
    "Plan",
    "ServingOptions",
    "SyntheticServer",
    "SyntheticWeb",
    "Truth",
    "TruthRow",
    "WebRequest",
    "open_server",
    "parse_faults",
    "run_server",
    "served_in_process",
]
