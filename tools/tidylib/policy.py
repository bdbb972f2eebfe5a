# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Tables of what is allowed where; edit them here."""

import re

MAX_COLUMNS = 100  # of C++
MAX_SCRIPT_COLUMNS = 120  # and of documentation, except tables and code
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70  # with signature and closing brace

# Lowest first: a folder of src/ may include itself and the folders before it. The list in CMakeLists.txt has the same
# order (folders that do not exist yet are only here).
MODULES = ["base", "crypto", "gguf", "pull", "quant", "kernels", "kv", "compute", "vulkan", "text", "jinja",
           "chat", "grammar", "model", "engine", "disk", "wire", "net", "discovery", "cluster", "rpc", "plan", "stage",
           "conduct", "fetch", "draft", "drafting", "respond", "eval", "node", "open", "ensemble", "serve", "cli"]

# For modules whose folders have an order: the lowest step first, folders of one step together. A file includes its own
# step and those before it; tests include any.
LEVELS = {"model": [["shape", "families"], ["parts"], ["memory"], ["files"], ["weights"], ["layers"], ["forward"],
                    ["drafters"], ["synth"], ["reference"]]}

# The folders of src/ in which a third-party header may be named; None: anywhere.
THIRD_PARTY = [
    ("fmt/", None),
    ("spdlog/", ["base"]),
    ("xxhash.h", ["base"]),
    ("xxh_x86dispatch.h", ["base"]),
    ("pcre2.h", ["text"]),
    ("utf8proc.h", ["text", "jinja"]),
    ("nlohmann/json_fwd.hpp", ["pull", "text", "jinja", "chat", "grammar", "model", "respond", "eval", "open",
                               "ensemble", "serve", "cli"]),
    ("nlohmann/json.hpp", ["pull", "text", "jinja", "chat", "grammar", "model", "respond", "eval", "open", "ensemble",
                           "serve", "cli"]),
    ("curl/", ["pull"]),
    ("CLI/", ["cli"]),
    ("vulkan/", ["vulkan"]),
    ("asio", ["net"]),
    ("openssl/", ["crypto", "net", "cluster"]),
    ("aster/cluster/v1/", ["rpc"]),
    ("grpc/", ["rpc"]),
    ("grpcpp/", ["rpc"]),
    ("google/protobuf", ["rpc"]),
    ("httplib.h", ["serve"]),
    ("toml++/", ["cli"]),
    ("editline/", ["cli"]),
    ("histedit.h", ["cli"]),
]
TEST_HEADERS = ("gtest/", "gmock/")
BENCHMARK_HEADERS = ("benchmark/",)

# Headers with .h that belong to the system. Those of the C library are named <cstdint> and so on.
SYSTEM_HEADERS = re.compile(
    r"(sys|arpa|net|netinet|linux|asm|sanitizer)/\w+\.h$|"
    r"(fcntl|unistd|pthread|sched|dirent|dlfcn|poll|termios|netdb|pwd|spawn|"
    r"ifaddrs|glob|ucontext|execinfo|cpuid|malloc|xlocale)\.h$")
VECTOR_HEADERS = re.compile(r"([a-z]mm|imm|x86)intrin\.h$|arm_\w+\.h$")


class Ban:
    """A banned expression: a pattern over code without comments and strings, and the replacement."""

    def __init__(self, rule, pattern, advice, applies=lambda file: True):
        self.rule = rule
        self.pattern = re.compile(pattern)
        self.advice = advice
        self.applies = applies


def outside(*prefixes):
    return lambda file: not file.path.startswith(prefixes)


def in_library(file):
    return file.path.startswith("src/") and not file.is_test


def call(names):
    """Calls of free functions with these names, not of members or functions of other namespaces."""
    return r"(?<![\w.:>~])(?:std::|::)?(?:" + names + r")\s*\((?!\s*\)\s*const)"


TRANSCENDENTAL = ("exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|hypot|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|"
                  "erf|erfc|tgamma|lgamma")

BANS = [
    Ban("number-parsing",
        call("sto(?:i|l|ll|ul|ull|f|d|ld)|ato(?:i|l|ll|f)|strto(?:l|ll|ul|ull|f|d|ld|imax|umax)|s?scanf|fscanf"),
        "use std::from_chars: it has no locale, no exception and says where it stopped"),
    Ban("printing", call("v?f?printf|v?sn?printf|puts|fputs|putchar|perror"),
        "use fmt", lambda file: in_library(file) and file.path != "src/base/check.cc"),
    Ban("printing", r"\bstd::(?:w?cout|w?cerr|w?clog|endl|[io]?stringstream)\b",
        "use fmt; a library returns text or a Result and prints nothing", in_library),
    Ban("stopping", call("abort|exit|_exit|_Exit|quick_exit|terminate"),
        "return a Result for what can go wrong, CHECK for what cannot",
        lambda file: file.path.startswith("src/") and
        not file.path.startswith(("src/base/check", "src/cli/main/"))),
    Ban("randomness", call("s?rand|s?random_r|[dlm]rand48") +
        r"|\b(?:std::)?(?:random_device|mt19937(?:_64)?|minstd_rand0?|default_random_engine|"
        r"(?:uniform_int|uniform_real|normal|bernoulli|discrete)_distribution)\b",
        "use base/random.h: the same numbers on every platform; SystemSeed() where they must not be guessed",
        outside("src/base/random")),
    Ban("locking", r"\bstd::(?:(?:recursive_|shared_)?(?:timed_)?mutex|shared_mutex|lock_guard|unique_lock|scoped_lock|"
        r"shared_lock|condition_variable(?:_any)?)\b",
        "use aster::Mutex, MutexLock, CondVar (base/mutex.h): the compiler checks what they guard",
        outside("src/base/mutex.h")),
    Ban("time", r"\bsleep_(?:for|until)\b|" + call("sleep|usleep|nanosleep|clock_nanosleep") +
        r"|\b(?:steady|system|high_resolution)_clock::now\b|" + call("gettimeofday|clock_gettime"),
        "use a Clock (base/clock.h): tests own its time", outside("src/base/clock", "bench/", "tests/")),
    Ban("libm", call("(?:" + TRANSCENDENTAL + ")f?"),
        "use the project's own function: libraries round differently, and results must not",
        lambda file: file.module in ("kernels", "compute") and not file.is_test),
    Ban("using-namespace", r"\busing\s+namespace\b", "name what is used"),
    Ban("ownership", r"\bnew\s*\(|\bnew\s+[\w:]+|\bdelete\s+[\w(*:]+|\bdelete\s*(?:\(|\[)|" +
        call("malloc|calloc|realloc|free|aligned_alloc|posix_memalign"),
        "use std::make_unique or a container", outside("bench/")),
]

# Words that texts for users must not have: help, errors and log lines (string literals of src/), README and docs. The
# replacements are in docs/glossary.md, the one page that may name them.
WORDS = [(re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in [
    (r"\bwho(?:m)?ever\b|\bsomebody\b|\bnobody\b(?! can tell a broken)",
     "name the node, client, process or person"),
    (r"\bremember(?:s|ed|ing)?\b", "write of the KV cache, KV rows, cached tokens; or of what is kept or known"),
    (r"\bguess(?:es|ed|ing)\b|\bguess ahead\b|\bfore(?:see[sn]?|tell(?:s|ing)?|told)\b",
     "write of draft tokens, a drafter, speculative decoding; a model predicts"),
    (r"\bhand(?:s|ed|ing)?[- ]over\b|\bcatch(?:es|ing)? up\b", "write of KV transfer, KV sync"),
    (r"\bwho (?:reads?|answers?|decodes)\b|\bwhat was read\b", "write of prefill nodes and the decode node"),
    (r"\bput back\b|\bg(?:ives?|ave|iving) way\b", "write preempted, evicted, freed, refused"),
    (r"\bst(?:ands?|ood) still\b|\bh[au]ng(?:s|ing)? up\b", "write stalled, disconnected"),
    (r"\bunder way\b", "write in flight, running"),
    (r"\bassembly line\b", "write pipeline parallel"),
    (r"\bcome again\b", "write refused with 429"),
    (r"\banew\b|\bin vain\b|\bheld against\b", "write again; unused or cancelled; compared with"),
    (r"\b(?:is|are|was) gone\b", "write failed, lost, disconnected, removed"),
    (r"\blikeliest\b|\bso many\b|\bwhat is left\b", "name the number or the thing: the N most likely tokens"),
]]
WORDS_PAGE = "docs/glossary.md"

# Pages about the past, which may name things that no longer exist.
HISTORIES = "docs/measurements/"

LEFTOVERS = re.compile(r"\b(?:TODO|FIXME|XXX|HACK|WIP)\b|\b[Ss]tub(?:s|bed)?\b")
# Folders of one user; written so that this file does not match itself.
FOREIGN = re.compile(r"(?<![\w.}])/(?:work|root)" + r"/\w|(?<![\w.}])/home/" + r"[a-z]\w*")
SPDX = (r"SPDX-FileCopyrightText: 20\d\d The Asterism authors", r"SPDX-License-Identifier: MIT")
EXCEPTION = re.compile(r"(?://|#) tidy: allow\(([\w-]+)\)[ \t]*(.*)")
WHOLE_FILE_RULES = ("spdx", "header", "file-length", "orphan-test")
WHOLE_FILE_LINES = 10
