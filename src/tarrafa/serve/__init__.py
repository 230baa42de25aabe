"""What does a reader see?

In: requests of browsers and programs, over HTTP, for one crawl's folder. Out: pages of HTML, and the same as JSON. The
way of a request:

1. `guard` asks `rates` whether this client may ask now, and puts the headers on every answer that keep browsers safe.
2. `application` finds what is asked for. `asking` reads the parameters and refuses what is out of bounds.
3. `searching` holds the collection as it is now, and renews it while the crawl goes on. `processes` has several of them
   in processes of their own, which run `answering`, and replaces those that end; `messages` go between, `pausing` says
   how soon one is replaced; `pool` keeps a slow question from stalling those behind it.
   `facts` and `rows` find what is known of one URL in documents, links and archive, by catalogues that are kept up
   beside; `stored` makes its kept copy harmless.
4. `showing` fills the templates, into which `wording` has put the words of `languages`; `api` and `openapi` are for
   programs.

Everything that is shown was written by strangers: templates escape all of it, no page of ours runs a script that is not
ours, and what is wrong here is told to the operator's log, never to the reader.

Not done here: indexing, ranking, deciding the order of results, encryption (a proxy in front does it), knowing who
asks.
"""

from tarrafa.serve.application import Site, make_application
from tarrafa.serve.facts import Reader
from tarrafa.serve.processes import Processes, usual_count
from tarrafa.serve.rates import Rate
from tarrafa.serve.searching import Answering, Collection, Searching
from tarrafa.serve.server import Server, listen

__all__ = [
    "Answering",
    "Collection",
    "Processes",
    "Rate",
    "Reader",
    "Searching",
    "Server",
    "Site",
    "listen",
    "make_application",
    "usual_count",
]
