#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Several servers behind HAProxy as `aster gateway config` sets it up, beside the same HAProxy with round robin and
with the fewest connections: the share of the prompts that was in a KV cache, and the time to first token.

    bench/gateway.py --aster build/release/bin/aster --model nova --conversations 24 --turns 6 --think 0.2
    bench/gateway.py --aster build/release/bin/aster --model nova --ways affinity:150,affinity:300,roundrobin
    bench/gateway.py --aster build/release/bin/aster --model nova --ways affinity --lose

`affinity:150` is with --max-load 150. Also printed are the times to first token of the first turns and of the later
ones, and the most requests that a server had at the same time.

Conversations run at once; each waits --think seconds (half to one and a half times as long) between its turns. They
begin within --begin seconds; with 0 all prompts have to be computed at the same time first. For each way, in turns over
the rounds, the servers are restarted and have a thread each. With --lose one server is drained (SIGTERM) after a third
of the turns, and another one is killed after half of them; answers that had begun are cut then, and their turns are
asked again. Any other failed request ends the program with status 1.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time

from serve import WORDS, Server, free_port, quantile

HAPROXY = shutil.which("haproxy", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
WAYS = ("affinity", "roundrobin", "leastconn")
COLUMNS = (("cached", "cached", "{:.1%}"), ("p50_s", "TTFT p50", "{:.2f} s"), ("p99_s", "p99", "{:.2f} s"),
           ("first_p99_s", "turn 1 p99", "{:.2f} s"), ("later_p99_s", "later p99", "{:.2f} s"),
           ("most_at_once", "at once", "{:.0f}"), ("servers", "servers", "{:.2f}"), ("seconds", "all", "{:.1f} s"))


def without_affinity(text, way):
    """The configuration with another way to choose a server."""
    if way.startswith("affinity"):
        return text
    text = re.sub(r"^ +(hash-type|hash-balance-factor) .*\n", "", text, flags=re.MULTILINE)
    return text.replace("balance hash var(txn.key)", f"balance {way}")


class Gateway:
    def __init__(self, options, servers, way, folder):
        self.port = free_port()
        max_load = way.partition(":")[2]
        of_way = ["--max-load", max_load] if max_load else []
        where = [f"--server=s{number}={server.host}:{server.port}" for number, server in enumerate(servers)]
        text = subprocess.run([options.aster, "gateway", "config", *where, "--listen", f"127.0.0.1:{self.port}",
                               *of_way, "--socket", "", "--user", ""], check=True,
                              capture_output=True, text=True).stdout
        config = pathlib.Path(folder, f"{way}.cfg")
        config.write_text(without_affinity(text, way))
        self.process = subprocess.Popen([HAPROXY, "-db", "-f", config], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        end = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise SystemExit(f"haproxy does not run; haproxy -f {config} says why") from None
                time.sleep(0.05)

    def stop(self):
        self.process.kill()
        self.process.wait()


def some_words(chance, count):
    return " ".join(chance.choice(WORDS) for _ in range(count))


class Conversation(threading.Thread):
    """Turn by turn, with its own instructions and pauses."""

    def __init__(self, options, port, seed):
        super().__init__()
        self.options, self.port, self.chance = options, port, random.Random(seed)
        self.messages = [{"role": "system", "content": some_words(self.chance, options.system_words)}]
        self.prompt, self.cached, self.failure = 0, 0, None
        self.turns, self.cut = 0, 0
        self.requests = []  # that were answered

    def run(self):
        try:
            time.sleep(self.options.begin * self.chance.random())
            while self.turns < self.options.turns:
                time.sleep(self.options.think * self.chance.uniform(0.5, 1.5))
                self.turn()
        except (OSError, RuntimeError, http.client.HTTPException, ValueError) as error:
            self.failure = error

    def turn(self):
        self.messages.append({"role": "user", "content": some_words(self.chance, self.options.words)})
        body = {"messages": self.messages, "max_tokens": self.options.tokens, "temperature": 0, "stream": True,
                "stream_options": {"include_usage": True}}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        began = time.perf_counter()
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {response.read()[:300]}")
        self.first = None
        answer = self.read(response)
        self.requests.append({"turn": self.turns, "server": response.headers["X-Asterism-Server"], "began": began,
                              "first": self.first, "ended": time.perf_counter()})
        connection.close()
        if answer is None:
            self.messages.pop()
            self.cut += 1
            return
        self.messages.append({"role": "assistant", "content": answer})
        self.turns += 1

    def read(self, response):
        """The answer; None if it was cut after its beginning."""
        self.has_begun = False
        try:
            return self.read_all(response)
        except http.client.HTTPException:
            if self.options.lose and self.has_begun:
                return None
            raise

    def read_all(self, response):
        text, is_whole = "", False
        for line in response:
            is_whole |= line.startswith(b"data: [DONE]")
            if not line.startswith(b"data: ") or is_whole:
                continue
            self.has_begun = True
            event = json.loads(line[6:])
            for choice in event["choices"]:
                piece = choice["delta"].get("content")
                if piece and self.first is None:
                    self.first = time.perf_counter()
                text += piece or ""
            if event.get("usage"):
                self.prompt += event["usage"]["prompt_tokens"]
                self.cached += event["usage"]["prompt_tokens_details"]["cached_tokens"]
        if is_whole:
            return text
        if self.options.lose and self.has_begun:
            return None
        raise RuntimeError(f"an answer was cut: {text[-100:]!r}")


def lose_two(options, servers, conversations):
    """Drains a server and kills another one while the conversations continue."""
    all_turns = options.conversations * options.turns
    for part, lose in ((1 / 3, servers[0].process.terminate), (1 / 2, servers[1].process.kill)):
        while sum(one.turns for one in conversations) < part * all_turns:
            if not any(one.is_alive() for one in conversations):
                return
            time.sleep(0.01)
        lose()


def measure(options, way, seed, folder):
    servers = [Server([options.aster, "serve", options.model, "--port", 0, "--threads", 1, "--kv-memory",
                       options.kv_memory]) for _ in range(options.servers)]
    gateway = Gateway(options, servers, way, folder)
    try:
        began = time.perf_counter()
        conversations = [Conversation(options, gateway.port, f"{seed} {number}")
                         for number in range(options.conversations)]
        for conversation in conversations:
            conversation.start()
        if options.lose:
            lose_two(options, servers, conversations)
        for conversation in conversations:
            conversation.join()
        took = time.perf_counter() - began
    finally:
        gateway.stop()
        for server in servers:
            server.stop()
    failures = [conversation.failure for conversation in conversations if conversation.failure]
    if failures:
        raise SystemExit(f"{len(failures)} of {len(conversations)} conversations failed: {failures[0]}")
    return summary(conversations) | {"seconds": took}


def most_at_once(requests):
    """The most requests that a server had at the same time."""
    most = 0
    for server in {request["server"] for request in requests}:
        count = 0
        its = [request for request in requests if request["server"] == server]
        for _, change in sorted([(one["began"], 1) for one in its] + [(one["ended"], -1) for one in its]):
            count += change
            most = max(most, count)
    return most


def summary(conversations):
    requests = [request for one in conversations for request in one.requests]
    answered = [one for one in requests if one["first"]]
    times = {is_first: [one["first"] - one["began"] for one in answered if (one["turn"] == 0) == is_first]
             for is_first in (True, False)}
    both = times[True] + times[False]
    return {"cached": sum(one.cached for one in conversations) / sum(one.prompt for one in conversations),
            "p50_s": quantile(both, 0.5), "p99_s": quantile(both, 0.99), "first_p99_s": quantile(times[True], 0.99),
            "later_p99_s": quantile(times[False] or times[True], 0.99), "most_at_once": most_at_once(requests),
            "servers": statistics.mean(len({request["server"] for request in one.requests}) for one in conversations),
            "cut": sum(one.cut for one in conversations)}


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aster", default=os.environ.get("ASTER", root / "build/release/bin/aster"))
    parser.add_argument("--model", default=root / "models/nova.gguf")
    parser.add_argument("--servers", type=int, default=4)
    parser.add_argument("--conversations", type=int, default=24, help="concurrent conversations")
    parser.add_argument("--turns", type=int, default=6, help="turns of each conversation")
    parser.add_argument("--think", type=float, default=0.2, help="seconds between turns")
    parser.add_argument("--begin", type=float, default=0, help="seconds within which conversations begin")
    parser.add_argument("--system-words", type=int, default=150, help="words of each conversation's instructions")
    parser.add_argument("--words", type=int, default=20, help="words of a question")
    parser.add_argument("--tokens", type=int, default=24, help="most tokens of an answer")
    parser.add_argument("--kv-memory", default="256MiB", help="KV cache of each server")
    parser.add_argument("--ways", default=",".join(WAYS), help="ways to choose a server, also affinity:PERCENT")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first round; later rounds count up from it")
    parser.add_argument("--lose", action="store_true", help="drain one server and kill another")
    options = parser.parse_args()
    if HAPROXY is None:
        raise SystemExit("haproxy is not installed: apt install haproxy")
    ways = options.ways.split(",")
    rounds = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            # The ways take turns, and each round reverses their order.
            for way in ways if number % 2 == 0 else reversed(ways):
                rounds[way].append(measure(options, way, options.seed + number, folder))
    print(f"{'':<14}" + "".join(f"{name:>12}" for _, name, _ in COLUMNS) + f"{'cut':>6}")
    for way in ways:
        middle = {key: statistics.median(one[key] for one in rounds[way]) for key in rounds[way][0]}
        print(f"{way:<14}" + "".join(f"{form.format(middle[key]):>12}" for key, _, form in COLUMNS) +
              f"{sum(one['cut'] for one in rounds[way]):>6}")
        if options.rounds > 1:
            print(" " * 14 + "p99 of the rounds: " + ", ".join(f"{one['p99_s']:.2f} s" for one in rounds[way]))


if __name__ == "__main__":
    main()
