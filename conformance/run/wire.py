"""Messages between supervisor, fork server and workers: length-prefixed JSON over a socket, with file descriptors."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("=I")
#: A message above this is a defect or an attack: a case's message and reproducer are capped far below.
MAX_MESSAGE = 1 << 26


def encode(message: dict[str, Any]) -> bytes:
    body = json.dumps(message, separators=(",", ":")).encode()
    return _LENGTH.pack(len(body)) + body


def send(sock: socket.socket, message: dict[str, Any], fds: list[int] | None = None) -> None:
    """Send a whole message; the descriptors travel with its first byte."""
    data = encode(message)
    sent = socket.send_fds(sock, [data], fds) if fds else 0
    sock.sendall(data[sent:])


class Reader:
    """Reassembles messages from a stream socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray()
        self._fds: list[int] = []

    def receive(self, max_fds: int = 0) -> bool:
        """Read what is there into the buffer; False at the end of the stream (a reset counts as the end)."""
        try:
            if max_fds:
                data, fds, _, _ = socket.recv_fds(self._sock, 1 << 16, max_fds)
                self._fds += fds
            else:
                data = self._sock.recv(1 << 18)
        except ConnectionError:
            return False
        self._buffer += data
        return bool(data)

    def messages(self) -> list[dict[str, Any]]:
        """The whole messages so far; raises ValueError when the stream is damaged."""
        found = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > MAX_MESSAGE:
                raise ValueError(f"a message of {length} bytes")
            if len(self._buffer) < _LENGTH.size + length:
                break
            body = bytes(self._buffer[_LENGTH.size : _LENGTH.size + length])
            del self._buffer[: _LENGTH.size + length]
            found.append(json.loads(body))
        return found

    def take_fds(self, count: int) -> list[int]:
        taken, self._fds = self._fds[:count], self._fds[count:]
        return taken

    def wait(self, max_fds: int = 0) -> dict[str, Any] | None:
        """Block for one message; None at the end of the stream. For processes that expect one message at a time."""
        while True:
            found = self.messages()
            if found:
                return found[0]
            if not self.receive(max_fds):
                return None
