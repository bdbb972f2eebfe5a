# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Random templates: grammatical, seeded, mostly meaningful. Types are guessed well enough that most
expressions have a value, and loosely enough that errors are met too."""
import random

VARIABLES = {
    "s": "Hello, wörld 🎉!", "t": "a-b_c d", "e": "", "n": 7, "z": 0, "f": 2.5, "m1": -3,
    "yes": True, "no": False, "nil": None, "l": [3, 1, 2], "ls": ["b", "A", "c"], "le": [],
    "ll": [[1, 2], [3, 4]], "d": {"a": 1, "b": "x", "c": [1, 2]}, "de": {},
    "people": [{"name": "Ann", "age": 3, "tags": ["x"]}, {"name": "bob", "age": None, "tags": []},
               {"name": "Cy", "age": 1}],
    "mixed": [1, "a", None, 2.0, True, [1], {"k": "v"}],
}

LITERALS = {
    "int": ["0", "1", "2", "3", "-1", "10", "-7", "true", "n", "z", "m1", "1000"],
    "float": ["0.5", "2.0", "-1.25", "1e3", "f", "1e-7", "100.0", "3.14159"],
    "str": ["''", "'a'", "'Hello World'", "\"it's\"", "'é日🎉'", "'a,b,c'", "' x '", "'a\\nb'", "s", "t",
            "e", "'1'", "'x' 'y'", "'<&>'"],
    "list": ["[]", "[1, 2, 3]", "l", "ls", "le", "ll", "['x', 'y']", "(1, 2)", "()", "mixed",
             "people", "[none, true]", "range(4)", "range(1, 9, 3)", "ll[0]"],
    "dict": ["{}", "d", "de", "{'a': 1, 'b': [2]}", "{1: 'x'}", "people[0]", "{'k': none, 'j': {}}"],
    "any": ["none", "nil", "nothing", "true", "false", "yes", "no"],
}

TO_STRING = ["upper", "lower", "title", "capitalize", "trim", "string", "tojson", "join",
             "join(', ')", "replace('a', 'b')", "indent", "indent(2, true)", "tojson(indent=1)",
             "default('dd', true)", "default('dd')", "reverse", "trim('ax')",
             "tojson(ensure_ascii=true, sort_keys=true)"]
TO_LIST = ["list", "sort", "sort(reverse=true)", "reverse|list", "unique|list", "map('string')|list",
           "map('upper')|list", "select|list", "reject('none')|list", "select('string')|list",
           "select('number')|list", "map(attribute='name')|list", "selectattr('age')|list",
           "map('default', 0)|list", "selectattr('name', 'equalto', 'Ann')|list", "dictsort",
           "items|list", "sort(attribute='name')", "map('length')|list", "map(attribute=0)|list",
           "map(attribute='age', default='-')|list", "rejectattr('tags')|list"]
TO_INT = ["length", "int", "abs", "count", "sum", "int(5)"]
TO_FLOAT = ["float", "round", "round(1)", "round(2)"]
TO_ANY = ["first", "last", "max", "min", "first|default('none')"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true",
         "false", "mapping", "iterable", "sequence", "callable", "odd", "even", "divisibleby 2",
         "divisibleby(3)", "eq 1", "ne 'a'", "lt 3", "gt 1", "ge 2", "le 2", "in [1, 'a']",
         "sameas none", "equalto 'a'"]
STRING_METHODS = ["upper()", "lower()", "strip()", "strip('a')", "lstrip()", "rstrip('!')", "title()",
                  "capitalize()", "replace('a', 'bb')", "replace('l', '', 1)", "removeprefix('a')",
                  "removesuffix('d')", "join(ls)", "split('a')[0]", "join('xyz')",
                  "partition('-')[0]", "rpartition(' ')[2]"]
STRING_TO_LIST = ["split()", "split(',')", "split('l', 1)", "rsplit('-', 1)", "splitlines()",
                  "partition('-')", "rpartition(' ')", "split(none, 1)", "rsplit(none, 1)"]
STRING_TO_INT = ["find('l')", "rfind('l')", "count('a')", "find('x', 2)", "count('')", "index('a')",
                 "find('ö')", "startswith('a')", "endswith(('!', 'd'))", "isdigit()", "isalpha()",
                 "isspace()", "isalnum()"]
DICT_METHODS = ["keys()|list", "values()|list", "items()|list", "get('a')", "get('zz', 5)", "a", "b",
                "copy()", "missing", "items()|first", "get('k', {})"]
FORMATS = ["'{}'", "'<{}> {{}}'", "'{0} {0}'"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = []  # variables that the template has set

    def pick(self, options):
        return self.random.choice(options)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def expression(self, kind=None, depth=3):
        if kind is None or self.chance(4):
            kind = self.pick(["int", "float", "str", "list", "dict", "any", "bool"])
        if depth <= 0 or self.chance(18):
            if self.names and self.chance(15):
                return self.pick(self.names)
            if kind == "bool":
                return self.pick(["true", "false", "yes", "no"])
            return self.pick(LITERALS[kind])
        if self.chance(6):
            return (f"({self.expression(kind, depth - 1)} if {self.expression('bool', depth - 1)} "
                    f"else {self.expression(kind, depth - 1)})")
        return getattr(self, kind + "_expression")(depth - 1)

    def operand(self, kind, depth):
        text = self.expression(kind, depth)
        return text if text.isidentifier() else f"({text})"

    def int_expression(self, depth):
        choice = self.random.randrange(5)
        if choice == 0:
            op = self.pick(["+", "-", "*", "//", "%"])
            return f"{self.operand('int', depth)} {op} {self.operand('int', depth)}"
        if choice == 1:
            kind = self.pick(["list", "str", "dict"])
            return f"{self.operand(kind, depth)}|{self.pick(TO_INT)}"
        if choice == 2:
            return f"{self.operand('str', depth)}.{self.pick(STRING_TO_INT)}"
        if choice == 3:
            return f"{self.operand('list', depth)}[{self.pick(['0', '-1', '1', '5'])}]"
        return f"{self.operand('int', depth)}|int % 50"

    def float_expression(self, depth):
        if self.chance(50):
            op = self.pick(["+", "-", "*", "/", "//", "%"])
            return f"{self.operand('float', depth)} {op} {self.operand('int', depth)}"
        return f"{self.operand(self.pick(['float', 'int', 'str']), depth)}|{self.pick(TO_FLOAT)}"

    def slice(self):
        bound = lambda: self.pick(["", "0", "1", "2", "-1", "-3", "9", "none"])  # noqa: E731
        step = self.pick(["", "", ":", ":2", ":-1", ":-2"])
        return f"[{bound()}:{bound()}{step}]"

    def str_expression(self, depth):
        choice = self.random.randrange(7)
        if choice == 0:
            return f"{self.operand('str', depth)} + {self.operand('str', depth)}"
        if choice == 1:
            return f"{self.operand(None, depth)} ~ {self.operand(None, depth)}"
        if choice == 2:
            kind = self.pick(["str", "str", "list", "int", "dict", "any"])
            return f"{self.operand(kind, depth)}|{self.pick(TO_STRING)}"
        if choice == 3:
            return f"{self.operand('str', depth)}.{self.pick(STRING_METHODS)}"
        if choice == 4:
            # Through a filter, or the original would render the slice of a constant number as ''.
            return f"({self.operand('str', depth)}|string){self.slice()}"
        if choice == 5:
            return f"{self.pick(FORMATS)}.format({self.expression(None, depth)})"
        return f"{self.operand('str', depth)} * {self.pick(['0', '2', '3', '-1'])}"

    def list_expression(self, depth):
        choice = self.random.randrange(6)
        if choice == 0:
            return f"{self.operand('list', depth)} + {self.operand('list', depth)}"
        if choice == 1:
            kind = self.pick(["list", "list", "str", "dict"])
            return f"{self.operand(kind, depth)}|{self.pick(TO_LIST)}"
        if choice == 2:
            return f"{self.pick(['l', 'll', 'ls', 'mixed', 's|list', 'nothing', 'n'])}{self.slice()}"
        if choice == 3:
            items = [self.expression(None, depth - 1) for _ in range(self.random.randrange(4))]
            return "[" + ", ".join(items) + "]"
        if choice == 4:
            return f"{self.operand('str', depth)}.{self.pick(STRING_TO_LIST)}"
        return f"range({self.pick(['0', '3', '5'])}, {self.operand('int', depth)} % 9)|list"

    def dict_expression(self, depth):
        if self.chance(40):
            return f"dict(a={self.expression(None, depth)}, b={self.expression(None, depth)})"
        keys = ["'a'", "'k'", "1", "'é'", "none", "(1, 2)", "2.0", "true"]
        items = [f"{self.pick(keys)}: {self.expression(None, depth - 1)}"
                 for _ in range(self.random.randrange(4))]
        return "{" + ", ".join(items) + "}"

    def any_expression(self, depth):
        choice = self.random.randrange(5)
        if choice == 0:
            return f"{self.operand('list', depth)}|{self.pick(TO_ANY)}"
        if choice == 1:
            return f"{self.operand('dict', depth)}.{self.pick(DICT_METHODS)}"
        if choice == 2:
            key = self.pick(["'a'", "'b'", "'zz'", "0", "-1", "1.0", "none"])
            return f"{self.operand(self.pick(['dict', 'list', 'str']), depth)}[{key}]"
        if choice == 3:
            op = self.pick(["and", "or"])
            return f"{self.operand(None, depth)} {op} {self.operand(None, depth)}"
        return self.expression(None, depth)

    def bool_expression(self, depth):
        choice = self.random.randrange(5)
        if choice == 0:
            kind = self.pick(["int", "str", "float", "list"])
            op = self.pick(["==", "!=", "<", "<=", ">", ">="])
            return f"{self.operand(kind, depth)} {op} {self.operand(kind, depth)}"
        if choice == 1:
            return f"{self.operand(None, depth)} is {self.pick(['', 'not '])}{self.pick(TESTS)}"
        if choice == 2:
            op = self.pick(["in", "not in"])
            kind = self.pick(["list", "dict", "str"])
            item = self.operand("str" if kind == "str" else None, depth)
            return f"{item} {op} {self.operand(kind, depth)}"
        if choice == 3:
            return f"not {self.operand(None, depth)}"
        op = self.pick(["and", "or"])
        return f"{self.operand('bool', depth)} {op} {self.operand('bool', depth)}"

    # Statements.

    def space(self):
        return self.pick(["", "", "", " ", "\n", "  \n", "\n  ", "\t", "x", " y\n"])

    def tag(self, text):
        begin, end = self.pick(["{%", "{%", "{%-", "{%+"]), self.pick(["%}", "%}", "-%}", "+%}"])
        return f"{self.space()}{begin} {text} {end}{self.space()}"

    def output(self, depth=3):
        begin, end = self.pick(["{{", "{{", "{{-"]), self.pick(["}}", "}}", "-}}"])
        return f"{begin} {self.expression(depth=depth)} {end}"

    def new_name(self):
        name = self.pick(["v", "w", "x", "l", "d", "s"])
        self.names = [*self.names, name]
        return name

    def body(self, depth):
        return "".join(self.statement(depth) for _ in range(self.random.randrange(1, 4)))

    def statement(self, depth):
        if depth <= 0 or self.chance(35):
            return self.space() + self.output(2) + self.space()
        kind = self.pick(["set", "set", "if", "if", "for", "for", "macro", "filter", "block",
                          "namespace", "text"])
        return getattr(self, kind + "_statement")(depth - 1)

    def text_statement(self, depth):
        return self.pick(["plain", "\n\n", "{# note #}", "{#- note -#}\n", "{% raw %}{{ x }}{% endraw %}"])

    def set_statement(self, depth):
        if self.chance(15):
            value = f"{self.expression('int')}, {self.expression('str')}"
            return self.tag(f"set v, w = {value}") + "{{ v }}{{ w }}"
        value = self.expression()
        return self.tag(f"set {self.new_name()} = {value}")

    def namespace_statement(self, depth):
        return (self.tag(f"set ns = namespace(q={self.expression('int', 1)})")
                + self.tag(f"for i in range({self.pick('0123')})")
                + self.tag(f"set ns.q = {self.pick(['ns.q + i', 'ns.q ~ i', 'i', 'loop.index'])}")
                + self.tag("endfor") + "{{ ns.q }}")

    def if_statement(self, depth):
        text = self.tag(f"if {self.expression('bool')}") + self.body(depth)
        if self.chance(30):
            text += self.tag(f"elif {self.expression('bool')}") + self.body(depth)
        if self.chance(50):
            text += self.tag("else") + self.body(depth)
        return text + self.tag("endif")

    def for_statement(self, depth):
        names, target = self.names, self.pick(["v", "x", "i", "x"])
        source = self.expression("list", 2)
        if self.chance(20):
            target, source = "k, v", self.pick(["d.items()", "people[0].items()", "d|dictsort",
                                                "[(1, 2), ('a', 'b')]", "d|items"])
        test = f" if {self.pick(['loop_free', 'x', 'v', 'not v', self.expression('bool', 1)])}"
        text = self.tag(f"for {target} in {source}{test if self.chance(25) else ''}")
        self.names = [*names, *target.split(", ")]
        attribute = self.pick(["index", "index0", "revindex", "first", "last", "length", "previtem",
                               "nextitem", "cycle('a', 'b')"])
        text += self.body(depth) + ("{{ loop." + attribute + " }}" if self.chance(50) else "")
        if self.chance(15):
            text += self.tag(f"if {self.pick(['loop.first', 'loop.index > 1', 'true'])}")
            text += self.tag(self.pick(["break", "continue"])) + self.tag("endif")
        self.names = names
        if self.chance(25):
            text += self.tag("else") + self.body(depth)
        return text + self.tag("endfor") + ("{{ " + target + " is defined }}" if self.chance(20) and
                                            "," not in target else "")

    def macro_statement(self, depth):
        names = self.names
        self.names = ["a", "b"]
        text = self.tag(f"macro m(a, b={self.expression(None, 1)})") + self.body(depth)
        self.names = names
        call = self.pick(["m(1)", "m('x', 2)", "m(b=3)", "m(a=l)", "m()", "m(1, 2, 3)", "m(1, c=2)"])
        return text + self.tag("endmacro") + "{{ " + call + " }}"

    def filter_statement(self, depth):
        return self.tag(f"filter {self.pick(TO_STRING[:5])}") + self.body(depth) + self.tag("endfilter")

    def block_statement(self, depth):
        name = self.pick(["v", "w"])
        text = self.tag(f"set {name}{self.pick(['', ' | upper', ' | trim'])}") + self.body(depth)
        return text + self.tag("endset") + "{{ " + name + " }}"

    def template(self):
        self.names = []
        if self.chance(40):
            return self.output(4)
        return "".join(self.statement(3) for _ in range(self.random.randrange(1, 5)))


def cases(seed, count):
    generator = Generator(seed)
    return [(generator.template(), VARIABLES) for _ in range(count)]
