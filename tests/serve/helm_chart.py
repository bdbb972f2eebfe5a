# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The part of Helm's templates that our chart uses: values, a few functions in pipelines, if, and range over a map.
Anything else is an error, so that a template which says more than this is seen."""
import hashlib
import json
import re

FUNCTIONS = {
    "toJson": lambda value: json.dumps(value, sort_keys=True, separators=(",", ":")),
    "quote": lambda value: json.dumps(str(value)),
    "list": lambda *values: list(values),
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "default": lambda fallback, value: value or fallback,
    "not": lambda value: not value,
}


def tokens_of(template):
    """Texts and actions in turn; a dash inside the braces takes the white space on its side away."""
    parts = re.split(r"(\{\{-?.*?-?\}\})", template)
    for i in range(1, len(parts), 2):
        if parts[i].startswith("{{-"):
            parts[i - 1] = parts[i - 1].rstrip()
        if parts[i].endswith("-}}"):
            parts[i + 1] = parts[i + 1].lstrip()
    return [part if i % 2 == 0 else (re.sub(r"^\{\{-?\s*|\s*-?\}\}$", "", part),) for i, part in enumerate(parts)]


def end_of_block(tokens, at):
    depth = 0
    while depth > 0 or tokens[at] != ("end",):
        if not isinstance(tokens[at], str):
            depth += tokens[at][0].partition(" ")[0] in ("if", "range")
            depth -= tokens[at] == ("end",)
        at += 1
    return at


class Renderer:
    def __init__(self, values, release, chart):
        self.scope = {"Values": values, "Release": {"Name": release},
                      "Chart": {"Name": chart["name"], "AppVersion": chart["appVersion"]}}
        self.variables = {}
        self.used = set()  # paths of values

    def value_of(self, word):
        if word.startswith('"'):
            return json.loads(word)
        if word.startswith("$"):
            return self.variables[word]
        assert word.startswith("."), word
        value = self.scope
        names = word[1:].split(".")
        for name in names:
            value = value[name]
        if names[0] == "Values":
            self.used.add(".".join(names[1:]))
        return value

    def evaluate(self, expression):
        piped = []
        for command in expression.split("|"):
            head, *rest = re.findall(r'"[^"]*"|\S+', command)
            if head in FUNCTIONS:
                piped = [FUNCTIONS[head](*map(self.value_of, rest), *piped)]
            else:
                assert not rest and not piped, expression
                piped = [self.value_of(head)]
        return piped[0]

    def render(self, template):
        tokens = tokens_of(template)
        text, end = self.block(tokens, 0, shown=True)
        assert end == len(tokens), "an end without a beginning"
        return text

    def block(self, tokens, at, shown):
        text = ""
        while at < len(tokens) and tokens[at] != ("end",):
            if isinstance(tokens[at], str):
                text += tokens[at] if shown else ""
                at += 1
                continue
            word, _, rest = tokens[at][0].partition(" ")
            if word == "if":
                inner, at = self.block(tokens, at + 1, shown and bool(self.evaluate(rest)))
                text += inner
                at += 1
            elif word == "range":
                name, value, holder = re.fullmatch(r"(\$\w+), (\$\w+) := (\S+)", rest).groups()
                begin = at + 1
                for key, one in sorted(self.value_of(holder).items()):
                    self.variables.update({name: key, value: one})
                    text += self.block(tokens, begin, shown)[0]
                at = end_of_block(tokens, begin) + 1
            else:
                value = self.evaluate(tokens[at][0])
                text += str(value) if shown else ""
                at += 1
        return text, at
