# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Many streams of mixed lengths without a pause: no error, every answer as when it is asked alone, no client left out.
A few seconds as a test; for a minute of 64:

    tests/serve/soak_test.py --seconds 60 --streams 64
"""
import argparse
import http.client
import json
import statistics
import sys
import threading
import time

from server import NOVA, Server, events_of

KINDS = 24  # different requests


def body_of(kind):
    return {"messages": [{"role": "user", "content": f"Count from {kind} on. " * (1 + kind % 9 * 4)}],
            "max_tokens": 4 + kind * 5 % 40, "seed": kind, "temperature": (0, 0.7, 1.2)[kind % 3], "stream": True}


class Soak:
    def __init__(self, server, seconds):
        self.server = server
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.answers = {}   # by kind: all received texts
        self.errors = []
        self.first = []     # seconds to the first piece
        self.counts = []    # number of answers of each stream
        self.rates = []     # pieces per second of each stream
        self.tokens = 0

    def ask(self, connection, kind):
        begin = time.monotonic()
        connection.request("POST", "/v1/chat/completions", json.dumps(body_of(kind)))
        response = connection.getresponse()
        head = response.readline()
        first = time.monotonic() - begin
        data = (head + response.read()).decode()
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {data[:300]}")
        events = events_of(data)
        if events[-1][1] != "[DONE]":
            raise RuntimeError("the stream has no end")
        pieces = [choice["delta"].get("content") or "" for _, event in events[:-1] for choice in event["choices"]]
        return "".join(pieces), len(pieces), first

    def run_stream(self, number):
        count = mine = 0
        begin = time.monotonic()
        connection = self.server.connect()
        while count == 0 or time.monotonic() < self.end:
            kind = (number * 7 + count) % KINDS
            try:
                text, tokens, first = self.ask(connection, kind)
            except (OSError, RuntimeError, ValueError, http.client.HTTPException) as error:
                with self.lock:
                    self.errors.append(f"{type(error).__name__}: {error}")
                break
            count += 1
            mine += tokens
            with self.lock:
                self.answers.setdefault(kind, set()).add(text)
                self.first.append(first)
                self.tokens += tokens
        connection.close()
        with self.lock:
            self.counts.append(count)
            self.rates.append(mine / (time.monotonic() - begin))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--streams", type=int, default=32)
    arguments = parser.parse_args()
    server = Server(NOVA, "--parallel", 64)
    try:
        soak = Soak(server, arguments.seconds)
        threads = [threading.Thread(target=soak.run_stream, args=(i,)) for i in range(arguments.streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wrong = []
        connection = server.connect()
        for kind, texts in sorted(soak.answers.items()):
            alone, _, _ = soak.ask(connection, kind)
            if texts != {alone}:
                wrong.append(f"request {kind}: {sorted(texts)} together, {alone!r} alone")
        connection.close()
    finally:
        server.stop()
    first = sorted(soak.first) or [0.0]
    counts, rates = soak.counts, soak.rates
    print(f"{len(soak.first)} answers, {soak.tokens} pieces in {arguments.seconds:.0f} s to {len(counts)} streams; "
          f"of a stream {min(counts)} to {max(counts)} answers, median {statistics.median(counts):.0f}, "
          f"{min(rates):.1f} to {max(rates):.1f} pieces/s, median {statistics.median(rates):.1f}; "
          f"first piece after {first[len(first) // 2]:.2f} s, of 99 in 100 after "
          f"{first[min(len(first) - 1, len(first) * 99 // 100)]:.2f} s")
    for problem in soak.errors + wrong:
        print(problem)
    return 1 if soak.errors or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
