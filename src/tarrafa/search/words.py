"""Text analysis: the words of a text, and two forms of each word.

The *folded* form is lower case without accents, the same for every language, so that case and accents never matter. The
*stem* is made by the rules of the text's language, from the word with its accents, because stemmers need them
(*informação* gives `inform`, *informacao* gives `informaca`); it is folded afterwards. A language without a stemmer
uses the folded form. Both forms of a text have as many words as the text, so positions agree.

Texts are split here and not by the index, so that queries and documents are split alike. The forms of words are cached:
most words of a text occurred before, and a lookup is faster than stemming.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

WORD_MAX_CHARS = 40  # longer words are not indexed
STEMMERS = {"en": "english", "pt": "portuguese"}
_CACHED_WORDS = 200_000
CHUNK_CHARS = 16_000_000  # texts analyzed at once; they take several times that in memory

_WORD = re.compile(r"[^\W_]+")
# Characters outside Latin-1 that may be part of a word: not the dashes, quotes and symbols.
_WIDE = re.compile(r"[^\x00-\xff\u2000-\u206f\u20a0-\u20cf\u2100-\u214f\u2190-\u2bff\ufffd]")


def _lower_byte(code: int) -> int:
    low = chr(code).lower()
    return ord(low) if low.isalnum() and ord(low) < 256 else 0x20


_LOWER_BYTES = bytes(map(_lower_byte, range(256)))


def lower_words(text: str) -> str:
    """Return the words of a text in lower case, with accents, separated by spaces. Words are letters and digits."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if _WIDE.search(text):
            return " ".join(_WORD.findall(text.lower()))
    # Translating bytes is many times faster than matching words.
    return text.encode("latin-1", "replace").translate(_LOWER_BYTES).decode("latin-1")


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, with accents."""
    return lower_words(text).split()


class WordForms(dict[str, str]):
    """A cache from a word to its form. It is cleared when it is full."""

    def __init__(self, stemmer: str | None) -> None:
        self._analyzer = _make_analyzer(stemmer)

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        form = "".join(self._analyzer.analyze(word)) if len(word) <= WORD_MAX_CHARS else ""
        # A character that folds to several words ("½" to 1/2) stays one word.
        form = self[word] = form if form.isalnum() else "".join(_WORD.findall(form))
        return form

    def join(self, words: Iterable[str]) -> str:
        """Return the forms of some words as one text for the index."""
        return " ".join(map(self.__getitem__, words))

    def join_all(self, texts: Sequence[str]) -> list[str]:
        """Return the forms of each text, as `join` does; the texts come from `lower_words`."""
        return [joined for chunk in _chunks(texts) for joined in self._join_chunk(chunk)]

    def _join_chunk(self, texts: Sequence[str]) -> list[str]:
        # Several spaces in a row give empty words, which have empty forms.
        words = pc.split_pattern(pa.array(texts, pa.string()), " ")
        encoded = words.flatten().dictionary_encode()
        forms = pa.array([self[word] for word in encoded.dictionary.to_pylist()], pa.string())
        lists = pa.ListArray.from_arrays(words.offsets, forms.take(encoded.indices))
        joined: list[str] = pc.binary_join(lists, " ").to_pylist()
        return joined


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    start, chars = 0, 0
    for number, text in enumerate(texts):
        chars += len(text)
        if chars >= CHUNK_CHARS:
            yield texts[start : number + 1]
            start, chars = number + 1, 0
    if start < len(texts):
        yield texts[start:]


def _make_analyzer(stemmer: str | None) -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.lowercase())
    if stemmer is not None:
        builder = builder.filter(Filter.stemmer(stemmer))
    return builder.filter(Filter.ascii_fold()).build()


class WordAnalyzer:
    """Both forms of words, for every language. `folded` maps a word to its folded form."""

    def __init__(self) -> None:
        self.folded = WordForms(None)
        letters = [self.folded[chr(code)] or " " for code in range(256)]
        self._fold_bytes = bytes(ord(fold) if len(fold) == 1 else code for code, fold in enumerate(letters))
        self._long_folds = [(bytes([code]), fold.encode()) for code, fold in enumerate(letters) if len(fold) > 1]
        self._stems = {name: WordForms(stemmer) for name, stemmer in STEMMERS.items()}

    def fold(self, low: str) -> str:
        """Fold a text that comes from `lower_words`. Overlong words stay; the index drops them."""
        if low.isascii():
            return low
        try:
            folded = low.encode("latin-1").translate(self._fold_bytes)
        except UnicodeEncodeError:
            return self.folded.join(low.split())
        for letter, fold in self._long_folds:
            folded = folded.replace(letter, fold)
        return folded.decode("latin-1")

    def stems(self, language: str) -> WordForms:
        """Return the stems of a language; the folded forms if it has no stemmer."""
        return self._stems.get(language, self.folded)

    def stem_texts(self, texts: Sequence[tuple[str, str]]) -> list[str]:
        """Return the stems of each text. A text comes from `lower_words`, after its language."""
        found = [low if language in self._stems else self.fold(low) for language, low in texts]
        for name, forms in self._stems.items():
            places = [place for place, (language, _) in enumerate(texts) if language == name]
            for place, stems in zip(places, forms.join_all([found[place] for place in places]), strict=True):
                found[place] = stems
        return found

    def variants(self, word: str, language: str | None) -> list[str]:
        """Return the stems that a word of a query may have in documents: of one language, or of all for None."""
        return [form for form in dict.fromkeys(self.stems_by_language(word, language)) if form]

    def stems_by_language(self, word: str, language: str | None) -> list[str]:
        """Return the stem of a word in each language, always in the same order; the folded form comes last."""
        known = self._stems.values() if language is None else [self.stems(language)]
        return [forms[word] for forms in (*known, self.folded)]


_ENGLISH = """
a about above after again against all also although am among an and any are as at be because been before being below
between both but by can cannot could did do does doing down during each either etc ever few for from further had has
have having he her here hers herself him himself his how however i if in into is it its itself just may me might more
most must my myself neither no nor not of off on once only or other ought our ours ourselves out over own per same shall
she should since so some still such than that the their theirs them themselves then there these they this those though
through to too under until up upon us very via was we were what when where whether which while who whom why will with
within without would yet you your yours yourself yourselves s t
"""
_PORTUGUESE = """
a à ao aos aquela aquelas aquele aqueles aquilo as às até cada com como cuja cujas cujo cujos da das de dela delas dele
deles depois desde do dos e é ela elas ele eles em entre era eram essa essas esse esses esta está estão estas estava
este estes eu foi foram há isso isto já lhe lhes mais mas me mesmo meu meus minha minhas muito na não nas nem no nos
nós nossa nossas nosso nossos num numa o onde os ou para pela pelas pelo pelos por porque qual quais quando que quem
são se sem ser seu seus só sob sobre sua suas também te tem têm teu teus toda todas todo todos tu tua tuas um uma umas
uns você vocês
"""
_STOP_WORDS = {"en": frozenset(_ENGLISH.split()), "pt": frozenset(_PORTUGUESE.split())}
_SHORT_QUERY_WORDS = 2  # a query of so few words keeps its stop words


def drop_stop_words(words: list[str]) -> list[str]:
    """Return the words without stop words, unless no others are left. The stop words guess the language."""
    stop_words = max(_STOP_WORDS.values(), key=lambda known: sum(word in known for word in words))
    left = [word for word in words if word not in stop_words]
    return left if left and len(words) > _SHORT_QUERY_WORDS else words
