# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The rules: each checks a file and returns lines with advice."""

import ast
import re

from tidylib.policy import (BANS, BENCHMARK_HEADERS, EXCEPTION, FOREIGN, HISTORIES, LEFTOVERS, LEVELS, MAX_COLUMNS,
                            MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_SCRIPT_COLUMNS, MODULES, SPDX, SYSTEM_HEADERS,
                            TEST_HEADERS, THIRD_PARTY, VECTOR_HEADERS, WHOLE_FILE_LINES, WHOLE_FILE_RULES, WORDS,
                            WORDS_PAGE, in_library)
from tidylib.source import functions, line_of, read_tree, strings

RULES = []


def rule(name, *kinds):
    """Registers a function from a File and all paths to (line, advice) pairs."""

    def register(function):
        RULES.append((name, kinds, function))
        return function

    return register


@rule("spdx", "c++", "python", "shell", "cmake")
def check_spdx(file, _):
    mark = "// " if file.kind == "c++" else "# "
    first = 1 if file.lines and file.lines[0].startswith("#!") else 0
    start = "\n".join(file.lines[first:first + 2])
    if not re.fullmatch("\n".join(mark + text for text in SPDX), start):
        yield first + 1, (f"begin with '{mark}SPDX-FileCopyrightText: 2026 The Asterism authors' and "
                          f"'{mark}SPDX-License-Identifier: MIT'")


@rule("header", "c++")
def check_header(file, _):
    if not file.is_header:
        return
    after = [line for line in file.lines[2:] if line.strip()]
    comment_lines = 0
    while comment_lines < len(after) and after[comment_lines].startswith("//"):
        comment_lines += 1
    if comment_lines == 0:
        yield 3, "say in a comment what this header is for and what it must not know"
    if after[comment_lines:comment_lines + 1] != ["#pragma once"]:
        yield 3 + comment_lines, "write '#pragma once' right after the opening comment"


@rule("columns", "c++", "python", "shell", "cmake")
def check_columns(file, _):
    limit = MAX_COLUMNS if file.kind == "c++" else MAX_SCRIPT_COLUMNS
    for number, line in enumerate(file.lines, 1):
        if len(line) > limit:
            yield number, f"is {len(line)} columns wide; break it at {limit}"


def prose(file):
    """(number, line) of a Markdown page without code blocks and tables."""
    fenced = False
    for number, line in enumerate(file.lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith(("|", "    ")):
            yield number, line


@rule("columns", "text")
def check_prose_columns(file, _):
    if not file.path.endswith(".md"):
        return
    for number, line in prose(file):
        if len(line) > MAX_SCRIPT_COLUMNS:
            yield number, f"is {len(line)} columns wide; wrap it at {MAX_SCRIPT_COLUMNS}"


@rule("tables", "text")
def check_tables(file, _):
    """Every row of a table must have as many cells as its head: finds rows that were wrapped or merged badly."""
    if not file.path.endswith(".md"):
        return
    wanted, fenced = None, False
    for number, line in enumerate(file.lines, 1):
        fenced ^= line.startswith("```")
        if fenced or not line.startswith("|"):
            wanted = None
            continue
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1
        wanted = cells if wanted is None else wanted
        if cells != wanted:
            yield number, f"has {cells} cells where the head of the table has {wanted}"


@rule("file-length", "c++", "python")
def check_file_length(file, _):
    if len(file.lines) > MAX_FILE_LINES:
        yield 1, f"has {len(file.lines)} lines; split it by concept, at most {MAX_FILE_LINES}"


@rule("whitespace", "c++", "python", "shell", "cmake", "text")
def check_whitespace(file, _):
    for number, line in enumerate(file.lines, 1):
        if line != line.rstrip():
            yield number, "remove the spaces at the end of the line"
        if "\t" in line:
            yield number, "use spaces, not tabs"
    if not file.text.endswith("\n") or file.text.endswith("\n\n"):
        yield len(file.lines), "end the file with one line end"


@rule("leftover", "c++", "python", "shell", "cmake")
def check_leftovers(file, _):
    if not file.path.startswith("src/"):
        return
    for number, line in enumerate(file.lines, 1):
        match = LEFTOVERS.search(line)
        if match:
            yield number, f"'{match[0]}': finish it, or write down as an issue what is left"


@rule("foreign", "c++", "python", "shell", "cmake", "text")
def check_foreign(file, _):
    for number, line in enumerate(file.lines, 1):
        match = FOREIGN.search(line)
        if match:
            yield number, f"'{match[0]}' is somebody's own folder; use a path that everybody has"


def texts_of(file):
    """(line, text) of a file's texts for users: C++'s strings, or the lines of a page without its code spans."""
    if file.kind == "c++":
        if in_library(file):
            yield from strings(file.text)
    elif file.path.endswith((".md", ".1")) and file.path != WORDS_PAGE:
        yield 1, re.sub(r"`[^`]*`", lambda match: re.sub(r"[^\n]", " ", match[0]), file.text)


@rule("words", "c++", "text")
def check_words(file, _):
    for first, text in texts_of(file):
        flat = text.replace("\n", " ")
        for pattern, advice in WORDS:
            for match in pattern.finditer(flat):
                line = first if file.kind == "c++" else line_of(text, match.start())
                yield line, f"'{match[0]}': {advice} (docs/glossary.md)"


@rule("include-direction", "c++")
def check_include_direction(file, _):
    if file.module is None:
        return
    if file.module not in MODULES:
        yield 1, f"add the folder '{file.module}' to MODULES in tools/tidylib/policy.py, where it belongs in the order"
        return
    allowed = MODULES[:MODULES.index(file.module) + 1]
    for number, bracket, name in file.includes():
        module = name.split("/")[0]
        if bracket == '"' and module in MODULES and module not in allowed:
            yield number, f"'{file.module}' may not know '{module}', which stands above it; turn the dependency round"


def level_of(module, path):
    """The step, in its module's order of folders, of a path below src/, or None."""
    folder = path.split("/")[1] if path.count("/") > 1 else None
    return next((index for index, folders in enumerate(LEVELS[module]) if folder in folders), None)


@rule("include-direction", "c++")
def check_levels(file, _):
    if file.module not in LEVELS:
        return
    own = level_of(file.module, file.path.removeprefix("src/"))
    if own is None:
        folders = ", ".join(folder for folders in LEVELS[file.module] for folder in folders)
        yield 1, f"belongs into one of the folders {folders}, or a new one in LEVELS of tools/tidylib/policy.py"
        return
    if file.is_test or file.path.endswith("_fuzz.cc"):
        return
    for number, bracket, name in file.includes():
        if bracket != '"' or not name.startswith(file.module + "/"):
            continue
        level = level_of(file.module, name)
        if level is not None and level > own:
            yield number, f"'{name}' stands above this folder (LEVELS in tools/tidylib/policy.py); turn it round"


@rule("include-path", "c++")
def check_include_paths(file, paths):
    for number, bracket, name in file.includes():
        beside = file.path.rpartition("/")[0] + "/" + name
        ours = "src/" + name
        known = ours in paths or ours + ".in" in paths or (file.module is None and beside in paths)
        known = known or name.endswith(".pb.h")
        if bracket == '"' and not known:
            yield number, f"'{name}': name our headers by their path below src/, others in <>"


def third_party_advice(file, name):
    """Advice about an angle include, or None if it is fine."""
    if name.startswith(TEST_HEADERS):
        return None if file.is_test else "tests only: x_test.cc, or x_test_support.h"
    if name.startswith(BENCHMARK_HEADERS):
        return None if file.path.startswith("bench/") else "benchmarks live in bench/"
    if VECTOR_HEADERS.match(name):
        inside = file.module in ("kernels", "compute") or file.path.startswith(("src/base/float_mode", "bench/"))
        return None if inside else "vector instructions live in kernels/"
    if SYSTEM_HEADERS.match(name) or not re.search(r"[./+]", name):
        return None
    for prefix, modules in THIRD_PARTY:
        if not name.startswith(prefix):
            continue
        if name == "nlohmann/json.hpp" and file.is_header:
            return "include <nlohmann/json_fwd.hpp> in headers: the whole library costs every includer a second"
        if modules is None or file.module is None or file.module in modules:
            return None
        return f"only {', '.join(modules)} may know this library; go through its headers"
    if re.fullmatch(r"\w+\.h", name):
        return "write the C++ name of a C header (<cstdint>), or add it to SYSTEM_HEADERS in tools/tidylib/policy.py"
    return "add the library to THIRD_PARTY in tools/tidylib/policy.py, with the folder that owns it"


@rule("third-party", "c++")
def check_third_party(file, _):
    for number, bracket, name in file.includes():
        advice = third_party_advice(file, name) if bracket == "<" else None
        if advice:
            yield number, f"<{name}>: {advice}"
        if in_library(file) and name in ("iostream", "sstream", "fstream", "iomanip"):
            yield number, f"<{name}>: use fmt for text and base/files.h for files"


@rule("orphan-test", "c++")
def check_orphan_tests(file, paths):
    match = re.fullmatch(r"(src/.*/)(\w+)_(?:test|fuzz)\.cc", file.path)
    if not match:
        return
    words = match[2].split("_")
    names = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    if match[1].split("/")[-2] in names or file.path.removesuffix(".cc") + ".h" in paths:
        return  # of the folder as a whole; shared by several tests
    if not any(match[1] + name + extension in paths for name in names for extension in (".h", ".cc")):
        yield 1, f"begin its name with the file that it tests: there is no {names[0]}.h or {names[0]}.cc beside it"


def check_bans(file):
    for ban in BANS:
        if file.kind != "c++" or not ban.applies(file):
            continue
        for match in ban.pattern.finditer(file.code):
            if file.code[:match.start()].endswith("operator "):
                continue
            name = re.sub(r"\s*\(?$", "", match[0].strip())
            yield line_of(file.code, match.start()), ban.rule, f"'{name}': {ban.advice}"


@rule("function-length", "c++")
def check_function_length(file, _):
    found = functions(file.code)
    if found is None:
        yield 1, "the braces do not match where all branches of #if are read; keep them whole in each branch"
        return
    for first, last in found:
        if last - first + 1 > MAX_FUNCTION_LINES:
            yield first, f"this function has {last - first + 1} lines; split it, at most {MAX_FUNCTION_LINES}"


@rule("function-length", "python")
def check_python_function_length(file, _):
    for node in ast.walk(ast.parse(file.text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield node.lineno, f"this function has {length} lines; split it, at most {MAX_FUNCTION_LINES}"


def exceptions_of(file):
    """The allowed rules of each line, with the line of the comment, and findings about the comments themselves."""
    allowed, findings = {}, []
    mark = "//" if file.kind == "c++" else "#"
    for number, line in enumerate(file.lines, 1):
        match = EXCEPTION.search(line)
        if not match or not match[0].startswith(mark) or file.kind == "text":
            continue
        if len(match[2].strip()) < 10:
            findings.append((file.path, number, "exception", "give the reason after the bracket"))
        target = number
        if line[:match.start()].strip() == "":  # alone: for the line after the comment
            while target < len(file.lines) and file.lines[target - 1].lstrip().startswith(mark):
                target += 1
        allowed.setdefault(target, {})[match[1]] = number
        if match[1] in WHOLE_FILE_RULES and number <= WHOLE_FILE_LINES:
            allowed.setdefault(0, {})[match[1]] = number
    return allowed, findings


def findings_of(file, paths):
    raw = [(line, name, advice) for name, kinds, function in RULES if file.kind in kinds
           for line, advice in function(file, paths)]
    raw += check_bans(file)
    allowed, findings = exceptions_of(file)
    used = set()
    for line, name, advice in raw:
        comment = allowed.get(0 if name in WHOLE_FILE_RULES else line, {}).get(name)
        if comment is None:
            findings.append((file.path, line, name, advice))
        else:
            used.add((comment, name))
    given = {(comment, name) for rules in allowed.values() for name, comment in rules.items()}
    findings += [(file.path, comment, "exception", f"nothing here needs allow({name}); remove it")
                 for comment, name in given - used]
    return findings


def check_build_order(text):
    """CMakeLists.txt adds the folders in the order of MODULES."""
    match = re.search(r"^foreach\(module ([\w\s]+)\)", text, re.MULTILINE)
    if not match:
        yield 1, "no foreach(module …) was found: teach tools/tidylib/rules.py where the folders' order is"
        return
    number = text[:match.start()].count("\n") + 1
    listed = match[1].split()
    known = [module for module in listed if module in MODULES]
    for module in set(listed) - set(known):
        yield number, f"add '{module}' to MODULES in tools/tidylib/policy.py, at the same place"
    if known != sorted(known, key=MODULES.index):
        yield number, "list the folders in the order of MODULES in tools/tidylib/policy.py: " + " ".join(
            sorted(known, key=MODULES.index))


NAMED_PATH = re.compile(r"(?:bench|cmake|docs|proto|src|tests|tools|train)/[\w./-]+")
NAMED_SYMBOL = re.compile(r"(\w+)::(\w+)(?:(?:::|\()[^`]*)?")


def check_page_names(file, paths, words):
    """Paths and C++ names in a page's code spans that do not exist. `words`: folder of src/ → words of its code, and
    those of all folders under None. A path with capital letters may be a pattern."""
    for match in re.finditer(r"`([^`\n]+)`", file.text):
        span, line = match[1], line_of(file.text, match.start())
        if NAMED_PATH.fullmatch(span):
            path = span.rstrip("/")
            if path not in paths and not any(known.startswith((path + "/", path + ".")) for known in paths):
                if path == path.lower():
                    yield line, f"'{span}' is not there: name what took its place"
        elif symbol := NAMED_SYMBOL.fullmatch(span):
            known = words.get(symbol[1], words[None] if symbol[1] in words[None] else set())
            if symbol[2] not in known:
                yield line, f"'{span}' is nowhere in src: name what took its place"


def check_registered(paths, listed):
    """Test scripts that no build runs. `listed`: the words of all CMakeLists.txt."""
    for path in sorted(path for path in paths if path.endswith("_test.py")):
        name = path.rsplit("/", 1)[1].removesuffix(".py")
        if not {name, f"{name}.py", name.removesuffix("_test")} & listed:
            yield path, "no CMakeLists.txt names it, so it never runs: add it to one under tests/"


def check_tree(root):
    files, paths = read_tree(root)
    findings = [finding for file in files for finding in findings_of(file, paths)]
    words = {None: set()}
    for file in files:
        if file.module is not None and file.kind == "c++":
            named = set(re.findall(r"\w+", file.code))
            words.setdefault(file.module, set()).update(named)
            words[None].update(named)
    listed = set()
    for file in files:
        if file.path.endswith("CMakeLists.txt"):
            listed.update(re.findall(r"[\w.]+", file.text))
    findings += [(path, 1, "registered", advice) for path, advice in check_registered(paths, listed)]
    for file in files:
        if file.path == "CMakeLists.txt":
            findings += [(file.path, line, "build-order", advice) for line, advice in check_build_order(file.text)]
        elif file.path.endswith(".md") and not file.path.startswith(HISTORIES):
            findings += [(file.path, line, "page-names", advice)
                         for line, advice in check_page_names(file, paths, words)]
    return files, findings
