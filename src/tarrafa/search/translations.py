"""Translations of a page, by their addresses. Pure.

Addresses of translations are the same but for a language part: `/pt-br/guide` and `/de/guide`, `x.fr.html` and
`x.en.html`, `fr.example.org/x`, `?lang=fr`. The original may have none: `/guide` and `/de/guide`. Pages at such
addresses are translations if their languages differ. A page that is not translated yet often stands in the folder of
the translation: `/da/guide` in English is a translation of `/de/guide` in German, and none of `/fr/guide` in English.

The addresses that translations may have are made rather than compared: results are known by the fingerprints of their
URLs, and so only the documents that are translations need to be read.
"""

import re
from collections.abc import Iterator, Sequence

_PLACES_LIMIT = 3  # parts of an address that are replaced, the first ones
_PART = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2})(?:[-_][A-Za-z]{2,4})?(?![A-Za-z0-9])")
_EXTENSION = re.compile(r"(?<=[^/.])\.[A-Za-z0-9]{1,5}$")
_LANGUAGES = (
    "ar bg bn ca cs da de el en es et eu fa fi fr gl he hi hr hu id is it ja ko lt lv ms nb nl no pl pt ro ru sk sl sr "
    "sv ta th tr uk vi zh"
)
_REGIONS = "pt-br pt-pt zh-cn zh-tw zh-hans zh-hant en-us en-gb es-es es-mx fr-fr fr-ca de-de it-it ja-jp ko-kr ru-ru"


def _written(tag: str) -> tuple[str, ...]:
    """Return the ways to write a tag with a region: pt-br, pt-BR, pt_br, pt_BR; a script is capitalised: zh-Hans."""
    language, _, more = tag.partition("-")
    proper = more.upper() if len(more) == 2 else more.title()
    return tuple(f"{language}{mark}{each}" for mark in "-_" for each in (more, proper))


# As they are written in addresses, and the languages that they name.
_TAGS = {tag: tag for tag in _LANGUAGES.split()} | {
    written: tag[:2] for tag in _REGIONS.split() for written in _written(tag)
}
_KNOWN = frozenset(tag.lower() for tag in _TAGS)


def translated_urls(url: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield URLs that translations of a page may have, and the language that each names; "" if it names none."""
    if not language:
        return
    start = url.find("://") + 3
    parts = [match for match in _PART.finditer(url, start) if match[0].lower() in _KNOWN]
    own = [match for match in parts if match[1].lower() == language]
    places = [match.span() for match in own or parts][:_PLACES_LIMIT]
    for begin, end in places:
        before, after = url[:begin], url[end:]
        yield from ((f"{before}{tag}{after}", named) for tag, named in _TAGS.items() if tag != url[begin:end])
        if before[-1] in "/." and after[:1] == before[-1]:
            yield before + after[1:], ""
        elif before[-1] == "." and "/" in before[start:]:
            yield before[:-1] + after, ""
    if not places:
        yield from _with_part(url, start)


def _with_part(url: str, start: int) -> Iterator[tuple[str, str]]:
    """Yield a URL with a language part at the beginning of its path, and before its extension."""
    path = url.find("/", start) + 1
    if not path:
        return
    extension = _EXTENSION.search(url, path)
    for tag, named in _TAGS.items():
        yield f"{url[:path]}{tag}/{url[path:]}", named
        if extension:
            yield f"{url[: extension.start()]}.{tag}{extension[0]}", named


def names_language(url: str, language: str) -> bool:
    """Return True if a part of the address names the language."""
    return language in _named(url)


def names_other_language(url: str, language: str) -> bool:
    """Return True if the address names languages, but not this one: `/da/guide` for a guide in English."""
    named = _named(url)
    return bool(language and named) and language not in named


def _named(url: str) -> set[str]:
    """Return the languages that the parts of an address may name, except those of the domain."""
    host, _, rest = url.partition("://")[2].partition("/")
    parts = _PART.finditer(f"{host.partition('.')[0]}/{rest}")
    return {match[1].lower() for match in parts if match[0].lower() in _KNOWN}


def is_translation(found: str, named: str, language: str) -> bool:
    """Return True if a page in the language `found` is a translation of one in `language`.

    Pages in one language may be, too, for two regions, if the address names that language.
    """
    return bool(found) and (found == named or found != language)


def choose_language(languages: Sequence[str], wanted: Sequence[str]) -> int:
    """Return the place of the first language of the reader that there is; else 0, the best result."""
    known = list(languages)
    return next((known.index(code) for code in map(_primary, wanted) if code in known), 0)


def _primary(tag: str) -> str:
    """Return the language of a tag such as pt-BR, without its region."""
    return re.split("[-_]", tag.lower(), maxsplit=1)[0]
