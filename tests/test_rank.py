"""Ranks of crawls that are written by hand: what counts as a link, what is a copy, what anchors say."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keep_pages import quick_folder
from tarrafa.collection.ranking import best_hosts, best_pages, is_behind, ranks_folder, update_ranks
from tarrafa.crawl import CrawlFolder, HostBook
from tarrafa.crawl.hosts import Checkpoint
from tarrafa.crawl.totals import Totals
from tarrafa.disk import Hold
from tarrafa.errors import DamagedError, HeldError
from tarrafa.keep import BEGINNING, DOCUMENTS, LINKS, DocumentRow, Documents, Link, Links, join_segments
from tarrafa.rank import RankColumns, Ranks, Settings
from tarrafa.urls import fingerprint

A, B, C, D = (f"http://{name}.test/" for name in "abcd")


def link(target: str, text: str = "", rel: str = "", kind: str = "a") -> Link:
    return target, text, rel, kind, 0


@dataclass
class Crawl:
    """An agent's documents and links, one checkpoint after the other."""

    root: Path
    checkpoint: int = 0
    now: float = 1000.0
    rows: list[DocumentRow] = field(default_factory=list)
    links: list[tuple[str, float, Sequence[Link]]] = field(default_factory=list)

    @property
    def folder(self) -> CrawlFolder:
        return CrawlFolder(self.root)

    def visit(self, url: str, *links: Link, **facts: object) -> None:
        self.now += 1
        values: dict[str, object] = {"outcome": "fetched", "status": 200, **facts}
        self.rows.append(DocumentRow(url, self.now, **values))  # type: ignore[arg-type]
        self.links.append((url, self.now, links))

    def commit(self) -> None:
        documents, links = Documents(self.folder.documents, self.checkpoint), Links(self.folder.links, self.checkpoint)
        for row in self.rows:
            documents.add(row)
        for page in self.links:
            links.add(*page)
        self.checkpoint += 1
        documents.sync(self.checkpoint)
        links.sync(self.checkpoint)
        self.rows, self.links = [], []
        book = HostBook(self.folder.hosts)
        book.commit(Checkpoint(self.checkpoint, BEGINNING, Totals()), [])
        book.close()

    def ranks(self, settings: Settings | None = None) -> Ranks:
        self.commit()
        return update_ranks(self.folder, lambda *_: None, settings or Settings(tolerance=1e-10))


@pytest.fixture
def crawl() -> Iterator[Crawl]:
    with quick_folder() as root:
        yield Crawl(root)


def of(ranks: Ranks, *urls: str) -> RankColumns:
    return ranks.of(np.array([fingerprint(url) for url in urls], np.uint64))


def anchors(ranks: Ranks, url: str) -> list[tuple[str, int]]:
    return ranks.anchors(np.array([fingerprint(url)], np.uint64))[0]


def test_links_are_counted_and_those_from_other_hosts_apart(crawl: Crawl) -> None:
    crawl.visit(A, link(C))
    crawl.visit(B, link(C))
    crawl.visit(f"{C}own", link(C))
    found = of(crawl.ranks(), C, A, f"{C}own")
    assert found.links_in.tolist() == [3, 0, 0]
    assert found.links_outside.tolist() == [2, 0, 0]
    assert found.rank[0] > found.rank[1]
    assert found.host_rank[0] == found.host_rank[2] > found.host_rank[1]


def test_what_is_unknown_has_no_rank(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    assert [column.tolist() for column in of(crawl.ranks(), "http://nowhere.test/")] == [[0], [0], [0], [0]]


def test_a_crawl_without_anything_has_empty_ranks(crawl: Crawl) -> None:
    ranks = crawl.ranks()
    assert of(ranks, A).rank.tolist() == [0]
    assert anchors(ranks, A) == []
    assert best_pages(crawl.root, ranks, 10) == best_hosts(crawl.root, ranks, 10) == []


def test_there_are_no_ranks_before_they_are_made(crawl: Crawl) -> None:
    crawl.commit()
    assert Ranks.open(ranks_folder(crawl.root)) is None
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


def test_links_of_a_page_that_is_gone_count_no_more(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    assert of(crawl.ranks(), B).links_in.tolist() == [1]
    crawl.visit(A, outcome="gone", status=404)
    assert of(crawl.ranks(), B).links_in.tolist() == [0]


def test_links_stay_when_the_page_is_unchanged(crawl: Crawl) -> None:
    """The answer 304 brings no links."""
    crawl.visit(A, link(B))
    crawl.visit(A, outcome="unchanged", status=304)
    assert of(crawl.ranks(), B).links_in.tolist() == [1]


def test_a_redirect_hands_its_links_on(crawl: Crawl) -> None:
    crawl.visit(A, link(B, "here"))
    crawl.visit(B, link(C, kind="redirect"), outcome="redirected", status=301)
    crawl.visit(C)
    ranks = crawl.ranks()
    found = of(ranks, B, C)
    assert found.rank[0] == found.rank[1] > 1
    assert found.links_in.tolist() == [1, 1]
    assert anchors(ranks, C) == [("here", 1)]
    assert (ranks.counts.redirects, ranks.counts.copies) == (1, 0)


def test_redirects_in_a_circle_end(crawl: Crawl) -> None:
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


def test_a_page_is_one_with_the_page_that_it_names_canonical(crawl: Crawl) -> None:
    crawl.visit(A, link(f"{B}?print"))
    crawl.visit(f"{B}?print", canonical=B)
    crawl.visit(B)
    ranks = crawl.ranks()
    assert of(ranks, B).links_in.tolist() == [1]
    assert [each.name for each in best_pages(crawl.root, ranks, 1)] == [B]


def test_a_canonical_that_was_never_fetched_stands_for_nothing(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    crawl.visit(B, canonical=C)
    crawl.visit(D, canonical=C)
    assert crawl.ranks().counts.copies == 0


def test_a_copy_of_a_famous_page_hands_on_none_of_its_rank(crawl: Crawl) -> None:
    """A spammer copies a page that many link to, and adds a link of its own."""
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
    """B is in the menu of every page of a host; C is linked from one page in ten, with words of its own."""
    for number in range(40):
        own = [link(C, f"words {number}")] if number % 10 == 0 else []
        crawl.visit(f"{A}{number}", link(B, "partner"), *own)
    damped = of(crawl.ranks(Settings(tolerance=1e-10, template_few=1)), B, C)
    plain = of(crawl.ranks(Settings(tolerance=1e-10, template_share=1.0)), B, C)
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
    ranks = crawl.ranks(Settings(anchor_targets_max=8))
    assert sorted(anchors(ranks, f"{B}1")) == [("read more", 1), ("the first", 1)]
    assert anchors(ranks, f"{B}2") == []


def test_anchor_texts_of_a_target_are_bounded(crawl: Crawl) -> None:
    crawl.visit(A, *(link(B, f"text {number}") for number in range(9)))
    crawl.visit(C, link(B, "text 7"))
    found = anchors(crawl.ranks(Settings(anchors_max=3)), B)
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
        (other / "agents" / "00").rename(crawl.root / "agents" / "01")
    ranks = crawl.ranks()
    assert set(ranks.taken) == {"00", "01"}
    assert of(ranks, C).links_outside.tolist() == [2]


# Again and again.


def test_nothing_is_made_anew_when_nothing_was_added(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    first = crawl.ranks(Settings())
    assert not is_behind(crawl.root)
    crawl.commit()  # a checkpoint without rows
    assert update_ranks(crawl.folder, lambda *_: None).generation == first.generation


def test_other_settings_make_other_ranks(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    assert crawl.ranks().generation == 1
    assert crawl.ranks(Settings(damping=0.5)).generation == 2


def test_a_reader_keeps_what_it_has_open(crawl: Crawl) -> None:
    crawl.visit(A, link(B, "first"))
    first = crawl.ranks()
    crawl.visit(C, link(B, "second"))
    second = crawl.ranks()
    assert (first.generation, second.generation) == (1, 2)
    assert anchors(first, B) == [("first", 1)]
    assert of(first, B).links_in.tolist() == [1]
    assert of(second, B).links_in.tolist() == [2]
    assert [path.name for path in ranks_folder(crawl.root).glob("generation-*")] == ["generation-00000002"]


PAGES = st.sampled_from([A, f"{A}1", B, f"{B}1", C])
VISITS = st.lists(st.tuples(PAGES, st.lists(st.tuples(PAGES, st.sampled_from(["", "x", "y"])), max_size=3)), max_size=8)


@settings(max_examples=25)
@given(st.lists(VISITS, min_size=1, max_size=4), st.booleans())
def test_step_by_step_is_the_same_as_at_once(
    steps: list[list[tuple[str, list[tuple[str, str]]]]], is_joined: bool
) -> None:
    with quick_folder() as left, quick_folder() as right:
        stepwise, whole = Crawl(left), Crawl(right)
        for visits in steps:
            for url, links in visits:
                for crawl in (stepwise, whole):
                    crawl.visit(url, *(link(*each) for each in links))
            ranks = stepwise.ranks()
            if is_joined:
                join_segments(stepwise.folder.links, LINKS, stepwise.checkpoint)
        expected = whole.ranks()
        urls = [A, f"{A}1", B, f"{B}1", C]
        for got, wanted in zip(of(ranks, *urls), of(expected, *urls), strict=True):
            assert np.allclose(got, wanted, atol=1e-5)
        assert [anchors(ranks, url) for url in urls] == [anchors(expected, url) for url in urls]
        assert ranks.counts._replace(iterations=0) == expected.counts._replace(iterations=0)


def test_rows_are_read_once_also_when_segments_are_joined_meanwhile(crawl: Crawl) -> None:
    for number in range(10):
        crawl.visit(f"{A}{number}", link(B, f"text {number}"))
        if number % 3 == 0:
            crawl.ranks()
        else:
            crawl.commit()
        if number == 8:
            assert join_segments(crawl.folder.links, LINKS, crawl.checkpoint)
            assert join_segments(crawl.folder.documents, DOCUMENTS, crawl.checkpoint)
    assert of(crawl.ranks(), B).links_in.tolist() == [10]


def test_an_older_copy_of_a_crawl_is_read_anew(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    crawl.visit(C, link(B))
    crawl.ranks()
    with quick_folder() as other:
        older = Crawl(other)
        older.visit(D, link(B))
        older.commit()
        (crawl.root / "agents").rename(crawl.root / "lost")
        (other / "agents").rename(crawl.root / "agents")
    assert of(update_ranks(crawl.folder, lambda *_: None), B, D).links_in.tolist() == [1, 0]


# Damage, kills and others at work.


def test_a_damaged_column_is_named(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    crawl.ranks()
    path = ranks_folder(crawl.root) / "generation-00000001" / "rank.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=r"rank\.npy"):
        Ranks.open(ranks_folder(crawl.root))


def test_a_damaged_manifest_is_named(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    crawl.ranks()
    (ranks_folder(crawl.root) / "manifest.json").write_text('{"sum": 1, "manifest": "{}"}')
    with pytest.raises(DamagedError, match=r"manifest\.json"):
        Ranks.open(ranks_folder(crawl.root))


def test_two_processes_do_not_rank_at_once(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    crawl.ranks()
    crawl.visit(C, link(B))
    crawl.commit()
    hold = Hold(ranks_folder(crawl.root))
    with pytest.raises(HeldError):
        update_ranks(crawl.folder, lambda *_: None)
    hold.release()


KILLED = """
import os, sys
from pathlib import Path
import tarrafa.disk
from tarrafa.collection.ranking import update_ranks
from tarrafa.crawl import CrawlFolder

left = int(sys.argv[2])
replace = Path.replace

def counted(self, target):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), 9)
    return replace(self, target)

Path.replace = counted
update_ranks(CrawlFolder(Path(sys.argv[1])), lambda *_: None)
"""


@pytest.mark.parametrize("step", [1, 2, 4, 9, 20])
def test_killed_at_any_file_the_old_ranks_stand_and_the_next_run_makes_the_new_ones(crawl: Crawl, step: int) -> None:
    """Two parts, each joined with the one before, fifteen columns and the manifest: one of them never gets its name."""
    crawl.visit(A, link(B))
    crawl.ranks(Settings())
    crawl.visit(C, link(B))
    crawl.commit()
    command = [sys.executable, "-c", KILLED, str(crawl.root), str(step)]
    done = subprocess.run(command, timeout=60, check=False)
    assert done.returncode == -9
    old = Ranks.open(ranks_folder(crawl.root))
    assert old is not None
    assert old.generation == 1
    assert of(old, B).links_in.tolist() == [1]
    new = update_ranks(crawl.folder, lambda *_: None)
    assert new.generation == 2
    assert of(new, B).links_in.tolist() == [2]
    assert not list(ranks_folder(crawl.root).rglob("*.unfinished"))
