# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Compiles every header alone, so that a file that includes it need not know anything else. A header that its own .cc
file includes first was compiled alone with that file, unless the build compiles several files as one or reads
precompiled headers before."""

import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import shlex
import subprocess
import tempfile

from tidylib.source import read_tree


# clang reads headers in a third of GCC's time.
COMPILER = "clang++-19"
# Reading a header from outside takes about as long as reading this many of the project.
OUTSIDE_COST = 5


class Includes:
    """Which of the project's files include which."""

    def __init__(self, files):
        self.of = {path: ["src/" + name for _, bracket, name in file.includes() if bracket == '"']
                   for path, file in files.items()}
        self.by = {}
        for path in sorted(self.of):
            for name in self.of[path]:
                self.by.setdefault(name, []).append(path)

    def includers(self, header):
        """The files that include a header, the direct ones first, then those that include these."""
        seen, waiting = {header}, [header]
        for path in waiting:
            for includer in self.by.get(path, ()):
                if includer not in seen:
                    seen.add(includer)
                    waiting.append(includer)
                    yield includer

    def included(self, header):
        """The header, and all headers of the project that it includes, directly or not."""
        seen, waiting = {header}, [header]
        for path in waiting:
            for name in self.of.get(path, ()):
                if name in self.of and name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return seen


def read_commands(root, build):
    """The compile command of each file, and the files that are compiled with nothing before their first line: alone, or
    as the first of several. Files that the build compiles together have the command of the file that includes them."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as stream:
        entries = json.load(stream)
    commands, alone = {}, set()
    for entry in entries:
        path = os.path.relpath(entry["file"], root)
        if "/Unity/" in path:
            with open(entry["file"], encoding="utf-8") as stream:
                sources = re.findall(r'^#include "(.*)"$', stream.read(), re.MULTILINE)
            commands.update((os.path.relpath(source, root), entry) for source in sources)
            if not has_precompiled(entry):
                alone.update(os.path.relpath(source, root) for source in sources[:1])
            continue
        commands[path] = entry
        if not has_precompiled(entry):
            alone.add(path)
    return commands, alone


def is_proved(header, includes, alone):
    """Whether the .cc file beside a header begins with it."""
    source = header.removesuffix(".h") + ".cc"
    return source in alone and includes.of.get(source, [])[:1] == [header]


def flags_for(root, header, includes, commands):
    """The compile command for a header, or None if its folder's files are not built here."""
    folder = os.path.dirname(header)
    beside = sorted(path for path in includes.of if os.path.dirname(path) == folder)
    for path in itertools.chain(includes.includers(header), beside):
        if path in commands:
            return commands[path]
    if any(name.endswith(".cc") for name in os.listdir(os.path.join(root, folder))):
        return None
    module = "/".join(header.split("/")[:2]) + "/"
    return next((commands[path] for path in sorted(commands) if path.startswith(module)), None)


def digest_of(header, files, includes, entry):
    """A digest that changes with the header, with any header of the project that it includes, and with its flags."""
    texts = [[path, files[path].text] for path in sorted(includes.included(header))]
    state = json.dumps(texts + [compile_command(entry)])
    return hashlib.sha256(state.encode()).hexdigest()


def words_of(entry):
    return entry["arguments"] if "arguments" in entry else shlex.split(entry["command"])


def has_precompiled(entry):
    """Whether the command reads another header before the file."""
    return any(word in ("-include", "-include-pch") for word in words_of(entry))


def compile_command(entry):
    """The words of a compile command without launcher, inputs, outputs and precompiled headers."""
    words = words_of(entry)
    if os.path.basename(words[0]) in ("ccache", "sccache"):
        words = words[1:]
    # Each argument for clang's own compiler is preceded by -Xclang.
    words = [word for word, after in zip(words, [*words[1:], ""]) if word != "-Xclang" or after == "-fno-pch-timestamp"]
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ", "-include", "-include-pch"):
            skip = True
        elif word in ("-Winvalid-pch", "-fpch-preprocess"):
            continue
        elif word not in ("-c", "-MD", "-MMD", entry["file"]) and not word.startswith("-fno-tree-"):  # GCC's alone
            kept.append(word)
    return kept


def run_compiler(entry, header, repeats, *options):
    """Compiles lines that include a header."""
    command = [COMPILER, *compile_command(entry)[1:], "-w", *options, "-"]
    include = f'#include "{header[len("src/"):]}"\n'
    return subprocess.run(command, input=include * repeats, capture_output=True, text=True, cwd=entry["directory"],
                          check=False)


def compiles_alone(header, entry, parsed=None):
    """Compiles only this header, twice, and returns the compiler's errors, or an empty text. `parsed`: a precompiled
    header of one that this header includes, so that it need not be read again."""
    options = ("-include-pch", parsed) if parsed else ()
    result = run_compiler(entry, header, 2, "-fsyntax-only", "-x", "c++", *options)
    if result.returncode != 0 and parsed:
        return compiles_alone(header, entry)  # the plain text gives the complete error
    return "" if result.returncode == 0 else result.stderr


def cost_of(path, files, includes):
    """The time to read a header, in units of one header of the project."""
    known = includes.included(path)
    outside = {name for each in known for _, bracket, name in files[each].includes() if bracket == "<"}
    return len(known) + OUTSIDE_COST * len(outside)


def flags_key(entry):
    """The flags that matter for precompiled headers: all but the include paths."""
    words = compile_command(entry)
    return tuple(word for before, word in zip(["", *words], words)
                 if not word.startswith(("-I", "-isystem")) and before not in ("-I", "-isystem"))


def choose_bases(headers, files, includes, entries):
    """For each header, the base that is precompiled for it: one that it includes itself, directly or not, so that
    nothing that it does not include is visible. Each base in turn is the one that saves most."""
    keys = {header: flags_key(entries[header]) for header in headers}
    closures = {header: includes.included(header) - {header} for header in headers}
    costs = {path: cost_of(path, files, includes) for path in set().union(*closures.values())}
    bases, saved = {}, dict.fromkeys(headers, 0)
    while True:
        gains = {}
        for header in headers:
            for path in closures[header]:
                if costs[path] > saved[header]:
                    base = (path, keys[header])
                    gains[base] = gains.get(base, 0) + costs[path] - saved[header]
        # Precompiling a base takes about twice as long as reading it.
        best = max(gains, key=lambda base: (gains[base] - 2 * costs[base[0]], base), default=None)
        if best is None or gains[best] <= 2 * costs[best[0]]:
            return bases
        for header in headers:
            path = best[0]
            if path in closures[header] and keys[header] == best[1] and costs[path] > saved[header]:
                bases[header], saved[header] = best, costs[path]


def precompile(bases, entries, folder, pool):
    """The file in `folder` of each base; bases that do not compile are left out."""
    users = {base: header for header, base in sorted(bases.items())}
    paths = {base: os.path.join(folder, f"{number}.pch") for number, base in enumerate(sorted(users))}

    def make(base):
        options = ("-x", "c++-header", "-o", paths[base])
        return run_compiler(entries[users[base]], base[0], 1, *options).returncode == 0

    return {base: paths[base] for base, is_made in zip(sorted(users), pool.map(make, sorted(users))) if is_made}


def complaints_of(headers, files, includes, entries):
    """The compiler's errors for each header; empty if there are none."""
    bases = choose_bases(headers, files, includes, entries)
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool, tempfile.TemporaryDirectory() as folder:
        parsed = precompile(bases, entries, folder, pool)
        compiled = pool.map(
            lambda header: compiles_alone(header, entries[header], parsed.get(bases.get(header))), headers)
        return dict(zip(headers, compiled))


def read_passed(stamp):
    """For each header, the digest with which it last compiled."""
    if not os.path.exists(stamp):
        return {}
    with open(stamp, encoding="utf-8") as stream:
        return json.load(stream)


def check_headers(root, build):
    commands, alone = read_commands(root, build)
    files = {file.path: file for file in read_tree(root)[0] if file.path.startswith("src/")}
    includes = Includes(files)
    headers = sorted(path for path, file in files.items() if file.is_header and not is_proved(path, includes, alone))
    entries = {header: flags_for(root, header, includes, commands) for header in headers}
    digests = {header: digest_of(header, files, includes, entry) for header, entry in entries.items() if entry}
    stamp = os.path.join(build, "headers-alone.json")
    passed = read_passed(stamp)
    changed = [header for header, digest in digests.items() if passed.get(header) != digest]
    complaints = complaints_of(changed, files, includes, entries)
    failed = [header for header in changed if complaints[header]]
    for header in failed:
        first = re.search(r"error: (.*)", complaints[header])
        advice = first[1] if first else complaints[header].strip()
        print(f"{header}:1: self-contained: include what it uses: {advice}")
    with open(stamp, "w", encoding="utf-8") as stream:
        json.dump({header: digest for header, digest in digests.items() if header not in failed}, stream)
    skipped = len(headers) - len(digests)
    print(f"tidy: {len(digests)} headers that no file begins with, {len(failed)} do not compile alone"
          + (f"; {skipped} are for other processors" if skipped else ""))
    return 1 if failed else 0
