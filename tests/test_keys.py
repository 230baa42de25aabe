from hypothesis import given
from hypothesis import strategies as st

from tarrafa import urls
from tarrafa.verify.keys import keys_of

SEED = st.integers(0, 2**64 - 1)
# Hosts and paths of every length, so that each remainder of a stripe, of eight and of four bytes occurs.
CHARACTER = st.characters(codec="ascii", exclude_characters="/@", categories=["L", "N", "P", "S"])
HOST = st.builds("{}://{}".format, st.sampled_from(["http", "https"]), st.text(CHARACTER, min_size=1, max_size=60))
URL = st.builds("{}/{}".format, HOST, st.text(st.one_of(CHARACTER, st.just("/")), max_size=200))


@given(texts=st.lists(URL, min_size=1, max_size=20), seed=SEED)
def test_keys_are_those_of_one_url_at_a_time(texts: list[str], seed: int) -> None:
    keys = keys_of(texts, seed)
    assert keys.hosts.tolist() == [urls.host_hash(urls.host_of(url), seed) for url in texts]
    assert keys.fingerprints.tolist() == [urls.fingerprint(url, seed) for url in texts]


def test_every_length_of_path_from_0_to_200() -> None:
    texts = ["http://example.org/" + "x" * length for length in range(200)]
    assert keys_of(texts, 3).fingerprints.tolist() == [urls.fingerprint(url, 3) for url in texts]


def test_more_rows_than_are_worked_on_together() -> None:
    texts = [f"https://host{number % 7}.example/{'ab' * (number % 40)}" for number in range(40_000)]
    keys = keys_of(texts, 1)
    assert keys.fingerprints.tolist() == [urls.fingerprint(url, 1) for url in texts]
    assert keys.hosts.tolist() == [urls.host_hash(urls.host_of(url), 1) for url in texts]


def test_no_urls_have_no_keys() -> None:
    keys = keys_of([], 1)
    assert len(keys.hosts) == len(keys.fingerprints) == 0
