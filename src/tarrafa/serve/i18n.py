"""Translations of the search page: its texts, and how numbers, dates and language names are written.

Templates translate with a filter: `{{ "search" | translate }}`. Jinja resolves constant keys when it compiles a
template, so there is one environment for each language (see `page_templates`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

LANGUAGES = ("en", "pt")

# Key to one text per language, in the order of LANGUAGES. A text may hold {placeholders}.
TEXTS: dict[str, tuple[str, str]] = {
    "name": ("Tarrafa", "Tarrafa"),
    "tagline": ("Search what was collected", "Pesquise o que foi coletado"),
    "skip": ("Skip to content", "Ir para o conteúdo"),
    "search": ("Search", "Pesquisar"),
    "search_label": ("Words to search for", "Palavras a pesquisar"),
    "language_link": ("Português", "English"),
    "documents": ("{count} documents can be searched.", "{count} documentos podem ser pesquisados."),
    "document": ("One document can be searched.", "Um documento pode ser pesquisado."),
    "empty_title": ("Nothing to search yet", "Ainda não há o que pesquisar"),
    "empty_text": (
        "The collection is empty or not indexed yet. While a crawl runs, new pages appear here automatically.",
        "A coleção está vazia ou ainda não foi indexada. Durante uma coleta, páginas novas aparecem aqui sozinhas.",
    ),
    "empty_hint": ("To index the collection, run", "Para indexar a coleção, execute"),
    "tips": ("Search tips", "Dicas de pesquisa"),
    "tip_any": (
        "any of the words; pages with more of them come first",
        "qualquer das palavras; páginas com mais delas vêm primeiro",
    ),
    "tip_all": ("both words", "as duas palavras"),
    "tip_not": ("without this word", "sem esta palavra"),
    "tip_phrase": ("these words in this order", "estas palavras nesta ordem"),
    "tip_near": ("these words near each other", "estas palavras próximas"),
    "tip_prefix": ("words that begin like this", "palavras que começam assim"),
    "tip_site": ("pages of one site", "páginas de um site"),
    "tip_title": ("in the title", "no título"),
    "tip_keys": (
        "Keyboard: / focuses the search box; j and k or the arrow keys move between results.",
        "Teclado: / vai à caixa de pesquisa; j e k ou as setas vão de um resultado ao outro.",
    ),
    "filters": ("Filters", "Filtros"),
    "filter_site": ("Site", "Site"),
    "filter_language": ("Language", "Idioma"),
    "any_language": ("Any language", "Qualquer idioma"),
    "filter_after": ("From", "De"),
    "filter_before": ("Until", "Até"),
    "filter_fresh": ("Prefer recent pages", "Preferir páginas recentes"),
    "filter_expand": ("Include related words", "Incluir palavras relacionadas"),
    "apply": ("Apply", "Aplicar"),
    "clear": ("Clear filters", "Limpar filtros"),
    "results_for": ("Results for {query}", "Resultados de {query}"),
    "count_many": ("{count} results", "{count} resultados"),
    "count_about": ("about {count} results", "cerca de {count} resultados"),
    "count_one": ("1 result", "1 resultado"),
    "took": ("{milliseconds} ms", "{milliseconds} ms"),
    "page_number": ("page {page}", "página {page}"),
    "did_you_mean": ("Did you mean", "Você quis dizer"),
    "narrow": ("Narrow the results", "Restringir os resultados"),
    "facet_site": ("Site", "Site"),
    "facet_language": ("Language", "Idioma"),
    "facet_type": ("Type", "Tipo"),
    "facet_year": ("Year", "Ano"),
    "corrected": ("These are results for", "Estes são os resultados de"),
    "search_verbatim": ("Search instead for", "Pesquisar em vez disso"),
    "none_title": ("No results", "Nenhum resultado"),
    "none_text": (
        "Try other words, fewer words, or fewer filters.",
        "Tente outras palavras, menos palavras ou menos filtros.",
    ),
    "visited": ("Visited", "Visitada em"),
    "rank": ("Rank {rank}", "Relevância {rank}"),
    "rank_help": ("importance by links; the average page has 1", "importância pelos links; a página média tem 1"),
    "state": ("State", "Estado"),
    "earliest_visit": ("Earliest visit", "Visita mais cedo"),
    "never_visited": ("Not visited yet", "Ainda não visitada"),
    "facts": ("Facts", "Dados"),
    "facts_about": ("Facts about {title}", "Dados sobre {title}"),
    "copy": ("Stored copy", "Cópia guardada"),
    "copy_of": ("Stored copy of {title}", "Cópia guardada de {title}"),
    "more_of_site": ("More of {site}", "Mais de {site}"),
    "copies_many": ("{count} duplicates", "{count} duplicatas"),
    "copies_one": ("1 duplicate", "1 duplicata"),
    "translations": ("Also in", "Também em"),
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
    "canonical": ("Canonical URL", "URL canônica"),
    "directives": ("Robots directives", "Diretivas para robôs"),
    "overview": ("Overview", "Visão geral"),
    "why": ("Why it ranks here", "Por que está nesta posição"),
    "why_rank": ("Rank by links (average 1)", "Relevância pelos links (média 1)"),
    "why_host": ("Rank of its host (average 1)", "Relevância do servidor (média 1)"),
    "why_in": ("Other pages that link to it", "Outras páginas que apontam para ela"),
    "why_outside": ("Of these, on other hosts", "Destas, em outros servidores"),
    "why_position": ("Position for {query}", "Posição para {query}"),
    "why_absent": (
        "It is not among the first {limit} results for {query}.",
        "Não está entre os primeiros {limit} resultados de {query}.",
    ),
    "why_unknown": ("Its links have not been counted yet.", "Os links ainda não foram contados."),
    "part_words": ("Query words in the page", "Palavras da consulta na página"),
    "part_near": ("Proximity of the words", "Proximidade das palavras"),
    "part_anchors": ("Anchor text of links", "Texto dos links para ela"),
    "part_links": ("Link boost", "Acréscimo pelos links"),
    "part_fresh": ("Freshness boost", "Acréscimo por ser recente"),
    "part_rank": ("Rank by links (average 1)", "Relevância pelos links (média 1)"),
    "part_total": ("Score", "Pontuação"),
    "links_in": ("Incoming links", "Links de entrada"),
    "links_out": ("Outgoing links", "Links de saída"),
    "links_none": ("None known.", "Nenhum conhecido."),
    "links_some": ("Showing {shown} of {count}.", "Mostrando {shown} de {count}."),
    "links_more": ("Showing {shown} of more than {count}.", "Mostrando {shown} de mais de {count}."),
    "anchors": ("Anchor texts", "Textos dos links"),
    "anchor_hosts": ("{count} hosts", "{count} servidores"),
    "from": ("From", "De"),
    "to": ("To", "Para"),
    "words": ("Anchor text", "Texto do link"),
    "kind": ("Kind", "Tipo"),
    "history": ("Visit history", "Histórico de visitas"),
    "when": ("When", "Quando"),
    "outcome": ("Outcome", "Resultado"),
    "outcome_fetched": ("fetched", "coletada"),
    "outcome_unchanged": ("unchanged", "sem mudança"),
    "outcome_redirected": ("redirected", "redirecionada"),
    "outcome_refused": ("refused", "recusada"),
    "outcome_dropped": ("dropped for more important pages", "descartada por páginas mais importantes"),
    "outcome_failed": ("failed", "falhou"),
    "outcome_walled": ("behind a bot wall", "atrás de uma barreira contra robôs"),
    "outcome_gone": ("gone", "não existe mais"),
    "status": ("Status", "Status"),
    "content": ("Content", "Conteúdo"),
    "content_first": ("first seen", "visto pela primeira vez"),
    "content_same": ("unchanged", "sem mudança"),
    "content_changed": ("changed", "mudou"),
    "content_none": ("none", "nenhum"),
    "copies": ("Duplicates", "Duplicatas"),
    "copies_text": ("The same content was found at these URLs.", "O mesmo conteúdo foi encontrado nestas URLs."),
    "copies_none": (
        "The same content was not found at any other URL.",
        "O mesmo conteúdo não foi encontrado em outra URL.",
    ),
    "headers": ("HTTP header of the last visit", "Cabeçalho HTTP da última visita"),
    "headers_none": ("Not stored.", "Não está guardado."),
    "copy_note": (
        "The page as fetched on {date}, without scripts, images, links and styles: nothing is loaded from its host.",
        "A página como coletada em {date}, sem scripts, imagens, links e estilos: nada é carregado do servidor.",
    ),
    "copy_show": ("show", "mostrar"),
    "copy_at": ("Show the copy of {date}", "Mostrar a cópia de {date}"),
    "copy_current": ("current", "atual"),
    "copy_live": ("Open the live page", "Abrir a página original"),
    "copy_frame": ("The stored page", "A página guardada"),
    "copy_noarchive": (
        "The author asked search engines not to show a copy (noarchive).",
        "O autor pediu aos buscadores que não mostrem uma cópia (noarchive).",
    ),
    "copy_absent": ("No copy of this page is stored.", "Nenhuma cópia desta página está guardada."),
    "copy_binary": (
        "Pages of type {kind} cannot be shown here.",
        "Páginas do tipo {kind} não podem ser mostradas aqui.",
    ),
    "unknown_title": ("This page is not in the collection", "Esta página não está na coleção"),
    "unknown_text": (
        "The page was not visited, or it is stored under another URL.",
        "A página não foi visitada, ou está guardada sob outra URL.",
    ),
    "error_400": ("Invalid request", "Pedido inválido"),
    "error_404": ("Page not found", "Página não encontrada"),
    "error_404_text": (
        "There is no page at this address. Check the address or start a search.",
        "Não há página neste endereço. Confira o endereço ou faça uma pesquisa.",
    ),
    "error_405": ("Method not allowed", "Método não permitido"),
    "error_405_text": ("This address only supports GET and HEAD.", "Este endereço só aceita GET e HEAD."),
    "error_421": ("Unknown server name", "Nome de servidor desconhecido"),
    "error_421_text": (
        "This server does not answer for the name {name}. Use its address, or let its owner add the name: "
        "tarrafa serve --server-name {name}",
        "Este servidor não responde pelo nome {name}. Use o endereço dele, ou peça ao dono que acrescente o nome: "
        "tarrafa serve --server-name {name}",
    ),
    "error_429": ("Too many requests", "Pedidos demais"),
    "error_429_text": ("Wait {seconds} s, then try again.", "Espere {seconds} s e tente de novo."),
    "error_500": ("Internal error", "Erro interno"),
    "error_500_text": (
        "The request failed and the error was logged. Try again later.",
        "O pedido falhou e o erro foi registrado. Tente mais tarde.",
    ),
    "error_503": ("The server is busy", "O servidor está ocupado"),
    "busy": (
        "Too many searches are running. Try again in a moment.",
        "Há pesquisas demais em andamento. Tente de novo daqui a pouco.",
    ),
    "refused_host": ("The Host header is malformed.", "O cabeçalho Host está malformado."),
    "refused_query": (
        "The query has {count} characters; the limit is {limit}. Use fewer words.",
        "A consulta tem {count} caracteres; o limite é {limit}. Use menos palavras.",
    ),
    "refused_number": (
        "{name} must be a number from {least} to {most}.",
        "{name} deve ser um número de {least} a {most}.",
    ),
    "refused_filter": (
        "{name} is too long; the limit is {limit} characters.",
        "{name} é longo demais; o limite é de {limit} caracteres.",
    ),
    "refused_language": (
        "{name} must be a code such as en, pt or pt-BR.",
        "{name} deve ser um código como en, pt ou pt-BR.",
    ),
    "refused_date": (
        "{name} must be a date such as 2026, 2026-05 or 2026-05-17.",
        "{name} deve ser uma data como 2026, 2026-05 ou 2026-05-17.",
    ),
    "refused_moment": (
        "{name} must be a date such as 2026-05, 2026-05-17 or 2026-05-17T14:30:00Z.",
        "{name} deve ser uma data como 2026-05, 2026-05-17 ou 2026-05-17T14:30:00Z.",
    ),
    "refused_semantic": (
        "Semantic search is not installed on this server.",
        "A busca semântica não está instalada neste servidor.",
    ),
    "refused_switch": ("{name} must be 1 or 0.", "{name} deve ser 1 ou 0."),
    "refused_url": ("url must start with http:// or https://.", "url deve começar com http:// ou https://."),
    "refused_long_url": ("url is longer than {limit} characters.", "url tem mais de {limit} caracteres."),
    "refused_name": (
        "Unknown parameter {name}; known parameters are {known}.",
        "Parâmetro desconhecido {name}; os conhecidos são {known}.",
    ),
    "refused_input": ("The query is invalid. Check its filters.", "A consulta é inválida. Confira os filtros."),
    "footer": ("A collection made by Tarrafa", "Uma coleção feita pelo Tarrafa"),
    "for_programs": ("API", "API"),
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
_CODE = re.compile(r"[a-z]{2,3}", re.ASCII)
_ACCEPTED_LIMIT = 20  # entries of Accept-Language that are read


@dataclass(frozen=True, slots=True)
class Translator:
    """The texts and formats of one language."""

    code: str

    def translate(self, key: str, **values: object) -> str:
        return TEXTS[key][LANGUAGES.index(self.code)].format(**values)

    def number(self, value: float, digits: int = 0) -> str:
        thousands, point = _SEPARATORS[self.code]
        plain = f"{value:,.{digits}f}"
        return plain.translate({ord(","): thousands, ord("."): point})

    def day(self, at: float) -> str:
        moment = datetime.fromtimestamp(at, UTC)
        return f"{moment.day} {_MONTHS[self.code][moment.month - 1]} {moment.year}"

    def moment(self, at: float) -> str:
        return f"{self.day(at)}, {datetime.fromtimestamp(at, UTC):%H:%M} UTC"

    def language_name(self, code: str) -> str:
        """Return the name of a language, or its code if the name is unknown."""
        key = f"code_{code.lower().partition('-')[0]}"
        return self.translate(key) if key in TEXTS else code


def named_languages() -> Sequence[str]:
    """Return the codes of the languages that have a name in TEXTS."""
    return [key.removeprefix("code_") for key in TEXTS if key.startswith("code_")]


def choose_language(requested: str, accept_language: str, default: str) -> str:
    """Return the requested language, else the best match of the Accept-Language header, else the default."""
    if requested in LANGUAGES:
        return requested
    return next((code for code in accepted_languages(accept_language) if code in LANGUAGES), default)


def accepted_languages(accept_language: str) -> list[str]:
    """Return the languages of an Accept-Language header without their regions, best first."""
    candidates: list[tuple[float, int, str]] = []
    for position, entry in enumerate(accept_language.split(",")[:_ACCEPTED_LIMIT]):
        name, _, parameter = entry.partition(";")
        code = name.strip().lower().partition("-")[0]
        quality = _quality(parameter)
        if _CODE.fullmatch(code) and quality > 0:
            candidates.append((-quality, position, code))
    return list(dict.fromkeys(code for _, _, code in sorted(candidates)))


def _quality(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name != "q":
        return 1.0
    try:
        return min(1.0, float(value))
    except ValueError:
        return 0.0
