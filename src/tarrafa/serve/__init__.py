"""What does a reader see?

In: HTTP requests of browsers and programs, for the folder of one crawl. Out: HTML pages, and the same as JSON. The path
of a request:

1. `server` accepts the connection; `connections` bounds their number and the time each may take. `middleware` adds
   security headers to every response and limits the rate of each client; `host_names` refuses names of other servers.
2. `application` routes the request to its endpoint. `params` reads the parameters and refuses what is out of bounds.
3. A search runs in one of the worker processes of `workers`, each of which has a `live_search`: the index, reloaded
   while the crawl goes on. They are forked from one process (`fork_server`). Clients take turns in the queue for them
   (`fair_queue`), which is bounded in length and time; a slow search does not block the ones behind it.
   Facts about a page come from `facts`, which asks the `lookups` of `collection` about documents, links and archive;
   `stored_copy` makes the stored page harmless. `explain` says why a URL was not fetched.
4. `page_templates` renders HTML, with the translations of `i18n`; `api` makes JSON and describes it as OpenAPI.

Everything shown was written by strangers: templates escape all of it, pages run no scripts but our own, and details of
an error go to the log, never to the response.

Not done here: indexing, ranking, the order of results, TLS (a proxy in front does it), authentication.
"""

from tarrafa.serve.application import SearchPage, make_application
from tarrafa.serve.connections import ConnectionLimits
from tarrafa.serve.facts import FactsReader
from tarrafa.serve.host_names import HostNames, host_names
from tarrafa.serve.live_search import LiveSearch, SearchBackend, SearchEngine
from tarrafa.serve.middleware import RateLimit
from tarrafa.serve.server import SearchServer, listen
from tarrafa.serve.workers import SearchWorkers, workers_count

__all__ = [
    "ConnectionLimits",
    "FactsReader",
    "HostNames",
    "LiveSearch",
    "RateLimit",
    "SearchBackend",
    "SearchEngine",
    "SearchPage",
    "SearchServer",
    "SearchWorkers",
    "host_names",
    "listen",
    "make_application",
    "workers_count",
]
