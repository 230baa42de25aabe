"""Search over all documents of a crawl, whatever number of agents indexed them.

The steps of a search: parse the query; find candidates in every index and merge them by score; score the best by
proximity and anchors; order them; fold copies and spread sites; make one page of hits with snippets. Only the documents
of that page are read from disk, so the hundredth page takes as long as the first.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tarrafa.clock import Clock, SystemClock
from tarrafa.errors import InputError
from tarrafa.layout import index_folders
from tarrafa.lru import LruCache
from tarrafa.search.facets import Facets, merge
from tarrafa.search.fields import StoredDocument, has_index
from tarrafa.search.index_reader import IndexMatches, IndexReader, IndexSnapshot
from tarrafa.search.pruning import QueryPlan
from tarrafa.search.query import Filter, make_filter, parse
from tarrafa.search.results import Hit, Results, SearchRequest, make_hit
from tarrafa.search.rewrites import (
    EXPANSION_DOCUMENTS,
    EXPANSION_WORDS,
    complete,
    correct,
    expansion,
    inverse_frequency,
)
from tarrafa.search.scores import (
    ANCHORS_LIMIT,
    CANDIDATES_LIMIT,
    F64,
    I64,
    NEAR_LIMIT,
    Candidates,
    RankSource,
    Scores,
    anchor_share,
    fold_copies,
    join,
    score,
    spread_sites,
)
from tarrafa.search.semantic import (
    MEANING_LIMIT,
    Passage,
    SemanticModel,
    raise_scores,
    searched_words,
    word_vectors,
)
from tarrafa.search.snippets import Highlighter
from tarrafa.search.translations import choose_language, is_translation, names_language, translated_urls
from tarrafa.search.words import WordAnalyzer, drop_stop_words, split_words
from tarrafa.urls import fingerprint

_COPIES_LIMIT = 20  # that a hit lists
_TRANSLATIONS_LIMIT = 50  # that a hit lists
_TRANSLATED_RESULTS = 100  # first results whose translations are folded
_FLOOD_COPIES = 20  # a content with more copies among the candidates crowds others out
_ROUNDS_LIMIT = 3
_ORDER_STEP = 100  # results that are ordered together; their pages share a cache entry
_CACHED_ORDERS = 16  # at a quarter of a megabyte each


class _Order(NamedTuple):
    """All results of a query in order. `groups` are places in `order`, which has places of candidates."""

    snapshots: list[IndexSnapshot]
    plan: QueryPlan
    matches: list[IndexMatches]
    candidates: Candidates
    scores: Scores
    order: I64
    groups: list[list[int]]
    matches_count: int
    suggestion: str | None

    def has(self, results_count: int) -> bool:
        """Return True if there are so many results, or if no more can be found."""
        return len(self.groups) >= results_count or not any(each.plan.sample for each in self.matches)

    def stored(self, place: int) -> StoredDocument:
        return _stored(self.snapshots, self.matches, self.candidates, place)

    def head(self, number: int) -> StoredDocument:
        """Return the best document of a group."""
        return self.stored(int(self.order[self.groups[number][0]]))


class Search:
    """Used by any number of threads. Call `refresh` to see what was committed after it was opened."""

    def __init__(
        self,
        folder: Path,
        ranks: RankSource | None,
        model: Callable[[], SemanticModel] = word_vectors,
        clock: Clock | None = None,
    ) -> None:
        self._folder = folder
        self._clock = clock or SystemClock()
        self._ranks = ranks
        self._model = model
        self._words = WordAnalyzer()
        self._readers: dict[Path, IndexReader] = {}
        self._snapshots: list[IndexSnapshot] = []
        # Orders of the current snapshots. Filled by _cached_order, replaced by refresh.
        self._orders: LruCache[tuple[SearchRequest, bool], _Order] = LruCache(_CACHED_ORDERS)
        self.refresh()

    @classmethod
    def open(cls, folder: Path, ranks: RankSource | None = None) -> "Search":
        """Open the indexes in the folder of a crawl."""
        return cls(folder, ranks)

    def refresh(self) -> None:
        """See what other processes have committed, and the indexes of new agents."""
        paths = [path for path in index_folders(self._folder) if has_index(path)]
        if not paths:
            raise InputError(f"nothing is indexed in {self._folder} yet; do it with tarrafa index --dir DIR")
        for number, path in enumerate(paths):
            if path not in self._readers:
                self._readers[path] = IndexReader(path, self._words, number)
        snapshots = [self._readers[path].snapshot() for path in paths]
        if snapshots != self._snapshots:
            self._snapshots, self._orders = snapshots, LruCache(_CACHED_ORDERS)

    @property
    def documents_count(self) -> int:
        return sum(snapshot.documents_count for snapshot in self._snapshots)

    def search(self, request: SearchRequest) -> Results:
        """Return one page of results, of the corrected query if a word is spelled as in no document."""
        started = time.perf_counter()
        order = self._order(request)
        if order is None:
            return Results((), 0, time.perf_counter() - started, request.page)
        suggestion = order.suggestion
        corrected = None if suggestion is None or request.verbatim else self._corrected(request, suggestion)
        order = corrected or order
        hits = self._page(order, request)
        return Results(
            hits=hits,
            count=max(order.matches_count, len(hits)),
            seconds=time.perf_counter() - started,
            page=request.page,
            suggestion=suggestion,
            is_corrected=corrected is not None,
            facets=_facets(order) if request.facets else None,
            filters=order.plan.query.filters,
            is_estimated=any(each.is_estimated for each in order.matches[: len(order.snapshots)]),
        )

    def _corrected(self, request: SearchRequest, suggestion: str) -> _Order | None:
        """Order the results of the corrected query; None if it has none."""
        order = self._order(replace(request, text=suggestion, verbatim=True))
        return order if order is not None and order.groups else None

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Return completions of a query that is being typed."""
        return complete(prefix, limit, self._snapshots, self._words)

    def _order(self, request: SearchRequest) -> _Order | None:
        """Order the results; scan all documents if a sample has fewer results than requested."""
        order = self._cached_order(request, is_exhaustive=False)
        if order is None or order.has(request.page * request.top):
            return order
        return self._cached_order(request, is_exhaustive=True)

    def _cached_order(self, request: SearchRequest, is_exhaustive: bool) -> _Order | None:
        """Return the order from the cache, which holds it unless it changes with time."""
        orders, wanted = self._orders, -(-request.page * request.top // _ORDER_STEP) * _ORDER_STEP
        shared = replace(request, top=_ORDER_STEP, page=wanted // _ORDER_STEP)
        key = replace(shared, explain=False, facets=False, reader_languages=()), is_exhaustive
        is_lasting = not request.fresh and not any(snapshot.has_expiring for snapshot in self._snapshots)
        known = orders.get(key) if is_lasting else None
        if known is not None:
            return known
        order = self._make_order(request, wanted, is_exhaustive)
        if order is not None and is_lasting:
            orders.put(key, order)
        return order

    def _make_order(self, request: SearchRequest, wanted: int, is_exhaustive: bool) -> _Order | None:
        snapshots = self._snapshots
        plan = self._plan(request)._replace(is_exhaustive=is_exhaustive)
        if not plan.query.clauses and not plan.query.filters:
            return None
        if request.expand:
            plan = self._expand(snapshots, plan)
        matches, candidates = _find_candidates(snapshots, plan, wanted)
        near, anchors = _proximity(snapshots, matches, candidates), self._anchor_shares(plan, candidates)
        ranks = self._ranks.of(candidates.fingerprint) if self._ranks else None
        scores = score(candidates, near, anchors, ranks, plan.now if request.fresh else None)
        if request.semantic:
            words = searched_words(request.text, plan.query.words)
            scores = self._raise_by_meaning(snapshots, matches, candidates, scores, words)
        order = _best_first(candidates, scores)
        groups = spread_sites(
            fold_copies(candidates.signature[order]), candidates.site[order], scores.total[order], request.per_site
        )
        count = sum(each.matches_count for each in matches[: len(snapshots)])
        suggestion = correct(request.text, plan.query, snapshots, self._words)
        return _Order(snapshots, plan, matches, candidates, scores, order, groups, count, suggestion)

    def _plan(self, request: SearchRequest) -> QueryPlan:
        query = parse(request.text)
        asked = {"site": request.site, "lang": request.language, "after": request.after, "before": request.before}
        more = [_request_filter(name, value) for name, value in asked.items() if value]
        query = query._replace(filters=tuple(dict.fromkeys((*query.filters, *more))))
        languages = [each.value for each in query.filters if each.name == "lang" and not each.is_excluded]
        return QueryPlan(query, languages[0] if languages else None, self._clock.now())

    def _anchor_shares(self, plan: QueryPlan, candidates: Candidates) -> F64:
        """Return how well anchors match the query, for the best candidates; 0 for others."""
        shares = np.zeros(len(candidates.words))
        if self._ranks is not None and plan.query.words:
            folded = self._words.folded
            words = frozenset(folded[word] for word in drop_stop_words([*plan.query.words]))
            for place, texts in enumerate(self._ranks.anchors(candidates.fingerprint[:ANCHORS_LIMIT])):
                known = [(frozenset(folded[word] for word in split_words(text)), votes) for text, votes in texts]
                shares[place] = anchor_share(known, words)
        return shares

    def _raise_by_meaning(
        self,
        snapshots: list[IndexSnapshot],
        matches: list[IndexMatches],
        candidates: Candidates,
        scores: Scores,
        words: list[str],
    ) -> Scores:
        """Read the best candidates, and raise those that are similar to the query."""
        best = _best_first(candidates, scores)[:MEANING_LIMIT]
        documents = [_stored(snapshots, matches, candidates, place) for place in best.tolist()]
        passages = [Passage(f"{each.title} {each.description}", each.text) for each in documents]
        return raise_scores(scores, best, self._model().similarity(words, passages))

    def _page(self, order: _Order, request: SearchRequest) -> tuple[Hit, ...]:
        start = (request.page - 1) * request.top
        highlighter = Highlighter(self._words, [*order.plan.query.words], order.plan.language)
        hits: list[Hit] = []
        for result in islice(_fold_translations(order), start, start + request.top):
            documents = [order.head(number) for number in result] if len(result) > 1 else []
            shown = choose_language([each.language for each in documents], request.reader_languages)
            hit = self._hit(order, order.groups[result[shown]], highlighter, request.explain)
            others = (each for place, each in enumerate(documents) if place != shown)
            hits.append(replace(hit, translations=tuple((each.language, each.url) for each in others)))
        return tuple(hits)

    def _hit(self, order: _Order, group: list[int], highlighter: Highlighter, is_explained: bool) -> Hit:
        places = order.order[group[: 1 + _COPIES_LIMIT]]
        copies = [order.stored(place) for place in places.tolist()]
        links = [0] * len(copies)
        if self._ranks is not None and len(copies) > 1:
            links = self._ranks.of(order.candidates.fingerprint[places]).links_in.tolist()
        return make_hit(copies, links, highlighter, order.scores, int(places[0]), is_explained)

    def _expand(self, snapshots: list[IndexSnapshot], plan: QueryPlan) -> QueryPlan:
        """Add the stems that the best results share."""
        matches = [snapshot.candidates(plan, []) for snapshot in snapshots]
        best = join([_renumber(each, place).candidates for place, each in enumerate(matches)])
        leaders = [group[0] for group in fold_copies(best.signature)][:EXPANSION_DOCUMENTS]
        stems = [self._stems(_stored(snapshots, matches, best, place)) for place in leaders]
        known = {stem for word in plan.query.words for stem in self._words.variants(word, None)}
        total = sum(snapshot.documents_count for snapshot in snapshots)

        def rarity(stem: str) -> float:
            return inverse_frequency(sum(snapshot.documents_with(stem) for snapshot in snapshots), total)

        return plan._replace(extra=expansion(stems, known, rarity))

    def _stems(self, document: StoredDocument) -> list[str]:
        words = split_words(f"{document.title} {document.description} {document.text}")[:EXPANSION_WORDS]
        stems = self._words.stems(document.language)
        return [stem for word in words if (stem := stems[word])]


def _fold_translations(order: _Order) -> Iterator[list[int]]:
    """Yield the results in order, each as the numbers of its groups: the best one, then its translations.

    The first results are folded, whatever page is requested, so that no page repeats what an earlier one has.
    """
    fingerprints = order.candidates.fingerprint[order.order].tolist()
    groups = {fingerprints[place]: number for number, group in enumerate(order.groups) for place in group}
    site = order.candidates.site[order.order].tolist()
    sites = [site[group[0]] for group in order.groups]
    shared = Counter(sites)
    folded: set[int] = set()
    for count, number in enumerate(each for each in range(len(order.groups)) if each not in folded):
        result = [number]
        is_alone = shared[sites[number]] == 1
        if count < _TRANSLATED_RESULTS and order.plan.language is None and not is_alone:
            result += sorted(_translations(order, number, groups, folded))
            folded.update(result)
        yield result


def _placed_copy(order: _Order, number: int) -> StoredDocument:
    """Return the best document of a group; of copies, the best one whose address names its language."""
    head = order.head(number)
    others = order.order[order.groups[number][1 : 1 + _COPIES_LIMIT]].tolist()
    if not others or names_language(head.url, head.language):
        return head
    copies = map(order.stored, others)
    return next((each for each in copies if names_language(each.url, each.language)), head)


def _translations(order: _Order, number: int, groups: dict[int, int], folded: set[int]) -> set[int]:
    """Return the numbers of the groups that are translations of one, except those that are folded."""
    head = _placed_copy(order, number)
    found: set[int] = set()
    for url, named in translated_urls(head.url, head.language):
        other = groups.get(fingerprint(url), number)
        if other != number and other not in folded and len(found) < _TRANSLATIONS_LIMIT:
            document = order.head(other)
            if document.site == head.site and is_translation(document.language, named, head.language):
                found.add(other)
    return found


def _facets(order: _Order) -> Facets:
    """Count the results of the first round of each index: later ones only leave out copies."""
    matches = order.matches[: len(order.snapshots)]
    return merge(
        [snapshot.facets(each, order.plan.now) for snapshot, each in zip(order.snapshots, matches, strict=True)]
    )


def _request_filter(name: str, value: str) -> Filter:
    made = make_filter(name, value)
    if made is None:
        raise InputError(f"{name} takes a year, a month or a day such as 2024-05-17, not {value[:40]!a}")
    return made


def _find_candidates(
    snapshots: list[IndexSnapshot], plan: QueryPlan, wanted: int
) -> tuple[list[IndexMatches], Candidates]:
    """Return the matches of all indexes, and the best candidates of all.

    Where copies of a few pages crowd out the others, the search is repeated without them.
    """
    matches: list[IndexMatches] = []
    excluded: list[int] = []
    for _ in range(_ROUNDS_LIMIT):
        found = [snapshot.candidates(plan, excluded) for snapshot in snapshots]
        matches += [_renumber(each, len(matches) + place) for place, each in enumerate(found)]
        joined = join([each.candidates for each in matches])
        signatures, counts = np.unique(joined.signature, return_counts=True)
        flood = [int(value) for value in signatures[(counts > _FLOOD_COPIES) & (signatures > 0)]]
        is_full = any(len(each.addresses) >= CANDIDATES_LIMIT for each in found)
        if not is_full or len(signatures) >= wanted or set(flood) <= set(excluded):
            break
        matches = [each._replace(candidates=_drop_copies(each.candidates)) for each in matches]
        excluded = sorted({*excluded, *flood})
    return matches, join([each.candidates for each in matches])


def _renumber(matches: IndexMatches, number: int) -> IndexMatches:
    """Number the matches; the remainder of `number` by the count of indexes is the index."""
    index = np.full(len(matches.candidates.words), number, np.int64)
    return matches._replace(candidates=replace(matches.candidates, index=index))


def _drop_copies(candidates: Candidates) -> Candidates:
    """Keep as many copies of a content as a hit lists."""
    seen: dict[int, int] = {}
    kept: list[int] = []
    for place, signature in enumerate(candidates.signature.tolist()):
        seen[signature] = seen.get(signature, 0) + 1
        if not signature or seen[signature] <= _COPIES_LIMIT:
            kept.append(place)
    return candidates.take(np.array(kept, np.int64))


def _proximity(snapshots: list[IndexSnapshot], matches: list[IndexMatches], candidates: Candidates) -> F64:
    """Return what proximity and deferred words add to the scores of the best candidates; 0 for others."""
    near = np.zeros(len(candidates.words))
    best = candidates.index[:NEAR_LIMIT] % len(snapshots)
    for number, snapshot in enumerate(snapshots):
        places = np.flatnonzero(best == number)
        near[places] = snapshot.proximity(matches[number].plan, candidates.fingerprint[places])
    return near


def _best_first(candidates: Candidates, scores: Scores) -> I64:
    """Return the places of candidates by score; of equals, by fingerprint, so that the order is always the same."""
    return np.lexsort((candidates.fingerprint, -scores.total)).astype(np.int64)


def _stored(
    snapshots: list[IndexSnapshot], matches: list[IndexMatches], candidates: Candidates, place: int
) -> StoredDocument:
    number = int(candidates.index[place])
    return snapshots[number % len(snapshots)].stored(matches[number].addresses[int(candidates.place[place])])
