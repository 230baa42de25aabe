"""From a transfer that has ended to the page or the failure that it was."""

import errno
from typing import NamedTuple

import pycurl

from tarrafa.errors import WorkError
from tarrafa.fetch.handle import Handle
from tarrafa.records import Failure, FailureKind, Page, Timings
from tarrafa.texts import cut, printable

_TOO_LARGE = 100  # libcurl's own bound for one line of the header; pycurl has no name for it
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


class Visit(NamedTuple):
    """What is known of a fetch before its answer."""

    url: str
    address: str
    at: float
    name_seconds: float
    tls: str = ""  # what is wrong with the certificate that was accepted


def is_unreached(handle: Handle, code: int) -> bool:
    """Whether there was no connection to the address, so that another one may be tried."""
    if code == pycurl.E_OPERATION_TIMEDOUT:
        return not (handle.asked_count or handle.curl.getinfo(pycurl.CONNECT_TIME))
    return bool(code == pycurl.E_COULDNT_CONNECT)


def read(visit: Visit, handle: Handle, code: int, message: str) -> Page | Failure:
    """A body that was cut, by us or by the host, is still a page; so is one that we did not want to read."""
    answer = handle.answer
    is_broken_off = code == pycurl.E_PARTIAL_FILE
    if answer.status and (code == 0 or answer.is_body_cut or answer.is_unread or is_broken_off):
        return Page(
            url=visit.url,
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            at=visit.at,
            timings=_timings(handle.curl, visit.name_seconds),
            truncated=answer.is_body_cut or is_broken_off,
            address=visit.address,
            unread=answer.is_unread,
            http_version=answer.http_version,
            reason=answer.reason,
            tls=visit.tls,
        )
    return Failure(visit.url, *_failure(handle, code, message))


def _failure(handle: Handle, code: int, message: str) -> tuple[FailureKind, str]:
    if handle.answer.is_header_too_large:
        return FailureKind.HEADER, "the header is larger than its bound"
    if handle.is_astray:
        return FailureKind.PRIVATE, "a connection led to another address than the one that was judged"
    if handle.asked_count > 1:
        return FailureKind.RESET, "a connection that was used before broke before the answer"
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
    """libcurl counts each moment from the start; here each step has its own duration."""
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
