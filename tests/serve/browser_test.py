# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The server's page: web/dist is what its sources make, and a person can use it in Chromium. Needs npm, Chromium, and
the network once: exit status 77 says that they are not here."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from server import NOVA, ROOT, Server

WEB = ROOT / "web"
BROWSER = pathlib.Path(__file__).resolve().parent / "browser"
NOT_HERE = 77
KEY = "a key of the test"


def install(folder):
    """Whether npm could install what the lock file names."""
    run = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit"], cwd=folder, capture_output=True,
                         timeout=600)
    if run.returncode != 0:
        print(f"skipped: npm could not install packages: {run.stderr.decode()[-500:]}")
    return run.returncode == 0


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_build(holder):
    """Builds the page from its sources; true where that is what is committed, None where it cannot be built."""
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


def children_of(pid):
    children = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        children += (task / "children").read_text().split()
    return children


def use_page(holder, chromium):
    folder = holder / "browser"
    shutil.copytree(BROWSER, folder)
    if not install(folder):
        return NOT_HERE
    # Slow enough that an answer can be stopped, and a node be lost, while it is written.
    server = Server(NOVA, "--local-nodes", 2, "--link", "5ms", "--split", "auto")
    locked = Server(NOVA, environment={"ASTER_API_KEY": KEY})
    try:
        node = children_of(server.process.pid)[-1]
        urls = [f"http://{one.host}:{one.port}" for one in (server, locked)]
        screenshots = os.environ.get("ASTER_SCREENSHOTS")
        return subprocess.run(["node", "page.mjs", chromium, *urls, KEY, node, *([screenshots] if screenshots else [])],
                              cwd=folder, timeout=600).returncode
    finally:
        server.stop()
        locked.stop()


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
