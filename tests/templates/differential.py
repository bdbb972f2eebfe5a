# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Renders templates with the Python original and with ours, and compares byte for byte; where one of
them gives an error, so must the other. Three suites: `snippets` (every feature), `models` (real
templates and templates in their style over many conversations), `random` (a seeded generator).

    /usr/bin/python3 tests/templates/differential.py --driver build/…/template_driver [--seed N] SUITE
"""
import argparse
import copy
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import oracle  # noqa: E402


class Driver:
    """The program under test: one line in, one line out."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
            env=dict(os.environ, TZ="UTC"))

    def render(self, template, variables, allow_mutation):
        request = {"template": template, "variables_text": json.dumps(variables),
                   "now": oracle.NOW, "allow_mutation": allow_mutation}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the driver died on {template!r}")
        reply = json.loads(line)
        return reply.get("text"), reply.get("error")

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("the driver ended badly")


class Comparison:
    def __init__(self, driver):
        self.driver = driver
        self.count = 0
        self.errors = 0  # in both, as it should be
        self.differences = []

    def check(self, template, variables, allow_mutation=False, name=None):
        self.count += 1
        ours, our_error = self.driver.render(template, variables, allow_mutation)
        # The original may change what it is given.
        theirs, their_error = oracle.render(template, copy.deepcopy(variables), allow_mutation)
        if ours == theirs and (our_error is None) == (their_error is None):
            self.errors += our_error is not None
            return
        self.differences.append({
            "name": name, "template": template, "variables": variables,
            "ours": ours, "our error": our_error, "theirs": theirs, "their error": their_error})

    def report(self, suite, most_shown):
        for difference in self.differences[:most_shown]:
            for key, value in difference.items():
                print(f"{key}: {value!r}"[:3000])
            print()
        print(f"{suite}: {self.count} renderings, {self.errors} of them errors in both, "
              f"{len(self.differences)} differences")
        return 1 if self.differences else 0


def run_snippets(comparison, options):
    import snippets
    for template in snippets.TEMPLATES:
        comparison.check(template, snippets.VARIABLES)
    for template in snippets.MUTATING:
        comparison.check(template, snippets.VARIABLES, allow_mutation=True)
        comparison.check(template, snippets.VARIABLES, allow_mutation=False)


def run_models(comparison, options):
    import conversations
    folders = [pathlib.Path(__file__).parent / "styles",
               pathlib.Path(os.environ.get("ASTER_SHARED_DIR", "/nowhere")) / "data" / "templates"]
    for folder in folders:
        if not folder.is_dir():
            print(f"note: {folder} is not here, its templates are not compared")
            continue
        for path in sorted(folder.glob("*.jinja")):
            template = path.read_text(encoding="utf-8")
            for name, variables in conversations.all():
                for allow_mutation in (False, True):
                    comparison.check(template, variables, allow_mutation, f"{path.name} {name}")


def run_random(comparison, options):
    import generator
    for template, variables in generator.cases(options.seed, options.count):
        comparison.check(template, variables)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6000, help="of random templates")
    parser.add_argument("--show", type=int, default=10, help="differences in full")
    parser.add_argument("suite", choices=["snippets", "models", "random"])
    options = parser.parse_args()
    driver = Driver(options.driver)
    comparison = Comparison(driver)
    globals()["run_" + options.suite](comparison, options)
    driver.close()
    return comparison.report(options.suite, options.show)


if __name__ == "__main__":
    sys.exit(main())
