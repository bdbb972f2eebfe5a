# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Small templates for every feature, from the files in snippets/, and the variables they use."""
import pathlib

SEPARATOR = "\n=====\n"


def load(name):
    path = pathlib.Path(__file__).parent / "snippets" / name
    return path.read_text(encoding="utf-8").removesuffix("\n").split(SEPARATOR)


TEMPLATES = [template for name in ("expressions.txt", "statements.txt", "filters.txt", "methods.txt",
                                   "whitespace.txt") for template in load(name)]
# A template ends like its file, and has lines of another system.
TEMPLATES += [template + ending for template in load("whitespace.txt")
              for ending in ("\n", "\n\n", "\r\n")]
TEMPLATES += [template.replace("\n", "\r\n") for template in load("whitespace.txt")]
# Each print of a long line separately, too, so that one error does not hide the others.
TEMPLATES += ["{{" + part for template in load("expressions.txt") + load("filters.txt")
              + load("methods.txt") if "{%" not in template and template.count("{{") > 1
              for part in template.split("{{")[1:]]

# Templates that change lists and dicts.
MUTATING = load("mutating.txt")

VARIABLES = {
    "text": "hello",
    "unicode": "aé日🎉z",
    "items_list": [1, 2, 3],
    "nested": [[1, 2], [3, 4]],
    "map": {"a": 1, "b": "two", "nested": {"x": [1]}},
    "number_map": {"1": "text"},
    "shadow": {"items": [1, 2], "get": "got", "values": 5},
    "private": {"_x": "private"},
    "big": 12345678901234567890,
    "bigger": 123456789012345678901234567890,
    "äöü": "umlauts",
    "people": [
        {"name": "Ann", "city": "Rome", "age": 30, "score": 5, "address": {"street": None}},
        {"name": "Bob", "city": "paris", "age": 0, "score": 9, "address": {"street": "B"}},
        {"name": "Cid", "city": "rome", "score": 1, "address": {"street": None}},
        {"name": "Dee", "city": "Paris", "age": None, "score": 7, "address": {}},
    ],
    "tree": [
        {"name": "a", "children": [{"name": "b", "children": []},
                                   {"name": "c", "children": [{"name": "d"}]}]},
        {"name": "e"},
    ],
    "messages": [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "U"},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "V"},
    ],
}
