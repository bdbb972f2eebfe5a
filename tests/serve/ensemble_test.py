# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster serve --ensemble: several models answer with one name, in every dialect."""
import json
import subprocess
import sys
import unittest

from server import ASTER, NOVA, ROOT, Server, metrics_of

sys.path.insert(0, str(ROOT / "tests/system"))
from processes import wait_for  # noqa: E402

PULSAR = ROOT / "models/pulsar.gguf"
PROGRAM = "What does this program print?\nx = 5\nn = x * 8\nprint(n)"
SUM = "What is 12 + 7?"
TOOLS = [{"type": "function", "function": {
    "name": "multiply", "description": "Multiplies.", "parameters": {
        "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}}]
FORM = {"type": "json_schema", "json_schema": {"name": "n", "schema": {
    "type": "object", "properties": {"n": {"enum": [1, 2, 3]}}, "required": ["n"], "additionalProperties": False}}}


# Fields that may differ between two equal answers.
OWN = {"id", "item_id", "call_id", "created", "created_at", "completed_at", "model", "ensemble", "usage", "timings",
       "system_fingerprint"}


def without_own(value):
    if isinstance(value, (list, tuple)):
        return [without_own(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: without_own(each) for key, each in value.items()
            if key not in OWN and not key.endswith(("_duration", "_count"))}


def usage_of(value):
    """The last reported tokens of the prompt and the answer; or None."""
    found = None
    for each in value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else ():
        found = usage_of(each) or found
    if isinstance(value, dict):
        for names in (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens"),
                      ("prompt_eval_count", "eval_count")):
            if value.get(names[1]):
                return value[names[0]] + value.get("cache_read_input_tokens", 0), value[names[1]]
    return found


def chat(text, model, **fields):
    return {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 150, "temperature": 0,
            **fields}


def content_of(events):
    return "".join(choice["delta"].get("content") or "" for _, event in events if event != "[DONE]"
                   for choice in event["choices"])


class Ensembles(unittest.TestCase):
    maxDiff = None
    @classmethod
    def setUpClass(cls):
        cls.server = Server(
            NOVA, PULSAR, "--ensemble", "both=nova,pulsar", "--ensemble", "twice=nova,nova",
            "--ensemble", "first=nova,pulsar", "--weights", "first=1,0", "--alias", "together=both", "--threads", 1,
            "--ensemble", "second=nova,pulsar", "--weights", "second=0,2.5", "--store-responses", 4)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, text, model, **fields):
        return self.server.post("/v1/chat/completions", chat(text, model, **fields))

    def said(self, text, model, **fields):
        choice, = self.ask(text, model, **fields)["choices"]
        return choice["message"]["content"], choice["finish_reason"]

    def until_idle(self):
        wait_for(lambda: not any(sum(model["now"].values()) for model in self.server.get("/v1/status")["models"]),
                 "the end of what is not wanted any more")

    def test_it_is_a_model_like_others(self):
        listed = {model["id"]: model for model in self.server.get("/v1/models")["data"]}
        self.assertEqual(list(listed), ["nova", "pulsar", "both", "together", "twice", "first", "second"])
        self.assertEqual([member["name"] for member in listed["twice"]["ensemble"]], ["nova", "nova 2"])
        self.assertEqual([member["weight"] for member in listed["second"]["ensemble"]], [0, 2.5])
        self.assertNotIn("ensemble", listed["nova"])
        self.assertEqual(self.server.get("/v1/models/both")["context_length"], listed["nova"]["context_length"])
        self.assertIn("both:latest", [model["name"] for model in self.server.get("/api/tags")["models"]])
        self.assertEqual(self.ask(SUM, "together")["choices"][0]["message"]["content"], self.said(SUM, "both")[0])

    def test_a_model_twice_is_that_model(self):
        for fields in ({}, {"temperature": 1, "seed": 7}, {"stop": ["A", "is"]}, {"max_tokens": 3},
                       {"response_format": FORM, "temperature": 1, "seed": 3}, {"logprobs": True, "top_logprobs": 2}):
            one, twice = self.ask(PROGRAM, "nova", **fields), self.ask(PROGRAM, "twice", **fields)
            told = twice["choices"][0].pop("ensemble")
            self.assertEqual(twice["choices"], one["choices"], fields)
            self.assertEqual([candidate["authors"] for candidate in told["candidates"]], [["nova", "nova 2"]])
            for count in ("prompt_tokens", "completion_tokens", "total_tokens"):
                self.assertEqual(twice["usage"][count], 2 * one["usage"][count], fields)

    def test_several_choices(self):
        fields = {"n": 3, "temperature": 1, "seed": 11}
        one, twice = self.ask(PROGRAM, "nova", **fields), self.ask(PROGRAM, "twice", **fields)
        for choice in twice["choices"]:
            del choice["ensemble"]
        self.assertEqual(twice["choices"], one["choices"])
        self.assertEqual(twice["usage"]["completion_tokens"], 2 * one["usage"]["completion_tokens"])

    def test_a_member_of_all_the_weight_is_that_model(self):
        for alone, model in (("nova", "first"), ("pulsar", "second")):
            for fields in ({}, {"temperature": 1, "seed": 5}):
                self.assertEqual(self.said(PROGRAM, model, **fields), self.said(PROGRAM, alone, **fields))

    def test_the_more_certain_member_is_taken_in_every_dialect(self):
        expected, _ = self.said(PROGRAM, "pulsar")
        self.assertIn("Answer: 40", expected)
        message = [{"role": "user", "content": PROGRAM}]
        claude = {"model": "both", "messages": message, "max_tokens": 150, "temperature": 0}
        ollama = {"model": "both", "messages": message, "options": {"temperature": 0, "num_predict": 150}}
        generate = {"model": "both", "prompt": PROGRAM, "options": ollama["options"]}
        responses = {"model": "both", "input": PROGRAM, "max_output_tokens": 150, "temperature": 0}
        told = []

        # Answers as a whole.
        answer = self.ask(PROGRAM, "both")
        told.append((answer["choices"][0]["message"]["content"], answer["choices"][0]["ensemble"]))
        answer = self.server.post("/v1/messages", claude)
        told.append((answer["content"][0]["text"], answer["ensemble"]))
        answer = self.server.post("/v1/responses", responses)
        told.append((answer["output"][0]["content"][0]["text"], answer["ensemble"]))
        answer = self.server.post("/api/chat", {**ollama, "stream": False})
        told.append((answer["message"]["content"], answer["ensemble"]))
        answer = self.server.post("/api/generate", {**generate, "stream": False})
        told.append((answer["response"], answer["ensemble"]))

        # Answers in pieces, as their author wrote them.
        events = self.server.stream("/v1/chat/completions", chat(PROGRAM, "both"))
        self.assertGreater(len(events), 10)
        told.append((content_of(events), events[-2][1]["choices"][0]["ensemble"]))
        events = self.server.stream("/v1/messages", claude)
        told.append(("".join(event["delta"]["text"] for name, event in events if name == "content_block_delta"),
                     events[-2][1]["ensemble"]))
        events = self.server.stream("/v1/responses", responses)
        told.append(("".join(event["delta"] for name, event in events if name == "response.output_text.delta"),
                     events[-1][1]["response"]["ensemble"]))
        lines = [json.loads(line) for line in self.server.request("POST", "/api/chat", ollama)[2].splitlines()]
        told.append(("".join(line["message"]["content"] for line in lines), lines[-1]["ensemble"]))

        for text, ensemble in told:
            self.assertEqual(text, expected)
            self.assertEqual(ensemble["author"], "pulsar")
            self.assertEqual([candidate["taken"] for candidate in ensemble["candidates"]], [False, True])
            self.assertEqual([member["answered"] for member in ensemble["members"]], [True, True])

    def test_every_dialect_says_what_the_model_says(self):
        """Stop strings, tools and forms, at once and in pieces; usage counts both members."""
        function = TOOLS[0]["function"]
        schema = FORM["json_schema"]["schema"]
        asked = {"max_tokens": 150, "temperature": 0}
        options = {"temperature": 0, "num_predict": 150}
        program, product = ([{"role": "user", "content": text}] for text in (PROGRAM, "Multiply 74 and 24."))
        cases = [
            ("/v1/chat/completions", {"messages": program, "stop": [" is"], **asked}),
            ("/v1/chat/completions", {"messages": product, "tools": TOOLS, "tool_choice": "required", **asked}),
            ("/v1/chat/completions", {"messages": program, "response_format": FORM, **asked}),
            ("/v1/completions", {"prompt": "The sky is", "stop": ["."], **asked}),
            ("/v1/messages", {"messages": program, "stop_sequences": [" is"], **asked}),
            ("/v1/messages", {"messages": product, "tool_choice": {"type": "any"}, "tools": [
                {"name": function["name"], "input_schema": function["parameters"]}], **asked}),
            ("/v1/responses", {"input": product, "tools": [{"type": "function", **function}],
                               "tool_choice": "required", "max_output_tokens": 150, "temperature": 0}),
            ("/v1/responses", {"input": PROGRAM, "max_output_tokens": 150, "temperature": 0, "text": {
                "format": {"type": "json_schema", "name": "n", "schema": schema}}}),
            ("/api/chat", {"messages": program, "options": {**options, "stop": [" is"]}}),
            ("/api/chat", {"messages": product, "tools": TOOLS, "options": options}),
            ("/api/chat", {"messages": program, "format": schema, "options": options}),
            ("/api/generate", {"prompt": PROGRAM, "options": {**options, "stop": [" is"]}}),
            ("/api/generate", {"prompt": PROGRAM, "format": schema, "options": options})]
        for path, body in cases:
            def told(model, streamed):
                request = {**body, "model": model, "stream": streamed}
                if not streamed:
                    return self.server.post(path, request)
                if path.startswith("/api/"):
                    return [json.loads(line) for line in self.server.request("POST", path, request)[2].splitlines()]
                if path.endswith("completions"):
                    request["stream_options"] = {"include_usage": True}
                # Keep-alives are sent until it is chosen.
                return [event for event in self.server.stream(path, request) if event[0] != "ping"]

            for streamed in False, True:
                one, twice = told("nova", streamed), told("twice", streamed)
                self.assertEqual(without_own(twice), without_own(one), (path, body))
                self.assertEqual(usage_of(twice), tuple(2 * count for count in usage_of(one)), (path, body))

    def test_texts_to_go_on_from(self):
        fields = {"prompt": "The sky is", "max_tokens": 12, "temperature": 0}
        for path, text_of in (("/v1/completions", lambda answer: answer["choices"][0]["text"]),
                              ("/completion", lambda answer: answer["content"])):
            one, pulsar, twice, both = (self.server.post(path, {**fields, "model": model})
                                        for model in ("nova", "pulsar", "twice", "both"))
            self.assertEqual(text_of(twice), text_of(one))
            self.assertIn(text_of(both), (text_of(one), text_of(pulsar)))
        events = self.server.stream("/v1/completions", {**fields, "model": "both"})
        self.assertEqual("".join(event["choices"][0]["text"] for _, event in events[:-1]),
                         self.server.post("/v1/completions", {**fields, "model": "both"})["choices"][0]["text"])

    def test_tools_are_called(self):
        def call_of(model):
            answer = self.ask("Multiply 74 and 24.", model, tools=TOOLS, tool_choice="required")
            call, = answer["choices"][0]["message"]["tool_calls"]
            return call["function"], answer["choices"][0]["finish_reason"]
        self.assertEqual(call_of("twice"), call_of("nova"))
        self.assertEqual(call_of("both")[0]["name"], "multiply")

    def test_a_conversation_keeps_its_kv_cache(self):
        turns = [{"role": "user", "content": PROGRAM}]
        first = self.server.post("/v1/chat/completions", {**chat("", "both"), "messages": turns})
        turns += [first["choices"][0]["message"], {"role": "user", "content": "And 9 - 4?"}]
        second = self.server.post("/v1/chat/completions", {**chat("", "both"), "messages": turns})
        members = second["choices"][0]["ensemble"]["members"]
        self.assertEqual(second["usage"]["prompt_tokens_details"]["cached_tokens"],
                         sum(member["tokens"]["cached"] for member in members))
        # The author has the whole first turn cached.
        told = first["choices"][0]["ensemble"]
        asked, = [member["tokens"] for member in told["members"] if member["name"] == told["author"]]
        now, = [member["tokens"] for member in members if member["name"] == told["author"]]
        self.assertGreater(now["cached"], asked["prompt"])

    def test_a_client_that_goes_is_not_answered(self):
        def abandoned():
            return metrics_of(self.server)['aster_abandoned_total{model="both"}']

        before = abandoned()
        connection = self.server.connect()
        body = json.dumps(chat(SUM, "both", ignore_eos=True, max_tokens=8000, stream=True))
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        self.server.until_running()
        connection.close()
        self.until_idle()
        # It is counted when nothing of it is left.
        wait_for(lambda: abandoned() > before, "an abandoned answer")
        self.assertEqual(abandoned(), before + 1)
        # The members answer other requests.
        self.assertIn("Answer: 40", self.said(PROGRAM, "both")[0])

    def test_questions_beside_each_other_change_nothing(self):
        texts = [PROGRAM, SUM, "Sort: 9, 4, 7", "What colour is the sky?"]
        expected = [self.said(text, "both") for text in texts]
        connections = []
        for text in texts:
            connections.append(self.server.connect())
            connections[-1].request("POST", "/v1/chat/completions", json.dumps(chat(text, "both")),
                                    {"Content-Type": "application/json"})
        for connection, (content, reason) in zip(connections, expected):
            choice, = json.loads(connection.getresponse().read())["choices"]
            self.assertEqual((choice["message"]["content"], choice["finish_reason"]), (content, reason))
            connection.close()

    def test_what_is_of_one_vocabulary_is_refused(self):
        for path, body in (("/v1/chat/completions", chat(SUM, "both", logit_bias={"5": 1})),
                           ("/v1/completions", {"model": "both", "prompt": [1, 2, 3]}),
                           ("/v1/embeddings", {"model": "both", "input": "x"}),
                           ("/v1/rerank", {"model": "both", "query": "x", "documents": ["y"]})):
            answer = self.server.post(path, body, 400)
            self.assertIn("ensemble" if path != "/v1/chat/completions" else "vocabulary", json.dumps(answer))
        self.server.post("/v1/chat/completions", chat("x " * 9000, "both"), 400)

    def test_it_has_figures_of_its_own(self):
        before = metrics_of(self.server)
        usage = self.ask(SUM, "both")["usage"]
        after = metrics_of(self.server)
        for name, count in (("aster_answers_total", 1), ("aster_prompt_tokens_total", usage["prompt_tokens"]),
                            ("aster_answer_tokens_total", usage["completion_tokens"])):
            key = f'{name}{{model="both"}}'
            self.assertEqual(after[key] - before[key], count)


class Policies(unittest.TestCase):
    """Answers that members write together."""

    @classmethod
    def setUpClass(cls):
        ensembles = []
        for policy in "spans", "bytes":
            for name, members, weights in (("both", "nova,pulsar", "1,1"), ("twice", "nova,nova", "1,1"),
                                           ("first", "nova,pulsar", "1,0")):
                ensembles += ["--ensemble", f"{policy}-{name}={members}", "--policy", f"{policy}-{name}={policy}",
                              "--weights", f"{policy}-{name}={weights}"]
        cls.server = Server(NOVA, PULSAR, *ensembles, "--threads", 1)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def choice(self, text, model, **fields):
        choice, = self.server.post("/v1/chat/completions", chat(text, model, **fields))["choices"]
        return choice

    def test_one_model_is_that_model(self):
        for fields in ({}, {"temperature": 1, "seed": 7}, {"stop": ["A", "is"]}, {"max_tokens": 3}):
            alone = self.choice(PROGRAM, "nova", **fields)
            for model in "spans-twice", "spans-first", "bytes-twice", "bytes-first":
                choice = self.choice(PROGRAM, model, **fields)
                self.assertEqual(choice.pop("ensemble")["policy"], model.partition("-")[0])
                self.assertEqual(choice, alone, (model, fields))

    def test_it_is_said_who_wrote_what(self):
        listed = {model["id"]: model for model in self.server.get("/v1/models")["data"]}
        for policy in "spans", "bytes":
            self.assertEqual(listed[f"{policy}-both"]["policy"], policy)
            whole = self.choice(PROGRAM, f"{policy}-both")
            spans = [next(each for each in span["candidates"] if each["taken"]) for span in whole["ensemble"]["spans"]]
            self.assertEqual("".join(span["text"] for span in spans), whole["message"]["content"])
            # A stream sends it piece by piece, as it is agreed.
            events = self.server.stream("/v1/chat/completions", chat(PROGRAM, f"{policy}-both"))
            self.assertGreater(len(events), 3)
            self.assertEqual(content_of(events), whole["message"]["content"])
            self.assertEqual(events[-2][1]["choices"][0]["ensemble"]["spans"], whole["ensemble"]["spans"])

    def test_tools_and_forms_have_one_author(self):
        for policy in "spans", "bytes":
            called = self.choice("Multiply 74 and 24.", f"{policy}-both", tools=TOOLS, tool_choice="required")
            self.assertEqual(called["ensemble"]["policy"], "choose")
            self.assertEqual(called["message"]["tool_calls"][0]["function"]["name"], "multiply")
            formed = self.choice(SUM, f"{policy}-both", response_format=FORM)
            self.assertIn(json.loads(formed["message"]["content"])["n"], [1, 2, 3])


class Members(unittest.TestCase):
    def test_one_without_room_is_left_out(self):
        def prompt_of(server, model):
            return server.post("/v1/messages/count_tokens", {
                "model": model, "messages": [{"role": "user", "content": PROGRAM}]})["input_tokens"]
        server = Server("--ensemble", "both=nova,pulsar", "--threads", 1)
        try:
            # A request without a name goes to the ensemble if no model was given.
            self.assertEqual([model["id"] for model in server.get("/v1/models")["data"]], ["both", "nova", "pulsar"])
            tokens = {model: prompt_of(server, model) for model in ("nova", "pulsar")}
        finally:
            server.stop()
        here, absent = sorted(tokens, key=tokens.get)
        self.assertLess(tokens[here], tokens[absent])
        server = Server("--ensemble", "both=nova,pulsar", "--threads", 1, "--temp", 0, "--ctx", tokens[absent])
        try:
            messages = [{"role": "user", "content": PROGRAM}]
            answer = server.post("/v1/chat/completions", {"messages": messages})
            choice, = answer["choices"]
            # Tokens that were not computed are not counted.
            self.assertEqual(answer["usage"]["prompt_tokens"], tokens[here])
            alone, = server.post("/v1/chat/completions", {"messages": messages, "model": here})["choices"]
            server.post("/v1/chat/completions", {"messages": messages, "model": absent}, 400)
            self.assertEqual(choice["message"], alone["message"])
            self.assertEqual(choice["ensemble"]["author"], here)
            members = {member["name"]: member for member in choice["ensemble"]["members"]}
            self.assertTrue(members[here]["answered"])
            self.assertIn(f"{tokens[absent]} tokens", members[absent]["absence"])
        finally:
            server.stop()

    def test_what_makes_no_ensemble_is_refused(self):
        for options, message in ((["--ensemble", "both"], "give NAME=MODEL,MODEL"),
                                 (["--ensemble", "both=nova"], "two members"),
                                 (["--ensemble", "nova=nova,pulsar"], "another model has this name"),
                                 (["--ensemble", "both=nova,pulsar", "--weights", "both=1"], "1 weights for 2"),
                                 (["--ensemble", "both=nova,pulsar", "--weights", "both=1,x"], "numbers or files"),
                                 (["--ensemble", "both=nova,pulsar", "--policy", "both=best"], "choose, spans, bytes"),
                                 (["--ensemble", "both=nova,pulsar", "--policy", "other=spans"], "no ensemble other"),
                                 (["--ensemble", "both=nova,pulsar", "--weights", "other=1,2"], "no ensemble other"),
                                 (["--ensemble", "both=nova,pulsar", "--weights", "both=0,0"], "every weight is 0"),
                                 (["--ensemble", "both=nova,nowhere.gguf"], "nowhere.gguf")):
            done = subprocess.run([ASTER, "serve", *options, "--port", "0"], capture_output=True, text=True,
                                  timeout=120)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
