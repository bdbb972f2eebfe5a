# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The Debian package and `cmake --install`: built, installed into a scratch root, run from there, and removed."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from server import ASTER, ROOT

BUILD = pathlib.Path(ASTER).resolve().parents[1]
# dpkg calls system programs that may be missing in a user's path.
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
CONTAINER = ROOT / "packaging/Containerfile"


def run(*words, check=True, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True,
                          env={"PATH": PATH, "HOME": "/nonexistent", "LANG": "C.UTF-8"}, **more)
    if check and done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
    return done.stdout.decode()


def files_in(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


class Scratch(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)
        self.folder = pathlib.Path(self.holder.name)

    def answers(self, program):
        told = json.loads(run(program, "run", "-p", "Hi", "-n", "2", "--json"))
        self.assertEqual(told["model"], str(program.resolve().parents[1] / "share/asterism/models/nova.gguf"))
        self.assertEqual(told["tokens"]["generated"], 2)


@unittest.skipUnless(shutil.which("cpack") and shutil.which("dpkg") and shutil.which("dpkg-shlibdeps"),
                     "there is no cpack, dpkg or dpkg-dev here")
class DebianPackage(Scratch):
    def dpkg(self, *words):
        # A root folder of one's own needs no root user, but dpkg requires the owners of files.
        fake = [] if os.geteuid() == 0 else ["fakeroot"]
        return run(*fake, "dpkg", f"--root={self.root}", "--force-script-chrootless", "--force-depends",
                   "--force-unsafe-io", "--log=/dev/null", *words)

    @unittest.skipUnless(os.geteuid() == 0 or shutil.which("fakeroot"), "this is not root, and there is no fakeroot")
    def test_it_is_installed_and_removed(self):
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", self.folder)
        package, = self.folder.glob("asterism_*.deb")
        self.root = self.folder / "root"
        (self.root / "var/lib/dpkg/updates").mkdir(parents=True)
        (self.root / "var/lib/dpkg/info").mkdir()
        (self.root / "var/lib/dpkg/status").touch()

        fields = run("dpkg-deb", "-f", package)
        self.assertRegex(fields, r"(?m)^Depends: .*\blibgrpc\+\+")
        self.assertRegex(fields, r"(?m)^Version: " + re.escape(run(ASTER, "--version").split()[1]) + "$")

        self.dpkg("-i", package)
        program = self.root / "usr/bin/aster"
        self.answers(program)
        self.assertIn(b"aster\\-serve", gzip.open(self.root / "usr/share/man/man1/aster-serve.1.gz").read())
        for unit, command in (("aster-serve", "serve"), ("aster-node", "node")):
            text = (self.root / f"usr/lib/systemd/system/{unit}.service").read_text()
            self.assertIn(f"\nExecStart=/usr/bin/aster --config /etc/asterism/{command}.toml {command}\n", text)
            self.assertNotIn("@", text.split("[Unit]")[1])
        for script in ("bash-completion/completions/aster", "zsh/vendor-completions/_aster",
                       "fish/vendor_completions.d/aster.fish"):
            self.assertIn("cluster", (self.root / "usr/share" / script).read_text())
        run("bash", "-n", self.root / "usr/share/bash-completion/completions/aster")

        # The sample configuration is valid, and shows the defaults.
        sample = self.root / "etc/asterism/serve.toml"
        self.assertEqual(run(program, "--config", sample, "serve", "--print-config"),
                         run(program, "serve", "--print-config"))
        sample.write_text('[serve]\nport=9\n')
        self.dpkg("-r", "asterism")
        left = files_in(self.root) - {name for name in files_in(self.root) if name.startswith("var/")}
        self.assertEqual(left, {"etc/asterism/serve.toml", "etc/asterism/node.toml"})
        self.assertEqual(sample.read_text(), '[serve]\nport=9\n')
        self.dpkg("-P", "asterism")
        self.assertEqual({name for name in files_in(self.root) if not name.startswith("var/")}, set())

    def test_scripts_are_of_a_shell(self):
        for name in ("postinst", "prerm", "postrm"):
            script = ROOT / "packaging/debian" / name
            run("sh", "-n", script)
            self.assertTrue(os.access(script, os.X_OK))
        for name in (ROOT / "packaging/debian/conffiles").read_text().split():
            self.assertIn(pathlib.Path(name).name, ("serve.toml", "node.toml"))


class Installed(Scratch):
    def test_it_is_installed_and_removed_again(self):
        prefix = self.folder / "local"
        run("cmake", "--install", BUILD, "--prefix", prefix)
        self.answers(prefix / "bin/aster")
        unit = (prefix / "lib/systemd/system/aster-serve.service").read_text()
        self.assertIn(f"\nExecStart={prefix}/bin/aster --config {prefix}/etc/asterism/serve.toml serve\n", unit)
        # The user's changes stay when the next version is installed.
        sample = prefix / "etc/asterism/serve.toml"
        sample.write_text("[serve]\nport=9\n")
        run("cmake", "--install", BUILD, "--prefix", prefix)
        self.assertEqual(sample.read_text(), "[serve]\nport=9\n")
        # Others' files, too.
        other = prefix / "share/man/man1/other.1"
        other.write_text("of another program")

        uninstall = ("cmake", f"-DLIST={BUILD}/installed.txt", "-P", ROOT / "packaging/uninstall.cmake")
        run(*uninstall)
        self.assertEqual(files_in(prefix), {"share/man/man1/other.1", "etc/asterism/serve.toml",
                                            "etc/asterism/node.toml"})
        self.assertFalse((prefix / "share/asterism").exists())
        with self.assertRaisesRegex(AssertionError, "Nothing was installed from this build folder"):
            run(*uninstall)

    def test_the_build_has_the_target(self):
        build = (BUILD / "build.ninja").read_text()
        self.assertIn("\nbuild uninstall: phony", build)


class ContainerFile(unittest.TestCase):
    def setUp(self):
        text = re.sub(r"\\\n\s*", "", CONTAINER.read_text())
        self.steps = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]

    def all(self, name):
        return [rest for step, rest in self.steps if step == name]

    def test_it_has_two_stages_and_known_steps(self):
        self.assertEqual(self.all("FROM"), ["debian:12 AS build", "debian:12-slim"])
        known = "FROM COPY RUN WORKDIR USER ENV VOLUME EXPOSE HEALTHCHECK ENTRYPOINT CMD"
        self.assertLessEqual({step for step, _ in self.steps}, set(known.split()))

    def test_what_it_copies_and_builds_exists(self):
        for copied in self.all("COPY"):
            source, _ = copied.split()
            self.assertTrue((ROOT / source).exists(), source)
        commands = " && ".join(self.all("RUN"))
        for preset, target in re.findall(r"tools/build (\w+) (\w+)", commands):
            presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
            self.assertIn(preset, [entry["name"] for entry in presets])
            self.assertIn(f"\nbuild {target}: phony", (BUILD / "build.ninja").read_text())
        self.assertIn("source=/src/build/release", commands)
        ignored = (ROOT / ".dockerignore").read_text().split()
        self.assertNotIn("models", ignored)
        self.assertIn("build", ignored)

    def test_it_starts_the_server(self):
        start = [word for name in ("ENTRYPOINT", "CMD") for word in json.loads(self.all(name)[0])]
        self.assertEqual(start[0], "aster")
        printed = run(ASTER, *start[1:], "--print-config")
        self.assertIn('\nhost="0.0.0.0"\n', printed)
        self.assertIn(f"\n# port={self.all('EXPOSE')[0]}\n", printed)
        # Without a key it does not answer other machines.
        self.assertIn("key", subprocess.run([ASTER, *start[1:]], capture_output=True).stderr.decode())


if __name__ == "__main__":
    unittest.main()
