"""The words that pages are made of, in Portuguese and English."""

from typing import Literal, get_args

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

# Words that belong to no topic, most frequent first.
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

# Twelve words a topic and language, most frequent first; the first names the topic.
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

# What made-up words are put together from.
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
