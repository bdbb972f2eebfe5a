# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The official clients of OpenAI, Anthropic, Ollama, Vercel's AI SDK and LangChain hold conversations with the server.
Needs npm, and the network once: exit status 77 says that they are missing."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from server import NOVA, Server

CLIENTS = pathlib.Path(__file__).resolve().parent / "clients"
NOT_HERE = 77


def main():
    if not shutil.which("npm") or not shutil.which("node"):
        print("skipped: there is no npm here")
        return NOT_HERE
    with tempfile.TemporaryDirectory() as holder:
        folder = pathlib.Path(holder)
        for name in ("package.json", "package-lock.json", "clients.mjs", "ensemble.mjs"):
            shutil.copy(CLIENTS / name, folder / name)
        install = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit"], cwd=folder,
                                 capture_output=True, timeout=600)
        if install.returncode != 0:
            print(f"skipped: npm could not install the clients: {install.stderr.decode()[-500:]}")
            return NOT_HERE
        server = Server(NOVA, "--ensemble", "twice=nova,nova", "--temp", 0, "--store-responses", 8)
        try:
            runs = [subprocess.run(["node", script, f"http://{server.host}:{server.port}"], cwd=folder, timeout=1200)
                    for script in ("clients.mjs", "ensemble.mjs")]
        finally:
            server.stop()
    return max(run.returncode for run in runs)


if __name__ == "__main__":
    sys.exit(main())
