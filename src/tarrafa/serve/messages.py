"""Messages between the server and its searching processes: pickled values, each after its length, over a socket.

A message is read with one call where the system has all of it. Each further call would let go of the interpreter and
wait for it again, and while the server makes a page for somebody that takes longer than the reading.
"""

import pickle
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("!I")
_READ_BYTES = 256 * 1024  # of a socket at a time; more than almost all messages have


class Messages:
    """One end. Both ends are ours, so what comes is believed. One thread at a time."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._read = bytearray()  # by _read_until; what is whole is taken by receive

    def send(self, value: object) -> None:
        """Raises OSError if nobody is at the other end."""
        body = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._socket.sendall(_LENGTH.pack(len(body)) + body)

    def receive(self) -> Any:
        """Raises OSError or EOFError if nobody is at the other end any more."""
        self._read_until(_LENGTH.size)
        end = _LENGTH.size + _LENGTH.unpack_from(self._read)[0]
        self._read_until(end)
        whole, self._read = self._read[_LENGTH.size : end], self._read[end:]
        return pickle.loads(whole)  # noqa: S301 - it is from a process of ours

    def _read_until(self, end: int) -> None:
        while len(self._read) < end:
            more = self._socket.recv(_READ_BYTES)
            if not more:
                raise EOFError
            self._read += more

    def close(self) -> None:
        self._socket.close()
