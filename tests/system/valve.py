# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A link between processes that can be stopped after a number of bytes, so that a test can disturb the sender in the
middle of a transfer, however fast the machine is."""
import contextlib
import socket
import threading

PIECE_BYTES = 1 << 18


class Valve:
    """Forwards connections from 127.0.0.2 to the same port of 127.0.0.1."""

    def __init__(self):
        self._lock = threading.Lock()
        self._listeners = []
        self._sockets = []
        self._limit = None
        self._ports = ()
        self._passed = {}
        self._stopped = None
        self.has_stopped = threading.Event()

    def open(self, port):
        listener = socket.create_server(("127.0.0.2", port), reuse_port=False)
        self._listeners.append(listener)
        threading.Thread(target=self._accept, args=(listener, port), daemon=True).start()

    def stop_after(self, count, ports):
        """The first connection to one of these ports on which `count` bytes have passed one way from now on is stopped,
        until `cut`: its bytes are held back for ever, those of others pass."""
        with self._lock:
            self.has_stopped.clear()
            self._limit, self._ports, self._passed, self._stopped = count, ports, {}, None

    def cut(self):
        """Breaks all connections; new ones work normally."""
        with self._lock:
            self._limit = self._stopped = None
            sockets, self._sockets = self._sockets, []
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def close(self):
        for listener in self._listeners:
            listener.close()
        self.cut()

    def _accept(self, listener, port):
        while True:
            try:
                taken, _ = listener.accept()
            except OSError:
                return
            try:
                further = socket.create_connection(("127.0.0.1", port), timeout=5)
            except OSError:
                taken.close()
                continue
            further.settimeout(None)
            with self._lock:
                self._sockets += [taken, further]
            for ends in ((taken, further), (further, taken)):
                threading.Thread(target=self._pass, args=(port, *ends), daemon=True).start()

    def _may_pass(self, port, way, count):
        """How many of `count` bytes may pass."""
        with self._lock:
            if self._limit is None or port not in self._ports or self._stopped not in (None, way):
                return count
            passed = self._passed.get(way, 0)
            count = min(count, self._limit - passed)
            self._passed[way] = passed + count
            if passed + count == self._limit:
                self._stopped = way
                self.has_stopped.set()
            return count

    def _pass(self, port, source, target):
        way = object()
        with contextlib.suppress(OSError, ValueError):
            while data := source.recv(PIECE_BYTES):
                count = self._may_pass(port, way, len(data))
                target.sendall(data[:count])
                if count < len(data):
                    return  # nothing is read from here any more, and no close is sent
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
