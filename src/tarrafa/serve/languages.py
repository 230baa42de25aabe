"""Every word that a page of ours says, in every language it is said in, and how dates and numbers are written there."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

LANGUAGES = ("en", "pt")

# What is said, in the order of LANGUAGES.
TEXTS: dict[str, tuple[str, str]] = {
    "name": ("Tarrafa", "Tarrafa"),
    "tagline": ("Search what was collected", "Pesquise o que foi coletado"),
    "skip": ("Skip to content", "Ir para o conteúdo"),
    "search": ("Search", "Pesquisar"),
    "search_label": ("Words to search for", "Palavras a pesquisar"),
    "language_link": ("Português", "English"),
    "documents": ("{count} documents can be searched.", "{count} documentos podem ser pesquisados."),
    "document": ("One document can be searched.", "Um documento pode ser pesquisado."),
    "empty_title": ("Nothing can be searched yet", "Ainda não há o que pesquisar"),
    "empty_text": (
        "The collection is empty, or it has not been indexed. While a crawl runs, pages appear here by themselves.",
        "A coleção está vazia, ou ainda não foi indexada. Enquanto a coleta roda, as páginas aparecem aqui sozinhas.",
    ),
    "empty_hint": ("Whoever runs this page can index it with", "Quem mantém esta página pode indexá-la com"),
    "tips": ("Search tips", "Dicas de pesquisa"),
    "tip_any": ("any of the words; the more of them, the better", "qualquer das palavras; quanto mais, melhor"),
    "tip_all": ("both words", "as duas palavras"),
    "tip_not": ("without that word", "sem essa palavra"),
    "tip_phrase": ("these words in this order", "essas palavras nessa ordem"),
    "tip_near": ("these words near each other", "essas palavras próximas"),
    "tip_prefix": ("words that begin like this", "palavras que começam assim"),
    "tip_site": ("pages of one site", "páginas de um site"),
    "tip_title": ("in the title", "no título"),
    "tip_keys": (
        "On the keyboard: / goes to the search box, j and k or the arrows go from result to result.",
        "No teclado: / vai à caixa de pesquisa, j e k ou as setas vão de um resultado ao outro.",
    ),
    "filters": ("Filters", "Filtros"),
    "filter_site": ("Site", "Site"),
    "filter_language": ("Language", "Idioma"),
    "any_language": ("Any language", "Qualquer idioma"),
    "filter_after": ("From", "De"),
    "filter_before": ("Until", "Até"),
    "filter_fresh": ("Newer pages first", "Páginas novas primeiro"),
    "filter_expand": ("Also related words", "Também palavras relacionadas"),
    "apply": ("Apply", "Aplicar"),
    "clear": ("Clear filters", "Limpar filtros"),
    "results_for": ("Results for {query}", "Resultados de {query}"),
    "count_many": ("{count} results", "{count} resultados"),
    "count_about": ("about {count} results", "cerca de {count} resultados"),
    "count_one": ("1 result", "1 resultado"),
    "took": ("{milliseconds} ms", "{milliseconds} ms"),
    "page_number": ("page {page}", "página {page}"),
    "did_you_mean": ("Did you mean", "Você quis dizer"),
    "none_title": ("No page answers that", "Nenhuma página responde a isso"),
    "none_text": (
        "Try other words, fewer of them, or no filters.",
        "Tente outras palavras, menos palavras, ou nenhum filtro.",
    ),
    "visited": ("Visited", "Visitada em"),
    "rank": ("Rank {rank}", "Relevância {rank}"),
    "rank_help": ("importance by links; the average page has 1", "importância pelos links; a página média tem 1"),
    "facts": ("Facts", "Dados"),
    "facts_about": ("Facts about {title}", "Dados sobre {title}"),
    "copy": ("Stored copy", "Cópia guardada"),
    "copy_of": ("Stored copy of {title}", "Cópia guardada de {title}"),
    "more_of_site": ("More of {site}", "Mais de {site}"),
    "copies_many": ("{count} copies", "{count} cópias"),
    "copies_one": ("1 copy", "1 cópia"),
    "pages_nav": ("Pages of results", "Páginas de resultados"),
    "previous": ("Previous", "Anterior"),
    "next": ("Next", "Próxima"),
    "untitled": ("Untitled page", "Página sem título"),
    "back": ("Back to the results", "Voltar aos resultados"),
    "type": ("Type", "Tipo"),
    "language": ("Language", "Idioma"),
    "size": ("Size", "Tamanho"),
    "first_visit": ("First visit", "Primeira visita"),
    "last_visit": ("Last visit", "Última visita"),
    "published": ("Published", "Publicada em"),
    "modified": ("Modified", "Modificada em"),
    "canonical": ("Calls itself", "Chama-se"),
    "directives": ("Says to robots", "Diz aos robôs"),
    "overview": ("Overview", "Visão geral"),
    "why": ("Why it ranks here", "Por que está nesta posição"),
    "why_rank": ("Rank by links (average 1)", "Relevância pelos links (média 1)"),
    "why_host": ("Rank of its host (average 1)", "Relevância do servidor (média 1)"),
    "why_in": ("Pages that link to it", "Páginas que apontam para ela"),
    "why_outside": ("Of these, on other hosts", "Destas, em outros servidores"),
    "why_position": ("Position for {query}", "Posição para {query}"),
    "why_absent": (
        "It is not among the first {limit} results for {query}.",
        "Não está entre os primeiros {limit} resultados de {query}.",
    ),
    "why_unknown": ("Its links have not been counted yet.", "Os links ainda não foram contados."),
    "part_words": ("Words that it shares with the query", "Palavras em comum com a consulta"),
    "part_near": ("Nearness of these words", "Proximidade dessas palavras"),
    "part_anchors": ("What links to it say", "O que dizem os links para ela"),
    "part_links": ("Raised by links", "Acréscimo pelos links"),
    "part_fresh": ("Raised by freshness", "Acréscimo por ser recente"),
    "part_rank": ("Rank by links (average 1)", "Relevância pelos links (média 1)"),
    "part_total": ("Score", "Pontuação"),
    "links_in": ("Links that come in", "Links que chegam"),
    "links_out": ("Links that go out", "Links que saem"),
    "links_none": ("None is known.", "Nenhum é conhecido."),
    "links_some": ("{shown} of {count} are shown.", "São mostrados {shown} de {count}."),
    "links_more": ("{shown} of more than {count} are shown.", "São mostrados {shown} de mais de {count}."),
    "anchors": ("What they call it", "Como a chamam"),
    "anchor_hosts": ("{count} hosts", "{count} servidores"),
    "anchor_host": ("1 host", "1 servidor"),
    "from": ("From", "De"),
    "to": ("To", "Para"),
    "words": ("Words of the link", "Texto do link"),
    "kind": ("Kind", "Tipo"),
    "history": ("History of visits", "Histórico de visitas"),
    "when": ("When", "Quando"),
    "outcome": ("Outcome", "Resultado"),
    "outcome_fetched": ("fetched", "coletada"),
    "outcome_unchanged": ("unchanged", "sem mudança"),
    "outcome_redirected": ("redirected", "redirecionada"),
    "outcome_refused": ("refused", "recusada"),
    "outcome_failed": ("failed", "falhou"),
    "outcome_gone": ("gone", "não existe mais"),
    "status": ("Status", "Status"),
    "content": ("Content", "Conteúdo"),
    "content_first": ("first seen", "visto pela primeira vez"),
    "content_same": ("unchanged", "sem mudança"),
    "content_changed": ("changed", "mudou"),
    "content_none": ("none", "nenhum"),
    "copies": ("Copies", "Cópias"),
    "copies_text": (
        "The same content was found at these addresses too.",
        "O mesmo conteúdo foi achado também nestes endereços.",
    ),
    "copies_none": ("The same content was found nowhere else.", "O mesmo conteúdo não foi achado em outro lugar."),
    "headers": ("Header of the last visit", "Cabeçalho da última visita"),
    "headers_none": ("It is not kept.", "Não está guardado."),
    "copy_note": (
        "This is the page as it was on {date}. Scripts, pictures and links of it are switched off, "
        "and nothing is loaded from its host.",
        "Esta é a página como estava em {date}. Scripts, imagens e links dela estão desligados, "
        "e nada é carregado do servidor dela.",
    ),
    "copy_live": ("Go to the page itself", "Ir à página original"),
    "copy_frame": ("The stored page", "A página guardada"),
    "copy_noarchive": (
        "Its author asked that no copy be shown (noarchive). We keep to that.",
        "O autor pediu que nenhuma cópia seja mostrada (noarchive). Respeitamos isso.",
    ),
    "copy_absent": ("No copy of that page is kept.", "Nenhuma cópia dessa página está guardada."),
    "copy_binary": (
        "It is of type {kind}, which cannot be shown here.",
        "É do tipo {kind}, que não pode ser mostrado aqui.",
    ),
    "unknown_title": ("That page is not in the collection", "Essa página não está na coleção"),
    "unknown_text": (
        "It was not visited, or it is known under another address.",
        "Ela não foi visitada, ou é conhecida por outro endereço.",
    ),
    "error_400": ("That cannot be asked", "Isso não pode ser pedido"),
    "error_404": ("There is nothing here", "Não há nada aqui"),
    "error_404_text": ("The address is wrong, or old.", "O endereço está errado ou é antigo."),
    "error_405": ("That cannot be done here", "Isso não pode ser feito aqui"),
    "error_405_text": ("Pages can only be asked for.", "As páginas só podem ser pedidas."),
    "error_429": ("Too many questions at once", "Perguntas demais de uma vez"),
    "error_429_text": (
        "Please wait {seconds} s, then ask again.",
        "Por favor, espere {seconds} s e pergunte de novo.",
    ),
    "error_500": ("Something went wrong here", "Algo deu errado aqui"),
    "error_500_text": (
        "It is our fault, and it was written down. Please try again later.",
        "A culpa é nossa, e foi registrado. Por favor, tente mais tarde.",
    ),
    "error_503": ("Too many people ask at once", "Muita gente pergunta ao mesmo tempo"),
    "busy": ("Please try again in a moment.", "Por favor, tente de novo daqui a pouco."),
    "refused_query": (
        "The query has {count} characters; the longest has {limit}. Use fewer words.",
        "A consulta tem {count} caracteres; a mais longa tem {limit}. Use menos palavras.",
    ),
    "refused_number": (
        "{name} must be a number from {least} to {most}.",
        "{name} deve ser um número de {least} a {most}.",
    ),
    "refused_filter": (
        "{name} is too long; the longest has {limit} characters.",
        "{name} é longo demais; o mais longo tem {limit} caracteres.",
    ),
    "refused_language": (
        "language must be a code such as en, pt or pt-BR.",
        "language deve ser um código como en, pt ou pt-BR.",
    ),
    "refused_date": (
        "{name} must be a date such as 2026, 2026-05 or 2026-05-17.",
        "{name} deve ser uma data como 2026, 2026-05 ou 2026-05-17.",
    ),
    "refused_semantic": (
        "Searching by meaning is not installed here.",
        "A busca por significado não está instalada aqui.",
    ),
    "refused_switch": ("{name} must be 1 or 0.", "{name} deve ser 1 ou 0."),
    "refused_url": (
        "url must be an address that begins with http:// or https://.",
        "url deve ser um endereço que começa com http:// ou https://.",
    ),
    "refused_long_url": ("url is longer than {limit} characters.", "url tem mais de {limit} caracteres."),
    "refused_name": (
        "{name} is not known here; known are {known}.",
        "{name} não é conhecido aqui; conhecidos são {known}.",
    ),
    "refused_input": ("That cannot be understood.", "Isso não pode ser entendido."),
    "footer": ("A collection made by Tarrafa", "Uma coleção feita pelo Tarrafa"),
    "for_programs": ("For programs", "Para programas"),
    "code_en": ("English", "inglês"),
    "code_pt": ("Portuguese", "português"),
    "code_es": ("Spanish", "espanhol"),
    "code_fr": ("French", "francês"),
    "code_de": ("German", "alemão"),
    "code_it": ("Italian", "italiano"),
}

_MONTHS = {
    "en": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "pt": ("jan.", "fev.", "mar.", "abr.", "mai.", "jun.", "jul.", "ago.", "set.", "out.", "nov.", "dez."),
}
_SEPARATORS = {"en": (",", "."), "pt": (".", ",")}
_ACCEPTED_LIMIT = 20  # languages of a browser that are looked at


@dataclass(frozen=True, slots=True)
class Words:
    """One language."""

    code: str

    def text(self, key: str) -> str:
        """With its places, which `say` fills."""
        return TEXTS[key][LANGUAGES.index(self.code)]

    def say(self, key: str, **values: object) -> str:
        return self.text(key).format(**values)

    def number(self, value: float, digits: int = 0) -> str:
        thousands, point = _SEPARATORS[self.code]
        plain = f"{value:,.{digits}f}"
        return plain.translate({ord(","): thousands, ord("."): point})

    def day(self, at: float) -> str:
        moment = datetime.fromtimestamp(at, UTC)
        return f"{moment.day} {_MONTHS[self.code][moment.month - 1]} {moment.year}"

    def moment(self, at: float) -> str:
        return f"{self.day(at)}, {datetime.fromtimestamp(at, UTC):%H:%M} UTC"

    def language(self, code: str) -> str:
        """A language by its name where that is known, else by its code."""
        key = f"code_{code.lower().partition('-')[0]}"
        return self.say(key) if key in TEXTS else code


def known_codes() -> Sequence[str]:
    """Languages that have a name here."""
    return [key.removeprefix("code_") for key in TEXTS if key.startswith("code_")]


def choose(wanted: str, accepted: str, default: str) -> str:
    """The language that was asked for, else the first that the browser accepts, else the default."""
    if wanted in LANGUAGES:
        return wanted
    weighed: list[tuple[float, int, str]] = []
    for place, part in enumerate(accepted.split(",")[:_ACCEPTED_LIMIT]):
        name, _, parameter = part.partition(";")
        code = name.strip().lower().partition("-")[0]
        weight = _weight(parameter)
        if code in LANGUAGES and weight > 0:
            weighed.append((-weight, place, code))
    return min(weighed)[2] if weighed else default


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name != "q":
        return 1.0
    try:
        return min(1.0, float(value))
    except ValueError:
        return 0.0
