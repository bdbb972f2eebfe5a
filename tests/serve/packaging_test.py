# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Manual pages have every option of their commands; units, alerts, dashboards and probes name existing things."""
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import pathlib
import unittest

from pods import Pods
from server import ASTER, DEADLINE_S, NOVA, ROOT, Server

try:
    import yaml
except ImportError:
    yaml = None

PACKAGING = ROOT / "packaging"
CONTAINER = PACKAGING / "Containerfile"


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, check=True, **more).stdout.decode()


def options_of(*command):
    found = set()
    for line in run(ASTER, *command, "--help").splitlines():
        # "  -n,--tokens N  The most tokens …"
        names = re.match(r"\s{1,6}((?:-\w,)?--[\w-]+(?:,\s*--?[\w-]+)*)", line)
        if names:
            found.update(name for name in names[1].replace(" ", "").split(",") if name.startswith("--"))
    return found


def unit(name, bindir, sysconfdir="/etc"):
    text = (PACKAGING / f"systemd/{name}.service.in").read_text()
    return text.replace("@bindir@", bindir).replace("@sysconfdir@", sysconfdir)


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.holder.name)
        run(ASTER, "man", "--folder", cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def commands(self):
        for page in sorted(self.folder.glob("*.1")):
            yield page, page.stem.split("-")[1:]

    def test_every_command_has_one(self):
        names = {page.stem for page in self.folder.glob("*.1")}
        listed = re.findall(r"^  (\w+) ", run(ASTER, "--help").split("Subcommands:")[1], re.MULTILINE)
        self.assertGreater(len(listed), 15)
        self.assertLessEqual({f"aster-{name}" for name in listed}, names)
        self.assertIn("aster", names)
        self.assertIn("aster-cluster-join", names)

    def test_a_page_has_all_options(self):
        for page, command in self.commands():
            text = re.sub(r"\\f[BIR]", " ", page.read_text().replace("\\-", "-"))
            self.assertEqual(options_of(*command) - set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text)), set(), page)
        self.assertGreater(len(options_of("serve")), 40)

    @unittest.skipUnless(shutil.which("man"), "there is no man here")
    def test_pages_can_be_read(self):
        for page, command in self.commands():
            shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True,
                                   env={"MANWIDTH": "100", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"})
            self.assertEqual((shown.returncode, shown.stderr.decode()), (0, ""), page)
            self.assertIn("SYNOPSIS", shown.stdout.decode())

    def test_one_page(self):
        self.assertEqual(run(ASTER, "man", "cluster", "join"), (self.folder / "aster-cluster-join.1").read_text())
        self.assertIn("ASTER_API_KEY", run(ASTER, "man", "serve"))
        missing = subprocess.run([ASTER, "man", "srve"], capture_output=True)
        self.assertEqual(missing.returncode, 3)
        self.assertIn(b"there is no command srve", missing.stderr)


class Units(unittest.TestCase):
    def start_of(self, name):
        text = unit(name, "/usr/bin")
        return text, shlex.split(re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1])

    def test_the_server_s_starts_it(self):
        text, start = self.start_of("aster-serve")
        self.assertEqual(start[0], "/usr/bin/aster")
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "serve.toml")
            config.write_text("[serve]\nport = 0\n")
            arguments = [str(config) if word == "/etc/asterism/serve.toml" else word for word in start[1:]]
            self.assertIn(str(config), arguments)
            printed = run(ASTER, *arguments, "--print-config")
            self.assertIn("port=0\n", printed)
            grace = int(re.search(r"^# grace=(\d+)$", printed, re.MULTILINE)[1])
        # The unit stops the server later than running requests have to end.
        self.assertGreater(int(re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)[1]), grace)

    def test_the_node_s_starts_it(self):
        text, start = self.start_of("aster-node")
        with tempfile.TemporaryDirectory() as folder:
            arguments = [PACKAGING / "node.toml" if word == "/etc/asterism/node.toml" else word for word in start[1:]]
            self.assertIn(PACKAGING / "node.toml", arguments)
            ended = subprocess.run([ASTER, *arguments], capture_output=True,
                                   env={**os.environ, "ASTER_CONFIG": folder, "XDG_CACHE_HOME": folder})
        # Without a cluster the node says what to do, and the unit does not restart it.
        self.assertIn(b"aster cluster", ended.stderr)
        prevented = re.search(r"^RestartPreventExitStatus=(.*)$", text, re.MULTILINE)[1].split()
        self.assertIn(str(ended.returncode), prevented)

    def test_options_of_the_node_s_sample_exist(self):
        keys = re.findall(r"^#? ?(\w+)=", (PACKAGING / "node.toml").read_text(), re.MULTILINE)
        self.assertGreater(len(keys), 2)
        self.assertLessEqual({f"--{key}" for key in keys}, options_of("node"))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd here")
    def test_systemd_finds_no_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            pages = pathlib.Path(folder, "man")
            run(ASTER, "man", "--folder", pages / "man1")
            os.symlink(ASTER, pathlib.Path(folder, "aster"))
            for name in ("aster-serve", "aster-node"):
                path = pathlib.Path(folder, f"{name}.service")
                path.write_text(unit(name, folder))
                checked = subprocess.run(["systemd-analyze", "verify", path], capture_output=True,
                                         env={**os.environ, "MANPATH": str(pages)})
                self.assertNotIn(name, checked.stderr.decode())


def metrics_in(expression):
    """Names of metrics, each with the labels in its selector."""
    found = []
    for name, selector in re.findall(r"\b((?:aster_\w+|up)\b)(\{[^}]*\})?", expression):
        found.append((name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))))
    return found


@unittest.skipUnless(yaml, "there is no python3-yaml here")
class Monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.labels = {"up": {"job"}}
        # A local model and one on nodes have different figures.
        for options in ((), ("--local-nodes", "2")):
            server = Server(NOVA, "--kv-memory", "64MiB", *options)
            try:
                server.post("/v1/completions", {"prompt": "Hello", "max_tokens": 3})
                text = ""
                # A request is counted once its reply has been sent.
                end = time.monotonic() + DEADLINE_S
                while "aster_http_requests_total{" not in text and time.monotonic() < end:
                    text = server.request("GET", "/metrics")[2].decode()
            finally:
                server.stop()
            for name, labels in re.findall(r"^(\w+)(\{.*\})? \S+$", text, re.MULTILINE):
                cls.labels.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))

    def check(self, expression):
        metrics = metrics_in(expression)
        self.assertTrue(metrics, expression)
        known = {"instance", "job"}
        for name, labels in metrics:
            self.assertIn(name, self.labels, expression)
            self.assertLessEqual(labels, self.labels[name] | {"instance", "job"}, expression)
            known |= self.labels[name]
        for group in re.findall(r"\bby \(([^)]*)\)", expression):
            self.assertLessEqual({label.strip() for label in group.split(",")}, known, expression)

    def test_alerts_ask_for_metrics_that_there_are(self):
        groups = yaml.safe_load((PACKAGING / "prometheus/asterism.rules.yml").read_text())["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertGreater(len(rules), 5)
        for rule in rules:
            self.check(rule["expr"])
            self.assertTrue(rule["annotations"]["action"])

    def test_the_dashboard_shows_metrics_that_there_are(self):
        board = json.loads((PACKAGING / "grafana/asterism.json").read_text())
        expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        expressions += [variable["query"].replace("label_values", "") for variable in board["templating"]["list"]
                        if variable["type"] == "query"]
        self.assertGreater(len(expressions), 20)
        for expression in expressions:
            self.check(expression)

    def test_a_wrong_query_would_be_found(self):
        for wrong in ("rate(aster_no_such_total[5m])", 'aster_running{nodel="x"}', "sum by (modle) (aster_running)"):
            with self.assertRaises(AssertionError):
                self.check(wrong)


class Orchestrator(Pods):
    @unittest.skipUnless(yaml, "there is no python3-yaml here")
    def test_probes_and_configuration_are_the_server_s(self):
        self.check(self.documents(PACKAGING / "kubernetes"))

    @staticmethod
    def documents(folder):
        documents = []
        for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
            documents += yaml.safe_load_all((folder / name).read_text())
        return documents

    @unittest.skipUnless(yaml, "there is no python3-yaml here")
    def test_several_servers_are_each_what_one_is(self):
        one, = (document for document in self.documents(PACKAGING / "kubernetes") if document["kind"] == "Deployment")
        kinds = self.check(self.documents(PACKAGING / "kubernetes/several"))
        several = kinds["StatefulSet"]["spec"]
        self.assertEqual(several["template"]["spec"]["containers"], one["spec"]["template"]["spec"]["containers"])
        self.assertEqual(several["serviceName"], kinds["Service"]["metadata"]["name"])
        # Metrics of the server decide their number.
        scaler = kinds["HorizontalPodAutoscaler"]["spec"]
        self.assertEqual(scaler["scaleTargetRef"]["name"], kinds["StatefulSet"]["metadata"]["name"])
        metrics = self.server.request("GET", "/metrics", headers={"x-api-key": "secret"})[2].decode()
        for metric in scaler["metrics"]:
            self.assertIn(f"\n{metric['pods']['metric']['name']}{{", metrics)

    @unittest.skipUnless(yaml, "there is no python3-yaml here")
    def test_an_endpoint_picker_finds_servers_and_metrics(self):
        folder = PACKAGING / "kubernetes/several"
        runs = next(document for document in self.documents(folder) if document["kind"] == "StatefulSet")["spec"]
        common, = yaml.safe_load((folder / "kustomization.yaml").read_text())["labels"]
        labels = runs["template"]["metadata"]["labels"] | common["pairs"]
        # A pool has these fields, and no others that are required (inference.networking.k8s.io/v1).
        pool = yaml.safe_load((folder / "inference-pool.yaml").read_text())
        self.assertEqual((pool["apiVersion"], pool["kind"]), ("inference.networking.k8s.io/v1", "InferencePool"))
        self.assertEqual(set(pool["spec"]), {"selector", "targetPorts", "endpointPickerRef"})
        self.assertLessEqual(pool["spec"]["selector"]["matchLabels"].items(), labels.items())
        ports = [port["containerPort"] for port in runs["template"]["spec"]["containers"][0]["ports"]]
        self.assertEqual([port["number"] for port in pool["spec"]["targetPorts"]], ports)
        picker = pool["spec"]["endpointPickerRef"]
        self.assertEqual((set(picker), picker["failureMode"]), ({"name", "port", "failureMode"}, "FailOpen"))
        # The page's settings for a picker.
        [text] = re.findall(r"```yaml\n(plugins:.*?)```", (ROOT / "docs/gateway.md").read_text(), re.DOTALL)
        [plugin] = yaml.safe_load(text)["plugins"]
        [engine] = plugin["parameters"]["engineConfigs"]
        self.assertEqual(labels[plugin["parameters"]["engineLabelKey"]], engine["name"])
        # The request has no key. Each metric is a gauge with one value and no time stamp.
        server = Server(NOVA, "--kv-memory", "64MiB", "--open-metrics", environment={"ASTER_API_KEY": "secret"})
        try:
            self.assertEqual(server.request("GET", "/v1/models")[0], 401)
            status, _, answer = server.request("GET", "/metrics")
        finally:
            server.stop()
        self.assertEqual(status, 200)
        for spec in ("queuedRequestsSpec", "runningRequestsSpec", "kvUsageSpec"):
            self.assertIn(f"# TYPE {engine[spec]} gauge\n", answer.decode())
            value, = re.findall(rf"^{engine[spec]}{{.*}} (\S+)$", answer.decode(), re.MULTILINE)
            self.assertTrue(0 <= float(value) <= 1, spec)
        self.assertEqual(self.server.request("GET", "/metrics")[0], 401)

    @unittest.skipUnless(shutil.which("bash"), "there is no bash here")
    def test_the_container_s_health_check(self):
        command = json.loads(re.search(r"^HEALTHCHECK .*?CMD (\[.*\])$", CONTAINER.read_text(), re.MULTILINE)[1])
        here = [word.replace("8080", str(self.server.port)) for word in command]
        self.assertEqual(subprocess.run(here).returncode, 0)
        closed = [word.replace("8080", "1") for word in command]
        self.assertNotEqual(subprocess.run(closed, stderr=subprocess.DEVNULL).returncode, 0)


if __name__ == "__main__":
    unittest.main()
