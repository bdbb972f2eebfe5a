# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Shared by tests of several processes: children, processes left over, memory."""
import contextlib
import fcntl
import itertools
import os
import pathlib
import random
import socket
import subprocess
import time

# For operations that take seconds: only a hang takes this long, however busy the machine is.
DEADLINE_S = 300


def _stat(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


def children_of(pid):
    """The running children of a process, in the order of their start."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                fields = _stat(entry.name)
                if int(fields[1]) == pid and fields[0] != "Z":
                    found.append((int(fields[19]), int(entry.name)))
        except (OSError, IndexError):
            continue
    return [number for _, number in sorted(found)]


def has_ended(pid):
    try:
        return _stat(pid)[0] == "Z"
    except OSError:
        return True


_kept = []  # sockets whose names tell other tests which ports are taken


def port_to_keep(hosts=("127.0.0.1",)):
    """A free port whose next one, for a node's data plane, is free too: reserved for this test until it ends. They are
    below those that the system gives to connections, and a test reserves them by binding a socket with that name:
    neither a connection nor another test takes them while nothing listens there."""
    while True:
        port = random.randrange(10000, 32000, 2)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for host, of_pair in itertools.product(hosts, (port, port + 1)):
                stack.enter_context(socket.create_server((host, of_pair)))
            name = socket.socket(socket.AF_UNIX)
            name.bind(f"\0aster-test-port-{port}")
            _kept.append(name)
            return port


def wait_for(condition, what, deadline_s=DEADLINE_S):
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {deadline_s} s")
        time.sleep(0.02)


def start_held(command, **keywords):
    """Starts a program that writes its answer piece by piece. The pipe holds one piece: the program is at most two
    pieces ahead of what has been read, and cannot end before. A read returns one piece, or as much of it as it asks
    for, and drops the rest."""
    reader, writer = os.pipe2(os.O_DIRECT)
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    try:
        run = subprocess.Popen([str(part) for part in command], stdout=writer, stderr=subprocess.PIPE, bufsize=0,
                               **keywords)
    finally:
        os.close(writer)
    run.stdout = os.fdopen(reader, "rb", 0)
    return run


def read_piece(run):
    return run.stdout.read(4096)


def let_go(run):
    """The pipe holds several pieces from now on."""
    fcntl.fcntl(run.stdout, fcntl.F_SETPIPE_SZ, 65536)


def catches(pid, which):
    """Whether the process handles a signal."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return int(line.split()[1], 16) >> (which - 1) & 1 == 1
    return False


def cpu_seconds_of(pid):
    try:
        fields = _stat(pid)
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid):
    """Bytes of a process's own memory, by the kernel's names for them."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, rest = line.partition(":")
        found[name] = int(rest.split()[0]) * 1024
    return found


def _status_bytes(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has ended")


def resident_of(pid):
    """Bytes of a process in memory, including shared ones. Works for any process, even if it holds keys."""
    return _status_bytes(pid, "VmRSS")


def peak_of(pid):
    """The most that it had in memory at any time."""
    return _status_bytes(pid, "VmHWM")
