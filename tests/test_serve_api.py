"""The search page for programs and browsers: JSON as it is described, suggestions, the search description."""

import re
from typing import Any
from urllib.parse import quote

import pytest

import serving
from serving import (
    NETS,
    Served,
)
from tarrafa.serve.params import PARAMETERS

crawl, page = serving.crawl, serving.page


def test_every_address_and_parameter_is_described(page: Served) -> None:
    description = page.ask("/openapi.json").json
    assert description["openapi"].startswith("3.1")
    described = {
        path: {each["name"] for each in methods["get"]["parameters"]} for path, methods in description["paths"].items()
    }
    assert described == {path: set(names) for path, names in PARAMETERS.items()}


ACCEPTED = {
    "after": "2026-05-17",
    "before": "2026",
    "language": "pt-BR",
    "lang": "pt-BR,en",
    "url": NETS,
    "page": "1",
    "top": "100",
}
REFUSED = {
    "after": ("2026-13", "2026-05-32", "26", "0000"),
    "before": ("tomorrow", "2026-1-1"),
    "language": ("p", "port", "pt_BR", '"'),
    "lang": ("p", "english", "pt;en"),
    "url": ("javascript:alert(1)", "example.org", "http://", ""),
    "page": ("0", "1001"),
    "top": ("0", "101"),
    "per_site": ("101", "-1"),
    "fresh": ("perhaps",),
}


@pytest.mark.parametrize(
    ("path", "name"), [(path, name) for path in PARAMETERS for name in sorted(PARAMETERS[path] & {*REFUSED})]
)
def test_description_and_server_refuse_the_same_values(page: Served, path: str, name: str) -> None:
    described = page.ask("/openapi.json").json["paths"][path]["get"]["parameters"]
    schema = next(each["schema"] for each in described if each["name"] == name)
    for value in REFUSED[name]:
        assert not is_valid(schema, value)
        assert page.ask(f"{path}?{name}={quote(value)}").status == 400
    if name in ACCEPTED:
        assert is_valid(schema, ACCEPTED[name])
        assert page.ask(f"{path}?{name}={quote(ACCEPTED[name])}").status == 200


def is_valid(schema: dict[str, Any], value: str) -> bool:
    if schema["type"] == "integer":
        return int(schema["minimum"]) <= int(value) <= int(schema["maximum"])
    return value in schema.get("enum", [value]) and re.search(schema.get("pattern", ""), value) is not None


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        ("/api/search?q=rede&explain=1", "Results"),
        (f"/api/facts?url={NETS}&q=rede", "Facts"),
        ("/api/suggest?q=ta", "Suggestions"),
        ("/api/search?page=0", "Error"),
    ],
)
def test_answers_are_as_described(page: Served, path: str, schema: str) -> None:
    schemas = page.ask("/openapi.json").json["components"]["schemas"]
    told = page.ask(path).json
    assert set(told) == set(schemas[schema]["properties"])
    if schema == "Results":
        assert set(told["hits"][0]) == set(schemas["Hit"]["properties"])
    if schema == "Facts":
        for name in ("visits", "links_in", "links_out"):
            assert set(told[name][0]) == set(schemas["Facts"]["properties"][name]["items"]["properties"])


def test_parameters_of_programs_reach_the_search(page: Served) -> None:
    told = page.ask("/api/search?q=rede&top=3&page=2&per_site=0&explain=true&language=pt-BR").json
    asked = page.search.requests[-1]
    assert (asked.top, asked.page, asked.per_site, asked.explain, asked.language) == (3, 2, 0, True, "pt-BR")
    assert (told["page"], len(told["hits"]), told["query"]) == (2, 3, "rede")
    assert told["hits"][0]["snippet"][1] == {"text": "pesca", "is_marked": True}


def test_suggestions_are_in_the_form_of_browsers(page: Served) -> None:
    answer = page.ask("/suggest?q=ta")
    assert answer.headers["content-type"] == "application/x-suggestions+json"
    assert answer.json == ["ta", ["tarrafa", "tainha <b>"]]
    assert page.ask("/suggest").json == ["", []]


def test_every_page_names_its_search_description(page: Served) -> None:
    for path in ("/", "/search?q=rede", f"/facts?url={NETS}", f"/copy?url={NETS}", "/nothing"):
        assert re.search(r'<link rel="search"[^>]*href="/opensearch.xml"', page.ask(path).text)
