#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""How long an answer pauses when a machine that computes it fails: of two machines, the second is killed, stalls, or is
cut off, in both directions or in one.

    bench/pauses.py --aster build/release/bin/aster

Each machine is a network namespace with a node; a server on the first has layers of a model on both, and streams a long
answer. The second machine fails in the middle of it. Printed are the longest time between two tokens of each round, and
median and worst of each failure. The answer must equal the one without a failure. Needs root. Ends with status 1 if a
median is longer than three seconds, which is the aim.
"""
import argparse
import http.client
import json
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from machines import PATIENCE_S, pair, prompt_ids

AIM_S = 3  # including the second machine's layers, which are computed again
# The failure of the second machine.
FAILURES = {
    "killed": lambda machines: machines.lap.node.kill(),
    "stalled": lambda machines: machines.lap.node.send_signal(signal.SIGSTOP),
    "cut off": lambda machines: machines.link.cut(0, 1),
    "hears nothing": lambda machines: machines.link.cut(0),
    "is not heard": lambda machines: machines.link.cut(1),
}


class Answer:
    """Its text, and the time of each token."""

    def __init__(self, machines, port, options, fail=None):
        self.text, self.times = "", []
        body = {"prompt": prompt_ids(options.prompt), "max_tokens": options.answer, "ignore_eos": True,
                "temperature": 0, "stream": True}
        with machines.link.network(0):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            connection.connect()
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        for line in connection.getresponse():
            if not line.startswith(b"data: {"):
                continue
            told = json.loads(line[6:])
            if "error" in told:
                sys.exit(f"the answer failed: {told['error']}")
            self.text += "".join(choice["text"] for choice in told["choices"])
            self.times.append(time.monotonic())
            if fail and len(self.times) == options.answer // 4:
                fail(machines)
                fail = None
        connection.close()

    def longest_s(self):
        return max(later - earlier for earlier, later in zip(self.times, self.times[1:]))


def measure(options, machines, model, expected, fail):
    """An answer during which the second machine fails, or does not."""
    machines.start((model, "--kv-now"), (model, "--kv-now"))
    server = machines.desk.begin("serve", model, "--cluster", "--split", "desk=0:3,lap=4:out", "--port", 0,
                                 "--kv-memory", "64MiB")
    try:
        line = server.stdout.readline()
        found = re.search(r"http://[^:]+:(\d+)", line) or sys.exit(f"no address in {line!r}")
        answer = Answer(machines, int(found[1]), options, fail)
        if expected is not None and answer.text != expected.text:
            sys.exit("the answer differs from the one without a failure")
        return answer
    finally:
        server.kill()
        server.wait()
        machines.stop()
        machines.link.cut()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--failures", default=",".join(FAILURES))
    parser.add_argument("--link", default="0.1ms,10Gbit")
    parser.add_argument("--prompt", type=int, default=256, help="tokens")
    parser.add_argument("--answer", type=int, default=400, help="tokens")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory() as folder, pair(options.aster, options.link) as (machines, _):
        model = pathlib.Path(folder) / "model.gguf"
        subprocess.run([options.aster, "synth", model, "--layers", "8", "--embedding", "512", "--ff", "2048", "--type",
                        "Q4_K"], check=True, stdout=subprocess.DEVNULL)
        expected = measure(options, machines, model, None, None)
        print(f"without a failure: longest {expected.longest_s():.2f} s between two tokens", flush=True)
        for name in options.failures.split(","):
            pauses = [measure(options, machines, model, expected, FAILURES[name]).longest_s()
                      for _ in range(options.rounds)]
            middle_s = statistics.median(pauses)
            missed |= middle_s > AIM_S
            print(f"{name:14} median {middle_s:5.2f} s, worst {max(pauses):5.2f} s: "
                  f"{', '.join(f'{pause:.2f}' for pause in pauses)}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
