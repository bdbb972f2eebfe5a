# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster serve --draft: with any drafter, every API gives the same answers as without drafts."""
import concurrent.futures
import json
import subprocess
import unittest

from server import ASTER, COMET, NOVA, ROOT, Server, metrics_of

QUASAR = ROOT / "models/quasar.gguf"
STORY = [{"role": "user", "content": "Tell me a story about a rabbit."}]
SCHEMA = {"type": "object", "properties": {
    "name": {"type": "string", "pattern": "^[A-Z][a-z]{2,9}$"}, "kind": {"enum": ["city", "country"]},
    "size": {"type": "integer", "minimum": 1, "maximum": 900},
    "tags": {"type": "array", "items": {"type": "string", "maxLength": 6}, "maxItems": 3}},
    "required": ["name", "kind", "size", "tags"]}
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {
    "type": "object", "properties": {"what": {"enum": ["the sea", "the sky", "the river"]},
                                     "count": {"type": "integer", "maximum": 99}}, "required": ["what", "count"]}}}


def chat_text(events):
    return "".join(choice["delta"].get("content") or "" for _, chunk in events[:-1] for choice in chunk["choices"])


def everything(server):
    """The answers of each dialect, at once and streaming: nothing in them may depend on drafts."""
    def chat(**more):
        body = {"messages": STORY, "max_tokens": 48, "seed": 3, **more}
        answer = server.post("/v1/chat/completions", body)
        usage.append(answer["usage"])
        return [choice["message"] | {"tool_calls": [call["function"] for call in choice["message"].get(
            "tool_calls") or []], "why": choice["finish_reason"], "logprobs": choice.get("logprobs")}
            for choice in answer["choices"]]

    usage = []
    said = {"greedy": chat(temperature=0), "sampled": chat(temperature=0.9),
            "choices": chat(temperature=0.9, n=3, logprobs=True, top_logprobs=2),
            "penalties": chat(temperature=0.7, presence_penalty=0.5, frequency_penalty=0.5)}
    form = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA}}
    said["form"] = chat(temperature=0.9, response_format=form, max_tokens=200)
    for choice in said["form"]:
        value = json.loads(choice["content"])
        assert value["kind"] in ("city", "country") and 1 <= value["size"] <= 900 and len(value["tags"]) <= 3, value
    said["form, streamed"] = chat_text(server.stream("/v1/chat/completions", {
        "messages": STORY, "seed": 3, "temperature": 0.9, "response_format": form, "max_tokens": 200}))
    assert said["form, streamed"] == said["form"][0]["content"], said
    said["call"] = chat(temperature=0.9, tools=[TOOL], tool_choice="required")
    whole = said["greedy"][0]["content"]
    said["stop"] = chat(temperature=0, stop=whole[len(whole) // 2:][:4])
    said["streamed"] = chat_text(server.stream("/v1/chat/completions", {
        "messages": STORY, "max_tokens": 48, "seed": 3, "temperature": 0}))
    assert said["streamed"] == whole, said
    completion = server.post("/v1/completions", {"prompt": ["One, two,", "The sea"], "max_tokens": 40, "n": 2,
                                                 "temperature": 0.8, "seed": 5})
    usage.append(completion["usage"])
    said["completions"] = [choice["text"] for choice in completion["choices"]]
    said["grammar"] = server.post("/v1/completions", {
        "prompt": "Yes or no? ", "grammar": "root ::= (\"yes\" | \"no\") (\", \" root)?", "max_tokens": 30,
        "temperature": 1.2, "seed": 1})["choices"][0]["text"]
    message = server.post("/v1/messages", {"max_tokens": 48, "messages": STORY, "temperature": 0})
    said["messages"] = [block["text"] for block in message["content"]]
    events = server.stream("/v1/messages", {"max_tokens": 48, "messages": STORY, "temperature": 0})
    said["messages, streamed"] = "".join(
        data["delta"]["text"] for name, data in events if name == "content_block_delta")
    response = server.post("/v1/responses", {"input": STORY[0]["content"], "max_output_tokens": 48, "temperature": 0})
    said["responses"] = response["output"][0]["content"][0]["text"]
    details = [one["completion_tokens_details"] for one in usage]
    details += [response["usage"]["output_tokens_details"], message["usage"]]
    return said, {key: sum(one[key] for one in details)
                  for key in ("accepted_prediction_tokens", "rejected_prediction_tokens")}


class Drafts(unittest.TestCase):
    maxDiff = None
    plain = {}

    @classmethod
    def answer_without_drafts(cls, model):
        if model not in cls.plain:
            server = Server(model)
            try:
                cls.plain[model], drafts = everything(server)
                assert not any(drafts.values()), drafts
            finally:
                server.stop()
        return cls.plain[model]

    def accepts_drafts(self, server, **more):
        """How many draft tokens an answer has depends on measured times, so that one may have none."""
        body = {"messages": STORY, "seed": 3, "temperature": 0, "max_tokens": 48, **more}
        for _ in range(10):
            usage = server.post("/v1/chat/completions", body)["usage"]
            if usage["completion_tokens_details"]["accepted_prediction_tokens"] > 0:
                return True
        return False

    def check(self, model, who, *options):
        expected = self.answer_without_drafts(model)
        server = Server(model, "--draft", who, *options)
        try:
            said, drafts = everything(server)
            if who != "ngram":
                self.assertTrue(drafts["accepted_prediction_tokens"] > 0 or self.accepts_drafts(server))
            values = metrics_of(server)
            status = server.get("/v1/status")["since_start"]
        finally:
            server.stop()
        for way, text in expected.items():
            self.assertEqual(said[way], text, (way, who, options))
        name = model.stem
        made, right = (values[f'aster_draft_{kind}_total{{model="{name}"}}'] for kind in ("tokens", "accepted"))
        self.assertEqual((status["drafted_tokens"], status["accepted_tokens"]), (made, right))
        self.assertGreaterEqual(right, drafts["accepted_prediction_tokens"])
        self.assertGreaterEqual(made - right, drafts["rejected_prediction_tokens"])
        self.assertGreaterEqual(made, right)

    def test_by_the_model_itself(self):
        self.check(QUASAR, "mtp")

    def test_by_the_text(self):
        self.check(NOVA, "ngram", "--draft-max", 8)

    def test_by_a_smaller_model(self):
        self.check(NOVA, COMET)

    def test_on_nodes(self):
        # The nodes are so far apart that draft tokens pay.
        for model, who in ((QUASAR, "mtp"), (NOVA, COMET)):
            self.check(model, who, "--local-nodes", 2, "--split", "0:1,2:out", "--link", "5ms,1Gbit")

    def test_a_form_on_nodes(self):
        """Draft tokens of a constrained answer are accepted there, too."""
        # The text in the form is long and plain enough that a drafter is often right, and the nodes are so far apart
        # that draft tokens pay.
        schema = {"type": "object", "properties": {"story": {"type": "string", "minLength": 400}},
                  "required": ["story"]}
        form = {"type": "json_schema", "json_schema": {"name": "story", "schema": schema}}
        for model, who in ((NOVA, COMET), (QUASAR, "mtp")):
            server = Server(model, "--draft", who, "--local-nodes", 2, "--split", "0:1,2:out", "--link", "5ms,1Gbit")
            try:
                self.assertTrue(self.accepts_drafts(server, response_format=form, max_tokens=200), who)
            finally:
                server.stop()

    def test_on_a_node_that_goes_on_by_itself(self):
        self.check(NOVA, "ngram", "--local-nodes", 2, "--split", "0:1,2:out", "--decode", "node-2=0:out")

    def test_many_at_once(self):
        bodies = [{"messages": [{"role": "user", "content": f"Tell me {i} things."}], "max_tokens": 16 + i,
                   "temperature": (0, 0.8)[i % 2], "seed": i} for i in range(14)]

        def ask(server, body):
            return server.post("/v1/chat/completions", body)["choices"][0]["message"]["content"]

        plain = Server(NOVA)
        try:
            expected = [ask(plain, body) for body in bodies]
        finally:
            plain.stop()
        for options in ((), ("--local-nodes", 2, "--split", "0:1,2:out")):
            server = Server(NOVA, "--draft", COMET, *options)
            try:
                with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
                    self.assertEqual(list(pool.map(lambda body: ask(server, body), bodies)), expected, options)
            finally:
                server.stop()

    def test_several_models(self):
        """A model without a drafter answers without drafts."""
        plain = Server(NOVA, QUASAR)
        drafted = Server(NOVA, QUASAR, "--draft", "mtp")
        try:
            for model in ("nova", "quasar"):
                # At first: what does not pay is tried less and less.
                self.assertEqual(self.accepts_drafts(drafted, model=model), model == "quasar")
                body = {"model": model, "messages": STORY, "max_tokens": 32, "temperature": 0}
                answer = drafted.post("/v1/chat/completions", body)
                self.assertEqual(answer["choices"], plain.post("/v1/chat/completions", body)["choices"])
        finally:
            plain.stop()
            self.assertIn("nova", drafted.stop())

    def test_what_cannot_draft_is_refused(self):
        for who, why in (("mtp", "no MTP block"), ("pulsar", "same vocabulary"), ("no-such-model", "--draft")):
            run = subprocess.run([ASTER, "serve", NOVA, "--port", "0", "--draft", who], capture_output=True, timeout=60)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(why, run.stderr.decode())


if __name__ == "__main__":
    unittest.main()
