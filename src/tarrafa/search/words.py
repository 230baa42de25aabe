"""Words of a text, and their two forms: folded, and stemmed then folded.

Folded is lower case without accents, the same for every language: by it accents and case never matter. A stem is made
from the word with its accents, for stemmers need them (*informação* gives `inform`, *informacao* gives `informaca`), by
the rules of the text's language; where we know none, it is the folded word. Both forms of a text have as many words as
the text, so positions agree.

A text is split here and not by the index, so that questions are split as documents are. Most words of a text were met
before: their forms are looked up, which is faster than stemming. Of many texts at a time each word is looked up once.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

WORD_MAX_CHARS = 40  # longer ones are no words; they are left out
STEMMED = {"en": "english", "pt": "portuguese"}
_REMEMBERED_WORDS = 200_000
_TOGETHER_CHARS = 16_000_000  # of texts whose words are looked up together: in memory they take several times that

_WORD = re.compile(r"[^\W_]+")
# Letters that one byte cannot hold; the dashes, quotes and signs above it are no parts of words.
_WIDE = re.compile(r"[^\x00-\xff\u2000-\u206f\u20a0-\u20cf\u2100-\u214f\u2190-\u2bff\ufffd]")


def _low(code: int) -> int:
    low = chr(code).lower()
    return ord(low) if low.isalnum() and ord(low) < 256 else 0x20


_LOW = bytes(map(_low, range(256)))


def lowered(text: str) -> str:
    """The words in lower case, with their accents and spaces between. Letters and digits make words."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if _WIDE.search(text):
            return " ".join(_WORD.findall(text.lower()))
    # A byte for a letter: a table of bytes is many times faster than looking for words.
    return text.encode("latin-1", "replace").translate(_LOW).decode("latin-1")


def split(text: str) -> list[str]:
    return lowered(text).split()


class Forms(dict[str, str]):
    """From a word to its form; forgets everything when it knows too many."""

    def __init__(self, stemmer: str | None) -> None:
        self._analyzer = _analyzer(stemmer)

    def __missing__(self, word: str) -> str:
        if len(self) >= _REMEMBERED_WORDS:
            self.clear()
        # What folds into several words ("½" is 1/2) stays one.
        form = "".join(self._analyzer.analyze(word)) if len(word) <= WORD_MAX_CHARS else ""
        form = self[word] = form if form.isalnum() else "".join(_WORD.findall(form))
        return form

    def of(self, words: Iterable[str]) -> str:
        """The forms in one text, as the index takes it."""
        return " ".join(map(self.__getitem__, words))

    def of_all(self, texts: Sequence[str]) -> list[str]:
        """The same of each of these texts, which `lowered` made."""
        return [found for some in _together(texts) for found in self._of_some(some)]

    def _of_some(self, texts: Sequence[str]) -> list[str]:
        # Where words are apart by several spaces there are empty ones between, whose form is empty too.
        words = pc.split_pattern(pa.array(texts, pa.string()), " ")
        numbered = words.flatten().dictionary_encode()
        forms = pa.array([self[word] for word in numbered.dictionary.to_pylist()], pa.string())
        formed = pa.ListArray.from_arrays(words.offsets, forms.take(numbered.indices))
        joined: list[str] = pc.binary_join(formed, " ").to_pylist()
        return joined


def _together(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    start, chars = 0, 0
    for number, text in enumerate(texts):
        chars += len(text)
        if chars >= _TOGETHER_CHARS:
            yield texts[start : number + 1]
            start, chars = number + 1, 0
    if start < len(texts):
        yield texts[start:]


def _analyzer(stemmer: str | None) -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.lowercase())
    if stemmer is not None:
        builder = builder.filter(Filter.stemmer(stemmer))
    return builder.filter(Filter.ascii_fold()).build()


class Language:
    """Both forms of words, for every language."""

    def __init__(self) -> None:
        self.folded = Forms(None)
        letters = [self.folded[chr(code)] or " " for code in range(256)]
        self._folds = bytes(ord(fold) if len(fold) == 1 else code for code, fold in enumerate(letters))
        self._long_folds = [(bytes([code]), fold.encode()) for code, fold in enumerate(letters) if len(fold) > 1]
        self._stems = {name: Forms(stemmer) for name, stemmer in STEMMED.items()}

    def fold(self, low: str) -> str:
        """A text that `lowered` made, folded; the same as each of its words folded, but for overlong ones."""
        if low.isascii():
            return low
        try:
            found = low.encode("latin-1").translate(self._folds)
        except UnicodeEncodeError:
            return self.folded.of(low.split())
        for letter, fold in self._long_folds:
            found = found.replace(letter, fold)
        return found.decode("latin-1")

    def stems(self, language: str) -> Forms:
        return self._stems.get(language, self.folded)

    def stemmed(self, texts: Sequence[tuple[str, str]]) -> list[str]:
        """The stems of texts that `lowered` made, each of which comes with its language."""
        found = [low if language in self._stems else self.fold(low) for language, low in texts]
        for name, forms in self._stems.items():
            places = [place for place, (language, _) in enumerate(texts) if language == name]
            for place, stems in zip(places, forms.of_all([found[place] for place in places]), strict=True):
                found[place] = stems
        return found

    def variants(self, word: str, language: str | None) -> list[str]:
        """The stems that a word of a question may have in documents: of one language, or of all."""
        return [form for form in dict.fromkeys(self.by_language(word, language)) if form]

    def by_language(self, word: str, language: str | None) -> list[str]:
        """The same for each language in turn, always in the same order."""
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
# One or two words are meant, whatever they are.
_MEANT_WORDS = 2


def telling(words: list[str]) -> list[str]:
    """A sentence without the words that only hold it together, if others are left. Its language is guessed by them."""
    held = max(_STOP_WORDS.values(), key=lambda known: sum(word in known for word in words))
    left = [word for word in words if word not in held]
    return left if left and len(words) > _MEANT_WORDS else words
