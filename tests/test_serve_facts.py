"""What is told of one page, and its stored copy, over HTTP."""

from pathlib import Path

import serving
from serving import (
    COPY,
    HOME,
    HOSTILE,
    HTML,
    NETS,
    NEWS,
    OLD,
    PICTURE,
    PLAIN,
    SECRET,
    FakeSearch,
    Read,
    Served,
    Visit,
    keep_visits,
    served,
    words_of,
)
from tarrafa.layout import CrawlPaths

crawl, page = serving.crawl, serving.page


def test_facts_tell_links_of_all_agents(page: Served) -> None:
    facts = page.about("/api/facts", NETS).json
    assert {each["url"]: each["text"] for each in facts["links_in"]} == {HOME: "a tarrafa", NEWS: "rede de pesca"}
    assert {each["url"]: each["text"] for each in facts["links_out"]} == {HOME: "início", NEWS: "<i>jornal</i>"}
    assert (facts["links_in_count"], facts["links_out_count"], facts["is_links_in_bounded"]) == (2, 2, False)


def test_link_that_its_page_has_no_longer_is_not_told(page: Served) -> None:
    assert OLD not in page.about("/facts", NETS).text
    assert page.about("/api/facts", OLD).json["links_out"] == []


def test_history_tells_what_changed(page: Served) -> None:
    visits = page.about("/api/facts", NETS).json["visits"]
    assert [(each["status"], each["outcome"], each["is_changed"]) for each in visits] == [
        (200, "fetched", True),
        (304, "unchanged", False),
        (200, "fetched", None),
    ]
    assert "changed" in words_of(page.about("/facts", NETS))


def test_history_leads_to_the_stored_copy_of_each_version(page: Served) -> None:
    visits = page.about("/api/facts", NETS).json["visits"]
    assert [each["copy_at"] for each in visits] == ["2026-03-14T12:00:00.000000Z", None, "2026-03-12T12:00:00.000000Z"]
    assert [(each["is_version"], each["is_current"]) for each in visits] == [
        (True, True),
        (False, False),
        (True, False),
    ]
    copies = [link["href"] or "" for link in Read(page.about("/facts", NETS).text).all("a")]
    old = next(href for href in copies if "2026-03-12" in href)
    assert "Rede" in page.ask(old).text
    frame = Read(page.ask(old).text).all("iframe")[0]["src"] or ""
    assert "at=2026-03-12" in frame
    assert page.ask(frame).status == 200


def test_facts_of_a_moment_are_those_of_its_version(page: Served) -> None:
    old = page.about("/api/facts", NETS, at="2026-03-13").json
    assert (old["title"], len(old["visits"]), old["links_out"]) == ("Rede", 2, [])
    assert page.about("/api/facts", NETS, at="2026-03-11").status == 404
    assert page.about("/copy", NETS, at="2026-03-11").status == 404
    assert page.about("/copy", NETS, at="soon").status == 400
    assert page.about("/api/facts", NETS, at="2026-02-30").status == 400


def test_copy_that_is_forbidden_now_is_not_shown_of_an_older_moment_either(tmp_path: Path) -> None:
    paths = CrawlPaths(tmp_path)
    visits = [Visit(NEWS, 0, "<p>free</p>"), Visit(NEWS, 1, "<p>shy</p>", directives=("noarchive",))]
    keep_visits(paths, visits)
    with served(tmp_path, FakeSearch()) as page:
        assert page.about("/copy", NEWS, at="2026-03-12").status == 403


def test_facts_tell_copies_and_header(page: Served) -> None:
    facts = page.about("/api/facts", NETS).json
    assert facts["copies"] == [COPY]
    assert facts["headers"] == [list(pair) for pair in HTML]
    assert facts["status_line"] == "HTTP/1.1 200 OK"
    assert "Server: quay/1.0" in page.about("/facts", NETS).text


def test_facts_explain_the_place_of_a_result(page: Served) -> None:
    facts = page.about("/api/facts", NEWS, q="rede").json
    assert (facts["position"], facts["explanation"]["words"]) == (2, 4.0)
    assert "Position for “rede”: 2" in words_of(page.about("/facts", NEWS, q="rede"))
    assert page.about("/api/facts", COPY, q="rede").json["position"] == 1
    assert "not among the first 100 results" in words_of(page.about("/facts", OLD, q="rede"))


def test_page_that_was_never_visited_is_not_found(page: Served) -> None:
    assert page.about("/facts", "http://nowhere.example/").status == 404
    assert page.about("/copy", "http://nowhere.example/").status == 404
    assert page.about("/api/facts", "http://nowhere.example/").json["error"]["status"] == 404


# Stored copies.


def test_copy_is_shown_in_a_frame_without_permissions(page: Served) -> None:
    (frame,) = Read(page.about("/copy", HOSTILE).text).all("iframe")
    assert frame["sandbox"] == ""
    assert (frame["src"] or "").startswith("/copy/content?url=")


def test_content_has_a_policy_of_its_own_and_nothing_that_runs_or_loads(page: Served) -> None:
    answer = page.about("/copy/content", HOSTILE)
    policy = answer.headers["content-security-policy"]
    assert {"default-src 'none'", "style-src 'unsafe-inline'", "img-src data:", "sandbox"} <= set(policy.split("; "))
    read = Read(answer.text)
    assert "Kept words" in read.words
    tags = {tag for tag, _ in read.elements}
    assert not tags & {"script", "link", "meta", "base", "iframe", "object", "embed", "video"}
    values = [(name, value) for _, attributes in read.elements for name, value in attributes.items() if name != "xmlns"]
    assert not [name for name, value in values if name.startswith("on") or "127.0.0.1:9" in (value or "")]
    assert [each["src"] for each in read.all("img") if "src" in each] == [
        "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
    ]


def test_noarchive_is_honoured(page: Served) -> None:
    answer = page.about("/copy", SECRET)
    assert answer.status == 403
    assert "not to show a copy (noarchive)" in words_of(answer)
    assert "iframe" not in answer.text
    content = page.about("/copy/content", SECRET)
    assert (content.status, content.text) == (403, "")
    facts = page.about("/api/facts", SECRET)
    assert (facts.json["may_copy"], facts.json["title"]) == (False, "Segredo")
    assert "private words" not in facts.text


def test_copy_of_an_unchanged_page_is_its_last_content(tmp_path: Path) -> None:
    keep_visits(
        CrawlPaths(tmp_path),
        [Visit(HOME, 0, "<p>old words</p>"), Visit(HOME, 1, status=304, outcome="unchanged")],
    )
    with served(tmp_path, FakeSearch()) as found:
        assert "old words" in found.about("/copy/content", HOME).text


def test_text_is_shown_escaped(page: Served) -> None:
    answer = page.about("/copy/content", PLAIN)
    assert "rede &lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert "<script" not in answer.text


def test_what_is_no_text_is_named(page: Served) -> None:
    assert "Pages of type image/png cannot be shown" in words_of(page.about("/copy", PICTURE))
    assert page.about("/copy/content", PICTURE).text == ""
