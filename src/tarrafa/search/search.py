"""A crawl's documents, searched as one, whatever number of agents indexed them.

The way of a question: `parse`; candidates of every index, merged by score; nearness and anchors of the best; the order;
copies folded, sites spread; one page of it with pieces of text. Only the documents of that page are read from disk, so
the hundredth page takes as long as the first.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tarrafa.clock import Clock, SystemClock
from tarrafa.errors import InputError
from tarrafa.search.answers import Hit, Results, SearchRequest
from tarrafa.search.compiling import Question
from tarrafa.search.expansion import DOCUMENTS_LIMIT, WORDS_LIMIT, expansion, inverse_frequency
from tarrafa.search.index import has_index
from tarrafa.search.query import Filter, Query, make_filter, parse
from tarrafa.search.ranking import (
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
    spread,
)
from tarrafa.search.remembering import Remembered
from tarrafa.search.semantic import MEANING_LIMIT, Passage, SemanticModel, raised, sought_words, word_vectors
from tarrafa.search.shard import Found, Kept, Opened, Shard
from tarrafa.search.showing import Marker, make_hit
from tarrafa.search.spelling import WORD_MIN_CHARS, best_spelling
from tarrafa.search.words import Language, split, telling

_INDEXES = "agents/*/index"
_COPIES_LIMIT = 20  # that a result lists
_FLOOD_COPIES = 20  # so many copies among the candidates leave no room for others
_ROUNDS_LIMIT = 3
_WANTED_STEP = 100  # pages of so many results are worked out together
_ORDERS_LIMIT = 64  # questions that are remembered, at a quarter of a megabyte each
_LIKE_TERMS = 2_000  # that a word may have meant
_PREFIX_MAX_CHARS = 200
_SUGGESTIONS_MAX = 20


class _Ordered(NamedTuple):
    """All results of a question, in order. `groups` are places in `order`, which holds places of candidates."""

    shards: list[Shard]
    question: Question
    found: list[Found]
    candidates: Candidates
    scores: Scores
    order: I64
    groups: list[list[int]]
    matches_count: int
    suggestion: str | None

    def is_enough(self, results_count: int) -> bool:
        """Whether there is no need to look at more: all was looked at, or a sample that has them."""
        return len(self.groups) >= results_count or not any(each.question.sample for each in self.found)


class Search:
    """Asked by any number of threads. What was committed after it was opened is seen after `refresh`."""

    def __init__(
        self,
        folder: Path,
        ranks: RankSource | None,
        meaning: Callable[[], SemanticModel] = word_vectors,
        clock: Clock | None = None,
    ) -> None:
        self._folder = folder
        self._clock = clock or SystemClock()
        self._ranks = ranks
        self._meaning = meaning
        self._language = Language()
        self._opened: dict[Path, Opened] = {}
        self._shards: list[Shard] = []
        self._orders: Remembered[tuple[SearchRequest, bool], _Ordered] = Remembered(_ORDERS_LIMIT)  # of these shards
        self.refresh()

    @classmethod
    def open(cls, folder: Path, ranks: RankSource | None = None) -> "Search":
        """`folder` is that of the crawl."""
        return cls(folder, ranks)

    def refresh(self) -> None:
        """See what other processes have committed, and indexes of agents that are new."""
        paths = [path for path in sorted(self._folder.glob(_INDEXES)) if has_index(path)]
        if not paths:
            raise InputError(f"nothing is indexed in {self._folder} yet; do it with tarrafa index --dir DIR")
        for number, path in enumerate(paths):
            if path not in self._opened:
                self._opened[path] = Opened(path, self._language, number)
        shards = [self._opened[path].shard() for path in paths]
        if shards != self._shards:
            self._shards, self._orders = shards, Remembered(_ORDERS_LIMIT)

    @property
    def documents_count(self) -> int:
        return sum(shard.documents_count for shard in self._shards)

    def search(self, request: SearchRequest) -> Results:
        started = time.perf_counter()
        ordered = self._ordered(request)
        if ordered is None:
            return Results((), 0, time.perf_counter() - started, request.page)
        hits = self._page(ordered, request)
        return Results(
            hits=hits,
            count=max(ordered.matches_count, len(hits)),
            seconds=time.perf_counter() - started,
            page=request.page,
            suggestion=ordered.suggestion,
            filters=ordered.question.query.filters,
            is_estimated=any(each.is_estimated for each in ordered.found[: len(ordered.shards)]),
        )

    def _ordered(self, request: SearchRequest) -> _Ordered | None:
        """Where a sample of the documents holds fewer results than are asked for, all are looked at."""
        ordered = self._remembered(request, is_thorough=False)
        if ordered is None or ordered.is_enough(request.page * request.top):
            return ordered
        return self._remembered(request, is_thorough=True)

    def _remembered(self, request: SearchRequest, is_thorough: bool) -> _Ordered | None:
        """Remembered without its page. What changes with time is worked out each time."""
        orders, wanted = self._orders, -(-request.page * request.top // _WANTED_STEP) * _WANTED_STEP
        key = replace(request, top=_WANTED_STEP, page=wanted // _WANTED_STEP, explain=False), is_thorough
        is_lasting = not request.fresh and not any(shard.has_ends for shard in self._shards)
        known = orders.get(key) if is_lasting else None
        if known is not None:
            return known
        ordered = self._put_in_order(request, wanted, is_thorough)
        if ordered is not None and is_lasting:
            orders.put(key, ordered)
        return ordered

    def _put_in_order(self, request: SearchRequest, wanted: int, is_thorough: bool) -> _Ordered | None:
        shards = self._shards
        question = self._question(request)._replace(is_thorough=is_thorough)
        if not question.query.clauses and not question.query.filters:
            return None
        if request.expand:
            question = self._expanded(shards, question)
        found, candidates = self._candidates(shards, question, wanted)
        near, anchors = self._beside(shards, found, question, candidates)
        ranks = self._ranks.of(candidates.fingerprint) if self._ranks else None
        scores = score(candidates, near, anchors, ranks, question.now if request.fresh else None)
        if request.semantic:
            words = sought_words(request.text, question.query.words)
            scores = self._by_meaning(shards, found, candidates, scores, words)
        order = np.lexsort((candidates.fingerprint, -scores.total)).astype(np.int64)
        groups = spread(fold_copies(candidates.signature[order]), candidates.site[order], request.per_site)
        count = sum(each.matches_count for each in found[: len(shards)])
        suggestion = self._suggestion(shards, request.text, question.query)
        return _Ordered(shards, question, found, candidates, scores, order, groups, count, suggestion)

    def _question(self, request: SearchRequest) -> Question:
        query = parse(request.text)
        asked = {"site": request.site, "lang": request.language, "after": request.after, "before": request.before}
        more = [made for name, value in asked.items() if value and (made := _asked(name, value))]
        query = Query(query.clauses, tuple(dict.fromkeys((*query.filters, *more))))
        languages = [each.value for each in query.filters if each.name == "lang" and not each.is_excluded]
        return Question(query, languages[0] if languages else None, self._clock.now())

    def _candidates(self, shards: list[Shard], question: Question, wanted: int) -> tuple[list[Found], Candidates]:
        """Where copies of few pages fill all places, those are left out and the others asked for again."""
        found: list[Found] = []
        excluded: list[int] = []
        for _ in range(_ROUNDS_LIMIT):
            answers = [shard.candidates(question, excluded) for shard in shards]
            numbered = [_renumbered(each, len(found) + place) for place, each in enumerate(answers)]
            found += numbered
            joined = join([each.candidates for each in found])
            signatures, counts = np.unique(joined.signature, return_counts=True)
            flood = [int(value) for value in signatures[(counts > _FLOOD_COPIES) & (signatures > 0)]]
            is_full = any(len(each.addresses) >= CANDIDATES_LIMIT for each in answers)
            if not is_full or len(signatures) >= wanted or set(flood) <= set(excluded):
                break
            found = [each._replace(candidates=_thinned(each.candidates)) for each in found]
            excluded = sorted({*excluded, *flood})
        return found, join([each.candidates for each in found])

    def _beside(
        self, shards: list[Shard], found: list[Found], question: Question, candidates: Candidates
    ) -> tuple[F64, F64]:
        """Nearness and anchors, for the best."""
        near, anchors = np.zeros(len(candidates.words)), np.zeros(len(candidates.words))
        best = candidates.index[:NEAR_LIMIT] % len(shards)
        for number, shard in enumerate(shards):
            places = np.flatnonzero(best == number)
            near[places] = shard.beside(found[number].question, candidates.fingerprint[places])
        if self._ranks is not None and question.query.words:
            folded = self._language.folded
            words = frozenset(folded[word] for word in telling([*question.query.words]))
            for place, texts in enumerate(self._ranks.anchors(candidates.fingerprint[:ANCHORS_LIMIT])):
                known = [(frozenset(folded[word] for word in split(text)), votes) for text, votes in texts]
                anchors[place] = anchor_share(known, words)
        return near, anchors

    def _by_meaning(
        self, shards: list[Shard], found: list[Found], candidates: Candidates, scores: Scores, words: list[str]
    ) -> Scores:
        """The best are read to see how near they come to what is meant."""
        best = np.lexsort((candidates.fingerprint, -scores.total))[:MEANING_LIMIT].astype(np.int64)
        kept = [_kept(shards, found, candidates, int(place)) for place in best]
        passages = [Passage(f"{each.title} {each.description}", each.text) for each in kept]
        return raised(scores, best, self._meaning().likeness(words, passages))

    def _page(self, ordered: _Ordered, request: SearchRequest) -> tuple[Hit, ...]:
        start = (request.page - 1) * request.top
        marker = Marker(self._language, ordered.question)
        hits: list[Hit] = []
        for group in ordered.groups[start : start + request.top]:
            places = ordered.order[group[: 1 + _COPIES_LIMIT]].tolist()
            kept = [_kept(ordered.shards, ordered.found, ordered.candidates, place) for place in places]
            hits.append(make_hit(kept, marker, ordered.scores, places[0], request.explain))
        return tuple(hits)

    def _expanded(self, shards: list[Shard], question: Question) -> Question:
        """The question with words that its best results have in common."""
        found = [shard.candidates(question, []) for shard in shards]
        best = join([_renumbered(each, place).candidates for place, each in enumerate(found)])
        leaders = [group[0] for group in fold_copies(best.signature)][:DOCUMENTS_LIMIT]
        kept = [_kept(shards, found, best, place) for place in leaders]
        stems = [self._stems(each) for each in kept]
        known = {stem for word in question.query.words for stem in self._language.variants(word, None)}
        count = sum(shard.documents_count for shard in shards)

        def rarity(stem: str) -> float:
            return inverse_frequency(sum(shard.documents_with(stem) for shard in shards), count)

        return question._replace(extra=expansion(stems, known, rarity))

    def _stems(self, kept: Kept) -> list[str]:
        words = split(f"{kept.title} {kept.description} {kept.text}")[:WORDS_LIMIT]
        forms = self._language.stems(kept.language)
        return [form for word in words if (form := forms[word])]

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Questions that begin so, from words of titles."""
        words = split(prefix[:_PREFIX_MAX_CHARS])
        if not words or prefix[-1:].isspace():
            return []
        folds = [self._language.folded[word] for word in words]
        if not all(folds):
            return []
        counts: dict[str, int] = {}
        for shard in self._shards:
            for word, count in shard.title_words(folds[-1], folds[:-1], min(limit, _SUGGESTIONS_MAX)):
                counts[word] = counts.get(word, 0) + count
        best = sorted(counts, key=lambda word: (-counts[word], word))[: min(limit, _SUGGESTIONS_MAX)]
        return [" ".join([*words[:-1], word]) for word in best]

    def _suggestion(self, shards: list[Shard], text: str, query: Query) -> str | None:
        better = text
        for word in query.words:
            fold = self._language.folded[word]
            if len(fold) < WORD_MIN_CHARS or fold.isdigit() or any(shard.has(fold) for shard in shards):
                continue
            stems = self._language.variants(word, None)
            if any(shard.documents_with(stem) for shard in shards for stem in stems):
                continue
            starts = [(shard, start) for shard in shards for start in _starts(fold)]
            known = [each for shard, start in starts for each in shard.words_like(start, _LIKE_TERMS)]
            spelling = best_spelling(fold, known)
            better = _replaced(better, word, spelling) if spelling else better
        return better if better != text else None


def _asked(name: str, value: str) -> Filter:
    made = make_filter(name, value)
    if made is None:
        raise InputError(f"{name} takes a year, a month or a day such as 2024-05-17, not {value[:40]!a}")
    return made


def _renumbered(found: Found, number: int) -> Found:
    """`number` says which of several answers; its rest by the number of indexes says which index."""
    candidates = found.candidates
    index = np.full(len(candidates.words), number, np.int64)
    parts = (candidates.place, candidates.fingerprint, candidates.signature, candidates.site, candidates.dated)
    return found._replace(candidates=Candidates(candidates.words, index, *parts))


def _thinned(candidates: Candidates) -> Candidates:
    """At most so many copies of one content as a result lists."""
    seen: dict[int, int] = {}
    kept: list[int] = []
    for place, signature in enumerate(candidates.signature.tolist()):
        seen[signature] = seen.get(signature, 0) + 1
        if not signature or seen[signature] <= _COPIES_LIMIT:
            kept.append(place)
    return candidates.take(np.array(kept, np.int64))


def _kept(shards: list[Shard], found: list[Found], candidates: Candidates, place: int) -> Kept:
    number = int(candidates.index[place])
    return shards[number % len(shards)].kept(found[number].addresses[int(candidates.place[place])])


def _starts(fold: str) -> list[str]:
    """Beginnings under which the right spelling may stand: the first letters, or those swapped."""
    return list(dict.fromkeys([fold[:2], fold[1] + fold[0], fold[0] + fold[2]]))


def _replaced(text: str, word: str, better: str) -> str:
    low = text.lower()
    start = low.find(word)
    return f"{text[:start]}{better}{text[start + len(word) :]}" if start >= 0 and len(low) == len(text) else text
