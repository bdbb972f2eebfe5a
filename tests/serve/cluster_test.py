# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Changes of the cluster through the server's API: who may make them, and their effect on answers."""
import json
import signal
import sys
import time
import unittest

from server import NOVA, ROOT, Server, metrics_of

sys.path.insert(0, str(ROOT / "tests/system"))
from cluster_case import PROMPT, ClusterCase  # noqa: E402
from processes import DEADLINE_S, wait_for  # noqa: E402

ADMIN = {"Authorization": "Bearer an administrator"}
STORY = {"messages": [{"role": "user", "content": "Tell me a story about a boat."}], "seed": 7, "max_tokens": 60}


def message_of(refusal):
    return refusal["error"]["message"]


class Changes(ClusterCase):
    def serve(self, *options, **environment):
        machine = self.machine("desk")
        server = Server(NOVA, *options, environment=machine.environment | environment)
        self.addCleanup(server.stop)
        return server

    def story(self, server):
        return server.post("/v1/chat/completions", STORY, headers=ADMIN)["choices"][0]["message"]["content"]

    def invitation(self, server):
        """One that the node of this machine answers. A busy node may say so later than an invitation waits."""
        until = time.monotonic() + DEADLINE_S
        while True:
            invitation = server.post("/v1/cluster/invite", {"minutes": 1}, headers=ADMIN)
            if invitation["answered"]:
                return invitation
            self.assertLess(time.monotonic(), until, invitation)

    def nodes_of(self, server):
        return [hop["node"] for hop in server.get("/v1/status")["models"][0]["hops"]]

    def test_a_server_without_a_cluster(self):
        server = self.serve(ASTER_ADMIN_KEY="an administrator")
        for what in ("invite", "drain", "revoke"):
            refusal = server.post(f"/v1/cluster/{what}", {"node": "lap"}, expected=409, headers=ADMIN)
            self.assertIn("--cluster", message_of(refusal))
        self.assertIsNone(server.get("/v1/status")["cluster"])

    def test_who_may_change_it(self):
        self.two(NOVA)
        keyless = self.serve("--cluster")
        refusal = keyless.post("/v1/cluster/invite", {}, expected=403, headers=ADMIN)
        self.assertIn("ASTER_ADMIN_KEY", message_of(refusal))
        self.assertEqual(keyless.get("/v1/status")["cluster"], {"takes_changes": False, "drained": []})
        server = self.serve("--cluster", ASTER_ADMIN_KEY="an administrator", ASTER_API_KEY="a person")
        person = {"Authorization": "Bearer a person"}
        server.get("/v1/status", headers=person)
        server.get("/v1/status", headers=ADMIN)
        server.get("/v1/status", expected=401)
        for headers in (person, person | {"x-api-key": "an administrator"}):
            refusal = server.post("/v1/cluster/invite", {}, expected=401, headers=headers)
            self.assertEqual(refusal["error"]["code"], "admin_key_needed")
        # Pages of this machine may chat, but not do this.
        for origin, expected in (("http://localhost:5173", 403), (f"http://127.0.0.1:{server.port}", 200)):
            headers = ADMIN | {"Host": f"127.0.0.1:{server.port}", "Origin": origin}
            server.get("/v1/models", headers=headers)
            server.post("/v1/cluster/invite", {}, expected=expected, headers=headers)
        for what, wrong in (("invite", {"minutes": 0}), ("drain", {}), ("drain", {"node": 3}), ("revoke", {})):
            server.post(f"/v1/cluster/{what}", wrong, expected=400, headers=ADMIN)
        for what in ("drain", "revoke"):
            refusal = server.post(f"/v1/cluster/{what}", {"node": "attic"}, expected=404, headers=ADMIN)
            self.assertIn("desk" if what == "drain" else "lap", message_of(refusal))

    def test_conversations_of_a_drained_machine_move_first(self):
        # The drained machine is switched off as soon as the reply has come.
        desk, lap = self.two(NOVA)
        # Its own machine may drain it, and the one with the key; no other. Orders may be repeated in both directions.
        self.assertIn("the cluster's key", lap.aster("cluster", "drain", "desk", check=5))
        for _ in range(2):
            drained = json.loads(lap.aster("node", "drain", "--json"))
            self.assertEqual((drained["name"], drained["drained"], drained["leaving"]), ("lap", True, 0))
        # A busy node may answer later than these wait.
        wait_for(lambda: "drained" in desk.aster("cluster", "status", "--once").decode(), "a status of lap")
        wait_for(lambda: "node lap is drained" in desk.aster("run", NOVA, "--cluster", "--split", "lap=0:out", *PROMPT,
                                                             check=5), "a refusal, as lap is drained")
        for _ in range(2):
            self.assertIn("is used again", desk.aster("cluster", "drain", "lap", "--undo").decode())
        server = self.serve("--cluster", "--split", "desk=0:2,lap=3:out", ASTER_ADMIN_KEY="an administrator")
        begun = {"messages": [{"role": "user", "content": "Tell me a story about a boat. " * 30}], "seed": 7,
                 "max_tokens": 8}
        first = server.post("/v1/chat/completions", begun, headers=ADMIN)
        self.assertGreater(first["usage"]["prompt_tokens"], 256)
        plan = first["timings"]["plan"]
        self.assertEqual((plan["nodes"], plan["direct"], plan["held_n"], plan["beside"]),
                         ("desk=0:2,lap=3:out", False, 0, 0))
        self.assertGreater(plan["first_token_ms"], plan["per_token_ms"])
        self.assertIn("may be switched off", desk.aster("cluster", "drain", "lap").decode())
        lap.stop_node(signal.SIGKILL)
        self.assertEqual(self.nodes_of(server), ["desk"])
        fetched = [value for name, value in metrics_of(server).items() if name.startswith("aster_fetched_bytes_total")]
        self.assertGreater(fetched[0], 0)
        goes_on = begun | {"messages": [*begun["messages"], first["choices"][0]["message"],
                                        {"role": "user", "content": "And then?"}]}
        second = server.post("/v1/chat/completions", goes_on, headers=ADMIN)
        cached = second["usage"]["prompt_tokens_details"]["cached_tokens"]
        self.assertGreater(cached, 256)
        self.assertEqual(second["timings"]["plan"]["held_n"], cached)
        self.assertNotIn("lap", second["timings"]["plan"]["nodes"])

    def test_a_machine_is_invited_drained_and_revoked(self):
        desk, lap = self.two(NOVA)
        server = self.serve("--cluster", "--split", "desk=0:2,lap=3:out", ASTER_ADMIN_KEY="an administrator")
        story = self.story(server)
        self.assertEqual(self.nodes_of(server), ["desk", "lap"])

        invitation = self.invitation(server)
        self.assertEqual(invitation["command"].split()[:3], ["aster", "cluster", "join"])
        self.machine("attic").aster(*invitation["command"].split()[1:], "--name", "attic")

        drained = server.post("/v1/cluster/drain", {"node": "lap"}, headers=ADMIN)
        self.assertEqual((drained["name"], drained["drained"]), ("lap", True))
        self.assertEqual(server.get("/v1/status")["cluster"]["drained"], [drained["node"]])
        self.assertEqual(self.nodes_of(server), ["desk"])
        self.assertEqual(self.story(server), story)
        # The last machine cannot be drained, as no other could answer.
        refusal = server.post("/v1/cluster/drain", {"node": "desk"}, expected=503, headers=ADMIN)
        self.assertIn("no node can compute", message_of(refusal))
        self.assertEqual(self.story(server), story)
        self.assertEqual(self.nodes_of(server), ["desk"])
        # When it is used again, it may get all layers.
        server.post("/v1/cluster/drain", {"node": drained["node"], "drained": False}, headers=ADMIN)
        server.post("/v1/cluster/drain", {"node": "desk"}, headers=ADMIN)
        self.assertEqual(self.nodes_of(server), ["lap"])
        self.assertEqual(self.story(server), story)
        server.post("/v1/cluster/drain", {"node": "desk", "drained": False}, headers=ADMIN)

        revoked = server.post("/v1/cluster/revoke", {"node": "lap"}, headers=ADMIN)
        self.assertEqual(revoked["node"], drained["node"])
        self.assertIn("this machine", message_of(
            server.post("/v1/cluster/revoke", {"node": "desk"}, expected=400, headers=ADMIN)))
        until = time.monotonic() + DEADLINE_S
        while any(node["name"] == "lap" for node in json.loads(desk.aster("cluster", "status", "--json"))["nodes"]):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
        self.assertEqual(self.story(server), story)
        lap.stop_node(signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
