#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Tests of tools/tidy: each rule fires on a small bad sample and is silent on a good one."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tidylib import headers, rules, source  # noqa: E402

SPDX = "// SPDX-FileCopyrightText: 2026 The Asterism authors\n// SPDX-License-Identifier: MIT\n"
HASH_SPDX = SPDX.replace("// ", "# ")
HEADER = SPDX + "\n// Says what it is for.\n#pragma once\n\n"


def found(path, body, paths=()):
    """The (line, rule) pairs of a file, counted from the first line of `body` after its SPDX lines."""
    python_like = path.endswith((".py", ".txt", ".cmake"))
    start = HASH_SPDX if python_like else HEADER if path.endswith(".h") else SPDX
    before = start.count("\n")
    file = source.File(path, start + body)
    return sorted((line - before, rule) for _, line, rule, _ in rules.findings_of(file, set(paths) | {path}))


def body_of(lines):
    return "".join(f"  Do({i});\n" for i in range(lines))


class WholeFiles(unittest.TestCase):
    def test_spdx(self):
        good = source.File("src/base/a.cc", SPDX + "int a;\n")
        self.assertEqual(rules.findings_of(good, set()), [])
        for bad in ("int a;\n", SPDX[3:], SPDX.replace("MIT", "None") + "int a;\n", "\n" + SPDX + "int a;\n"):
            findings = rules.findings_of(source.File("src/base/a.cc", bad), set())
            self.assertIn("spdx", [rule for _, _, rule, _ in findings], bad)
        script = source.File("tools/x", "#!/bin/sh\n" + HASH_SPDX + "true\n")
        self.assertEqual(rules.findings_of(script, set()), [])

    def test_header(self):
        def rules_of(text):
            return [rule for _, _, rule, _ in rules.findings_of(source.File("src/base/a.h", text), set())]

        self.assertEqual(rules_of(HEADER + "int a;\n"), [])
        self.assertEqual(rules_of(SPDX + "\n#pragma once\n"), ["header"])
        self.assertEqual(rules_of(SPDX + "\n// Purpose.\n#include <a>\n#pragma once\n"), ["header"])
        self.assertEqual(rules_of(SPDX + "\n// Purpose.\n#ifndef A_H\n"), ["header"])

    def test_lengths(self):
        self.assertEqual(found("src/base/a.cc", "int a;\n" * 598), [])
        self.assertEqual(found("src/base/a.cc", "int a;\n" * 599), [(-1, "file-length")])
        self.assertEqual(found("src/base/a.cc", "// " + "é" * 97 + "\n"), [])
        self.assertEqual(found("src/base/a.cc", "// " + "é" * 98 + "\n"), [(1, "columns")])
        self.assertEqual(found("tests/a.py", "# " + "x" * 118 + "\n"), [])
        self.assertEqual(found("tests/a.py", "# " + "x" * 119 + "\n"), [(1, "columns")])

    def test_columns_of_pages(self):
        def lines_of(text, path="docs/a.md"):
            return [line for _, line, rule, _ in rules.findings_of(source.File(path, text), set()) if rule == "columns"]

        wide = "word " * 25 + "\n"
        self.assertEqual(lines_of("é" * 120 + "\n" + wide[:-1].rstrip() + "\n"), [2])
        self.assertEqual(lines_of("| " + wide + "    " + wide + "```\n" + wide + "```\n- " + wide), [6])
        self.assertEqual(lines_of(wide, "tests/a.json"), [])

    def test_tables(self):
        def lines_of(text):
            return [line for _, line, rule, _ in rules.findings_of(source.File("docs/a.md", text), set())
                    if rule == "tables"]

        head = "| a | b |\n|---|---|\n"
        self.assertEqual(lines_of(head + "| `x \\| y` | 2 |\n\n| one |\n|---|\n"), [])
        self.assertEqual(lines_of(head + "| 1 | 2 | | 3 | 4 |\n| 1\n"), [3, 4])
        self.assertEqual(lines_of("```\n" + head + "| 1 |\n```\n"), [])

    def test_whitespace(self):
        self.assertEqual(found("src/base/a.cc", "int a; \n"), [(1, "whitespace")])
        self.assertEqual(found("src/base/a.cc", "\tint a;\n"), [(1, "whitespace")])
        self.assertEqual(found("src/base/a.cc", "int a;\r\n"), [(1, "whitespace")])
        self.assertEqual(found("src/base/a.cc", "int a;"), [(1, "whitespace")])
        self.assertEqual(found("src/base/a.cc", "int a;\n\n"), [(2, "whitespace")])

    def test_leftovers(self):
        for word in ("TODO: x", "FIXME", "XXX", "a stub", "Stubbed out"):
            self.assertEqual(found("src/base/a.cc", f"// {word}\n"), [(1, "leftover")])
        self.assertEqual(found("src/base/a.cc", "// stubborn, asterism-XXXXXX, TODOS\n"), [])
        self.assertEqual(found("docs/a.md", ""), [])

    def test_foreign(self):
        for path in ("/ro" + "ot/x", "/wo" + "rk/main", "/ho" + "me/alice"):
            self.assertEqual(found("src/base/a.cc", f"// in {path}\n"), [(1, "foreign")])
        self.assertEqual(found("src/base/a.cc", "// src/wo" + "rk/x, ~/.cache, $HO" + "ME/wo" + "rk, /tmp/x\n"), [])

    def test_orphan_tests(self):
        for other in ("src/base/a.h", "src/base/a_b.cc"):
            self.assertEqual(found("src/base/a_b_test.cc", "", [other]), [])
        self.assertEqual(found("src/base/a_test.cc", "", ["src/gguf/a.h"]), [(-1, "orphan-test")])
        self.assertEqual(found("src/base/a_fuzz.cc", ""), [(-1, "orphan-test")])
        self.assertEqual(found("src/gguf/gguf_cache_fuzz.cc", ""), [])
        self.assertEqual(found("src/gguf/big_for_test.cc", "", ["src/gguf/big_for_test.h"]), [])


class Words(unittest.TestCase):
    def lines_of(self, path, text):
        findings = rules.findings_of(source.File(path, text), set())
        return sorted({line for _, line, rule, _ in findings if rule == "words"})

    def test_strings(self):
        for text in ("whoever asks", "Nobody is there", "{} tokens remembered", "with guesses", "rows are handed over",
                     "it gives way", "the youngest is put back", "among so many", "told to come again",
                     "Who answers, alone", "frames under way", "a node that stands still",
                     "the text is foretold", "open it anew", "the client is gone"):
            self.assertEqual(found("src/cli/a.cc", f'Say("{text}");\n'), [(1, "words")], text)
        for text in ("the KV cache", "remembered_tokens", "a guess", "nobodyknows", "hand-off", "on its way"):
            self.assertEqual(found("src/cli/a.cc", f'Say("{text}");\n'), [], text)

    def test_a_string_may_be_broken(self):
        self.assertEqual(found("src/cli/a.cc", 'Say(\n    "is told to come "\n    "again");\n'), [(2, "words")])
        self.assertEqual(found("src/cli/a.cc", 'Say("come ", "again");\n'), [])

    def test_comments_code_and_tests_do_not_count(self):
        self.assertEqual(found("src/cli/a.cc", "int nobody;  // whoever reads this\n"), [])
        self.assertEqual(found("src/cli/a_test.cc", 'Say("nobody");\n', ["src/cli/a.h"]), [])
        self.assertEqual(found("bench/a.cc", 'Say("nobody");\n'), [])

    def test_an_exception(self):
        self.assertEqual(found("src/cli/a.cc", 'Say("nobody");  // tidy: allow(words) a name that people type\n'), [])

    def test_pages(self):
        self.assertEqual(self.lines_of("docs/a.md", "One.\nThe rows are\nremembered by whoever\nasks.\n"), [3])
        self.assertEqual(self.lines_of("docs/a.md", "Shown by `ANodeNobodyKnows`: nobody can tell a broken one.\n"), [])
        self.assertEqual(self.lines_of("packaging/a.1", ".TP\nAmong so many.\n"), [2])
        self.assertEqual(self.lines_of("docs/glossary.md", "not: whoever\n"), [])
        self.assertEqual(self.lines_of("tests/a.json", '{"a": "whoever"}\n'), [])


class Includes(unittest.TestCase):
    def test_direction(self):
        paths = ["src/base/b.h", "src/text/t.h", "src/gguf/g.h"]
        good = '#include "base/b.h"\n#include "gguf/g.h"\n'
        self.assertEqual(found("src/gguf/a.cc", good, paths), [])
        self.assertEqual(found("src/gguf/sub/a.cc", '#include "text/t.h"\n', paths), [(1, "include-direction")])
        self.assertEqual(found("tests/a.cc", '#include "text/t.h"\n', paths), [])
        self.assertEqual(found("src/elsewhere/a.cc", "int a;\n"), [(-1, "include-direction")])

    def test_direction_between_folders_of_a_module(self):
        paths = ["src/model/shape/s.h", "src/model/families/f.h", "src/model/weights/w.h", "src/model/weights/a.h"]
        low = '#include "model/shape/s.h"\n#include "model/weights/w.h"\n'
        self.assertEqual(found("src/model/weights/a.cc", low, paths), [])
        self.assertEqual(found("src/model/shape/s.cc", '#include "model/families/f.h"\n', paths), [])
        self.assertEqual(found("src/model/families/f.cc", low, paths), [(2, "include-direction")])
        self.assertEqual(found("src/model/shape/s_test.cc", low, paths), [])
        self.assertEqual(found("src/model/shape/s_fuzz.cc", low, paths), [])
        self.assertEqual(found("src/model/a.cc", "int a;\n"), [(-1, "include-direction")])
        self.assertEqual(found("src/model/elsewhere/a.cc", "int a;\n"), [(-1, "include-direction")])

    def test_paths(self):
        self.assertEqual(found("src/base/a.cc", '#include "b.h"\n', ["src/base/b.h"]), [(1, "include-path")])
        self.assertEqual(found("src/base/a.cc", '// #include "b.h"\n'), [])
        self.assertEqual(found("bench/a.cc", '#include "b.h"\n', ["bench/b.h"]), [])
        self.assertEqual(found("bench/a.cc", '#include "c.h"\n', ["bench/b.h"]), [(1, "include-path")])

    def test_third_party(self):
        for path, header in (("src/base/a.cc", "spdlog/logger.h"), ("src/text/a.cc", "pcre2.h"),
                             ("src/gguf/a.h", "fmt/format.h"), ("src/cli/a.cc", "CLI/CLI.hpp"),
                             ("src/chat/a.cc", "nlohmann/json.hpp"), ("src/chat/a.h", "nlohmann/json_fwd.hpp"),
                             ("src/base/a_test.cc", "gtest/gtest.h"), ("src/base/a_test_support.h", "gtest/gtest.h"),
                             ("bench/a_bench.cc", "benchmark/benchmark.h"), ("src/kernels/x86/a.cc", "immintrin.h"),
                             ("src/base/a.cc", "sys/mman.h"), ("src/base/a.cc", "vector")):
            self.assertEqual(found(path, f"#include <{header}>\n", ["src/base/a.h"]), [], header)
        for path, header in (("src/text/a.cc", "spdlog/logger.h"), ("src/gguf/a.cc", "nlohmann/json.hpp"),
                             ("src/chat/a.h", "nlohmann/json.hpp"), ("src/base/a.cc", "gtest/gtest.h"),
                             ("src/base/a_test.cc", "benchmark/benchmark.h"), ("src/chat/a.cc", "immintrin.h"),
                             ("src/base/a.cc", "string.h"), ("src/base/a.cc", "boost/any.hpp"),
                             ("src/base/a.cc", "sstream")):
            self.assertEqual(found(path, f"#include <{header}>\n", ["src/base/a.h"]), [(1, "third-party")], header)

    def test_build_order(self):
        def lines(modules):
            return [line for line, _ in rules.check_build_order(f"x\nforeach(module {modules})\n")]

        self.assertEqual(lines("base gguf cli"), [])
        self.assertEqual(lines("base gguf\n    text cli"), [])
        self.assertEqual(lines("gguf base cli"), [2])
        self.assertEqual(lines("base\n    text gguf"), [2])
        self.assertEqual(lines("base unheard cli"), [2])
        self.assertEqual(list(line for line, _ in rules.check_build_order("")), [1])


class Bans(unittest.TestCase):
    def check(self, rule, bad, good, path="src/text/a.cc"):
        for line in bad:
            self.assertEqual(found(path, line + "\n"), [(1, rule)], line)
        for line in good:
            self.assertEqual(found(path, line + "\n"), [], line)

    def test_number_parsing(self):
        self.check("number-parsing",
                   ["int a = std::stoi(s);", "x = atof (s);", "strtoull(p, &e, 10);", "sscanf(a, b);"],
                   ["std::from_chars(a, b, c);", "my::stoi(s);", "s.stoi(1);", "Result<int> Histo(int);"])

    def test_printing(self):
        self.check("printing", ['printf("x");', 'std::fprintf(stderr, "x");', "std::cout << 1;", "snprintf(b, 3, f);"],
                   ["fmt::print(out, f);", 'Say("printf(1)");', "// printf(x) is banned"])
        self.assertEqual(found("src/base/check.cc", "std::fprintf(stderr, x);\n"), [])

    def test_stopping(self):
        self.check("stopping", ["std::abort();", "exit(1);", "std::terminate();"],
                   ["app.exit(error);", "loop->exit(1);", "int exit = 1;"])
        self.assertEqual(found("src/cli/main/main.cc", "std::exit(1);\n"), [])

    def test_randomness(self):
        self.check("randomness", ["std::mt19937 g;", "std::random_device d;", "int a = rand();"],
                   ["Random random(1);", "operand(1);", "random.NextU32();"])

    def test_locking(self):
        self.check("locking", ["std::mutex m;", "std::lock_guard l(m);", "std::condition_variable c;"],
                   ["Mutex mu;", "const MutexLock lock(mu);"])

    def test_time(self):
        self.check("time",
                   ["std::this_thread::sleep_for(x);", "usleep(3);", "auto t = std::chrono::steady_clock::now();"],
                   ["clock.SleepFor(3);", "std::chrono::steady_clock::time_point t;"])
        self.assertEqual(found("bench/a_bench.cc", "auto t = std::chrono::steady_clock::now();\n"), [])

    def test_libm(self):
        self.check("libm", ["y = std::exp(x);", "y = sinf(x);", "y = ::pow(x, 2);"],
                   ["y = std::sqrt(x);", "y = Exp(x);", "y = std::fma(a, b, c);", "v.log(x);", "std::floor(x);"],
                   path="src/kernels/a.cc")
        self.assertEqual(found("src/chat/a.cc", "y = std::exp(x);\n"), [])

    def test_using_namespace(self):
        self.check("using-namespace", ["using namespace std;"], ["using std::swap;", "namespace fs = std::filesystem;"])

    def test_ownership(self):
        self.check("ownership", ["auto* p = new int;", "new (p) T();", "delete p;", "delete[] p;", "free(p);",
                                 "T* p = new T[3];"],
                   ["T(const T&) = delete;", "int new_value = 1;", "pool.free(p);", "auto p = std::make_unique<T>();",
                    "// a new page", "int newline;", "void operator delete(void* p);"])

    def test_literals_and_comments_do_not_count(self):
        self.check("printing", ['Say("a\\"b"); printf("c");', "int n = 1'000; puts(s);", 'R"(x)"; puts(s);'],
                   ["/* printf(1) */ int a;", 'R"x(printf(")" puts(s))x";', "char c = '\"'; // puts(s)"])


class FunctionLengths(unittest.TestCase):
    def lengths(self, code, path="src/base/a.cc"):
        return [line for line, rule in found(path, code) if rule == "function-length"]

    def test_limit(self):
        self.assertEqual(self.lengths("void F() {\n" + body_of(68) + "}\n"), [])
        self.assertEqual(self.lengths("void F() {\n" + body_of(69) + "}\n"), [1])
        self.assertEqual(self.lengths("int a;\n\nvoid F(\n    int b) {\n" + body_of(68) + "}\n"), [3])

    def test_every_kind_of_function(self):
        for head in ("TEST(Group, Name) {", "auto f = [](int a) {", "Foo::Foo(int a) : a_(a), b_{a} {",
                     "struct stat F(int a) {", "Foo& Foo::operator=(const Foo& o) {", "bool operator()(int a) const {",
                     "template <typename T = int>\nT F(T a) requires(sizeof(T) > 1) {", 'extern "C" int F(int a) {',
                     "std::vector<int> F() const noexcept {", "void F(std::vector<int> a = {}) {",
                     "Foo::~Foo() {", "auto F() -> std::pair<int, int> {", "[[nodiscard]] int F() REQUIRES(mu_) {",
                     "Foo::Foo() : Foo([] {}, [] {}) {", "const T kTable[] = {{1, [](int a) {"):
            tail = "}}};\n" if head.startswith("const T") else "};\n" if head.startswith("auto f") else "}\n"
            code = "namespace aster {\nint x;\n" + head + "\n" + body_of(70) + tail + "}  // namespace aster\n"
            self.assertEqual(len(self.lengths(code)), 1, head)

    def test_members_and_scopes(self):
        members = "".join(f"  int A{i}() {{ return {i}; }}\n" for i in range(100))
        self.assertEqual(self.lengths("class A final : public B<C> {\n public:\n" + members + "};\n"), [])
        self.assertEqual(self.lengths('class CAPABILITY("x") A {\n' + members + "};\n"), [])
        self.assertEqual(self.lengths("enum class A {\n" + "".join(f"  k{i},\n" for i in range(100)) + "};\n"), [])
        self.assertEqual(self.lengths("constexpr int kA[] = {\n" + "  F({1, 2}),\n" * 100 + "};\n"), [])
        long = "class A {\n public:\n  int x;\n  void F() {\n" + body_of(70) + "  }\n  int y;\n};\n"
        self.assertEqual(self.lengths(long), [4])

    def test_macros_and_branches(self):
        self.assertEqual(self.lengths("#define A(x) \\\n  if (x) { \\\n  }\nvoid F() {\n" + body_of(60) + "}\n"), [])
        self.assertEqual(self.lengths("void F() {\n"), [-1])

    def test_python(self):
        self.assertEqual(self.lengths("def f():\n" + "    pass\n" * 69, "tests/a.py"), [])
        self.assertEqual(self.lengths("def f():\n" + "    pass\n" * 70, "tests/a.py"), [1])


class Exceptions(unittest.TestCase):
    def test_on_the_line_or_above_it(self):
        allow = "// tidy: allow(ownership) the library takes it over"
        self.assertEqual(found("src/base/a.cc", f"F(new int);  {allow}\n"), [])
        self.assertEqual(found("src/base/a.cc", f"{allow}\n// and frees it.\nF(new int);\n"), [])
        self.assertEqual(found("src/base/a.cc", f"{allow}\nint a;\nF(new int);\n"),
                         [(1, "exception"), (3, "ownership")])

    def test_they_need_a_reason_and_a_finding(self):
        self.assertEqual(found("src/base/a.cc", "F(new int);  // tidy: allow(ownership)\n"), [(1, "exception")])
        unused = "int a;  // tidy: allow(ownership) the library takes it over\n"
        self.assertEqual(found("src/base/a.cc", unused), [(1, "exception")])
        other = "F(new int);  // tidy: allow(printing) the library takes it over\n"
        self.assertEqual(found("src/base/a.cc", other), [(1, "exception"), (1, "ownership")])

    def test_of_a_whole_file(self):
        lines = "// tidy: allow(file-length) a table that is generated\n" + "int a;\n" * 700
        self.assertEqual(found("src/base/a.cc", lines), [])


class PageNames(unittest.TestCase):
    def lines_of(self, text):
        words = {None: {"Pool", "Take", "kv"}, "kv": {"Pool", "Take"}}
        paths = {"src/kv/pool.h", "src/kv/pool.cc", "tests/sim/a.cc"}
        return [line for line, _ in rules.check_page_names(source.File("docs/a.md", text), paths, words)]

    def test_what_is_there(self):
        self.assertEqual(self.lines_of("`src/kv/pool.h`, `src/kv/pool`, `src/kv`, `tests/sim/`\n"), [])
        self.assertEqual(self.lines_of("`src/FOLDER/x.cc`, `README.md`, `pool.h`\n"), [])
        self.assertEqual(self.lines_of("`kv::Pool`, `kv::Pool::Take`, `Pool::Take`, `Pool::Take(1)`, src/gone.h\n"), [])

    def test_what_is_gone(self):
        self.assertEqual(self.lines_of("a\n`src/kv/gone.h`\n`src/gone`\n"), [2, 3])
        self.assertEqual(self.lines_of("`kv::Gone`\n`gone::Pool`\n`Pool::Gone`\n"), [1, 2, 3])


class Registered(unittest.TestCase):
    def test_scripts_that_no_build_runs(self):
        paths = {"tests/cli/run_test.py", "tests/cli/lost_test.py", "tests/cli/fixture.py", "tools/tidy_test.py",
                 "src/base/clock_test.cc"}
        found = [path for path, _ in rules.check_registered(paths, {"run", "tidy_test.py"})]
        self.assertEqual(found, ["tests/cli/lost_test.py"])


class Program(unittest.TestCase):
    def run_in(self, files, *arguments):
        with tempfile.TemporaryDirectory() as root:
            tools = os.path.dirname(os.path.abspath(__file__))
            for name in ["tidy"] + ["tidylib/" + name for name in os.listdir(os.path.join(tools, "tidylib"))]:
                if name.endswith(".py") or name == "tidy":
                    with open(os.path.join(tools, name), encoding="utf-8") as stream:
                        files = {**files, "tools/" + name: stream.read()}
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                    stream.write(text.replace("@ROOT@", root))
            result = subprocess.run([sys.executable, os.path.join(root, "tools/tidy"), *arguments], cwd=root,
                                    capture_output=True, text=True, check=False)
            return result.returncode, result.stdout

    def test_reports_and_exit_status(self):
        cmake = HASH_SPDX + "foreach(module base)\n"
        status, output = self.run_in({"CMakeLists.txt": cmake, "src/base/a.cc": SPDX + "int a;\n"})
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"tidy: \d+ files, 0 findings\n$")
        status, output = self.run_in({"CMakeLists.txt": cmake, "src/base/a.cc": SPDX + "int a; \n"})
        self.assertEqual(status, 1)
        self.assertIn("src/base/a.cc:3: whitespace: ", output)
        self.assertRegex(output, r"tidy: \d+ files, 1 findings\n$")

    def test_headers_alone(self):
        commands = ('[{"directory": "@ROOT@", "file": "@ROOT@/src/base/a.cc", '
                    '"command": "c++ -std=c++20 -Isrc -o a.o -c @ROOT@/src/base/a.cc"}]')
        files = {"build/compile_commands.json": commands, "src/base/a.cc": SPDX + '#include "base/a.h"\n',
                 "src/base/a.h": HEADER + "inline std::string A() { return {}; }\n"}
        # a.cc would not have compiled: nothing is left to do.
        status, output = self.run_in(files, "--headers", "build")
        self.assertEqual((status, output), (0, "tidy: 0 headers that no file begins with, 0 do not compile alone\n"))
        files["src/base/c.h"] = HEADER + "#include <string>\n\ninline std::string C() { return {}; }\n"
        status, output = self.run_in(files, "--headers", "build")
        self.assertEqual((status, output), (0, "tidy: 1 headers that no file begins with, 0 do not compile alone\n"))
        files["src/base/b.h"] = HEADER + "inline std::string B() { return {}; }\n"
        status, output = self.run_in(files, "--headers", "build")
        self.assertEqual(status, 1)
        self.assertIn("src/base/b.h:1: self-contained: ", output)

    def test_headers_that_share_a_precompiled_one(self):
        commands = ('[{"directory": "@ROOT@", "file": "@ROOT@/src/base/a.cc", '
                    '"command": "c++ -std=c++20 -Isrc -o a.o -c @ROOT@/src/base/a.cc"}]')
        files = {"build/compile_commands.json": commands, "src/base/a.cc": SPDX + '#include "base/a.h"\n',
                 "src/base/a.h": HEADER + "#include <map>\n#include <string>\n"}
        for name in "bcdefg":
            body = f'#include "base/a.h"\n\ninline std::string {name}() {{ return {{}}; }}\n'
            files[f"src/base/{name}.h"] = HEADER + body
        tree = {path: source.File(path, text) for path, text in files.items() if path.startswith("src/")}
        entries = {f"src/base/{name}.h": {"file": "a.cc", "command": "c++ -c a.cc"} for name in "bcdefg"}
        bases = headers.choose_bases(sorted(entries), tree, headers.Includes(tree), entries)
        self.assertEqual({header: path for header, (path, _) in bases.items()}, dict.fromkeys(entries, "src/base/a.h"))
        status, output = self.run_in(files, "--headers", "build")
        self.assertEqual((status, output), (0, "tidy: 6 headers that no file begins with, 0 do not compile alone\n"))
        files["src/base/g.h"] = HEADER + '#include "base/a.h"\n\ninline std::vector<int> G() { return {}; }\n'
        status, output = self.run_in(files, "--headers", "build")
        self.assertEqual(status, 1)
        self.assertIn("src/base/g.h:1: self-contained: ", output)

    def test_headers_of_files_that_are_compiled_together(self):
        commands = ('[{"directory": "@ROOT@", "file": "@ROOT@/build/Unity/u.cxx", "command": "c++ -std=c++20 -Isrc '
                    '-Winvalid-pch -include @ROOT@/all.h -o u.o -c @ROOT@/build/Unity/u.cxx"}]')
        files = {"build/compile_commands.json": commands, "src/base/a.cc": SPDX + '#include "base/a.h"\n',
                 "build/Unity/u.cxx": '#include "@ROOT@/src/base/a.cc"\n', "all.h": "#include <string>\n",
                 "src/base/a.h": HEADER + "inline std::string A() { return {}; }\n"}
        # The precompiled header has what a.h forgets.
        status, output = self.run_in(files, "--headers", "build")
        self.assertEqual(status, 1)
        self.assertIn("src/base/a.h:1: self-contained: ", output)
        files["src/base/a.h"] = HEADER + "#include <string>\n\ninline std::string A() { return {}; }\n"
        status, output = self.run_in(files, "--headers", "build")
        self.assertEqual((status, output), (0, "tidy: 1 headers that no file begins with, 0 do not compile alone\n"))

    def test_the_first_of_files_that_are_compiled_together(self):
        commands = ('[{"directory": "@ROOT@", "file": "@ROOT@/build/Unity/u.cxx", "command": "c++ -std=c++20 -Isrc '
                    '-o u.o -c @ROOT@/build/Unity/u.cxx"}]')
        body = "inline std::string {}() {{ return {{}}; }}\n"
        files = {"build/compile_commands.json": commands, "src/base/a.cc": SPDX + '#include "base/a.h"\n',
                 "src/base/b.cc": SPDX + '#include "base/b.h"\n', "src/base/b.h": HEADER + body.format("B"),
                 "src/base/a.h": HEADER + "#include <string>\n\n" + body.format("A"),
                 "build/Unity/u.cxx": '#include "@ROOT@/src/base/a.cc"\n\n#include "@ROOT@/src/base/b.cc"\n'}
        # a.h has been compiled with nothing before it, b.h after the headers of a.h.
        status, output = self.run_in(files, "--headers", "build")
        self.assertEqual(status, 1)
        self.assertIn("src/base/b.h:1: self-contained: ", output)
        self.assertIn("tidy: 1 headers that no file begins with, 1 do not compile alone\n", output)

    def test_flags_without_launcher_and_outputs(self):
        entry = {"file": "x.cc", "command": "/usr/bin/ccache c++ -O2 -fno-tree-ter -MD -MT x.o -MF x.d -o x.o -c x.cc"}
        self.assertEqual(headers.compile_command(entry), ["c++", "-O2"])
        entry = {"file": "x.cc", "command": "clang++ -O2 -Winvalid-pch -Xclang -include-pch -Xclang a.pch "
                                            "-Xclang -include -Xclang a.h -o x.o -c x.cc"}
        self.assertEqual(headers.compile_command(entry), ["clang++", "-O2"])


if __name__ == "__main__":
    unittest.main()
