# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The server's page: web/dist is what its sources build, and a user can use it in Chromium. Needs npm, Chromium, and
the network once: exit status 77 says that they are missing."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from server import ASTER, NOVA, ROOT, Server
from slices import write_with_template
from tools_test import THINKER

sys.path.insert(0, str(ROOT / "tests/system"))
from cluster_case import Machine  # noqa: E402
from processes import wait_for  # noqa: E402

WEB = ROOT / "web"
BROWSER = pathlib.Path(__file__).resolve().parent / "browser"
PULSAR = ROOT / "models/pulsar.gguf"
NOT_HERE = 77
KEY = "a key of the test"
ADMIN_KEY = "an administrator's key of the test"


def install(folder):
    """Whether npm could install the packages of the lock file."""
    run = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit"], cwd=folder, capture_output=True,
                         timeout=600)
    if run.returncode != 0:
        print(f"skipped: npm could not install packages: {run.stderr.decode()[-500:]}")
    return run.returncode == 0


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_build(holder):
    """Builds the page from its sources; true if the result is what is committed, None if it cannot be built."""
    folder = holder / "web"
    shutil.copytree(WEB, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    if not install(folder):
        return None
    subprocess.run(["npm", "run", "build"], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=300)
    built, committed = files_of(folder / "dist"), files_of(WEB / "dist")
    different = sorted(name for name in built.keys() | committed.keys() if built.get(name) != committed.get(name))
    if different:
        print(f"web/dist is not what the sources make ({', '.join(different)}): cd web && npm ci && npm run build, and "
              "commit web/dist")
    return not different


class Cluster:
    """Two machines with a node each, and a server on the first that answers with both."""

    def __init__(self, holder):
        self.desk, self.lap = Machine(holder, "desk"), Machine(holder, "lap")
        self.desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        self.desk.start_node(NOVA, "--kv-cache", holder / "desk-cache")
        code = json.loads(self.desk.aster("cluster", "invite", "--json"))["code"]
        self.lap.aster("cluster", "join", code, self.desk.address, "--name", "lap")
        self.lap.start_node("--join", self.desk.address)
        wait_for(self.has_both, "a cluster of two nodes")
        environment = self.desk.environment | {"ASTER_ADMIN_KEY": ADMIN_KEY}
        self.server = Server(NOVA, "--cluster", "--split", "desk=0:2,lap=3:out", environment=environment)

    def has_both(self):
        nodes = json.loads(self.desk.aster("cluster", "status", "--json"))["nodes"]
        return sum(node["answered"] for node in nodes) == 2

    def stop(self):
        self.server.stop()
        for machine in (self.desk, self.lap):
            machine.stop_node(signal.SIGKILL)


def save_sessions(holder, environment):
    """A conversation of one turn, and a system message without one."""
    def aster(*arguments):
        return subprocess.run([ASTER, *map(str, arguments)], check=True, capture_output=True,
                              env={**os.environ, **environment}).stdout
    words = json.loads(aster("inspect", NOVA, "--json"))["shape"]["vocab_size"]
    turns = [{"role": "user", "content": "Who are you?"}, {"role": "assistant", "content": "I keep the **light**."}]
    talk, rules = holder / "talk.json", holder / "rules.txt"
    talk.write_text(json.dumps({"aster_conversation": 1, "vocab_size": words, "system": "", "messages": turns,
                                "text": "", "tokens": list(range(1, 40))}))
    rules.write_text("You keep a lighthouse. " * 20)
    aster("session", "save", "lighthouse", NOVA, "--conversation", talk)
    aster("session", "save", "rules", NOVA, "--prompt-file", rules)


def use_page(holder, chromium):
    folder = holder / "browser"
    shutil.copytree(BROWSER, folder)
    if not install(folder):
        return NOT_HERE
    # The model calls tools in the form of its template.
    write_with_template(NOVA, holder / "thinker.gguf", THINKER)
    with contextlib.ExitStack() as stack:
        def started(server):
            stack.callback(server.stop)
            return server

        # Slow enough that an answer can be stopped while it is written.
        environment = {"XDG_DATA_HOME": str(holder / "data"), "ASTER_API_KEY": "", "ASTER_ADMIN_KEY": ""}
        save_sessions(holder, environment)
        slow = started(Server(NOVA, "--local-nodes", 2, "--link", "5ms", environment=environment))
        locked = started(Server(holder / "thinker.gguf", "--kv-cache", holder / "cache",
                                environment=environment | {"ASTER_API_KEY": KEY}))
        together = started(Server("--ensemble", f"both={NOVA},{PULSAR}", "--policy", "both=spans", "--temp", 0,
                                  environment=environment))
        cluster = started(Cluster(holder))
        what = {"chromium": chromium, "key": KEY, "adminKey": ADMIN_KEY, "lap": cluster.lap.node.pid,
                "screenshots": os.environ.get("ASTER_SCREENSHOTS")}
        for name, server in (("open", slow), ("locked", locked), ("together", together),
                             ("clustered", cluster.server)):
            what[name] = f"http://{server.host}:{server.port}"
        return subprocess.run(["node", "page.mjs", json.dumps(what)], cwd=folder, timeout=1800).returncode


def main():
    if not shutil.which("npm") or not shutil.which("node"):
        print("skipped: there is no npm here")
        return NOT_HERE
    with tempfile.TemporaryDirectory() as name:
        holder = pathlib.Path(name)
        is_same = check_build(holder)
        if is_same is None:
            return NOT_HERE
        if not is_same:
            return 1
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if not chromium:
            print("skipped: there is no chromium here")
            return NOT_HERE
        return use_page(holder, chromium)


if __name__ == "__main__":
    sys.exit(main())
