"""Connections that are kept to be used again, and whether their hosts have closed them meanwhile.

libcurl looks for closed ones once in a second. Hosts like to close after as many seconds as polite visitors wait, so a
request would often go to a connection that has just been closed, and fail without fault of the host.
"""

import select

import pycurl

from tarrafa.descriptors import allow_open

_OTHER_FILES = 1_000  # that may be open beside these: pages on their way, files that are written


def keepable(wanted_count: int) -> int:
    """How many connections may be kept open: as many as wanted, or half of what the system allows if that is less."""
    needed = wanted_count + _OTHER_FILES
    allowed = allow_open(needed)
    return wanted_count if allowed >= needed else min(wanted_count, allowed // 2)


class Kept:
    """The socket behind each connection, by the port on our side: the only thing that libcurl tells before it sends.

    An entry may be of a connection that is long gone. Then a good one may be taken for closed, which costs no more than
    to connect anew.
    """

    def __init__(self) -> None:
        # Filled when the first page of a connection has come; bounded by the number of ports.
        self._sockets: dict[int, int] = {}

    def remember(self, curl: pycurl.Curl) -> None:
        """To be called before libcurl lets go of the transfer."""
        if curl.getinfo(pycurl.NUM_CONNECTS):
            self._sockets[curl.getinfo(pycurl.LOCAL_PORT)] = curl.getinfo(pycurl.ACTIVESOCKET)

    def is_closed(self, local_port: int) -> bool:
        """Nothing was asked yet, so what there is to read can only be the end, or what nobody should trust."""
        socket = self._sockets.get(local_port, -1)
        if socket < 0:
            return False
        poll = select.poll()
        poll.register(socket, select.POLLIN | select.POLLRDHUP)
        return bool(poll.poll(0))
