"""The language of a page that declares none: by its prose, its script and its address."""

import pytest

from tarrafa.extract import extract
from tarrafa.extract.language import language_of
from tarrafa.records import Page

ENGLISH = (
    "The server waits until the client has sent its request, and then it answers with the page that was asked for."
)
FRENCH = (
    "Le serveur attend que le client ait envoyé sa requête, puis il répond avec la page qui a été demandée par lui."
)
PORTUGUESE = "O servidor espera até que o cliente tenha enviado o seu pedido e depois responde com a página pedida."
CODE = "\n".join(
    f"int sqlite3_blob_open(sqlite3*, const char *zDb{n}, int *pnBlob_{n}); /* 0x{n:04x} */" for n in range(40)
)
HOST = "http://h.example/"


def test_code_before_the_prose_does_not_mislead() -> None:
    assert language_of((), HOST, f"{CODE}\n{ENGLISH}\n{CODE}") == "en"


@pytest.mark.parametrize(
    ("url", "text", "language"),
    [
        (f"{HOST}fr/guide", f"{ENGLISH}\n{FRENCH}\n{ENGLISH}\n{ENGLISH}", "fr"),
        (f"{HOST}ch07.fr.html", f"{ENGLISH}\n{FRENCH}\n{ENGLISH}\n{ENGLISH}", "fr"),
        (f"{HOST}pt-br/a", f"{ENGLISH}\n{ENGLISH}\n{PORTUGUESE}", "pt"),
        ("http://pt.h.example/a", f"{ENGLISH}\n{ENGLISH}\n{PORTUGUESE}", "pt"),
        (f"{HOST}ja/a", f"{ENGLISH}\n{FRENCH}\n{FRENCH}", "fr"),
        (f"{HOST}?lang=pt", f"{ENGLISH}\n{ENGLISH}\n{PORTUGUESE}", "en"),
    ],
    ids=["path", "file name", "region", "host", "no evidence in the text", "query"],
)
def test_address_decides_if_the_text_speaks_for_it(url: str, text: str, language: str) -> None:
    assert language_of((), url, text) == language


def test_chinese_and_japanese_are_told_by_their_script_among_english_names() -> None:
    names = "The kernel module apt dpkg systemd package manager of the system"
    assert language_of((), HOST, f"{names} システムの管理者はパッケージを更新します {names}") == "ja"
    assert language_of((), HOST, f"{names} 系统管理员应当定期更新软件包和内核 {names}") == "zh"


def test_too_little_text_has_no_language() -> None:
    assert language_of((), f"{HOST}fr/", "sqlite3_open") == ""
    assert language_of((None, "und", "mul"), HOST, "") == ""


def test_declared_language_counts_before_the_text() -> None:
    assert language_of((None, "und", "de-AT"), f"{HOST}fr/", FRENCH) == "de"


@pytest.mark.parametrize(
    "html", ["<html><body lang=de><p>%s", "<body><main xml:lang=de><p>%s", "<html lang=de><body lang=en><p>%s"]
)
def test_outermost_element_with_a_language_counts(html: str) -> None:
    body = (html % ENGLISH).encode()
    page = Page(HOST, 200, (("Content-Type", "text/html"),), body, at=0.0)
    assert extract(page, body).document.language == "de"
