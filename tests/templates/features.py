# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Counts which features of Jinja the templates at hand use, and compares what docs/templates.md lists with
what the interpreter accepts: everything listed, and nothing else that Jinja and Python have.

    /usr/bin/python3 tests/templates/features.py --driver build/…/template_driver

The templates: those in styles/, those of the models in models/, those that the program itself carries
(src/jinja/fallback.cc), and those of published models in ../shared/data/templates where that folder is.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import oracle  # noqa: E402
from jinja2 import defaults, filters, nodes, runtime, tests  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The text with a feature in a template that is parsed and not run, and the beginning of its error.
PROBES = {
    "tags": ("{{% {0} %}}", "the tag '{0}' is not supported"),
    "functions": ("{{% if false %}}{{{{ {0}() }}}}{{% endif %}}", "the function '{0}' is not supported"),
    "filters": ("{{% if false %}}{{{{ x | {0} }}}}{{% endif %}}", "the filter '{0}' is not supported"),
    "tests": ("{{% if false %}}{{{{ x is {0} }}}}{{% endif %}}", "the test '{0}' is not supported"),
    "methods": ("{{% if false %}}{{{{ x.{0}() }}}}{{% endif %}}", "the method '{0}' is not supported"),
    "of `loop`": ("{{% for a in [] %}}{{{{ loop.{0} }}}}{{% endfor %}}",
                  "the attribute 'loop.{0}' is not supported"),
}
# Tests with such names are written as operators, or as words that are literals there.
SELECTED = "{{% if false %}}{{{{ [] | select('{0}', 1) }}}}{{% endif %}}"

# Features without a name of their own.
REFUSED = {
    "{% for x in y recursive %}{% endfor %}": "a recursive loop is not supported",
    "{% for x in y %}{{ loop(x) }}{% endfor %}": "a recursive loop is not supported",
    "{% macro m() %}{{ varargs }}{% endmacro %}": "the variable of macros 'varargs' is not supported",
    "{% macro m() %}{{ kwargs }}{% endmacro %}": "the variable of macros 'kwargs' is not supported",
    "{% macro m() %}{{ caller() }}{% endmacro %}": "the function 'caller' is not supported",
    "{{ f(*x) }}": "an argument with * or ** is not supported",
    "{{ f(**x) }}": "an argument with * or ** is not supported",
    "{{ 2 ** 3 }}": "the operator '**' is not supported",
    "{{ '%s' % x }}": "formatting with '%' is not supported",
    "{{ '{:>5}'.format(x) }}": "the format '{:>5}' is not supported; use {}, {0} or {name}",
    "{{ '{a.b}'.format(x) }}": "the format '{a.b}' is not supported; use {}, {0} or {name}",
    "{{ strftime_now('%U') }}": "strftime_now(): '%U' is not supported",
    "{{ x | map('center') }}": "the filter 'center' is not supported",
    "{{ x | select('nothing') }}": "the test 'nothing' is not supported",
    "{{ x | rejectattr('a', 'nothing') }}": "the test 'nothing' is not supported",
    "{{ '\\033' }}": "characters by octal number are not supported; use \\x",
}


def jinja_has():
    """All features of each kind in the original."""
    def public(*kinds):
        return {name for kind in kinds for name in dir(kind) if not name.startswith("_")}
    return {
        "tags": {"autoescape", "block", "break", "call", "continue", "do", "extends", "filter", "for", "from",
                 "generation", "if", "import", "include", "macro", "print", "raw", "set", "with"},
        "functions": {*defaults.DEFAULT_NAMESPACE, "raise_exception", "strftime_now", "caller"},
        "filters": {*filters.FILTERS, "from_json"},
        "tests": set(tests.TESTS),
        "methods": public(str, list, dict, int, float) - {"real", "imag", "numerator", "denominator"},
        "of `loop`": public(runtime.LoopContext),
    }


def documented():
    text = (ROOT / "docs" / "templates.md").read_text(encoding="utf-8")
    lists = {kind: re.search(rf"^- {re.escape(kind)}: (.*?)^(?=-|$)", text, re.M | re.S) for kind in PROBES}
    return {kind: set(re.findall(r"`([^`]+)`", found.group(1))) for kind, found in lists.items()}


def template_in(path):
    """The chat template in a model file; None if there is none, as in a drafter's."""
    key, data = b"tokenizer.chat_template", path.read_bytes()
    found = data.find(key)
    if found < 0:
        return None
    begin = found + len(key)
    _, size = struct.unpack_from("<IQ", data, begin)
    return data[begin + 12:begin + 12 + size].decode()


def templates():
    for path in sorted((pathlib.Path(__file__).parent / "styles").glob("*.jinja")):
        yield path.name, path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "models").glob("*.gguf")):
        if text := template_in(path):
            yield path.name, text
    fallback = (ROOT / "src" / "jinja" / "fallback.cc").read_text(encoding="utf-8")
    for index, text in enumerate(re.findall(r'R"jinja\((.*?)\)jinja"', fallback, re.S)):
        yield f"fallback.cc {index}", text
    folder = pathlib.Path(os.environ.get("ASTER_SHARED_DIR", "/nowhere")) / "data" / "templates"
    if not folder.is_dir():
        print(f"note: {folder} is not here, the templates of published models are not counted")
    for path in sorted(folder.glob("*.jinja")):
        yield path.name, path.read_text(encoding="utf-8")


TAGS = {nodes.For: "for", nodes.If: "if", nodes.Macro: "macro", nodes.Assign: "set", nodes.AssignBlock: "set",
        nodes.FilterBlock: "filter", nodes.Break: "break", nodes.Continue: "continue", nodes.With: "with",
        nodes.Block: "block"}


def features_of(text):
    """Every (kind, name) that the template uses."""
    tree = oracle.ENVIRONMENTS[True].parse(text)
    macros = {macro.name for macro in tree.find_all(nodes.Macro)}
    for node in tree.find_all(nodes.Node):
        if type(node) in TAGS:
            yield "tags", TAGS[type(node)]
        elif isinstance(node, nodes.Filter):
            yield "filters", node.name
        elif isinstance(node, nodes.Test):
            yield "tests", node.name
        elif isinstance(node, nodes.Getattr) and getattr(node.node, "name", "") == "loop":
            yield "of `loop`", node.attr
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
            yield "methods", node.node.attr
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name):
            if node.node.name not in macros:
                yield "functions", node.node.name


def parse_all(driver, sources):
    """The error of each source, None if there is none. Nothing of a source runs."""
    requests = [json.dumps({"template": source, "variables": {}}) for source in sources]
    run = subprocess.run([driver], input="\n".join(requests) + "\n", stdout=subprocess.PIPE, encoding="utf-8",
                         check=True)
    return [json.loads(line).get("error") for line in run.stdout.split("\n")[:-1]]


def check_probes(driver, listed):
    """The number of names that are accepted or refused in contradiction to docs/templates.md."""
    cases = []
    for kind, names in jinja_has().items():
        probe, refusal = PROBES[kind]
        for name in sorted(names | listed[kind]):
            is_selected = kind == "tests" and (not name.isidentifier() or name in ("in", "true", "false", "none"))
            source = (SELECTED if is_selected else probe).format(name)
            expected = None if name in listed[kind] else "line 1: " + refusal.format(name)
            cases.append((source, kind, expected))
    cases += [(source, None, "line 1: " + refusal) for source, refusal in REFUSED.items()]
    wrong = 0
    for (source, kind, expected), error in zip(cases, parse_all(driver, [case[0] for case in cases])):
        # A tag alone is not a template: the error says what is missing instead.
        if error == expected or (kind == "tags" and expected is None and "not supported" not in (error or "")
                                 and "unknown tag" not in (error or "")):
            continue
        wrong += 1
        print(f"{source}\n  expected: {expected}\n  was:      {error}")
    print(f"{len(cases)} features accepted or refused, {wrong} of them otherwise than docs/templates.md says")
    return wrong


def count(listed):
    """Prints how many templates use each feature; returns how many of these are not supported."""
    users = {kind: collections.Counter() for kind in PROBES}
    total = 0
    for name, text in templates():
        total += 1
        for kind, feature in set(features_of(text)):
            users[kind][feature] += 1
    missing = 0
    for kind, counter in users.items():
        used = ", ".join(f"{name} {number}" for name, number in counter.most_common())
        print(f"{kind}: {used}\n  in no template: {', '.join(sorted(listed[kind] - set(counter)))}")
        for name in set(counter) - listed[kind]:
            missing += 1
            print(f"  USED BUT NOT SUPPORTED: {name}")
    print(f"{total} templates counted, {missing} features missing")
    return missing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    options = parser.parse_args()
    listed = documented()
    return 1 if check_probes(options.driver, listed) + count(listed) > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
