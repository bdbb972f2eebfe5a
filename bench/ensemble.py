#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""What an ensemble is worth: right answers by every policy, beside each member, a router by category, a vote and a
random pick.

    bench/ensemble.py build/release/bin/aster nova pulsar --route programs=pulsar --text
    bench/ensemble.py build/release/bin/aster nova quasar --questions tuning.jsonl
    bench/ensemble.py build/release/bin/aster nova comet --weigh-by tuning.jsonl

p is McNemar's exact test against the best single member, on the questions that only one of the two has right; tokens
are of all replies that were generated. The vote is of the best member, sampled as often as there are members and once
more, so that there can be a majority. The random pick and the oracle are made of the members' own results. With
--folder, what is there is not asked again. --weigh-by has members answer other questions first, and weighs them by
their results. --text adds the bits per byte of the held-out text under each member and under the mean of all.
"""
import argparse
import collections
import json
import math
import pathlib
import subprocess
import sys
import tempfile


def results_of(name):
    """The file of a member, which may be given by its path."""
    return name.replace("/", "-") + ".jsonl"


def evaluate(options, name, arguments, questions=None):
    """The lines of results by question, and the seconds of asking (0 where all were there)."""
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
    """By results on questions that are none of those that are asked."""
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aster")
    parser.add_argument("members", nargs="+", metavar="MODEL")
    parser.add_argument("--questions", help="file of questions (default: those of the built-in models)")
    parser.add_argument("--route", action="append", default=[], metavar="CATEGORY=MODEL",
                        help="who answers a category; others go to the best member")
    parser.add_argument("--policies", default="choose,spans,bytes", metavar="NAME,...", help="(default: %(default)s)")
    parser.add_argument("--weigh-by", metavar="FILE", help="questions whose results say what members weigh")
    parser.add_argument("--text", action="store_true", help="also rate the held-out text")
    parser.add_argument("--chunks", type=int, default=0, help="with --text: of it (default: all)")
    parser.add_argument("--folder", help="where results are kept (default: nowhere)")
    parser.add_argument("--no-vote", action="store_true", help="leave the vote out, which takes the most time")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
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
