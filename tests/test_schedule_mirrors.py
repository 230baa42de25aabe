"""Mirrors and wildcard names, on webs of dictionaries. A number in a name is that of a guarantee."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.schedule.mirrors import COPIES_BARREN, COPIES_MIN, AnswerTable, Mirror, Mirrors, SlowedNames

FIRST, SECOND, THIRD = "http://example.org", "http://www.example.org", "http://old.example.org"
ADDRESS = "192.0.2.1"


def paths(count: int, start: int = 0) -> list[str]:
    return [f"/{number}" for number in range(start, start + count)]


def text_of(path: str, variant: int = 0) -> int:
    """Return the signature of what stands at a path."""
    return hash_of(f"{path} {variant}")


def hash_of(text: str) -> int:
    return int.from_bytes(random.Random(text).randbytes(8)) | 1


def visit(mirrors: Mirrors, host: str, which: list[str], variant: int = 0, address: str = ADDRESS) -> list[Mirror]:
    news = [each for path in which for each in mirrors.note(host, path, text_of(path, variant), address)]
    return [each for each in news if isinstance(each, Mirror)]


def test_1_host_with_the_pages_of_another_of_its_site_is_its_mirror() -> None:
    mirrors = Mirrors()
    assert visit(mirrors, FIRST, paths(100)) == []
    assert visit(mirrors, SECOND, paths(COPIES_MIN - 1), address="192.0.2.9") == []
    (found,) = visit(mirrors, SECOND, paths(1, COPIES_MIN - 1), address="192.0.2.9")
    assert found == Mirror(SECOND, FIRST, COPIES_MIN, COPIES_MIN)
    assert (mirrors.original_of(SECOND), mirrors.original_of(FIRST)) == (FIRST, None)


def test_1_host_with_the_pages_of_another_site_is_its_mirror_at_the_same_address_only() -> None:
    mirrors = Mirrors()
    visit(mirrors, FIRST, paths(50))
    assert visit(mirrors, "http://example.com", paths(50), address="192.0.2.2") == []
    assert mirrors.original_of("http://example.com") is None
    visit(mirrors, "http://example.net", paths(50))
    assert mirrors.original_of("http://example.net") == FIRST


def test_1_hosts_with_the_same_front_page_and_other_pages_are_no_mirrors() -> None:
    mirrors = Mirrors()
    for number in range(50):
        host = f"http://blog{number}.example.org"
        assert visit(mirrors, host, ["/", "/about", "/login", "/terms"]) == []
        assert visit(mirrors, host, paths(20), variant=number) == []
        assert not mirrors.refuses_name(f"http://blog{number + 1}.example.org")
        assert not any(mirrors.refuses(host, path) for path in paths(100))


def test_1_one_text_at_every_path_makes_no_mirror() -> None:
    """A host may answer whatever path with one page, such as that of a parked name."""
    mirrors = Mirrors()
    for host in (FIRST, SECOND):
        for path in paths(60):
            mirrors.note(host, path, 7, ADDRESS)
    assert mirrors.original_of(SECOND) is None


@given(seed=st.integers(0, 2**32), order=st.sampled_from(["beside", "mixed", "after"]), hosts=st.integers(2, 5))
def test_4_of_hosts_that_are_alike_all_but_one_become_mirrors_of_it(seed: int, order: str, hosts: int) -> None:
    mirrors, chance = Mirrors(), random.Random(seed)
    names = [f"http://{number}.example.org" for number in range(hosts)]
    visits = [(name, path) for path in paths(40) for name in names]
    if order == "after":
        visits.sort()
    elif order == "mixed":
        chance.shuffle(visits)
    for name, path in visits:
        if mirrors.original_of(name) is None:  # mirrors come last
            visit(mirrors, name, [path])
    originals = {mirrors.original_of(name) for name in names} - {None}
    assert len(originals) == 1
    assert sum(mirrors.original_of(name) is None for name in names) == 1


@given(seed=st.integers(0, 2**32), own_share=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_2_url_is_refused_only_if_the_original_has_answered_at_the_same_path(seed: int, own_share: float) -> None:
    mirrors, chance = Mirrors(), random.Random(seed)
    answered: dict[str, set[str]] = {FIRST: set(), SECOND: set(), THIRD: set()}
    own = {path for path in paths(120) if chance.random() < own_share}
    for _ in range(300):
        host, path = chance.choice(list(answered)), chance.choice(paths(120))
        is_refused = mirrors.refuses(host, path)
        original = mirrors.original_of(host)
        assert not is_refused or (original is not None and path in answered[original])
        if not is_refused:
            # The first host lacks the pages that the others have of their own.
            signature = 0 if host == FIRST and path in own else text_of(path, len(host) if path in own else 0)
            mirrors.note(host, path, signature, ADDRESS)
            answered[host].add(path)


def test_2_mirror_is_visited_less_and_less_and_then_only_for_what_its_original_lacks() -> None:
    mirrors = Mirrors()
    visit(mirrors, FIRST, paths(2_000))
    visits = 0
    for path in paths(2_000):
        if not mirrors.refuses(SECOND, path):
            visit(mirrors, SECOND, [path])
            visits += 1
    assert visits < 100
    assert not any(mirrors.refuses(SECOND, path) for path in paths(50, 2_000))


def test_3_mirror_that_brings_pages_of_its_own_is_a_host_like_any_other_again_and_stays_so() -> None:
    mirrors = Mirrors()
    visit(mirrors, FIRST, paths(200))
    visit(mirrors, SECOND, paths(COPIES_MIN))
    (over,) = visit(mirrors, SECOND, paths(20, 300), variant=1)
    assert (over.host, over.original, over.is_over) == (SECOND, FIRST, True)
    assert not any(mirrors.refuses(SECOND, path) for path in paths(200))
    assert mirrors.original_of(SECOND) is None
    visit(mirrors, SECOND, paths(200))
    assert mirrors.original_of(SECOND) is None


def test_3_mirror_with_another_text_at_one_path_is_over_before_any_page_of_that_folder_is_refused() -> None:
    mirrors = Mirrors()
    visit(mirrors, FIRST, [*paths(30), *(f"/article{path}" for path in paths(50))])
    visit(mirrors, SECOND, paths(30))
    assert mirrors.original_of(SECOND) == FIRST
    assert not any(mirrors.refuses(SECOND, f"/article{path}") for path in paths(50))
    (over,) = visit(mirrors, SECOND, ["/article/7"], variant=1)
    assert over.is_over


def crawl_wildcard(name_of: Callable[[random.Random], str]) -> tuple[int, Mirrors, set[str]]:
    """Crawl a site whose pages, 200 of them, each link to a name that is made up, until nothing is left to visit."""
    mirrors, chance, visits = Mirrors(), random.Random(1), 0
    left, seen = {FIRST: paths(200)[::-1]}, {FIRST}
    while left and visits < 20_000:
        host = chance.choice(list(left))
        if not left[host] or (host != FIRST and (mirrors.refuses_name(host) or mirrors.original_of(host))):
            del left[host]  # mirrors come last
            continue
        path = left[host].pop()
        mirrors.note(host, path, text_of(path), ADDRESS)
        visits += 1
        other = f"http://{name_of(chance)}.example.org"
        if other not in seen and not mirrors.refuses_name(other):
            seen.add(other)
            left[other] = paths(200)[::-1]
    return visits, mirrors, seen


NAMES: dict[str, Callable[[random.Random], str]] = {
    "numbers": lambda chance: f"x{chance.randrange(10**9)}",
    "words": lambda chance: "".join(chance.choices("abcdefghij", k=8)),
    "labels": lambda chance: f"{chance.choice('abcdefgh')}.{chance.choice('ijklmnop')}.w{chance.randrange(10**9)}",
}


@pytest.mark.parametrize("kind", NAMES)
def test_5_endless_names_of_a_site_are_refused_in_the_end(kind: str) -> None:
    visits, mirrors, seen = crawl_wildcard(NAMES[kind])
    assert 200 <= visits < 400
    assert len(seen) < 200
    assert mirrors.refuses_name(f"http://{NAMES[kind](random.Random(2))}.example.org")
    assert not mirrors.refuses_name("http://x1.example.net")


def test_5_names_are_told_when_they_are_slowed_and_when_they_are_refused() -> None:
    mirrors = Mirrors()
    visit(mirrors, FIRST, paths(50))
    told = []
    for number in range(30):
        for path in paths(5):
            news = mirrors.note(f"http://x{number}.example.org", path, text_of(path), ADDRESS)
            told += [each for each in news if isinstance(each, SlowedNames) and each.pattern == "/x#"]
    assert [each.is_refused for each in told] == [False, True]
    assert {(each.site, each.new) for each in told} == {("example.org", 0)}


def test_5_host_that_has_given_pages_is_not_refused_for_its_name() -> None:
    mirrors = Mirrors()
    visit(mirrors, FIRST, paths(50))
    visit(mirrors, "http://x0.example.org", paths(10), variant=1)
    for number in range(1, 40):
        visit(mirrors, f"http://x{number}.example.org", paths(8))
    assert mirrors.refuses_name("http://x99.example.org")
    assert not mirrors.refuses_name("http://x0.example.org")


def in_folders(count: int) -> list[str]:
    return [f"/{number % 5}/{number}" for number in range(count)]


def with_barren_names() -> Mirrors:
    """Four names showed five pages each, and nothing of their own."""
    mirrors = Mirrors()
    visit(mirrors, FIRST, in_folders(500))
    for number in range(4):
        visit(mirrors, f"http://x{number}.example.org", in_folders(5))
    return mirrors


def test_6_fewer_copies_make_a_mirror_where_names_brought_nothing_but_copies() -> None:
    mirrors = with_barren_names()
    assert mirrors.refuses_name("http://x99.example.org")
    assert mirrors.original_of("http://x3.example.org") == FIRST
    assert COPIES_BARREN < COPIES_MIN


def test_6_mirrors_need_all_copies_where_a_name_brought_another_page() -> None:
    mirrors = Mirrors()
    visit(mirrors, FIRST, in_folders(500))
    visit(mirrors, "http://x99.example.org", in_folders(1))
    visit(mirrors, "http://x99.example.org", paths(1), variant=1)
    for number in range(4):
        visit(mirrors, f"http://x{number}.example.org", in_folders(COPIES_MIN - 1))
        assert mirrors.original_of(f"http://x{number}.example.org") is None


def test_6_mirrors_with_barren_names_share_folders_and_no_page_outside_of_them() -> None:
    mirrors = with_barren_names()
    visit(mirrors, FIRST, paths(100))
    visit(mirrors, "http://x3.example.org", [*in_folders(10)[5:], *paths(30)])
    visit(mirrors, "http://x2.example.org", in_folders(6)[5:])
    assert mirrors.original_of("http://x2.example.org") == FIRST
    assert any(mirrors.refuses("http://x2.example.org", path) for path in in_folders(500) if path.startswith("/4/"))
    assert not any(mirrors.refuses("http://x2.example.org", path) for path in paths(100))


def test_7_what_is_remembered_has_a_bound() -> None:
    mirrors = Mirrors(hosts_limit=50, marks_limit=100)
    for number in range(2_000):
        visit(mirrors, f"http://h{number}.example.org", paths(3), variant=number)
        hosts_count, marks_count = mirrors.sizes
        assert hosts_count <= 50
        assert marks_count <= 100


def test_host_that_an_earlier_process_took_for_a_mirror_goes_on_as_one() -> None:
    mirrors = Mirrors()
    mirrors.restore(SECOND, FIRST)
    assert mirrors.original_of(SECOND) == FIRST
    assert not mirrors.refuses(SECOND, "/1")
    visit(mirrors, FIRST, paths(100))
    visit(mirrors, SECOND, paths(1))
    assert any(mirrors.refuses(SECOND, path) for path in paths(100))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 2**32 - 1)), max_size=200))
def test_table_of_answers_tells_the_last_text_or_nothing(entries: list[tuple[int, int]]) -> None:
    table, known = AnswerTable(bits=4), dict[int, int]()
    for number, signature in entries:
        table.put(f"http://a.example/{number}", signature)
        known[number] = signature
        assert table.get(f"http://a.example/{number}") == signature
        for each, last in known.items():
            assert table.get(f"http://a.example/{each}") in (None, last)
