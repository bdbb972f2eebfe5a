#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""How soon a server gives fewer layers to a node or behind a link that has become slow: two machines, of which one
loses half its core, or the link between them nearly all of its rate.

    bench/slow_node.py --aster build/release/bin/aster
    sudo bench/slow_node.py --aster build/release/bin/aster --link 0.2ms,1Gbit --link-falls-to 4Mbit

Two nodes, a core each, stand for two machines, and a server on one of them has layers of a model on both. Several
clients ask without a pause. Once answers come, another program takes half of the second node's core permanently, or the
link gets that rate. Printed are the time until that node has fewer layers, or one of the nodes has all of them, so that
nothing is computed over the link; the layers of both nodes; and the clients' answers per second before, until then, and
after. Ends with status 1 if it takes longer than --within.
"""
import argparse
import contextlib
import http.client
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

from machines import PATIENCE_S, pair, prompt_ids


class Load:
    """Clients of a server, each of which asks again as soon as it is answered."""

    def __init__(self, connect, options):
        self.connect, self.options, self.ends, self.number, self.is_over = connect, options, [], 0, False
        self.lock = threading.Lock()
        for _ in range(options.clients):
            threading.Thread(target=self.ask, daemon=True).start()

    def ask(self):
        while not self.is_over:
            with self.lock:
                self.number += 1
                prompt = prompt_ids(self.options.prompt, self.number)
            body = {"prompt": prompt, "max_tokens": self.options.answer, "ignore_eos": True, "temperature": 0}
            try:
                connection = self.connect()
                connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
                response = connection.getresponse()
                told = response.read()
            except (OSError, http.client.HTTPException):
                if self.is_over:  # and the server has been stopped
                    return
                raise
            if response.status != 200:
                sys.exit(f"status {response.status}: {told.decode(errors='replace')}")
            self.ends.append(time.monotonic())
            connection.close()

    def rate(self, begin, end):
        return sum(begin <= at < end for at in self.ends) / max(end - begin, 1e-9)


def layers(connect):
    """The number of the route's layers on the first and on the second node."""
    connection = connect()
    connection.request("GET", "/v1/status")
    hops = json.loads(connection.getresponse().read())["models"][0]["hops"]
    connection.close()
    return [sum(hop["layer_end"] - hop["layer_begin"] for hop in hops if hop["node"] == name)
            for name in ("desk", "lap")]


def measure(options, machines, model):
    machines.start((model, "--kv-now"), (model, "--kv-now"))
    server = machines.desk.begin("serve", model, "--cluster", "--port", 0, "--kv-memory", "256MiB")
    hog = load = None
    try:
        line = server.stdout.readline()
        found = re.search(r"http://[^:]+:(\d+)", line) or sys.exit(f"no address in {line!r}")

        def connect():
            connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE_S)
            with machines.link.network(0) if machines.link else contextlib.nullcontext():
                connection.connect()
            return connection

        load = Load(connect, options)
        begin = time.monotonic()
        while layers(connect)[1] == 0 or time.monotonic() - begin < options.before:
            if time.monotonic() - begin > PATIENCE_S:
                sys.exit("the server does not use the second node")
            time.sleep(0.2)
        before = layers(connect)
        slow = time.monotonic()
        if options.link_falls_to:
            machines.link.set_rate(options.link_falls_to)
        else:
            hog = subprocess.Popen(["taskset", "-c", str(machines.lap.core), sys.executable, "-c", "while True: pass"])
        left = before

        def is_relieved():
            return min(left) == 0 if options.link_falls_to else left[1] < before[1]

        while not is_relieved() and time.monotonic() - slow < options.patience:
            time.sleep(0.2)
            left = layers(connect)
        relieved = time.monotonic()
        time.sleep(options.before)
        end = time.monotonic()
        took = relieved - slow
        print(f"{before} layers before, {left} after {took:.1f} s; answers/s: "
              f"{load.rate(slow - options.before, slow):.2f} before, {load.rate(slow, relieved):.2f} until then, "
              f"{load.rate(relieved, end):.2f} after", flush=True)
        return took if is_relieved() else float("inf")
    finally:
        if hog is not None:
            hog.kill()
            hog.wait()
        if load is not None:
            load.is_over = True
        server.kill()
        server.wait()
        machines.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--prompt", type=int, default=300, help="tokens")
    parser.add_argument("--answer", type=int, default=16, help="tokens")
    parser.add_argument("--before", type=float, default=10, help="seconds of load before and after")
    parser.add_argument("--patience", type=float, default=90, help="seconds to wait for the change")
    parser.add_argument("--within", type=float, default=30, help="seconds that the change may take")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--link", default="", help="link between the machines, such as 0.2ms,1Gbit; needs root")
    parser.add_argument("--link-falls-to", default="",
                        help="later rate of the link, such as 4Mbit, instead of a slow node")
    options = parser.parse_args()
    took = []
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.gguf"
        subprocess.run([options.aster, "synth", model, "--layers", "16", "--embedding", "1024", "--ff", "4096",
                        "--type", "Q4_K"], check=True, stdout=subprocess.DEVNULL)
        for _ in range(options.rounds):
            with pair(options.aster, options.link) as (machines, _):
                took.append(measure(options, machines, model))
    print(f"relieved after {', '.join(f'{seconds:.1f} s' for seconds in took)}; {options.within:.0f} s are allowed")
    return 0 if max(took) <= options.within else 1


if __name__ == "__main__":
    sys.exit(main())
