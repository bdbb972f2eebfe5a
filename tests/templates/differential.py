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
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import oracle  # noqa: E402


class Comparison:
    """Collects cases, then has the program under test render all of them in one run."""

    def __init__(self):
        self.cases = []

    def check(self, template, variables, allow_mutation=False, name=None):
        self.cases.append((template, variables, allow_mutation, name))

    def ours(self, driver):
        """(text, error) for every case."""
        requests = [json.dumps({"template": template, "variables_text": json.dumps(variables),
                                "now": oracle.NOW, "allow_mutation": allow_mutation})
                    for template, variables, allow_mutation, _ in self.cases]
        run = subprocess.run([driver], input="\n".join(requests) + "\n", stdout=subprocess.PIPE,
                             encoding="utf-8", env=dict(os.environ, TZ="UTC"))
        replies = [json.loads(line) for line in run.stdout.split("\n")[:-1]]
        if len(replies) < len(self.cases):
            sys.exit(f"the driver died (status {run.returncode}) on {self.cases[len(replies)]!r}")
        if run.returncode != 0:
            sys.exit(f"the driver ended with status {run.returncode}")
        return [(reply.get("text"), reply.get("error")) for reply in replies]

    def finish(self, suite, driver, most_shown):
        errors, differences = 0, []
        for case, (ours, our_error) in zip(self.cases, self.ours(driver)):
            template, variables, allow_mutation, name = case
            # The original may change its input.
            theirs, their_error = oracle.render(template, copy.deepcopy(variables), allow_mutation)
            if same(ours, our_error, theirs, their_error):
                errors += our_error is not None
                continue
            differences.append({
                "name": name, "template": template, "variables": variables, "ours": ours,
                "our error": our_error, "theirs": theirs, "their error": their_error})
        for difference in differences[:most_shown]:
            for key, value in difference.items():
                print(f"{key}: {value!r}"[:3000])
            print()
        print(f"{suite}: {len(self.cases)} renderings, {errors} of them errors in both, "
              f"{len(differences)} differences")
        return 1 if differences or not self.cases else 0


def same(ours, our_error, theirs, their_error):
    if ours != theirs or (our_error is None) != (their_error is None):
        return False
    # The template's own message must be passed on unchanged.
    own = "TemplateError: "
    if their_error is None or not their_error.startswith(own):
        return True
    return re.fullmatch(r"line \d+: " + re.escape(their_error[len(own):]), our_error) is not None


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
    comparison = Comparison()
    globals()["run_" + options.suite](comparison, options)
    return comparison.finish(options.suite, options.driver, options.show)


if __name__ == "__main__":
    sys.exit(main())
