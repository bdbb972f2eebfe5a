# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""What manifests for an orchestrator and a running server must agree about."""
import pathlib
import re
import subprocess
import tempfile
import unittest

from server import ASTER, NOVA, ROOT, Server

CONTAINER = ROOT / "packaging/Containerfile"


class Pods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(NOVA, "--kv-memory", "64MiB", environment={"ASTER_API_KEY": "secret"})

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def check(self, documents):
        """Probes, arguments and ports of a deployment must be those of the server; `documents` by kind."""
        kinds = {document["kind"]: document for document in documents}
        runs = (kinds.get("Deployment") or kinds["StatefulSet"])["spec"]
        pod = runs["template"]["spec"]
        container = pod["containers"][0]
        # Probes have no key.
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            asked = container[probe]["httpGet"]
            self.assertEqual(self.server.request("GET", asked["path"])[0], 200, probe)
            self.assertIn(asked["port"], [port["name"] for port in container["ports"]])
        # The arguments, with the configuration at its place in the volume.
        with tempfile.TemporaryDirectory() as config:
            for name, text in kinds["ConfigMap"]["data"].items():
                pathlib.Path(config, name).write_text(text)
            mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
            claimed = {claim["metadata"]["name"] for claim in runs.get("volumeClaimTemplates", [])}
            self.assertEqual({volume["name"] for volume in pod["volumes"]} | claimed, set(mounted))
            arguments = [word.replace(mounted["configuration"], config) for word in container["args"]]
            printed = subprocess.run([ASTER, *arguments, "--print-config"], capture_output=True,
                                     check=True).stdout.decode()
        self.assertIn(f"port={container['ports'][0]['containerPort']}\n", "\n" + printed.replace("# ", ""))
        grace = int(re.search(r"^# grace=(\d+)$", printed, re.MULTILINE)[1])
        self.assertGreater(pod["terminationGracePeriodSeconds"], grace)
        self.assertIn(f"--uid {pod['securityContext']['runAsUser']}", CONTAINER.read_text())
        return kinds
