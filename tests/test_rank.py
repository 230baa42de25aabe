"""Ranks of small crawls: which links count, which pages are copies, which anchors get votes."""

from collections.abc import Iterator

import pytest

from archive_pages import quick_folder
from ranked import A, B, C, Crawl, D, anchors, link, of
from tarrafa.collection.ranker import best_hosts, best_pages, is_behind
from tarrafa.keep import Link
from tarrafa.layout import CrawlPaths
from tarrafa.rank import Ranks, RankSettings


@pytest.fixture
def crawl() -> Iterator[Crawl]:
    with quick_folder() as root:
        yield Crawl(root)


def test_links_are_counted_and_those_from_other_hosts_apart(crawl: Crawl) -> None:
    crawl.visit(A, link(C))
    crawl.visit(B, link(C))
    crawl.visit(f"{C}own", link(C))
    found = of(crawl.ranks(), C, A, f"{C}own")
    assert found.links_in.tolist() == [3, 0, 0]
    assert found.links_outside.tolist() == [2, 0, 0]
    assert found.rank[0] > found.rank[1]
    assert found.host_rank[0] == found.host_rank[2] > found.host_rank[1]


def test_unknown_url_has_no_rank(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    assert [column.tolist() for column in of(crawl.ranks(), "http://nowhere.test/")] == [[0], [0], [0], [0]]


def test_empty_crawl_has_empty_ranks(crawl: Crawl) -> None:
    ranks = crawl.ranks()
    assert of(ranks, A).rank.tolist() == [0]
    assert anchors(ranks, A) == []
    assert best_pages(crawl.root, ranks, 10) == best_hosts(crawl.root, ranks, 10) == []


def test_there_are_no_ranks_before_the_first_run(crawl: Crawl) -> None:
    crawl.commit()
    assert Ranks.open(crawl.folder.ranks) is None
    assert is_behind(crawl.root)


@pytest.mark.parametrize(
    ("links", "facts"),
    [
        ([link(B, rel="nofollow noopener")], {}),
        ([link(B, rel="ugc")], {}),
        ([link(B, kind="image")], {}),
        ([link(A)], {}),
        ([link(B)], {"directives": ("nofollow",)}),
    ],
)
def test_what_does_not_count_as_a_link(crawl: Crawl, links: list[Link], facts: dict[str, object]) -> None:
    crawl.visit(A, *links, **facts)
    crawl.visit(B)
    ranks = crawl.ranks()
    assert of(ranks, A, B).links_in.tolist() == [0, 0]
    assert of(ranks, A, B).rank.tolist() == [1, 1]


def test_only_the_last_visit_of_a_page_counts(crawl: Crawl) -> None:
    crawl.visit(A, link(B, "old"))
    crawl.visit(A, link(C, "new"))
    ranks = crawl.ranks()
    assert of(ranks, B, C).links_in.tolist() == [0, 1]
    assert anchors(ranks, B) == []


def test_links_of_a_gone_page_no_longer_count(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    assert of(crawl.ranks(), B).links_in.tolist() == [1]
    crawl.visit(A, outcome="gone", status=404)
    assert of(crawl.ranks(), B).links_in.tolist() == [0]


def test_links_stay_when_the_page_is_unchanged(crawl: Crawl) -> None:
    """A 304 response has no links."""
    crawl.visit(A, link(B))
    crawl.visit(A, outcome="unchanged", status=304)
    assert of(crawl.ranks(), B).links_in.tolist() == [1]


def test_a_redirect_passes_its_links_on(crawl: Crawl) -> None:
    crawl.visit(A, link(B, "here"))
    crawl.visit(B, link(C, kind="redirect"), outcome="redirected", status=301)
    crawl.visit(C)
    ranks = crawl.ranks()
    found = of(ranks, B, C)
    assert found.rank[0] == found.rank[1] > 1
    assert found.links_in.tolist() == [1, 1]
    assert anchors(ranks, C) == [("here", 1)]
    assert (ranks.counts.redirects, ranks.counts.copies) == (1, 0)


def test_redirect_loop_is_one_node(crawl: Crawl) -> None:
    crawl.visit(A, link(B, kind="redirect"), outcome="redirected", status=301)
    crawl.visit(B, link(A, kind="redirect"), outcome="redirected", status=301)
    crawl.visit(C, link(A))
    found = of(crawl.ranks(), A, B)
    assert found.rank[0] == found.rank[1]


def test_copies_are_one_node(crawl: Crawl) -> None:
    crawl.visit(A, link(B), link(C))
    crawl.visit(B, signature=7)
    crawl.visit(C, signature=7)
    crawl.visit(D, signature=0)
    ranks = crawl.ranks()
    found = of(ranks, B, C, D)
    assert found.rank[0] == found.rank[1] > found.rank[2]
    assert found.links_in.tolist() == [1, 1, 0]
    assert ranks.counts.copies == 1


def test_the_same_error_page_everywhere_is_no_copy(crawl: Crawl) -> None:
    crawl.visit(A, outcome="gone", status=404, signature=7)
    crawl.visit(B, outcome="gone", status=404, signature=7)
    assert crawl.ranks().counts.copies == 0


def test_a_page_and_its_canonical_page_are_one_node(crawl: Crawl) -> None:
    crawl.visit(A, link(f"{B}?print"))
    crawl.visit(f"{B}?print", canonical=B)
    crawl.visit(B)
    ranks = crawl.ranks()
    assert of(ranks, B).links_in.tolist() == [1]
    assert [each.name for each in best_pages(crawl.root, ranks, 1)] == [B]


def test_a_canonical_page_that_was_never_fetched_is_ignored(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    crawl.visit(B, canonical=C)
    crawl.visit(D, canonical=C)
    assert crawl.ranks().counts.copies == 0


def test_a_copy_of_a_famous_page_passes_on_none_of_its_rank(crawl: Crawl) -> None:
    """Spam copies a page with many links to it, and adds a link of its own."""
    famous, copy, spam = A, f"{D}copy", f"{D}spam"
    for number in range(5):
        crawl.visit(f"http://fan{number}.test/", link(famous))
    crawl.visit(famous, signature=7)
    crawl.visit(copy, link(spam), signature=7)
    crawl.visit(spam)
    ranks = crawl.ranks()
    assert of(ranks, spam).links_in.tolist() == [0]
    assert [each.name for each in best_pages(crawl.root, ranks, 1)] == [famous]


def test_the_menu_of_a_host_counts_like_a_few_links(crawl: Crawl) -> None:
    """B is in the menu of every page of a host; one page in ten links to C with a text of its own."""
    for number in range(40):
        own = [link(C, f"words {number}")] if number % 10 == 0 else []
        crawl.visit(f"{A}{number}", link(B, "partner"), *own)
    damped = of(crawl.ranks(RankSettings(tolerance=1e-10, template_few=1)), B, C)
    plain = of(crawl.ranks(RankSettings(tolerance=1e-10, template_share=1.0)), B, C)
    assert damped.links_in.tolist() == plain.links_in.tolist() == [40, 4]
    assert damped.rank[0] / damped.rank[1] < plain.rank[0] / plain.rank[1]


def test_anchor_texts_have_one_vote_for_each_host_and_the_best_comes_first(crawl: Crawl) -> None:
    for number in range(3):
        crawl.visit(f"{A}{number}", link(D, "menu"))
    crawl.visit(B, link(D, "São Paulo"))
    crawl.visit(C, link(D, "São Paulo"), link(D, ""))
    assert anchors(crawl.ranks(), D) == [("São Paulo", 2), ("menu", 1)]


def test_a_text_that_a_host_uses_for_many_targets_has_no_vote(crawl: Crawl) -> None:
    crawl.visit(A, *(link(f"{B}{number}", "read more") for number in range(9)), link(f"{B}1", "the first"))
    crawl.visit(C, link(f"{B}1", "read more"))
    ranks = crawl.ranks(RankSettings(anchor_targets_max=8))
    assert sorted(anchors(ranks, f"{B}1")) == [("read more", 1), ("the first", 1)]
    assert anchors(ranks, f"{B}2") == []


def test_anchor_texts_of_a_target_are_bounded(crawl: Crawl) -> None:
    crawl.visit(A, *(link(B, f"text {number}") for number in range(9)))
    crawl.visit(C, link(B, "text 7"))
    found = anchors(crawl.ranks(RankSettings(anchors_max=3)), B)
    assert len(found) == 3
    assert found[0] == ("text 7", 2)


def test_hosts_are_ranked_by_links_of_other_hosts(crawl: Crawl) -> None:
    crawl.visit(A, link(f"{B}x"), link(f"{A}own"))
    crawl.visit(C, link(f"{B}y"))
    crawl.visit(f"{B}x")
    crawl.visit(f"{B}y")
    best = best_hosts(crawl.root, crawl.ranks(), 10)
    assert (best[0].name, best[0].facts) == ("http://b.test", {"pages": 2})
    assert len(best) == 3


def test_a_password_before_a_host_makes_no_other_host(crawl: Crawl) -> None:
    crawl.visit(A, link("http://me:secret@a.test/x"))
    found = of(crawl.ranks(), "http://me:secret@a.test/x")
    assert (found.links_in.tolist(), found.links_outside.tolist()) == ([1], [0])


def test_a_second_agent_belongs_to_the_same_graph(crawl: Crawl) -> None:
    crawl.visit(A, link(C))
    crawl.commit()
    with quick_folder() as other:
        second = Crawl(other)
        second.visit(B, link(C))
        second.commit()
        CrawlPaths(other).agent.rename(CrawlPaths(crawl.root, "01").agent)
    ranks = crawl.ranks()
    assert set(ranks.agent_rows) == {"00", "01"}
    assert of(ranks, C).links_outside.tolist() == [2]


def test_a_text_that_two_agents_found_is_one(crawl: Crawl) -> None:
    """Each agent has its own parts, and each part numbers its texts itself."""
    crawl.visit(A, link(C, "only here"), link(D, "everywhere"))
    crawl.commit()
    with quick_folder() as other:
        second = Crawl(other)
        second.visit(B, link(C, "everywhere"), link(D, "everywhere"))
        second.commit()
        CrawlPaths(other).agent.rename(CrawlPaths(crawl.root, "01").agent)
    ranks = crawl.ranks()
    assert anchors(ranks, D) == [("everywhere", 2)]
    assert sorted(anchors(ranks, C)) == [("everywhere", 1), ("only here", 1)]
