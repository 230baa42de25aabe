"""The routes of the search page and their endpoints."""

import contextlib
import json
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request as HttpRequest
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from tarrafa.clock import Clock
from tarrafa.errors import InputError, TarrafaError
from tarrafa.explain import Explanation, Verdict
from tarrafa.logs import event
from tarrafa.search import Hit, Results, SearchRequest
from tarrafa.serve.api import OPENAPI, explanation_json, facts_json, results_json
from tarrafa.serve.connections import RETRY_SECONDS
from tarrafa.serve.facts import Facts, FactsReader
from tarrafa.serve.host_names import HostCheck, HostNames
from tarrafa.serve.i18n import Translator, accepted_languages, choose_language
from tarrafa.serve.live_search import SearchBackend
from tarrafa.serve.middleware import ErrorLog, RateLimit, RateLimiter, SecurityHeaders, client_key
from tarrafa.serve.page_templates import PageTemplates, base_url, page_numbers
from tarrafa.serve.params import (
    EXPLAINED_LIMIT,
    PAGE_HITS,
    RESULTS_LIMIT,
    SUGGESTIONS_LIMIT,
    RefusedError,
    api_request,
    explained_request,
    has_phrase,
    moment_of,
    query_of,
    require_known,
    search_request,
    url_of,
)
from tarrafa.serve.stored_copy import POLICY, CopyKind, StoredCopy
from tarrafa.serve.workers import ThreadPool
from tarrafa.texts import without_bidi_controls

# In tokens of the rate limit.
_COSTS = {
    "/facts": 5.0,
    "/api/facts": 5.0,
    "/api/explain": 5.0,
    "/copy": 2.0,
    "/copy/content": 2.0,
}
_FREE = ("/assets/", "/opensearch.xml", "/openapi.json", "/robots.txt", "/favicon.ico")
_ASSETS = Path(__file__).parent / "assets"
_CACHED = {"cache-control": "public, max-age=86400"}
_PRIVATE = {"cache-control": "private, max-age=10", "vary": "accept-language"}
# Headers that tell a client what it may do instead, by status.
_ADVICE = {405: {"allow": "GET, HEAD"}, 503: {"retry-after": str(RETRY_SECONDS)}}

_log = logging.getLogger(__name__)

Endpoint = Callable[[HttpRequest], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class SearchPage:
    """What the search page is made of."""

    backend: SearchBackend
    reader: FactsReader
    explain: Callable[[str], Explanation]  # why a URL is where it is
    clock: Clock
    language: str = "en"  # for browsers that accept none of the languages of the page
    rate_limit: RateLimit = field(default_factory=RateLimit)
    searches_count: int = 4  # concurrent searches
    names: HostNames = field(default_factory=HostNames)


def make_application(page: SearchPage) -> ASGIApp:
    endpoints = _Endpoints(page)
    limiter = Middleware(RateLimiter, limit=page.rate_limit, clock=page.clock, cost=_cost)
    host_check = Middleware(HostCheck, names=page.names)
    application = Starlette(
        # A mount's middleware runs inside the exception handlers, so they answer what it refuses.
        routes=[Mount("", routes=endpoints.routes(), middleware=[host_check, limiter])],
        exception_handlers={
            HTTPException: endpoints.refuse,
            InputError: endpoints.refuse_input,
            Exception: endpoints.fail,
        },
        lifespan=endpoints.lifespan,
    )
    return SecurityHeaders(ErrorLog(application))


def _cost(path: str) -> float:
    return 0.0 if path.startswith(_FREE) else _COSTS.get(path, 1.0)


class _Assets(StaticFiles):
    def file_response(self, *arguments: Any, **options: Any) -> Response:
        """Let browsers cache assets for long: pages request them with a version that changes with their content."""
        response = super().file_response(*arguments, **options)
        response.headers.update(_CACHED)
        return response


class _Endpoints:
    def __init__(self, page: SearchPage) -> None:
        self._page = page
        self._templates = PageTemplates()
        # Phrase searches may be slow, so they leave one worker to the others. Reading facts does not delay searches.
        self._searches = ThreadPool("search", threads=page.searches_count, queue_limit=100)
        self._phrases = ThreadPool("phrases", threads=max(1, page.searches_count - 1), queue_limit=50)
        self._lookups = ThreadPool("lookups", threads=2, queue_limit=30)

    def routes(self) -> list[BaseRoute]:
        endpoints: dict[str, Endpoint] = {
            "/": self.home,
            "/search": self.results,
            "/facts": self.facts,
            "/copy": self.copy,
            "/copy/content": self.copy_content,
            "/suggest": self.suggest,
            "/api/search": self.api_search,
            "/api/facts": self.api_facts,
            "/api/explain": self.api_explain,
            "/api/suggest": self.api_suggest,
            "/openapi.json": self.openapi,
            "/opensearch.xml": self.opensearch,
            "/robots.txt": self.robots,
            "/favicon.ico": self.favicon,
        }
        assets = Mount("/assets", _Assets(directory=_ASSETS))
        return [*(Route(path, endpoint, methods=["GET"]) for path, endpoint in endpoints.items()), assets]

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._page.backend.start()
        with self._page.reader.updating():
            yield
        for pool in (self._searches, self._phrases, self._lookups):
            pool.close()
        self._page.backend.close()

    # HTML pages.

    async def home(self, http: HttpRequest) -> Response:
        count = await self._searches.run(lambda: self._page.backend.documents_count, _client(http))
        return self._html(http, "home.html", {"count": count})

    async def results(self, http: HttpRequest) -> Response:
        request = search_request(http.query_params, _accepted(http))
        if not request.text and not request.site:
            return await self.home(http)
        results = await self._search(http, request)
        if results is None:
            return self._html(http, "home.html", {"count": 0, "query": request.text})
        reachable = min(results.count, RESULTS_LIMIT)
        return self._html(
            http,
            "results.html",
            {
                "query": request.text,
                "request": request,
                "results": results,
                "numbers": page_numbers(request.page, -(-reachable // PAGE_HITS)),
                "has_next": len(results.hits) == PAGE_HITS and request.page * PAGE_HITS < reachable,
            },
        )

    async def facts(self, http: HttpRequest) -> Response:
        url, query = url_of(http.query_params), query_of(http.query_params)
        found, hit, position = await self._facts(http, url, query)
        explanation = await self._explained_if_possible(http, url)
        if found is None:
            return self._never_visited(http, explanation, query)
        values = {"facts": found, "hit": hit, "position": position, "query": query, "explanation": explanation}
        return self._html(http, "facts.html", {**values, "limit": EXPLAINED_LIMIT})

    async def copy(self, http: HttpRequest) -> Response:
        copy = await self._copy(http)
        if copy is None:
            return self._unknown(http)
        return self._html(
            http,
            "copy.html",
            {"copy": copy, "at": http.query_params.get("at", ""), "query": query_of(http.query_params)},
            _copy_status(copy),
        )

    async def copy_content(self, http: HttpRequest) -> Response:
        """Return the stored page for the frame, with its own policy, which also holds outside of the frame."""
        copy = await self._copy(http)
        if copy is None or not copy.html:
            return PlainTextResponse("", _copy_status(copy) if copy else HTTPStatus.NOT_FOUND)
        # A page may hold lone surrogates, which cannot be encoded.
        body = copy.html.encode("utf-8", "replace")
        return Response(body, headers={**_PRIVATE, "content-security-policy": POLICY}, media_type="text/html")

    def _never_visited(self, http: HttpRequest, explanation: Explanation | None, query: str) -> Response:
        """Return the page of a URL without facts: why it was not visited."""
        if explanation is None or explanation.verdict is Verdict.UNKNOWN:
            return self._unknown(http)
        return self._html(http, "explained.html", {"explanation": explanation, "query": query})

    def _unknown(self, http: HttpRequest) -> Response:
        return self._message(http, HTTPStatus.NOT_FOUND, "unknown_title", "unknown_text")

    # For programs and browsers.

    async def suggest(self, http: HttpRequest) -> Response:
        """Return suggestions in the format of browsers' search boxes."""
        query = query_of(http.query_params)
        return _json([query, await self._suggestions(http, query)], media_type="application/x-suggestions+json")

    async def api_search(self, http: HttpRequest) -> Response:
        request = api_request(http.query_params, _accepted(http))
        results = await self._search(http, request)
        return _json(results_json(results, request.text))

    async def api_facts(self, http: HttpRequest) -> Response:
        require_known("/api/facts", http.query_params)
        params = http.query_params
        found, hit, position = await self._facts(http, url_of(params), query_of(params), moment_of(params))
        if found is None:
            raise RefusedError("unknown_title", HTTPStatus.NOT_FOUND)
        return _json(facts_json(found, hit, position))

    async def api_explain(self, http: HttpRequest) -> Response:
        require_known("/api/explain", http.query_params)
        return _json(explanation_json(await self._explained(http, url_of(http.query_params))))

    async def api_suggest(self, http: HttpRequest) -> Response:
        require_known("/api/suggest", http.query_params)
        query = query_of(http.query_params)
        return _json({"query": query, "suggestions": await self._suggestions(http, query)})

    async def openapi(self, _: HttpRequest) -> Response:
        return _json(OPENAPI)

    async def opensearch(self, http: HttpRequest) -> Response:
        text = self._templates.render("opensearch.xml", self._translator(http), {"base": base_url(http.scope)})
        return Response(text, media_type="application/opensearchdescription+xml")

    async def robots(self, _: HttpRequest) -> Response:
        """Keep crawlers, ours included, away from pages of results."""
        return PlainTextResponse(
            "User-agent: *\nDisallow: /search\nDisallow: /facts\nDisallow: /copy\nDisallow: /api/\n"
        )

    async def favicon(self, _: HttpRequest) -> Response:
        return FileResponse(_ASSETS / "icon.svg", headers=_CACHED)

    # Work in thread pools.

    async def _search(self, http: HttpRequest, request: SearchRequest) -> Results | None:
        pool = self._phrases if has_phrase(request) else self._searches
        return await pool.run(partial(self._page.backend.search, request), _client(http))

    async def _suggestions(self, http: HttpRequest, query: str) -> list[str]:
        if not query:
            return []
        suggest = partial(self._page.backend.suggest, query, SUGGESTIONS_LIMIT)
        found = await self._searches.run(suggest, _client(http))
        return [without_bidi_controls(each) for each in found]

    async def _facts(
        self, http: HttpRequest, url: str, query: str, at: float = math.inf
    ) -> tuple[Facts | None, Hit | None, int | None]:
        """Return the facts, and if there is a query the hit of the page and its position among the results."""
        page = self._page
        found = await self._lookups.run(lambda: page.reader.facts(url, page.backend.ranks, at), _client(http))
        if found is None or not query:
            return found, None, None
        results = await self._search(http, explained_request(query, found.language))
        for position, hit in enumerate(results.hits if results else (), start=1):
            if url == hit.url or url in hit.copies:
                return found, hit, position
        return found, None, None

    async def _explained_if_possible(self, http: HttpRequest, url: str) -> Explanation | None:
        """Return the explanation for a page that is worth showing without it: a file may be damaged or missing."""
        try:
            return await self._explained(http, url)
        except TarrafaError as error:
            event(_log, "not explained", logging.WARNING, url=url, reason=str(error))
            return None

    async def _explained(self, http: HttpRequest, url: str) -> Explanation:
        return await self._lookups.run(partial(self._page.explain, url), _client(http))

    async def _copy(self, http: HttpRequest) -> StoredCopy | None:
        params = http.query_params
        copy = partial(self._page.reader.copy, url_of(params), moment_of(params))
        return await self._lookups.run(copy, _client(http))

    # Errors.

    async def refuse(self, http: HttpRequest, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status = error.status_code
        if isinstance(error, RefusedError):
            response = self._message(http, status, f"error_{status}", error.key, **error.values)
        else:
            status = status if status == HTTPStatus.METHOD_NOT_ALLOWED else HTTPStatus.NOT_FOUND
            response = self._message(http, status, f"error_{int(status)}", f"error_{int(status)}_text")
        response.headers.update({**(error.headers or {}), **_ADVICE.get(status, {})})
        return response

    async def refuse_input(self, http: HttpRequest, _: Exception) -> Response:
        return self._message(http, HTTPStatus.BAD_REQUEST, "error_400", "refused_input")

    async def fail(self, http: HttpRequest, _: Exception) -> Response:
        """Return a page without details; the middleware logs them."""
        return self._message(http, HTTPStatus.INTERNAL_SERVER_ERROR, "error_500", "error_500_text")

    # Responses.

    def _message(self, http: HttpRequest, status: int, title: str, text: str, **values: object) -> Response:
        translate = self._translator(http).translate
        path = http.scope["path"]
        if path.startswith("/api/") or path == "/suggest":
            return _json({"error": {"status": int(status), "message": translate(text, **values)}}, int(status))
        return self._html(
            http, "message.html", {"title": translate(title), "text": translate(text, **values)}, int(status)
        )

    def _html(self, http: HttpRequest, template: str, values: dict[str, Any], status: int = HTTPStatus.OK) -> Response:
        translator = self._translator(http)
        requested = http.query_params.get("lang", "")
        other = {**dict(http.query_params), "lang": "pt" if translator.code == "en" else "en"}
        shared = {"other_language": other, "path": http.scope["path"]}
        lang = requested if requested == translator.code else ""
        text = self._templates.render(template, translator, {"query": "", **values, **shared, "lang": lang})
        return HTMLResponse(text.encode("utf-8", "replace"), int(status), headers=_PRIVATE)

    def _translator(self, http: HttpRequest) -> Translator:
        accept_language = http.headers.get("accept-language", "")
        return Translator(choose_language(http.query_params.get("lang", ""), accept_language, self._page.language))


def _accepted(http: HttpRequest) -> list[str]:
    return accepted_languages(http.headers.get("accept-language", ""))


def _client(http: HttpRequest) -> str:
    return client_key(http.client.host) if http.client else ""


def _json(value: object, status: int = HTTPStatus.OK, media_type: str = "application/json") -> Response:
    """Return JSON in ASCII: texts of pages may hold lone surrogates, which cannot be encoded in UTF-8."""
    text = json.dumps(value, separators=(",", ":"))
    return Response(text, int(status), headers=_PRIVATE, media_type=media_type)


def _copy_status(copy: StoredCopy) -> int:
    statuses = {CopyKind.FORBIDDEN: HTTPStatus.FORBIDDEN, CopyKind.ABSENT: HTTPStatus.NOT_FOUND}
    return statuses.get(copy.kind, HTTPStatus.OK)
