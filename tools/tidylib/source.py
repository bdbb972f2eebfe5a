# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A source file, and the structure of C++ that can be found without a compiler: code without comments, and
functions."""

import os
import re

SKIPPED_FOLDERS = {"build", ".git", "node_modules", "__pycache__", "corpus", ".cache"}
KINDS = {".h": "c++", ".cc": "c++", ".inc": "c++", ".py": "python", ".cmake": "cmake", ".sh": "shell", ".md": "text",
         ".json": "text", ".proto": "text", ".1": "text"}


def blank(text):
    return re.sub(r"[^\n]", " ", text)


CPP_TOKENS = re.compile(
    r"//(?:[^\n\\]|\\.|\\\n)*|/\*.*?(?:\*/|\Z)"
    r"|(?P<raw>\b(?:u8|[uUL])?R\"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)\"|\Z))"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.|\\\n)*\"?)"
    r"|(?P<number>\b\d(?:[\w.]|'\w)*)"
    r"|(?P<char>'(?:[^'\\\n]|\\.)+'?)", re.DOTALL)


def code_only(text):
    """C++ with comments and the contents of literals blanked; all other characters keep their place."""

    def replaced(match):
        if match["number"]:
            return match[0].replace("'", "_")
        if match["raw"] or match["string"]:
            return '"' + blank(match[0][1:-1]) + '"' if len(match[0]) > 1 else '"'
        if match["char"]:
            return "'" + blank(match[0][1:-1]) + "'" if len(match[0]) > 1 else "'"
        return blank(match[0])

    return CPP_TOKENS.sub(replaced, text)


def strings(text):
    """(line, characters) of each string of C++, with adjacent literals joined, unescaped as in the source."""
    end, line, parts = 0, 0, []
    for match in CPP_TOKENS.finditer(text):
        literal = match["raw"] or match["string"]
        if not literal:
            continue
        if parts and text[end:match.start()].strip():
            yield line, "".join(parts)
            parts = []
        if not parts:
            line = line_of(text, match.start())
        parts.append(literal[literal.index('"') + 1:-1])
        end = match.end()
    if parts:
        yield line, "".join(parts)


class File:
    """A file and its kind: 'c++', 'python', 'shell', 'cmake', 'text', or None where there are no rules for it."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        name = os.path.basename(path)
        stem, extension = os.path.splitext(name)
        self.kind = "cmake" if name == "CMakeLists.txt" else KINDS.get(extension)
        if self.kind is None and extension == "" and text.startswith("#!"):
            self.kind = "python" if "python" in self.lines[0] else "shell"
        self.is_header = extension == ".h"
        self.is_test = path.startswith("tests/") or stem.endswith(("_test", "_for_test", "_test_support"))
        parts = path.split("/")
        self.module = parts[1] if parts[0] == "src" and len(parts) > 2 else None
        self.code = code_only(text) if self.kind == "c++" else text

    def includes(self):
        """The includes as (line, '<' or '"', name)."""
        for number, line in enumerate(self.lines, 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if match:
                yield number, match[1], match[2]


def read_tree(root):
    """Every file that has rules, and the paths of all files."""
    files, paths = [], set()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED_FOLDERS)
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            paths.add(path)
            extension = os.path.splitext(name)[1]
            if extension and extension not in KINDS and name != "CMakeLists.txt":
                continue
            with open(os.path.join(root, path), "rb") as stream:
                content = stream.read()
            if extension == "" and not content.startswith(b"#!"):
                continue
            file = File(path, content.decode("utf-8", errors="replace"))
            if file.kind is not None:
                files.append(file)
    return files, paths


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def without_directives(code):
    """Preprocessor lines blanked, continued ones too."""
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda match: blank(match[0]), code, flags=re.MULTILINE)


def without_labels(code):
    """Blanks `public:` and the like, so that they do not count as the start of what follows."""
    return re.sub(r"\b(?:public|private|protected)\s*:(?!:)", lambda match: blank(match[0]), code)


def without_template_clause(head):
    """Cuts every leading `template <…>` off a declaration."""
    while True:
        match = re.match(r"\s*template\s*<", head)
        if not match:
            return head
        depth, end = 1, match.end()
        while end < len(head) and depth > 0:
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[end:]


LAMBDA = re.compile(r"\][\s]*(?:<[^{}]*>\s*)?(?:\([^{}]*\)\s*)?(?:mutable|constexpr|noexcept|->[^{}]*|\s)*$")


def kind_of_brace(head, inside_parentheses):
    """The kind of a `{` after these characters: 'scope' (declarations follow), 'function' or 'values'."""
    plain = without_template_clause(head).strip()
    if LAMBDA.search(plain) and "[" in plain:
        return "function"
    if inside_parentheses:
        return "values"
    plain = re.sub(r"operator\s*(?:\(\s*\)|[^\s\w(]+)", "operator_", plain)
    if re.match(r'(?:inline\s+)?namespace\b|extern\s*"\s*"$', plain):
        return "scope"
    plain = re.sub(r"\[\[.*?\]\]", " ", plain)
    if re.match(r"(?:typedef\s+|static\s+|constexpr\s+|const\s+)*(?:class|struct|union|enum)\b", plain):
        # `class CAPABILITY("x") Name` is a class, `struct stat F(int a)` is not.
        rest = re.sub(r"\b(class|struct|union|enum)\s+"
                      r"(?:(?:[A-Z][A-Z0-9_]*|alignas|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)\s*)+", r"\1 ", plain)
        if "(" not in rest.split(" : ")[0] and "=" not in rest:
            return "scope"
    outer = re.sub(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "()", plain)
    if re.search(r"(?<![=!<>])=(?!=)", outer):
        return "values"
    if "(" not in outer:
        return "values"
    in_initialisers = re.search(r"\)[\s\w]*:(?!:)", outer)
    if in_initialisers and re.search(r"[\w>]$", outer):
        return "values"  # a member's braces, not the constructor's body
    return "function"


def functions(code):
    """(first line, last line) of every outermost function, or None where the braces do not match."""
    code = without_labels(without_directives(code))
    found = []
    scopes = []  # (kind, offset of its head, parenthesis depth outside)
    head = 0
    parentheses = 0
    for match in re.finditer(r"[{}();]", code):
        character, here = match[0], match.start()
        if character == "(":
            parentheses += 1
        elif character == ")":
            parentheses -= 1
        elif character == "{":
            in_function = any(kind == "function" for kind, _, _ in scopes)
            kind = "block" if in_function else kind_of_brace(code[head:here], parentheses > 0)
            scopes.append((kind, head, parentheses))
            parentheses = 0
            if kind in ("scope", "function"):
                head = here + 1
        elif character == "}":
            if not scopes:
                return None
            kind, start, parentheses = scopes.pop()
            if kind == "function":
                first = start + len(code[start:here]) - len(code[start:here].lstrip())
                found.append((line_of(code, first), line_of(code, here)))
            if kind in ("scope", "function"):
                # Parentheses of a declaration (with a lambda, say) do not end it.
                head = here + 1 if parentheses == 0 else start
        elif parentheses == 0 and not any(kind == "function" for kind, _, _ in scopes):
            head = here + 1
    return None if scopes else found
