#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Prefill/decode disaggregation, with its numbers: two machines prefill a long prompt together, one of them decodes
alone at its own rate, the next turn computes only its new tokens, and no failure of a machine changes a token.

    bench/headline.py --aster build/release/bin/aster                        # the built-in model
    bench/headline.py --aster build/release/bin/aster llama-1b.gguf --prompt 8192 --answer 128

desk and lap are nodes of a cluster with a core each, restarted for every plan; each has the model's file.
"""
import argparse
import json
import time

from machines import pair, prompt_ids

TURN_TOKENS = 24


class Scenario:
    def __init__(self, options, machines, folder):
        self.options, self.machines, self.folder = options, machines, folder
        layers = json.loads(machines.desk.run("inspect", options.model, "--json"))["layers"]
        cut = layers // 2
        self.both = f"desk=0:{cut - 1},lap={cut}:out"
        self.prompt = prompt_ids(options.prompt)

    def start_nodes(self):
        self.machines.stop()
        nodes = (self.options.model, "--kv-now")
        self.machines.start(nodes, nodes)

    def begin(self, ids, answer, *more):
        path = self.folder / "prompt.ids"
        path.write_text(" ".join(map(str, ids)))
        return self.machines.desk.begin(
            "run", self.options.model, "--ids", path, "-n", answer, "--temp", 0, "--ignore-eos", "--kv-memory",
            self.options.kv_memory, "--cluster", *more)

    def ask(self, ids, answer, *plan):
        run = self.begin(ids, answer, *plan, "--json")
        return json.loads(self.machines.desk.end(run, self.options.patience))


def describe(told):
    timings = told["timings"]
    words = (f"{timings['prefill_tokens_per_s']:8.1f} prefill/s {timings['decode_tokens_per_s']:8.1f} decode/s, in all "
             f"{timings['prefill_s'] + timings['decode_s']:.2f} s")
    transfer = told.get("kv_transfer")
    if transfer:
        words += (f"; {transfer['bytes'] / 1e6:.1f} MB of KV transfer meanwhile, the first token came "
                  f"{1e3 * transfer['exposed_s']:.0f} ms after the end of prefill")
    return words


def print_scenario(scenario):
    answer = scenario.options.answer
    plans = {
        "lap alone": ("--split", "lap=0:out"),
        "both, for everything": ("--split", scenario.both),
        "both prefill, lap decodes": ("--prefill", scenario.both, "--decode", "lap"),
        "both prefill, the front end decodes": ("--prefill", scenario.both, "--decode", "front"),
        "desk prefills, lap decodes": ("--prefill", "desk", "--decode", "lap"),
    }
    told, expected = {}, None
    for name, plan in plans.items():
        scenario.start_nodes()
        told[name] = scenario.ask(scenario.prompt, answer, *plan)
        expected = expected or told[name]["ids"]
        assert told[name]["ids"] == expected, f"{name}: not the answer of one machine"
        print(f"{name:36} {describe(told[name])}")

    plan = plans["both prefill, lap decodes"]
    scenario.start_nodes()
    first = scenario.ask(scenario.prompt, answer, *plan)
    turn = scenario.prompt + first["ids"] + prompt_ids(TURN_TOKENS)
    second = scenario.ask(turn, answer, *plan)
    print(f"a turn of {TURN_TOKENS} tokens behind {len(turn) - TURN_TOKENS}: {second['tokens']['cached']} were "
          f"cached, prefill in {1e3 * second['timings']['prefill_s']:.0f} ms")

    scenario.start_nodes()
    began = time.monotonic()
    run = scenario.begin(scenario.prompt, answer, *plan, "-q")
    text = run.stdout.read(1)
    scenario.machines.lap.node.kill()
    text += run.stdout.read()
    assert run.wait(scenario.options.patience) == 0, run.stderr.read()
    assert text.rstrip("\n") == first["text"].rstrip("\n"), f"lap was killed: {text!r} is not {first['text']!r}"
    took = time.monotonic() - began
    print(f"{'lap is killed in decode':36} the same answer, in all {took:.2f} s with loading")
    print(f"Every answer had the same {len(expected)} tokens.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="nova")
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--prompt", type=int, default=4096, help="tokens")
    parser.add_argument("--answer", type=int, default=64, help="tokens")
    parser.add_argument("--kv-memory", default="512MiB", help="KV cache of each node")
    parser.add_argument("--patience", type=float, default=1800, help="seconds for one request")
    options = parser.parse_args()
    print(f"{options.model}: {options.prompt} tokens read, {options.answer} written")
    with pair(options.aster) as (machines, folder):
        print_scenario(Scenario(options, machines, folder))


if __name__ == "__main__":
    main()
