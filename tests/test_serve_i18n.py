"""Translations: texts in every language, formats, and the choice of a language."""

import re
import string
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import escape

from tarrafa.serve.i18n import LANGUAGES, TEXTS, Translator, choose_language
from tarrafa.serve.page_templates import make_environment
from tarrafa.texts import without_bidi_controls

SERVE = Path(__file__).parent.parent / "src" / "tarrafa" / "serve"
ENVIRONMENTS = {code: make_environment(Translator(code), "mark") for code in LANGUAGES}
SHOWN = st.text(max_size=20) | st.sampled_from(["<b>&amp;'\"", "{{ 1 }}", "{count}", "%s"])


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("key", TEXTS)
def test_every_text_is_rendered_escaped_with_its_values(key: str, code: str) -> None:
    values = {name: f"<{name}> & 'co' {{{name}}}" for name in re.findall(r"{(\w+)}", TEXTS[key][0])}
    arguments = ", ".join(f"{name}={name}" for name in values)
    source = f'-{{{{ "{key}" | translate({arguments}) }}}}-'
    shown = ENVIRONMENTS[code].from_string(source).render(values)
    assert shown == f"-{escape(Translator(code).translate(key, **values))}-"


@given(SHOWN)
@example("\u202e<b>")
def test_values_of_placeholders_are_escaped(site: str) -> None:
    template = ENVIRONMENTS["en"].from_string('{{ "more_of_site" | translate(site=site) }}')
    assert template.render(site=site) == f"More of {escape(without_bidi_controls(site))}"


def test_key_that_depends_on_the_page_is_translated_when_it_is_rendered() -> None:
    texts = [
        '("outcome_" ~ name) | translate',
        'title or "untitled" | translate',
        '"rank" | translate(rank=2 | number(1))',
    ]
    source = ", ".join(f"{{{{ {text} }}}}" for text in texts)
    shown = ENVIRONMENTS["pt"].from_string(source).render(name="gone", title="")
    assert shown == "não existe mais, Página sem título, Relevância 2,0"


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("key", TEXTS)
def test_every_text_has_every_language_with_the_same_placeholders(key: str) -> None:
    texts = TEXTS[key]
    assert len(texts) == len(LANGUAGES)
    assert all(texts)
    assert len({frozenset(placeholders(text)) for text in texts}) == 1


def test_every_used_key_has_a_text_and_every_text_is_used() -> None:
    modules = [path for path in SERVE.glob("*.py") if path.name != "i18n.py"]
    sources = "".join(path.read_text() for path in [*modules, *(SERVE / "templates").iterdir()])
    said = set(re.findall(r"RefusedError\(\s*\"(\w+)\"", sources))
    said |= set(re.findall(r"\"((?:error|refused|unknown|tip)_\w+)\"", sources))
    said |= set(re.findall(r"\"(\w+)\" \| translate", sources))
    composed = ("part_", "outcome_", "code_", "error_")
    assert [key for key in said if key not in TEXTS and key not in composed] == []
    assert [key for key in TEXTS if key not in said and not key.startswith(composed)] == []


def test_numbers_and_dates_are_written_as_usual() -> None:
    assert Translator("en").number(1_234_567.891, 1) == "1,234,567.9"
    assert Translator("pt").number(1_234_567.891, 1) == "1.234.567,9"
    assert Translator("en").moment(0) == "1 Jan 1970, 00:00 UTC"
    assert Translator("pt").day(1_773_316_800) == "12 mar. 2026"
    assert (Translator("pt").language_name("en-GB"), Translator("en").language_name("xx")) == ("inglês", "xx")


@pytest.mark.parametrize(
    ("wanted", "accepted", "chosen"),
    [
        ("", "", "en"),
        ("pt", "en", "pt"),
        ("", "pt-BR,pt;q=0.9,en;q=0.8", "pt"),
        ("", "en;q=0.5, pt;q=0.6", "pt"),
        ("", "pt;q=0, fr", "en"),
        ("", "pt;q=x", "en"),
        ("xx", "de;q=1", "en"),
    ],
)
def test_language_is_the_requested_then_the_accepted_then_the_default(wanted: str, accepted: str, chosen: str) -> None:
    assert choose_language(wanted, accepted, "en") == chosen


@given(st.text(), st.text())
def test_any_header_gives_a_known_language(wanted: str, accepted: str) -> None:
    assert choose_language(wanted, accepted, "pt") in LANGUAGES
