#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The cost of the second turn of a conversation with `aster serve`: when the server has just answered the first one,
and when it was restarted since, with `--kv-cache` and without.

    bench/conversation.py --aster build/release/bin/aster --model model.gguf --words 2000

Printed for each: tokens of the prompt, those that were computed, and the time to first token (medians of the rounds).
"""
import argparse
import http.client
import json
import os
import pathlib
import statistics
import tempfile
import time

from serve import Server, prompts


def ask(server, messages, tokens):
    """The answer, the prompt's tokens, how many of them were cached, and seconds to the first piece."""
    body = {"messages": messages, "max_tokens": tokens, "temperature": 0, "stream": True,
            "stream_options": {"include_usage": True}}
    connection = http.client.HTTPConnection(server.host, server.port, timeout=3600)
    begin = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise SystemExit(f"{response.status}: {response.read()[:300]}")
    said, first, usage = "", None, {}
    for line in response:
        if not line.startswith(b"data: {"):
            continue
        chunk = json.loads(line[6:])
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            piece = choice["delta"].get("content") or ""
            if piece and first is None:
                first = time.perf_counter() - begin
            said += piece
    connection.close()
    if first is None:
        first = time.perf_counter() - begin
    return said, usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"], first


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aster", default=os.environ.get("ASTER", root / "build/release/bin/aster"))
    parser.add_argument("--model", default=root / "models/nova.gguf")
    parser.add_argument("--words", type=int, default=400, help="approximate number of words of the first turn")
    parser.add_argument("--tokens", type=int, default=32, help="tokens of each answer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    measured = {}

    def start(*options):
        return Server([arguments.aster, "serve", arguments.model, "--port", 0, "--threads", arguments.threads,
                       *options])

    def turn(name, server, messages):
        said, prompt, cached, seconds = ask(server, messages, arguments.tokens)
        measured.setdefault(name, []).append((prompt, prompt - cached, seconds))
        return said

    for number in range(arguments.rounds):
        first = [{"role": "user", "content": prompts(1, arguments.words, seed=number)[0]}]
        with tempfile.TemporaryDirectory() as folder:
            server = start("--kv-cache", folder)
            said = turn("first turn", server, first)
            second = first + [{"role": "assistant", "content": said}, {"role": "user", "content": "And then?"}]
            answers = {turn("second turn", server, second)}
            server.stop()
            for name, options in (("second turn, started anew", ()),
                                  ("second turn, started anew, --kv-cache", ("--kv-cache", folder))):
                server = start(*options)
                ask(server, [{"role": "user", "content": "x"}], 1)  # pages of the weights, threads
                answers.add(turn(name, server, second))
                server.stop()
            if len(answers) != 1:
                raise SystemExit(f"the same question got different answers: {answers}")
    print(f"{'':<40}{'prompt':>8}{'computed':>10}{'first token':>14}")
    for name, turns in measured.items():
        prompt, computed, seconds = (statistics.median(values) for values in zip(*turns))
        print(f"{name:<40}{prompt:>8.0f}{computed:>10.0f}{seconds * 1e3:>11.1f} ms")


if __name__ == "__main__":
    main()
