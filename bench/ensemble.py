#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The value of an ensemble: right answers with every policy, beside each member, a router by category, a vote and a
random pick.

    bench/ensemble.py build/release/bin/aster nova pulsar --route programs=pulsar --text
    bench/ensemble.py build/release/bin/aster nova quasar --questions tuning.jsonl
    bench/ensemble.py build/release/bin/aster nova comet --weigh-by tuning.jsonl
    bench/ensemble.py build/release/bin/aster models/nova.gguf models/pulsar.gguf --questions tuning.jsonl --machines 40

p is McNemar's exact test against the best single member, on the questions that only one of the two has right; tokens
are those of all generated replies. The vote is of the best member, sampled once more often than there are members, so
that there can be a majority. The random pick and the oracle use the members' own results. Results that are already in
--folder are not computed again. --weigh-by has members answer other questions first, and weighs them by their results.
--text adds the bits per byte of the held-out text under each member and under the mean of all.

--machines measures instead the cost of an answer, with N questions, one after another: seconds with all members on this
machine and with each on one of its own (two nodes on loopback, pinned to a core each, without KV rows), and the bytes
then sent between machines, headers included, in a network of its own (unshare). Ratios are medians of those within a
round.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import machines


def results_of(name):
    """The result file of a member, which may be given by its path."""
    return name.replace("/", "-") + ".jsonl"


def evaluate(options, name, arguments, questions=None):
    """The lines of results by question, and the seconds of asking (0 if all existed)."""
    path = pathlib.Path(options.folder) / results_of(name)
    questions = questions or options.questions
    command = [options.aster, "eval", *arguments, "--out", str(path), "--json", "--threads", str(options.threads)]
    command += ["--questions", questions] if questions else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return {line["id"]: line for line in lines}, json.loads(done.stdout)["models"][0]["seconds"]


def mcnemar(first, second):
    """Two-sided p of a split at least as uneven, of the questions that only one has right."""
    only_first = sum(a and not b for a, b in zip(first, second))
    only_second = sum(b and not a for a, b in zip(first, second))
    count, least = only_first + only_second, min(only_first, only_second)
    tail = sum(math.comb(count, k) for k in range(least + 1)) / 2 ** count
    return min(1.0, 2 * tail)


def tokens(results, ids):
    return sum(results[question].get("reply_tokens", 0) for question in ids)


def vote(options, member, times, ids):
    """Right answers of a majority: of equally frequent answers, the first one drawn."""
    draws = [evaluate(options, f"vote-{seed}", [member, "--temp", "0.8", "--seed", str(seed)]) for seed in range(times)]
    right = []
    for question in ids:
        drawn = [results[question] for results, _ in draws]
        said = [(line.get("extracted") or "").strip().lower() for line in drawn]
        most = collections.Counter(said).most_common(1)[0][0]
        right.append(drawn[said.index(most)]["right"])
    return right, sum(tokens(results, ids) for results, _ in draws), sum(seconds for _, seconds in draws)


def table(options):
    alone = {member: evaluate(options, member, [member]) for member in options.members}
    together = {policy: evaluate(options, policy, ["--ensemble", ",".join(options.members), "--policy", policy,
                                                   *weights(options)]) for policy in options.policies.split(",")}
    everything = [results for results, _ in [*alone.values(), *together.values()]]
    asked = everything[-1]
    ids = sorted(question for question in asked if all("right" in each.get(question, {}) for each in everything))
    right = {member: [results[question]["right"] for question in ids] for member, (results, _) in alone.items()}
    best = max(options.members, key=lambda member: sum(right[member]))
    rows = [(member, right[member], tokens(results, ids), time) for member, (results, time) in alone.items()]
    routes = dict(route.split("=", 1) for route in options.route)
    picked = [routes.get(asked[question]["category"], best) for question in ids]
    rows.append(("router by category", [alone[member][0][question]["right"] for member, question in zip(picked, ids)],
                 sum(tokens(alone[member][0], [question]) for member, question in zip(picked, ids)), None))
    if not options.no_vote:
        rows.append((f"vote of {best}", *vote(options, best, len(options.members) + 1, ids)))
    for policy, (results, seconds) in together.items():
        rows.append((policy, [results[question]["right"] for question in ids], tokens(results, ids), seconds))
    rows.append(("oracle", [any(each) for each in zip(*right.values())], None, None))
    categories = [asked[question]["category"] for question in ids]
    return categories, right, best, rows


def weights(options):
    """By results on other questions than those that are asked."""
    if not options.weigh_by:
        return []
    for member in options.members:
        evaluate(options, f"weigh-{member}", [member], options.weigh_by)
    return ["--weights", ",".join(str(pathlib.Path(options.folder) / results_of(f"weigh-{member}"))
                                  for member in options.members)]


def print_categories(categories, rows):
    """Where members differ, or a policy differs from the first member."""
    print(f"\n{'':<22}" + "".join(f"{name[:14]:>15}" for name, *_ in rows))
    for category in sorted(set(categories)):
        counts = [sum(right for right, of in zip(values, categories) if of == category) for _, values, *_ in rows]
        if len(set(counts)) > 1:
            print(f"{category:<22}" + "".join(f"{count:>15}" for count in counts))


def print_text(options):
    done = subprocess.run([options.aster, "perplexity", "--ensemble", ",".join(options.members), "--json", "--threads",
                           str(options.threads), "--chunks", str(options.chunks)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    told = json.loads(done.stdout)
    print(f"\nbits per byte of {told['scored_bytes']:.0f} held-out bytes")
    for member in told["members"]:
        print(f"  {member['name']:<20}{member['bits_per_byte']:.4f}")
    print(f"  {'together':<20}{told['bits_per_byte']:.4f}")


class Costs:
    """The costs of the same questions with every member alone and with every policy, here and on two machines."""

    def __init__(self, options, pair, folder):
        self.options, self.pair, self.folder = options, pair, folder
        self.places = {"one machine": ([], options.members), "two machines": (
            ["--cluster"], [f"{member}@{node}" for member, node in zip(options.members, ("desk", "lap"))])}
        alone = [("choose", ",".join("1" if i == k else "0" for k in range(2))) for i in range(2)]
        self.names = [pathlib.Path(member).stem for member in options.members]
        self.ways = dict(zip(self.names, alone)) | {policy: (policy, "1,1") for policy in options.policies.split(",")}
        self.seconds = {(place, way): [] for place in self.places for way in self.ways}
        self.wire, self.replies, self.ratios = {}, {}, collections.defaultdict(list)

    def ask(self, place, way, out):
        """Seconds of asking, and bytes sent meanwhile."""
        (cluster, members), (policy, weights) = self.places[place], self.ways[way]
        questions = ["--questions", self.options.questions] if self.options.questions else []
        before = loopback_bytes()
        told = json.loads(self.pair.desk.run(
            "eval", "--ensemble", ",".join(members), "--policy", policy, "--weights", weights, *cluster, *questions,
            "--limit", self.options.machines, "--parallel", 1, "--threads", 1, "--out", out, "--json",
            patience_s=3600))
        return told["models"][0]["seconds"], loopback_bytes() - before

    def measure(self, round_number):
        for place in self.places:
            for way in self.ways:
                if place == "two machines":
                    # Otherwise prompts of the way before would be in the KV caches.
                    self.pair.stop()
                    self.pair.start(*([member] for member in self.options.members))
                out = self.folder / f"{way}-{place}-{round_number}.jsonl".replace(" ", "-")
                seconds, passed = self.ask(place, way, out)
                self.seconds[place, way].append(seconds)
                replies = [json.loads(line)["reply"] for line in out.read_text().splitlines()[1:]]
                if self.replies.setdefault(way, replies) != replies:
                    sys.exit(f"{way}: the answers differ on {place}")
                if place == "two machines" and way not in self.wire:
                    # The difference without questions is the cost of starting.
                    _, beginning = self.ask(place, way, out)
                    idle = idle_bytes_per_s() * seconds
                    self.wire[way] = (passed - beginning - idle) / self.options.machines
            slowest = max(self.seconds[place, name][-1] for name in self.names)
            for way in self.ways:
                self.ratios[place, way].append(self.seconds[place, way][-1] / slowest)

    def print(self):
        print(f"{self.options.machines} questions, seconds for one and beside the slowest member; median of "
              f"{self.options.rounds} rounds")
        print(f"{'':<12}" + "".join(f"{place:>26}" for place in self.places) + f"{'bytes between':>18}")
        for way in self.ways:
            print(f"{way:<12}" + "".join(
                f"{statistics.median(self.seconds[place, way]) / self.options.machines:>18.3f}"
                f"{statistics.median(self.ratios[place, way]):>8.2f}" for place in self.places)
                + f"{self.wire[way]:>18,.0f}")


def loopback_bytes():
    """Bytes sent in this process's network."""
    line, = (line for line in pathlib.Path("/proc/net/dev").read_text().splitlines() if line.lstrip().startswith("lo:"))
    return int(line.split(":")[1].split()[8])


def idle_bytes_per_s(seconds=3):
    """Of idle nodes, which send only heartbeats."""
    before = loopback_bytes()
    time.sleep(seconds)
    return (loopback_bytes() - before) / seconds


def measure_machines(options):
    if len(options.members) != 2 or not all(pathlib.Path(member).is_file() for member in options.members):
        sys.exit("--machines: give two files")
    if not os.environ.get("ASTER_BENCH_NETWORK"):
        # Nothing else may use its loopback.
        os.environ["ASTER_BENCH_NETWORK"] = "own"
        os.execvp("unshare", ["unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
                              sys.executable, *sys.argv])
    options.members = [str(pathlib.Path(member).resolve()) for member in options.members]
    with machines.pair(options.aster) as (pair, folder):
        costs = Costs(options, pair, folder)
        for round_number in range(options.rounds):
            costs.measure(round_number)
    costs.print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aster")
    parser.add_argument("members", nargs="+", metavar="MODEL")
    parser.add_argument("--questions", help="file of questions (default: those of the built-in models)")
    parser.add_argument("--route", action="append", default=[], metavar="CATEGORY=MODEL",
                        help="the member for a category; other questions go to the best member")
    parser.add_argument("--policies", default="choose,spans,bytes", metavar="NAME,...", help="(default: %(default)s)")
    parser.add_argument("--weigh-by", metavar="FILE", help="questions whose results give the weights of members")
    parser.add_argument("--text", action="store_true", help="also rate the held-out text")
    parser.add_argument("--chunks", type=int, default=0, help="with --text: number of chunks (default: all)")
    parser.add_argument("--folder", help="where results are kept (default: nowhere)")
    parser.add_argument("--no-vote", action="store_true", help="leave the vote out, which takes the most time")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--machines", type=int, metavar="N", help="measure the cost of N answers instead")
    parser.add_argument("--rounds", type=int, default=3, help="rounds with --machines (default: %(default)s)")
    options = parser.parse_args()
    if options.machines:
        return measure_machines(options)
    with tempfile.TemporaryDirectory() as passing:
        options.folder = options.folder or passing
        categories, right, best, rows = table(options)
    print(f"{len(categories)} questions; random pick: {sum(map(sum, right.values())) / len(right):.1f} right")
    print(f"{'':<22}{'right':>7}{'score':>9}{'p':>10}{'tokens':>10}{'seconds':>9}")
    for name, values, spent, seconds in rows:
        score, p = 100 * sum(values) / len(categories), mcnemar(right[best], values)
        print(f"{name:<22}{sum(values):>7}{score:>7.1f} %{p:>10.2g}{'' if spent is None else spent:>10}"
              f"{'' if seconds is None else f'{seconds:.1f}':>9}")
    print_categories(categories, rows)
    if options.text:
        print_text(options)


if __name__ == "__main__":
    main()
