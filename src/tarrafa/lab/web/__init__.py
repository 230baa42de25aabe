"""A synthetic web, fully given by a `Plan`: hosts, pages, links, faults and changes all follow from its seed.

    plan ──► hosts ──► pages ──► links ──► render ─┐
    (hosts)   (sizes,      (paths,   (blocks,  (HTML)  ├──► answers ──┬──► server   real sockets, HTTP/1.1
               neighbours,  titles,   forms)           │    (one      └──► memory   a Transport on any clock
               faults)      copies,   robots, files, ──┘    generator)
                            changes)  traps
                                                 truth: every URL, and what a perfect crawl would collect
                                                 journal: who asked for what, too early, against robots, malformed

Nothing is stored: a page is worked out when it is asked for, from numbers that `chance` draws from the seed, so a web
of any size starts at once and is the same on every machine. What is kept at hand (entries, blocks, passages) has a
bound and can be worked out again.

`answers.Web` decides what a host answers; a door sends it. Doors know nothing of pages, the generator nothing of
sockets.
"""

from tarrafa.lab.web.faults import PROFILES, Fault, parse_faults
from tarrafa.lab.web.journal import Journal
from tarrafa.lab.web.memory_transport import MemoryTransport
from tarrafa.lab.web.plan import Plan
from tarrafa.lab.web.synthetic_web import SyntheticWeb, WebRequest
from tarrafa.lab.web.truth import Truth, TruthRow
from tarrafa.lab.web.web_server import ServingOptions, SyntheticServer, open_server, run_server, served_in_process

__all__ = [
    "PROFILES",
    "Fault",
    "Journal",
    "MemoryTransport",
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
