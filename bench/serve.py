#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Streams from `aster serve`, and from llama.cpp's server beside it, with one model, as many threads and the same load.

    bench/serve.py --aster build/release/bin/aster --model model.gguf --llama-server PATH --streams 1,4,16,64

For each number of streams the servers are measured in turn, several rounds; only one of them runs at a time. In each
round: the time to first token and between tokens (medians and 99th percentiles), and tokens per second of all streams.
The medians of the rounds are printed. Prompts differ in length and in words, so that no server has one in its KV cache.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

WORDS = ("river stone light wind door seven morning green paper under walk window bread quiet garden north lamp "
         "winter table song road glass field story hand water early house blue letter").split()


class Server:
    """A process that serves OpenAI's API, until `stop`."""

    def __init__(self, command, address=None):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE if not address else
                                        self.log, stderr=self.log)
        if address:
            self.host, self.port = address
        else:
            line = self.process.stdout.readline().decode()
            found = re.search(r"http://([^:]+):(\d+)", line)
            if not found:
                self.fail(f"no address in {line!r}")
            self.host, self.port = found[1], int(found[2])
        self.await_health()

    def fail(self, why):
        self.process.kill()
        self.process.wait()
        self.log.seek(0)
        raise SystemExit(f"{why}: {self.log.read().decode(errors='replace')[-2000:]}")

    def await_health(self):
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if self.process.poll() is not None:
                self.fail("the server ended")
            try:
                connection = http.client.HTTPConnection(self.host, self.port, timeout=5)
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        self.fail("the server is not ready")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(kind, arguments, streams):
    per_stream = arguments.prompt_words * 4 + arguments.tokens + 64
    if kind in ("aster", "drafts"):
        return Server([arguments.aster, "serve", arguments.model, "--port", 0, "--threads", arguments.threads,
                       "--parallel", streams, "--ctx", per_stream,
                       *(["--draft", arguments.draft] if kind == "drafts" else [])])
    port = free_port()
    return Server([arguments.llama_server, "-m", arguments.model, "--host", "127.0.0.1", "--port", port, "-t",
                   arguments.threads, "-tb", arguments.threads, "-np", streams, "-c", per_stream * streams,
                   "--no-webui"], ("127.0.0.1", port))


def stream(server, prompt, tokens, times):
    """The time of the request, then those of the answer's pieces."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=600)
    body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True, "ignore_eos": True,
            "cache_prompt": False}
    times.append(time.perf_counter())
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(f"{response.status}: {response.read()[:300]}")
    for line in response:
        if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
            continue
        choices = json.loads(line[6:]).get("choices")
        if choices and not choices[0].get("finish_reason"):
            times.append(time.perf_counter())
    connection.close()


def prompts(count, words, seed):
    chance = random.Random(seed)
    # Between half and one and a half times as long.
    return [" ".join(chance.choice(WORDS) for _ in range(chance.randint(words // 2, words + words // 2)))
            for _ in range(count)]


def measure(server, count, arguments, seed):
    everything = [[] for _ in range(count)]
    failures = []

    def one(prompt, times):
        try:
            stream(server, prompt, arguments.tokens, times)
        except (OSError, RuntimeError, http.client.HTTPException, ValueError) as error:
            failures.append(error)

    threads = [threading.Thread(target=one, args=pair)
               for pair in zip(prompts(count, arguments.prompt_words, seed), everything)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(f"{len(failures)} of {count} streams failed: {failures[0]}")
    end = max(times[-1] for times in everything)
    first = [times[1] - times[0] for times in everything]
    between = [b - a for times in everything for a, b in zip(times[1:], times[2:])]
    rate = sum(len(times) - 1 for times in everything) / (end - begin)
    mine = [(len(times) - 1) / (times[-1] - times[0]) for times in everything]
    return {"ttft_p50_ms": quantile(first, 0.5) * 1e3, "ttft_p99_ms": quantile(first, 0.99) * 1e3,
            "between_p50_ms": quantile(between, 0.5) * 1e3, "between_p99_ms": quantile(between, 0.99) * 1e3,
            "tokens_per_s": rate, "slowest_to_fastest": min(mine) / max(mine)}


def quantile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aster", default=os.environ.get("ASTER", root / "build/release/bin/aster"))
    parser.add_argument("--model", default=root / "models/nova.gguf")
    parser.add_argument("--llama-server", help="llama.cpp's server, to be measured beside it")
    parser.add_argument("--draft", help="also measure aster with --draft, as `drafts`")
    parser.add_argument("--streams", default="1,4,16,64")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of each answer")
    parser.add_argument("--prompt-words", type=int, default=64, help="approximate number of words of each prompt")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", help="file for all measurements")
    arguments = parser.parse_args()
    kinds = ["aster"] + (["drafts"] if arguments.draft else []) + (["llama.cpp"] if arguments.llama_server else [])
    everything = []
    print(f"{'streams':>7}  {'server':<10}{'first p50':>11}{'p99':>9}{'next p50':>11}{'p99':>9}{'tokens/s':>10}"
          f"{'slow/fast':>11}")
    for count in (int(text) for text in arguments.streams.split(",")):
        rounds = {kind: [] for kind in kinds}
        for number in range(arguments.rounds):
            # The servers take turns, and each round reverses their order.
            for kind in kinds if number % 2 == 0 else reversed(kinds):
                server = start(kind, arguments, count)
                try:
                    measure(server, 1, arguments, seed=-1)  # pages of the weights, threads, caches
                    rounds[kind].append(measure(server, count, arguments, seed=1000 * count + number))
                finally:
                    server.stop()
        for kind in kinds:
            middle = {key: statistics.median(one[key] for one in rounds[kind]) for key in rounds[kind][0]}
            everything.append({"streams": count, "server": kind, "median": middle, "rounds": rounds[kind]})
            print(f"{count:>7}  {kind:<10}{middle['ttft_p50_ms']:>8.1f} ms{middle['ttft_p99_ms']:>6.0f} ms"
                  f"{middle['between_p50_ms']:>8.2f} ms{middle['between_p99_ms']:>6.0f} ms"
                  f"{middle['tokens_per_s']:>10.1f}{middle['slowest_to_fastest']:>11.2f}", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(everything, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
