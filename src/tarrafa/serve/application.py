"""Which address shows what. Every answer is made here, from what the other modules find."""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as Asked
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from tarrafa.clock import Clock
from tarrafa.errors import InputError
from tarrafa.search import Hit, Results, SearchRequest
from tarrafa.serve.api import facts_told, results_told
from tarrafa.serve.asking import (
    EXPLAINED_LIMIT,
    PAGE_HITS,
    RESULTS_LIMIT,
    SUGGESTIONS_LIMIT,
    RefusedError,
    api_request,
    explained_request,
    has_phrase,
    only_known,
    query_of,
    search_request,
    url_of,
)
from tarrafa.serve.facts import Facts, Reader
from tarrafa.serve.guard import Guard
from tarrafa.serve.languages import Words, choose
from tarrafa.serve.openapi import DESCRIPTION
from tarrafa.serve.pool import Pool
from tarrafa.serve.rates import USUAL_RATE, Buckets, Rate
from tarrafa.serve.searching import Answering
from tarrafa.serve.showing import ASSETS, Pages, base_of, page_numbers
from tarrafa.serve.stored import POLICY, Copy, Shown

_COSTS = {"/facts": 5.0, "/api/facts": 5.0, "/copy": 2.0, "/copy/content": 2.0}
_FREE = ("/assets/", "/opensearch.xml", "/openapi.json", "/robots.txt", "/favicon.ico")
_PRIVATE = {"cache-control": "private, max-age=10", "vary": "accept-language"}

Answer = Callable[[Asked], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Site:
    """What a search page is made of."""

    collection: Answering
    reader: Reader
    clock: Clock
    language: str = "en"  # for those whose browser asks for none that is spoken here
    rate: Rate = USUAL_RATE
    searches_count: int = 4  # that run at a time


def make_application(site: Site) -> ASGIApp:
    desk = _Desk(site)
    application = Starlette(
        routes=[Route(path, answer, methods=["GET"]) for path, answer in desk.answers().items()],
        exception_handlers={
            RefusedError: desk.refuse,
            InputError: desk.misunderstand,
            HTTPException: desk.miss,
            Exception: desk.fail,
        },
        lifespan=desk.life,
    )
    return Guard(application, Buckets(site.rate), site.clock, _cost, desk.late)


def _cost(path: str) -> float:
    return 0.0 if path.startswith(_FREE) else _COSTS.get(path, 1.0)


class _Desk:
    """Answers. Lives as long as the application."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._pages = Pages()
        # Phrases may be slow, so one place is kept free of them; reading facts keeps nobody from searching.
        self._searching = Pool("searching", workers=site.searches_count, waiting_limit=60)
        self._phrases = Pool("phrases", workers=max(1, site.searches_count - 1), waiting_limit=30)
        self._reading = Pool("reading", workers=2, waiting_limit=30)

    def answers(self) -> dict[str, Answer]:
        return {
            "/": self.home,
            "/search": self.results,
            "/facts": self.facts,
            "/copy": self.copy,
            "/copy/content": self.content,
            "/suggest": self.suggest,
            "/api/search": self.api_search,
            "/api/facts": self.api_facts,
            "/api/suggest": self.api_suggest,
            "/openapi.json": self.openapi,
            "/opensearch.xml": self.opensearch,
            "/robots.txt": self.robots,
            "/favicon.ico": self.icon,
            "/assets/{name}": self.asset,
        }

    @contextlib.asynccontextmanager
    async def life(self, _: Starlette) -> AsyncIterator[None]:
        self._site.collection.begin()
        with self._site.reader.kept_up():
            yield
        for pool in (self._searching, self._phrases, self._reading):
            pool.close()
        self._site.collection.close()

    # Pages.

    async def home(self, asked: Asked) -> Response:
        count = await self._searching.run(lambda: self._site.collection.documents_count)
        return self._page(asked, "home.html", {"count": count})

    async def results(self, asked: Asked) -> Response:
        request = search_request(asked.query_params)
        if not request.text and not request.site:
            return await self.home(asked)
        results = await self._search(request)
        if results is None:
            return self._page(asked, "home.html", {"count": 0, "query": request.text})
        reachable = min(results.count, RESULTS_LIMIT)
        return self._page(
            asked,
            "results.html",
            {
                "query": request.text,
                "asked": request,
                "results": results,
                "numbers": page_numbers(request.page, -(-reachable // PAGE_HITS)),
                "has_next": len(results.hits) == PAGE_HITS and request.page * PAGE_HITS < reachable,
            },
        )

    async def _search(self, request: SearchRequest) -> Results | None:
        pool = self._phrases if has_phrase(request) else self._searching
        return await pool.run(partial(self._site.collection.search, request))

    async def facts(self, asked: Asked) -> Response:
        url, query = url_of(asked.query_params), query_of(asked.query_params)
        found, hit, position = await self._facts(url, query)
        if found is None:
            return self._unknown(asked)
        given = {"facts": found, "hit": hit, "position": position, "query": query, "limit": EXPLAINED_LIMIT}
        return self._page(asked, "facts.html", given)

    async def copy(self, asked: Asked) -> Response:
        copy = await self._copy(asked)
        if copy is None:
            return self._unknown(asked)
        status = HTTPStatus.OK if copy.html else _missing(copy)
        return self._page(asked, "copy.html", {"copy": copy, "query": query_of(asked.query_params)}, status)

    async def content(self, asked: Asked) -> Response:
        """The kept page alone, for the frame. It has a policy of its own, also when it is opened without the frame."""
        copy = await self._copy(asked)
        if copy is None or not copy.html:
            return PlainTextResponse("", HTTPStatus.NOT_FOUND if copy is None else _missing(copy))
        # What a page holds may be half of a character, which is no text.
        body = copy.html.encode("utf-8", "replace")
        return Response(body, headers={**_PRIVATE, "content-security-policy": POLICY}, media_type="text/html")

    async def _copy(self, asked: Asked) -> Copy | None:
        return await self._reading.run(partial(self._site.reader.copy, url_of(asked.query_params)))

    def _unknown(self, asked: Asked) -> Response:
        return self._message(asked, HTTPStatus.NOT_FOUND, "unknown_title", "unknown_text")

    # For programs.

    async def suggest(self, asked: Asked) -> Response:
        """In the form that browsers want for their own search box."""
        query = query_of(asked.query_params)
        return _json([query, await self._suggestions(query)], media_type="application/x-suggestions+json")

    async def api_search(self, asked: Asked) -> Response:
        request = api_request(asked.query_params)
        results = await self._search(request)
        return _json(results_told(results, request.text))

    async def api_facts(self, asked: Asked) -> Response:
        only_known("/api/facts", asked.query_params)
        found, hit, position = await self._facts(url_of(asked.query_params), query_of(asked.query_params))
        if found is None:
            raise RefusedError("unknown_title", HTTPStatus.NOT_FOUND)
        return _json(facts_told(found, hit, position))

    async def api_suggest(self, asked: Asked) -> Response:
        only_known("/api/suggest", asked.query_params)
        query = query_of(asked.query_params)
        return _json({"query": query, "suggestions": await self._suggestions(query)})

    async def _suggestions(self, query: str) -> list[str]:
        if not query:
            return []
        return await self._searching.run(partial(self._site.collection.suggest, query, SUGGESTIONS_LIMIT))

    async def _facts(self, url: str, query: str) -> tuple[Facts | None, Hit | None, int | None]:
        """And where the page stands among the results of a query, if there is one."""
        site = self._site
        found = await self._reading.run(lambda: site.reader.facts(url, site.collection.ranks))
        if found is None or not query:
            return found, None, None
        results = await self._search(explained_request(query))
        for position, hit in enumerate(results.hits if results else (), start=1):
            if url == hit.url or url in hit.copies:
                return found, hit, position
        return found, None, None

    async def openapi(self, _: Asked) -> Response:
        return _json(DESCRIPTION)

    async def opensearch(self, asked: Asked) -> Response:
        words = self._words(asked)
        text = self._pages.render("opensearch.xml", words, {"base": base_of(asked.scope)})
        return Response(text, media_type="application/opensearchdescription+xml")

    async def robots(self, _: Asked) -> Response:
        """Pages of results are nothing to collect, by us or by others."""
        return PlainTextResponse(
            "User-agent: *\nDisallow: /search\nDisallow: /facts\nDisallow: /copy\nDisallow: /api/\n"
        )

    async def icon(self, _: Asked) -> Response:
        return self._asset("icon.svg")

    async def asset(self, asked: Asked) -> Response:
        return self._asset(asked.path_params["name"])

    def _asset(self, name: str) -> Response:
        if name not in ASSETS:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        # Pages name assets with a mark that changes with them, so they can be kept for long.
        headers = {"cache-control": "public, max-age=86400"}
        return Response(self._pages.assets[name], headers=headers, media_type=ASSETS[name])

    # When there is no answer.

    async def refuse(self, asked: Asked, error: Exception) -> Response:
        assert isinstance(error, RefusedError)
        return self._message(asked, error.status, f"error_{error.status}", error.key, **error.values)

    async def misunderstand(self, asked: Asked, _: Exception) -> Response:
        return self._message(asked, HTTPStatus.BAD_REQUEST, "error_400", "refused_input")

    async def miss(self, asked: Asked, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
        status = HTTPStatus.METHOD_NOT_ALLOWED if status == HTTPStatus.METHOD_NOT_ALLOWED else HTTPStatus.NOT_FOUND
        return self._message(asked, status, f"error_{status.value}", f"error_{status.value}_text")

    async def fail(self, asked: Asked, _: Exception) -> Response:
        """The reader learns that it is our fault. What it is, the guard writes to the log."""
        return self._message(asked, HTTPStatus.INTERNAL_SERVER_ERROR, "error_500", "error_500_text")

    def late(self, scope: Scope, seconds: int) -> Response:
        response = self._message(
            Asked(scope), HTTPStatus.TOO_MANY_REQUESTS, "error_429", "error_429_text", seconds=seconds
        )
        response.headers["retry-after"] = str(seconds)
        return response

    def _message(self, asked: Asked, status: int, title: str, text: str, **values: object) -> Response:
        words = self._words(asked)
        path = asked.scope["path"]
        if path.startswith("/api/") or path == "/suggest":
            return _json({"error": {"status": int(status), "message": words.say(text, **values)}}, int(status))
        shown = {"title": words.say(title), "text": words.say(text, **values)}
        return self._page(asked, "message.html", shown, int(status))

    def _page(self, asked: Asked, template: str, values: dict[str, Any], status: int = HTTPStatus.OK) -> Response:
        words = self._words(asked)
        wanted = asked.query_params.get("lang", "")
        given = {"query": "", **values, "lang": wanted if wanted == words.code else ""}
        other = {**dict(asked.query_params), "lang": "pt" if words.code == "en" else "en"}
        given |= {"other_language": other, "path": asked.scope["path"]}
        text = self._pages.render(template, words, given)
        return HTMLResponse(text.encode("utf-8", "replace"), int(status), headers=_PRIVATE)

    def _words(self, asked: Asked) -> Words:
        accepted = asked.headers.get("accept-language", "")
        return Words(choose(asked.query_params.get("lang", ""), accepted, self._site.language))


def _json(value: object, status: int = HTTPStatus.OK, media_type: str = "application/json") -> Response:
    """In ASCII: what a page holds may be half of a character, which no other form of JSON can say."""
    text = json.dumps(value, separators=(",", ":"))
    return Response(text, int(status), headers=_PRIVATE, media_type=media_type)


def _missing(copy: Copy) -> int:
    if copy.shown is Shown.FORBIDDEN:
        return HTTPStatus.FORBIDDEN
    return HTTPStatus.NOT_FOUND if copy.shown is Shown.ABSENT else HTTPStatus.OK
