#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""What an ensemble is worth: right answers beside each member, a router by category, a vote and a random pick.

    bench/ensemble.py build/release/bin/aster nova pulsar --route programs=pulsar
    bench/ensemble.py build/release/bin/aster nova quasar --questions tuning.jsonl

p is McNemar's exact test against the best single member, on the questions that only one of the two has right; tokens
are of all replies that were generated. The vote is of the best member, sampled as often as there are members and once
more, so that there can be a majority. The random pick and the oracle are made of the members' own results. With
--folder, what is there is not asked again.
"""
import argparse
import collections
import json
import math
import pathlib
import subprocess
import sys
import tempfile


def evaluate(options, name, arguments):
    """The lines of results by question, and the seconds of asking (0 where all were there)."""
    path = pathlib.Path(options.folder) / f"{name}.jsonl"
    command = [options.aster, "eval", *arguments, "--out", str(path), "--json", "--threads", str(options.threads)]
    command += ["--questions", options.questions] if options.questions else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return {line["id"]: line for line in lines}, json.loads(done.stdout)["models"][0]["seconds"]


def mcnemar(first, second):
    """Two-sided p of so uneven a split of the questions that only one has right."""
    only_first = sum(a and not b for a, b in zip(first, second))
    only_second = sum(b and not a for a, b in zip(first, second))
    count, least = only_first + only_second, min(only_first, only_second)
    tail = sum(math.comb(count, k) for k in range(least + 1)) / 2 ** count
    return min(1.0, 2 * tail)


def tokens(results, ids):
    return sum(results[question].get("reply_tokens", 0) for question in ids)


def vote(options, member, times, ids):
    """Right answers of a majority: of equally frequent answers, the one that was drawn first."""
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
    chosen, seconds = evaluate(options, "choose", ["--ensemble", ",".join(options.members)])
    ids = sorted(question for question, line in chosen.items()
                 if all("right" in results.get(question, {}) for results, _ in alone.values()) and "right" in line)
    right = {member: [results[question]["right"] for question in ids] for member, (results, _) in alone.items()}
    best = max(options.members, key=lambda member: sum(right[member]))
    rows = [(member, right[member], tokens(results, ids), time) for member, (results, time) in alone.items()]
    routes = dict(route.split("=", 1) for route in options.route)
    picked = [routes.get(chosen[question]["category"], best) for question in ids]
    rows.append(("router by category", [alone[member][0][question]["right"] for member, question in zip(picked, ids)],
                 sum(tokens(alone[member][0], [question]) for member, question in zip(picked, ids)), None))
    if not options.no_vote:
        rows.append((f"vote of {best}", *vote(options, best, len(options.members) + 1, ids)))
    rows.append(("choose", [chosen[question]["right"] for question in ids], tokens(chosen, ids), seconds))
    rows.append(("oracle", [any(each) for each in zip(*right.values())], None, None))
    return ids, right, best, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aster")
    parser.add_argument("members", nargs="+", metavar="MODEL")
    parser.add_argument("--questions", help="file of questions (default: those of the built-in models)")
    parser.add_argument("--route", action="append", default=[], metavar="CATEGORY=MODEL",
                        help="who answers a category; others go to the best member")
    parser.add_argument("--folder", help="where results are kept (default: nowhere)")
    parser.add_argument("--no-vote", action="store_true", help="leave the vote out, which takes the most time")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        options.folder = options.folder or passing
        ids, right, best, rows = table(options)
    print(f"{len(ids)} questions; random pick: {sum(map(sum, right.values())) / len(right):.1f} right")
    print(f"{'':<22}{'right':>7}{'score':>9}{'p':>10}{'tokens':>10}{'seconds':>9}")
    for name, values, spent, seconds in rows:
        print(f"{name:<22}{sum(values):>7}{100 * sum(values) / len(ids):>7.1f} %{mcnemar(right[best], values):>10.2g}"
              f"{'' if spent is None else spent:>10}{'' if seconds is None else f'{seconds:.1f}':>9}")


if __name__ == "__main__":
    main()
