"""Turn a transfer that has ended into a page or a failure."""

import errno
from typing import NamedTuple

import pycurl

from tarrafa.errors import WorkError
from tarrafa.fetch.handle import CurlHandle
from tarrafa.records import Failure, FailureKind, Headers, Page, Timings, is_conditional
from tarrafa.texts import cut, printable

_TOO_LARGE = 100  # a line of the header beyond libcurl's own bound; pycurl has no name for it
_HTTP2_STREAM = 92

_KINDS = {
    pycurl.E_OPERATION_TIMEDOUT: FailureKind.TIMEOUT,
    pycurl.E_COULDNT_RESOLVE_PROXY: FailureKind.UNREACHABLE,
    pycurl.E_SSL_CONNECT_ERROR: FailureKind.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: FailureKind.TLS,
    pycurl.E_SSL_CERTPROBLEM: FailureKind.TLS,
    pycurl.E_SSL_CIPHER: FailureKind.TLS,
    pycurl.E_SSL_ISSUER_ERROR: FailureKind.TLS,
    pycurl.E_SSL_INVALIDCERTSTATUS: FailureKind.TLS,
    pycurl.E_RECV_ERROR: FailureKind.RESET,
    pycurl.E_SEND_ERROR: FailureKind.RESET,
    pycurl.E_GOT_NOTHING: FailureKind.RESET,
    pycurl.E_PARTIAL_FILE: FailureKind.RESET,
    pycurl.E_HTTP2: FailureKind.RESET,
    _HTTP2_STREAM: FailureKind.RESET,
    pycurl.E_UNSUPPORTED_PROTOCOL: FailureKind.ANSWER,  # the URL's scheme is known: it is the answer that is not HTTP
    pycurl.E_FTP_WEIRD_SERVER_REPLY: FailureKind.ANSWER,
    pycurl.E_BAD_CONTENT_ENCODING: FailureKind.ANSWER,
    pycurl.E_URL_MALFORMAT: FailureKind.URL,
    _TOO_LARGE: FailureKind.HEADER,
}


class Attempt(NamedTuple):
    """A request to one address, as far as it is known before the response."""

    url: str
    address: str
    at: float
    name_seconds: float
    tls: str = ""  # what is wrong with the certificate that was accepted


def is_unreached(handle: CurlHandle, code: int) -> bool:
    """Return True if there was no connection to the address, so that another one may be tried."""
    if code == pycurl.E_OPERATION_TIMEDOUT:
        return not (handle.request_count or handle.curl.getinfo(pycurl.CONNECT_TIME))
    return bool(code == pycurl.E_COULDNT_CONNECT)


def make_outcome(attempt: Attempt, handle: CurlHandle, code: int, message: str) -> Page | Failure:
    """Return a page also if its body was cut, by us or by the host, or was not wanted."""
    response = handle.response
    is_broken_off = code == pycurl.E_PARTIAL_FILE
    if response.status and (code == 0 or response.is_body_cut or response.is_unread or is_broken_off):
        return Page(
            url=attempt.url,
            status=response.status,
            headers=response.headers,
            body=response.body,
            at=attempt.at,
            timings=_timings(handle.curl, attempt.name_seconds),
            truncated=response.is_body_cut or is_broken_off,
            address=attempt.address,
            unread=response.is_unread,
            http_version=response.http_version,
            reason=response.reason,
            tls=attempt.tls,
        )
    return Failure(attempt.url, *_failure(handle, code, message), is_unreached(handle, code))


def without_false_304(got: Page | Failure, sent: Headers) -> Page | Failure:
    """Return a failure in place of a 304 to a request that was not conditional: it stands for no content at all."""
    if isinstance(got, Page) and got.status == 304 and not is_conditional(sent):
        return Failure(got.url, FailureKind.ANSWER, "304 to a request without conditions")
    return got


def _failure(handle: CurlHandle, code: int, message: str) -> tuple[FailureKind, str]:
    if handle.response.is_header_too_large:
        return FailureKind.HEADER, "the header is larger than its bound"
    if handle.wrong_peer:
        return FailureKind.PRIVATE, "the connection led to another address than the one that was checked"
    if handle.request_count > 1:
        return FailureKind.RESET, "a reused connection broke before the answer"
    if code == 0:
        return FailureKind.ANSWER, "the answer has no final status"
    return _kind(handle.curl, code), printable(cut(message, 300)) or f"libcurl's error {code}"


def _kind(curl: pycurl.Curl, code: int) -> FailureKind:
    if code == pycurl.E_COULDNT_CONNECT:
        refused = curl.getinfo(pycurl.OS_ERRNO) == errno.ECONNREFUSED
        return FailureKind.REFUSED if refused else FailureKind.UNREACHABLE
    if code == pycurl.E_SSL_CACERT_BADFILE:
        raise WorkError("the system's certificates cannot be read; install them (on Debian: ca-certificates)")
    return _KINDS.get(code, FailureKind.OTHER)


def _timings(curl: pycurl.Curl, name_seconds: float) -> Timings:
    """Return how long each step took. libcurl counts each from the start."""
    info = curl.getinfo
    connect = tls = 0.0
    if info(pycurl.NUM_CONNECTS):
        connected, secured = info(pycurl.CONNECT_TIME), info(pycurl.APPCONNECT_TIME)
        connect = max(0.0, connected - info(pycurl.NAMELOOKUP_TIME))
        tls = max(0.0, secured - connected) if secured else 0.0
    return Timings(
        name_seconds=name_seconds,
        connect_seconds=connect,
        tls_seconds=tls,
        first_byte_seconds=max(0.0, info(pycurl.STARTTRANSFER_TIME) - info(pycurl.PRETRANSFER_TIME)),
        total_seconds=name_seconds + info(pycurl.TOTAL_TIME),
    )
