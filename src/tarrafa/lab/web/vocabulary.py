"""The words and passages of pages, in Portuguese and English, by topic.

Words follow Zipf's law: function words first, then words of the topic, then common words, then a long tail of invented
words. A topic has a pool of passages, and a page is a choice of them. The tail is long enough that a few of its words
identify one page, so that searches have something rare to find.
"""

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import Literal, get_args

from tarrafa.chance import WORD_BITS, Chance, draws

Language = Literal["pt", "en"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# The most frequent words of each language, most frequent first.
FUNCTION: dict[Language, tuple[str, ...]] = {
    "pt": _words(
        """
        de a o que e do da em um para com não uma os no se na por mais as dos como mas ao ele das à seu
        sua ou quando muito nos já eu também só pelo pela até isso ela entre depois sem mesmo aos seus
        quem nas me esse eles você essa num nem suas meu às minha numa pelos elas qual nós lhe deles
        essas esses pelas este dele foi é são está tem ser há porque ainda onde sobre todos cada outro
        outra desde contra durante
        """
    ),
    "en": _words(
        """
        the of and to a in is that it was for on are as with his they at be this from have or by one had
        not but what all were when we there can an your which their said if do will each about how up
        out them then she many some so these would other into has more her two like him see time could
        no make than first been its who now people my made over did down only way find use may water
        long little very after words called just where most know
        """
    ),
}

# Words of no topic, most frequent first.
EVERYDAY: dict[Language, tuple[str, ...]] = {
    "pt": _words(
        """
        ano dia vez casa vida mundo cidade parte trabalho país tempo grupo forma lado momento caso
        número família água estado governo projeto rua noite palavra nome problema história ponto
        caminho grande novo primeiro último pequeno importante nacional possível público antigo fazer
        dizer poder querer chegar ficar deixar encontrar começar mostrar pessoa criança amigo região
        serviço empresa semana mês resultado exemplo
        """
    ),
    "en": _words(
        """
        year day house life world city part work country time group form side moment case number family
        state government project street night word name problem story point path great new last small
        important national possible public old make say want arrive stay leave meet begin show person
        child friend region service company week month result example place question answer room letter
        morning reason change
        """
    ),
}

# Twelve words for each topic and language, most frequent first; the first names the topic.
TOPICS: dict[str, dict[Language, tuple[str, ...]]] = {
    "cooking": {
        "pt": _words("culinária receita forno panela feijão farinha tempero açúcar sabor cozinha jantar pão"),
        "en": _words("cooking recipe oven kitchen flour pepper sugar flavour dinner bread butter spoon"),
    },
    "football": {
        "pt": _words(
            "futebol gol campeonato torcida jogador estádio técnico seleção partida zagueiro árbitro chuteira"
        ),
        "en": _words("football goal championship stadium player coach referee match defender league striker penalty"),
    },
    "economy": {
        "pt": _words(
            "economia inflação mercado juros exportação salário imposto banco investimento orçamento crédito câmbio"
        ),
        "en": _words("economy inflation market interest export wages budget bank investment credit currency trade"),
    },
    "health": {
        "pt": _words(
            "saúde hospital vacina médico sintoma tratamento enfermeira doença remédio coração exame prevenção"
        ),
        "en": _words("health hospital vaccine doctor symptom treatment nurse disease medicine heart prevention clinic"),
    },
    "travel": {
        "pt": _words("viagem praia hotel passagem aeroporto turista mala roteiro montanha ilha mapa hospedagem"),
        "en": _words("travel beach hotel ticket airport tourist suitcase itinerary mountain island harbour map"),
    },
    "music": {
        "pt": _words("música violão samba canção orquestra ritmo cantora disco melodia palco bateria compositor"),
        "en": _words("music guitar rhythm song orchestra singer album melody stage drums composer concert"),
    },
    "computing": {
        "pt": _words(
            "computação programa servidor algoritmo memória rede código processador teclado arquivo dados sistema"
        ),
        "en": _words("computing software server algorithm memory network code processor keyboard file database system"),
    },
    "history": {
        "pt": _words(
            "história império guerra século independência colônia revolução arquivo monarquia escravidão tratado museu"
        ),
        "en": _words(
            "history empire war century independence colony revolution archive monarchy treaty museum dynasty"
        ),
    },
    "nature": {
        "pt": _words("natureza floresta rio pássaro árvore onça clima semente cerrado nascente bioma raiz"),
        "en": _words("nature forest river bird tree wildlife climate seed meadow spring soil root"),
    },
    "education": {
        "pt": _words(
            "educação escola professora aluno universidade livro leitura caderno prova matemática biblioteca bolsa"
        ),
        "en": _words(
            "education school teacher pupil university book reading notebook exam mathematics library scholarship"
        ),
    },
    "law": {
        "pt": _words(
            "direito tribunal juiz processo lei advogado sentença contrato recurso constituição réu testemunha"
        ),
        "en": _words("law court judge lawsuit statute lawyer verdict contract appeal constitution defendant witness"),
    },
    "fishing": {
        "pt": _words("pesca tarrafa rede peixe barco anzol maré pescador isca lagoa camarão cais"),
        "en": _words("fishing net fish boat hook tide fisherman bait lagoon shrimp quay trawler"),
    },
    "gardening": {
        "pt": _words("jardinagem horta flor adubo poda muda vaso canteiro rosa tomate colheita irrigação"),
        "en": _words("gardening orchard flower compost pruning seedling pot border rose tomato harvest watering"),
    },
    "astronomy": {
        "pt": _words(
            "astronomia estrela planeta galáxia telescópio órbita cometa eclipse lua satélite constelação gravidade"
        ),
        "en": _words("astronomy star planet galaxy telescope orbit comet eclipse moon satellite constellation gravity"),
    },
    "cinema": {
        "pt": _words("cinema filme diretor roteiro atriz cena bilheteria festival documentário câmera estreia trilha"),
        "en": _words(
            "cinema film director screenplay actress scene festival documentary camera premiere soundtrack editing"
        ),
    },
    "agriculture": {
        "pt": _words("agricultura soja café lavoura trator safra rebanho gado fazenda milho cooperativa silo"),
        "en": _words("agriculture soybean coffee crop tractor herd cattle farm corn cooperative silo livestock"),
    },
}
TOPIC_NAMES = tuple(TOPICS)

# Parts of invented words.
ONSETS: dict[Language, tuple[str, ...]] = {
    "pt": _words("b c d f g j l m n p r s t v br cr dr fr gr pr tr pl cl fl ch lh nh qu gu"),
    "en": _words("b c d f g h j k l m n p r s t v w br cr dr fl gl pl pr st sh th tr sp"),
}
VOWELS: dict[Language, tuple[str, ...]] = {
    "pt": _words("a e i o u ã é ó ai ei ou ão"),
    "en": _words("a e i o u ea oo ai ou ee"),
}
ENDINGS: dict[Language, tuple[str, ...]] = {
    "pt": _words("ção mente dade ista ar er inho eiro ura oso al ense"),
    "en": _words("tion ness ing er ly ment ful ity ous ish ard ory"),
}


SENTENCES = 1_500  # for each topic
PASSAGES = 256  # for each topic, made of its sentences
PASSAGE_PARAGRAPHS = 4
PARAGRAPH_SENTENCES = 6
TAIL_SIZE = 1 << 16
COMMON_SIZE = 3_000


@lru_cache(maxsize=2 * TAIL_SIZE)
def tail_word(language: Language, number: int) -> str:
    """Return the word of this number in the long tail: it looks like its language and has no meaning."""
    first, second, third, fourth, ending, length = draws(f"word/{language}/{number}", 6)
    onsets, vowels, endings = ONSETS[language], VOWELS[language], ENDINGS[language]
    middle = onsets[third % len(onsets)] + vowels[fourth % len(vowels)] if length % 3 else ""
    return onsets[first % len(onsets)] + vowels[second % len(vowels)] + middle + endings[ending % len(endings)]


class Zipf:
    """Choose among words, the n-th with a weight of 1/n."""

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
    """Return the passages of a topic in a language and a charset as HTML, each a heading and some paragraphs."""
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
