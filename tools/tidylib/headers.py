# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Compiles every header alone, so that a file which includes it needs to know nothing else. A header that its own .cc
file includes first was compiled so when that file was, unless the build compiles several files as one."""

import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import shlex
import subprocess

from tidylib.source import read_tree


# Reads headers in a third of the time that GCC takes.
COMPILER = "clang++-19"


class Includes:
    """Who includes whom, among our files."""

    def __init__(self, files):
        self.of = {path: ["src/" + name for _, bracket, name in file.includes() if bracket == '"']
                   for path, file in files.items()}
        self.by = {}
        for path in sorted(self.of):
            for name in self.of[path]:
                self.by.setdefault(name, []).append(path)

    def includers(self, header):
        """Who includes a header, the direct ones first, then who includes those."""
        seen, waiting = {header}, [header]
        for path in waiting:
            for includer in self.by.get(path, ()):
                if includer not in seen:
                    seen.add(includer)
                    waiting.append(includer)
                    yield includer

    def included(self, header):
        """The header, and everything of ours that it includes, directly or not."""
        seen, waiting = {header}, [header]
        for path in waiting:
            for name in self.of.get(path, ()):
                if name in self.of and name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return seen


def is_proved(header, includes, commands):
    """Whether the .cc file beside a header begins with it."""
    source = header.removesuffix(".h") + ".cc"
    return source in commands and includes.of.get(source, [])[:1] == [header]


def flags_for(root, header, includes, commands):
    """The compile command that a header needs, or None where its folder's files are not built here."""
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
    """Changes with the header, with any of ours that it includes, and with its flags."""
    texts = [[path, files[path].text] for path in sorted(includes.included(header))]
    state = json.dumps(texts + [compile_command(entry)])
    return hashlib.sha256(state.encode()).hexdigest()


def compile_command(entry):
    """The words of a compile command without launcher, inputs and outputs."""
    words = entry["arguments"] if "arguments" in entry else shlex.split(entry["command"])
    if os.path.basename(words[0]) in ("ccache", "sccache"):
        words = words[1:]
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ"):
            skip = True
        elif word not in ("-c", "-MD", "-MMD", entry["file"]):
            kept.append(word)
    return kept


def compiles_alone(header, entry):
    """What the compiler complains about when it sees nothing but this header, twice; or nothing."""
    include = f'#include "{header[len("src/"):]}"\n'
    command = [COMPILER, *compile_command(entry)[1:], "-w", "-fsyntax-only", "-x", "c++", "-"]
    result = subprocess.run(command, input=include * 2, capture_output=True, text=True, cwd=entry["directory"],
                            check=False)
    return "" if result.returncode == 0 else result.stderr


def read_passed(stamp):
    """Header → the digest with which it last compiled."""
    if not os.path.exists(stamp):
        return {}
    with open(stamp, encoding="utf-8") as stream:
        return json.load(stream)


def check_headers(root, build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as stream:
        commands = {os.path.relpath(entry["file"], root): entry for entry in json.load(stream)}
    files = {file.path: file for file in read_tree(root)[0] if file.path.startswith("src/")}
    includes = Includes(files)
    headers = sorted(path for path, file in files.items() if file.is_header and not is_proved(path, includes, commands))
    entries = {header: flags_for(root, header, includes, commands) for header in headers}
    digests = {header: digest_of(header, files, includes, entry) for header, entry in entries.items() if entry}
    stamp = os.path.join(build, "headers-alone.json")
    passed = read_passed(stamp)
    changed = [header for header, digest in digests.items() if passed.get(header) != digest]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        complaints = dict(zip(changed, pool.map(lambda header: compiles_alone(header, entries[header]), changed)))
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
