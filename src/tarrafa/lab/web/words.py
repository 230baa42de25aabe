"""What the pages talk about: words, sentences and titles in Portuguese and English, by topic.

Words follow Zipf's law: function words first, then the words of the topic, then common words, then a long tail of
words that exist in no dictionary. A topic has a pool of passages, and a page is made by choosing among them. The tail
is large enough that a few of its words tell one page from all others: searches have something rare to find.
"""

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from tarrafa.chance import WORD_BITS, Chance, draws
from tarrafa.lab.web.vocabulary import ENDINGS, EVERYDAY, FUNCTION, LANGUAGES, ONSETS, TOPICS, VOWELS, Language

SENTENCES = 1_500  # a topic
PASSAGES = 256  # made of them
PASSAGE_PARAGRAPHS = 4
PARAGRAPH_SENTENCES = 6
TAIL_SIZE = 1 << 16
COMMON_SIZE = 3_000


@lru_cache(maxsize=2 * TAIL_SIZE)
def tail_word(language: Language, number: int) -> str:
    """The word of this number in the long tail: it looks like its language and means nothing."""
    first, second, third, fourth, ending, length = draws(f"word/{language}/{number}", 6)
    onsets, vowels, endings = ONSETS[language], VOWELS[language], ENDINGS[language]
    middle = onsets[third % len(onsets)] + vowels[fourth % len(vowels)] if length % 3 else ""
    return onsets[first % len(onsets)] + vowels[second % len(vowels)] + middle + endings[ending % len(endings)]


class Zipf:
    """Chooses among words, the n-th with a weight of 1/n."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words
        self._cumulative = list(accumulate(1_000_000 // (position + 1) for position in range(len(words))))

    def pick(self, word: int) -> str:
        return self._words[bisect_right(self._cumulative, (word * self._cumulative[-1]) >> WORD_BITS)]


@lru_cache(maxsize=len(LANGUAGES))
def _general(language: Language) -> tuple[Zipf, Zipf]:
    common = EVERYDAY[language] + tuple(tail_word(language, number) for number in range(COMMON_SIZE))
    return Zipf(FUNCTION[language]), Zipf(common)


@lru_cache(maxsize=len(LANGUAGES) * len(TOPICS))
def _passages(language: Language, topic: str) -> tuple[str, ...]:
    chance = Chance(f"pool/{language}/{topic}")
    words = TOPICS[topic][language]
    vocabulary = (*_general(language), Zipf(words))
    sentences = [_sentence(language, vocabulary, chance) for _ in range(SENTENCES)]
    return tuple(_passage(words[number % len(words)], sentences, chance) for number in range(PASSAGES))


def _passage(heading: str, sentences: list[str], chance: Chance) -> str:
    paragraphs = (
        " ".join(chance.pick(sentences) for _ in range(PARAGRAPH_SENTENCES)) for _ in range(PASSAGE_PARAGRAPHS)
    )
    return f"<h2>{heading.capitalize()}</h2>\n" + "".join(f"<p>{paragraph}</p>\n" for paragraph in paragraphs)


@lru_cache(maxsize=3 * len(LANGUAGES) * len(TOPICS))
def passages(language: Language, topic: str, charset: str) -> tuple[bytes, ...]:
    """The pool of a topic in a language and a charset: passages as HTML, each a heading and some paragraphs."""
    return tuple(passage.encode(charset) for passage in _passages(language, topic))


def _sentence(language: Language, vocabulary: tuple[Zipf, Zipf, Zipf], chance: Chance) -> str:
    words = [_sentence_word(language, vocabulary, chance) for _ in range(7 + chance.below(14))]
    comma = 2 + chance.below(len(words))
    if comma < len(words) - 2:
        words[comma] += ","
    text = " ".join(words)
    return text[0].upper() + text[1:] + "."


def _sentence_word(language: Language, vocabulary: tuple[Zipf, Zipf, Zipf], chance: Chance) -> str:
    function, common, topical = vocabulary
    kind = chance.below(100)
    if kind < 46:
        return function.pick(chance.word())
    if kind < 74:
        return topical.pick(chance.word())
    if kind < 94:
        return common.pick(chance.word())
    return tail_word(language, chance.below(TAIL_SIZE))
