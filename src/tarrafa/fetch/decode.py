"""Undo the content coding of a page, within a bound, for whoever reads it; the page itself is left as it came."""

from typing import NamedTuple

from tarrafa.fetch.codings import gunzip, inflate, unbrotli, unzstd
from tarrafa.records import Page

_UNDO = {"gzip": gunzip, "x-gzip": gunzip, "deflate": inflate, "br": unbrotli, "zstd": unzstd}
ACCEPTED = "gzip, deflate, br, zstd"  # what hosts are asked for

_CODING_LIMIT = 3  # codings around one body; honest hosts use one


class Decoded(NamedTuple):
    body: bytes
    truncated: bool  # at the bound, or because the page itself was cut or damaged
    unknown_coding: str = ""  # that we cannot undo; the body is then still in it


def decode(page: Page, limit_bytes: int) -> Decoded:
    """Never raises: damaged data give what could be read, marked as truncated."""
    body, truncated = page.body, page.truncated
    for coding in reversed(_codings(page)):
        undo = _UNDO.get(coding)
        if undo is None:
            return Decoded(body, truncated, unknown_coding=coding)
        if body:  # a 304 may carry the coding of the body that it does not have
            body, is_whole = undo(body, limit_bytes)
            truncated = truncated or not is_whole
    return Decoded(body, truncated)


def _codings(page: Page) -> list[str]:
    if page.header("content-encoding") is None:
        return []
    values = [value for name, value in page.headers if name.lower() == "content-encoding"]
    codings = [coding.strip().lower() for coding in ",".join(values).split(",")]
    return [coding for coding in codings if coding not in ("", "identity")][-_CODING_LIMIT:]
