"""A synthetic web, fully given by a `Plan`: hosts, pages, links, faults and changes all follow from its seed.

    plan ──► geography ──► pages ──► links ──► render ─┐
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

from tarrafa.lab.web.answers import Ask, Web
from tarrafa.lab.web.apart import served_apart
from tarrafa.lab.web.faults import PROFILES, Fault, parse_faults
from tarrafa.lab.web.journal import Journal
from tarrafa.lab.web.memory import MemoryTransport
from tarrafa.lab.web.plan import Plan
from tarrafa.lab.web.server import Habits, Server, open_server, run_server
from tarrafa.lab.web.truth import Row, Truth

__all__ = [
    "PROFILES",
    "Ask",
    "Fault",
    "Habits",
    "Journal",
    "MemoryTransport",
    "Plan",
    "Row",
    "Server",
    "Truth",
    "Web",
    "open_server",
    "parse_faults",
    "run_server",
    "served_apart",
]
