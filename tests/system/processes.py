# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""What tests of several processes share: who started whom, who is left, how much memory they have."""
import contextlib
import itertools
import os
import pathlib
import random
import socket
import time

# Of what takes seconds: only a hang takes so long, however busy the machine is.
DEADLINE_S = 300


def _stat(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


def children_of(pid):
    """The processes that a process has started and that have not ended, in the order of their starting."""
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


_kept = []  # sockets whose names tell other tests which ports this one keeps


def port_to_keep(hosts=("127.0.0.1",)):
    """A free port whose next one, where a node's data plane listens, is free too: for this test alone until it ends.
    They are below those that the system gives to connections, and a test that keeps them has bound a name that says so:
    neither a connection nor another test takes them while nobody listens there."""
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


def cpu_seconds_of(pid):
    try:
        fields = _stat(pid)
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid):
    """Bytes of a process's own memory, by the names that the kernel gives them."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, rest = line.partition(":")
        found[name] = int(rest.split()[0]) * 1024
    return found


def resident_of(pid):
    """Bytes of a process in memory, shared ones included: of any process, also of one that holds keys."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has ended")
