#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Several servers behind HAProxy as `aster gateway config` sets it up, beside the same HAProxy with requests in turns
and with the fewest connections: what of the prompts was in a KV cache, and the time to the first token.

    bench/gateway.py --aster build/release/bin/aster --model nova --conversations 24 --turns 6 --think 0.2
    bench/gateway.py --aster build/release/bin/aster --model nova --ways affinity --lose

Conversations run at once; each waits --think seconds (half to half as much again) between its turns. For each way, in
turns over the rounds, the servers are started anew and have a thread each. With --lose one server is drained (SIGTERM)
once a third of the turns is over, and another one is killed after half of them; answers of which a part had come are
cut then, and their turns are asked again. Any other request that fails ends the program with status 1.
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


def without_affinity(text, way):
    """The configuration with another way to choose a server."""
    if way == "affinity":
        return text
    text = re.sub(r"^ +(hash-type|hash-balance-factor) .*\n", "", text, flags=re.MULTILINE)
    return text.replace("balance hash var(txn.key)", f"balance {way}")


class Gateway:
    def __init__(self, options, servers, way, folder):
        self.port = free_port()
        where = [f"--server=s{number}={server.host}:{server.port}" for number, server in enumerate(servers)]
        text = subprocess.run([options.aster, "gateway", "config", *where, "--listen", f"127.0.0.1:{self.port}",
                               "--max-load", str(options.max_load), "--socket", "", "--user", ""], check=True,
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
    """Turn by turn, with its own instructions and a time to think."""

    def __init__(self, options, port, seed):
        super().__init__()
        self.options, self.port, self.chance = options, port, random.Random(seed)
        self.messages = [{"role": "system", "content": some_words(self.chance, options.system_words)}]
        self.first, self.prompt, self.cached, self.servers, self.failure = [], 0, 0, set(), None
        self.turns, self.cut = 0, 0

    def run(self):
        try:
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
        self.servers.add(response.headers["X-Asterism-Server"])
        answer = self.read(response, began)
        connection.close()
        if answer is None:
            self.messages.pop()
            self.cut += 1
            return
        self.messages.append({"role": "assistant", "content": answer})
        self.turns += 1

    def read(self, response, began):
        """The answer; None where it was cut."""
        try:
            return self.read_all(response, began)
        except http.client.HTTPException:
            if self.options.lose:
                return None
            raise

    def read_all(self, response, began):
        text, is_first, is_whole = "", True, False
        for line in response:
            is_whole |= line.startswith(b"data: [DONE]")
            if not line.startswith(b"data: ") or is_whole:
                continue
            event = json.loads(line[6:])
            for choice in event["choices"]:
                piece = choice["delta"].get("content")
                if piece and is_first:
                    self.first.append(time.perf_counter() - began)
                    is_first = False
                text += piece or ""
            if event.get("usage"):
                self.prompt += event["usage"]["prompt_tokens"]
                self.cached += event["usage"]["prompt_tokens_details"]["cached_tokens"]
        if is_whole:
            return text
        if self.options.lose:
            return None
        raise RuntimeError(f"an answer was cut: {text[-100:]!r}")


def lose_two(options, servers, conversations):
    """Drains a server and kills another one while the conversations go on."""
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
    first = [seconds for conversation in conversations for seconds in conversation.first]
    return {"cached": sum(one.cached for one in conversations) / sum(one.prompt for one in conversations),
            "ttft_p50_ms": quantile(first, 0.5) * 1e3, "ttft_p99_ms": quantile(first, 0.99) * 1e3,
            "servers_a_conversation": statistics.mean(len(one.servers) for one in conversations), "seconds": took,
            "cut": sum(one.cut for one in conversations)}


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aster", default=os.environ.get("ASTER", root / "build/release/bin/aster"))
    parser.add_argument("--model", default=root / "models/nova.gguf")
    parser.add_argument("--servers", type=int, default=4)
    parser.add_argument("--conversations", type=int, default=24, help="at once")
    parser.add_argument("--turns", type=int, default=6, help="of each")
    parser.add_argument("--think", type=float, default=0.2, help="seconds between turns")
    parser.add_argument("--system-words", type=int, default=150, help="of each conversation's instructions")
    parser.add_argument("--words", type=int, default=20, help="of a question")
    parser.add_argument("--tokens", type=int, default=24, help="of an answer, at most")
    parser.add_argument("--kv-memory", default="256MiB", help="of each server")
    parser.add_argument("--max-load", type=int, default=300, help="as aster gateway config has it")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lose", action="store_true", help="two of the servers")
    options = parser.parse_args()
    if HAPROXY is None:
        raise SystemExit("there is no haproxy here: apt install haproxy")
    ways = options.ways.split(",")
    rounds = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            # In turn, and the other one first in the next round.
            for way in ways if number % 2 == 0 else reversed(ways):
                rounds[way].append(measure(options, way, number, folder))
    print(f"{'':<12}{'cached':>8}{'TTFT p50':>12}{'p99':>12}{'servers':>9}{'all':>10}{'cut':>6}")
    for way in ways:
        middle = {key: statistics.median(one[key] for one in rounds[way]) for key in rounds[way][0]}
        print(f"{way:<12}{100 * middle['cached']:>6.1f} %{middle['ttft_p50_ms']:>9.1f} ms"
              f"{middle['ttft_p99_ms']:>9.1f} ms{middle['servers_a_conversation']:>9.2f}{middle['seconds']:>8.1f} s"
              f"{sum(one['cut'] for one in rounds[way]):>6}")


if __name__ == "__main__":
    main()
