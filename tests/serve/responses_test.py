# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Stored responses: a conversation that continues one equals the whole conversation sent again; stored ones are
bounded, belong to their key, and can be read and deleted."""
import hashlib
import json
import pathlib
import tempfile
import time
import unittest

from server import DEADLINE_S, NOVA, Server

FIRST = "What is the capital of France?"
SECOND = "And how much is 12 * 7?"


class Stored(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        keys = pathlib.Path(cls.holder.name) / "keys"
        keys.write_text("".join(hashlib.sha256(key.encode()).hexdigest() + "\n" for key in ("one", "two")))
        cls.server = Server(NOVA, "--temp", 0, "--store-responses", 3, "--keys", keys)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.holder.cleanup()

    def ask(self, expected=200, key="one", **fields):
        return self.server.post("/v1/responses", {"max_output_tokens": 24, **fields}, expected,
                                {"Authorization": f"Bearer {key}"})

    def request(self, method, path, expected=200, key="one"):
        status, _, body = self.server.request(method, path, headers={"Authorization": f"Bearer {key}"})
        self.assertEqual(status, expected, body)
        return json.loads(body)

    def test_a_conversation_goes_on(self):
        first = self.ask(input=FIRST)
        self.assertTrue(first["store"])
        whole = self.ask(store=False, input=[{"role": "user", "content": FIRST}, *first["output"],
                                             {"role": "user", "content": SECOND}])
        self.assertFalse(whole["store"])
        second = self.ask(input=SECOND, previous_response_id=first["id"])
        self.assertEqual(second["previous_response_id"], first["id"])
        self.assertEqual(second["output"][0]["content"], whole["output"][0]["content"])
        self.assertEqual(second["usage"]["input_tokens"], whole["usage"]["input_tokens"])
        self.assertEqual(second["timings"]["predicted_n"], second["usage"]["output_tokens"])
        # Continued from there; in a stream, too.
        third = self.server.stream("/v1/responses", {"input": "x", "previous_response_id": second["id"],
                                                     "max_output_tokens": 4}, {"Authorization": "Bearer one"})[-1][1]
        self.assertEqual(third["response"]["timings"]["predicted_n"], 4)
        items = self.request("GET", f"/v1/responses/{third['response']['id']}/input_items")["data"]
        self.assertEqual([item.get("role") for item in items], ["user", "assistant", "user", "assistant", "user"])
        self.request("GET", f"/v1/responses/{whole['id']}", 404)

    def test_read_and_delete(self):
        made = self.ask(input=FIRST)
        path = f"/v1/responses/{made['id']}"
        self.assertEqual(self.request("GET", path), made)
        # Another key does not find the response.
        self.request("GET", path, 404, key="two")
        self.request("DELETE", path, 404, key="two")
        self.ask(404, key="two", input="x", previous_response_id=made["id"])
        self.assertTrue(self.request("DELETE", path)["deleted"])
        error = self.request("GET", path, 404)["error"]["message"]
        self.assertIn(made["id"], error)
        self.assertEqual(self.ask(404, input="x", previous_response_id=made["id"])["error"]["param"],
                         "previous_response_id")

    def test_the_oldest_go_first(self):
        made = [self.ask(input="x", max_output_tokens=1)["id"] for _ in range(4)]
        self.request("GET", f"/v1/responses/{made[0]}", 404)
        for one in made[1:]:
            self.request("GET", f"/v1/responses/{one}")

    def until(self, identifier, *states):
        end = time.monotonic() + DEADLINE_S
        while True:
            response = self.request("GET", f"/v1/responses/{identifier}")
            if response["status"] in states:
                return response
            self.assertLess(time.monotonic(), end, response)
            time.sleep(0.02)

    def start_long(self, expected=200):
        return self.ask(expected, input="Tell me a story.", background=True, max_output_tokens=8000, ignore_eos=True)

    def test_in_the_background(self):
        whole = self.ask(input=FIRST)
        begun = self.ask(input=FIRST, background=True)
        self.assertTrue(begun["background"])
        self.assertIn(begun["status"], ("queued", "in_progress", "completed", "incomplete"))
        ended = self.until(begun["id"], "completed", "incomplete")
        self.assertEqual(ended["status"], whole["status"])
        self.assertEqual(ended["output"][0]["content"], whole["output"][0]["content"])
        self.assertEqual(ended["usage"]["output_tokens"], whole["usage"]["output_tokens"])
        # A conversation continues from it. A completed one cannot be cancelled, and stays unchanged.
        self.ask(input=SECOND, previous_response_id=begun["id"])
        self.assertEqual(self.request("POST", f"/v1/responses/{begun['id']}/cancel"), ended)
        # A prompt that does not fit fails, and the response says why.
        failed = self.ask(input="word " * 9000, background=True)
        self.assertEqual((failed["status"], failed["error"]["code"]), ("failed", "invalid_prompt"))
        self.assertEqual(self.request("GET", f"/v1/responses/{failed['id']}"), failed)

    def test_cancelled_in_the_background(self):
        begun = self.start_long()
        path = f"/v1/responses/{begun['id']}"
        self.ask(400, input="x", previous_response_id=begun["id"])
        self.request("POST", path + "/cancel", 404, key="two")
        self.assertEqual(self.request("POST", path + "/cancel")["status"], "cancelled")
        self.assertEqual(self.request("GET", path)["status"], "cancelled")
        # There are as many as the limit allows; a deleted one is not computed any further.
        running = [self.start_long()["id"] for _ in range(3)]
        self.assertIn("--store-responses", self.start_long(429)["error"]["message"])
        self.request("DELETE", f"/v1/responses/{running[0]}")
        for one in running[1:]:
            self.request("POST", f"/v1/responses/{one}/cancel")
        end = time.monotonic() + DEADLINE_S
        while self.request("GET", "/v1/status")["now"]["running"] > 0:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_what_cannot_be_cancelled(self):
        made = self.ask(input="x", max_output_tokens=1)["id"]
        self.assertIn("background", self.request("POST", f"/v1/responses/{made}/cancel", 400)["error"]["message"])
        self.request("POST", f"/v1/responses/{made}", 404)
        self.request("POST", "/v1/responses/none/cancel", 404)

    def test_what_is_wrong_is_named(self):
        self.assertIn("store", self.ask(400, input="x", store=1)["error"]["message"])
        self.assertIn("stream", self.ask(400, input="x", background=True, stream=True)["error"]["message"])
        self.assertIn("store", self.ask(400, input="x", background=True, store=False)["error"]["message"])
        self.assertIn("conversation", self.ask(400, input="x", conversation="c")["error"]["message"])
        made = self.ask(input="x", max_output_tokens=1)["id"]
        self.assertIn("input", self.ask(400, input=7, previous_response_id=made)["error"]["message"])


if __name__ == "__main__":
    unittest.main()
