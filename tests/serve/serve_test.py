# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster serve with programs' requests: each dialect at once and streaming, and errors."""
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import unittest

from server import ASTER, DEADLINE_S, NOVA, Server

HELLO = [{"role": "user", "content": "What is the capital of France?"}]
TOOL = {"type": "function", "function": {
    "name": "calculate", "description": "Works out a sum.",
    "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}}}


class Dialects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(NOVA, "--temp", 0, "--alias", "gpt-4")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def chat(self, **fields):
        return self.server.post("/v1/chat/completions", {
            "model": "nova", "messages": HELLO, "max_tokens": 24, **fields})

    # --- OpenAI: chat

    def test_chat(self):
        answer = self.chat(seed=1)
        self.assertEqual(answer["object"], "chat.completion")
        self.assertEqual(answer["model"], "nova")
        choice = answer["choices"][0]
        self.assertEqual(choice["message"]["role"], "assistant")
        self.assertTrue(choice["message"]["content"])
        self.assertIn(choice["finish_reason"], ("stop", "length"))
        usage = answer["usage"]
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])
        self.assertIn("cached_tokens", usage["prompt_tokens_details"])

    def test_a_stream_says_what_is_said_at_once(self):
        whole = self.chat()
        events = self.server.stream("/v1/chat/completions", {
            "model": "nova", "messages": HELLO, "max_tokens": 24, "stream_options": {"include_usage": True}})
        self.assertEqual(events[-1], (None, "[DONE]"))
        chunks = [chunk for _, chunk in events[:-1]]
        self.assertEqual({chunk["object"] for chunk in chunks}, {"chat.completion.chunk"})
        self.assertEqual(len({chunk["id"] for chunk in chunks}), 1)
        self.assertEqual(chunks[0]["choices"][0]["delta"]["role"], "assistant")
        text = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
        self.assertEqual(text, whole["choices"][0]["message"]["content"])
        reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]
                   if choice["finish_reason"]]
        self.assertEqual(reasons, [whole["choices"][0]["finish_reason"]])
        self.assertEqual(chunks[-1]["choices"], [])
        self.assertEqual(chunks[-1]["usage"]["completion_tokens"], whole["usage"]["completion_tokens"])

    def test_a_seed_is_an_answer(self):
        first = self.chat(seed=7, temperature=1.5, top_p=1)
        self.assertEqual(self.chat(seed=7, temperature=1.5, top_p=1)["choices"], first["choices"])

    def test_several_choices(self):
        answer = self.chat(n=3, temperature=1.5, seed=5)
        self.assertEqual([choice["index"] for choice in answer["choices"]], [0, 1, 2])
        alone = self.chat(temperature=1.5, seed=5)
        self.assertEqual(answer["choices"][0]["message"], alone["choices"][0]["message"])
        events = self.server.stream("/v1/chat/completions", {
            "messages": HELLO, "max_tokens": 24, "n": 3, "temperature": 1.5, "seed": 5})
        texts = ["", "", ""]
        for _, chunk in events[:-1]:
            for choice in chunk["choices"]:
                texts[choice["index"]] += choice["delta"].get("content") or ""
        self.assertEqual(texts, [choice["message"]["content"] for choice in answer["choices"]])

    def test_stops_and_limits(self):
        whole = self.chat()["choices"][0]["message"]["content"]
        stop = whole[2:5]
        cut = self.chat(stop=stop)["choices"][0]
        self.assertEqual(cut["message"]["content"], whole[:whole.index(stop)])
        self.assertEqual(cut["finish_reason"], "stop")
        short = self.chat(max_tokens=2)
        self.assertEqual(short["choices"][0]["finish_reason"], "length")
        self.assertEqual(short["usage"]["completion_tokens"], 2)
        self.assertEqual(self.chat(max_tokens=None, max_completion_tokens=3)["usage"]["completion_tokens"], 3)

    def test_logprobs(self):
        answer = self.chat(logprobs=True, top_logprobs=3, max_tokens=4)
        tokens = answer["choices"][0]["logprobs"]["content"]
        text = b"".join(bytes(token["bytes"]) for token in tokens).decode()
        self.assertTrue(text.startswith(answer["choices"][0]["message"]["content"]))
        for token in tokens:
            self.assertEqual(len(token["top_logprobs"]), 3)
            self.assertLessEqual(token["logprob"], 0)
            # The most likely one was chosen.
            self.assertEqual(token["token"], token["top_logprobs"][0]["token"])
        events = self.server.stream("/v1/chat/completions", {
            "messages": HELLO, "logprobs": True, "top_logprobs": 3, "max_tokens": 4})
        streamed = [token for _, chunk in events[:-1] for choice in chunk["choices"]
                    for token in (choice.get("logprobs") or {}).get("content", [])]
        self.assertEqual(streamed, tokens)

    def test_a_token_can_be_forbidden(self):
        def first(banned):
            answer = self.chat(logit_bias={str(token): -100 for token in banned}, logprobs=True, max_tokens=1)
            return answer["choices"][0]["logprobs"]["content"][0]["token"]

        usual = first([])
        # The single token whose ban makes a difference, found by bisection.
        low, high = 0, 2048
        while high - low > 1:
            middle = (low + high) // 2
            if first(range(low, middle)) != usual:
                high = middle
            else:
                low = middle
        self.assertNotEqual(first([low]), usual)
        self.assertEqual(first([low + 1]), usual)

    def test_parts_and_roles(self):
        parts = [{"role": "developer", "content": "Be brief."},
                 {"role": "user", "content": [{"type": "text", "text": "What is the capital"},
                                              {"type": "text", "text": " of France?"}]}]
        plain = [{"role": "system", "content": "Be brief."}, HELLO[0]]
        self.assertEqual(self.chat(messages=parts)["choices"], self.chat(messages=plain)["choices"])

    def test_wrong_fields_are_named(self):
        cases = [({"messages": []}, "messages"), ({"messages": "hi"}, "messages"),
                 ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
                 ({"messages": [{"role": "user"}]}, "messages[0].content"),
                 ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].type"),
                 ({"temperature": 3}, "temperature"), ({"temperature": "hot"}, "temperature"), ({"top_p": -1}, "top_p"),
                 ({"n": 0}, "n"), ({"max_tokens": 0}, "max_tokens"), ({"max_tokens": 1.5}, "max_tokens"),
                 ({"stop": 3}, "stop"), ({"stop": ["a"] * 65}, "stop"), ({"stream": "yes"}, "stream"),
                 ({"top_logprobs": 3}, "top_logprobs"), ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
                 ({"logit_bias": {"x": 1}}, "logit_bias"), ({"logit_bias": {"99999999": 1}}, "logit_bias"),
                 ({"tools": [{"type": 7}]}, "tools[0].type"), ({"tool_choice": "required"}, "tool_choice"),
                 ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "no"}}}, "tool_choice"),
                 ({"response_format": {"type": "xml"}}, "response_format.type"),
                 ({"reasoning_effort": "huge"}, "reasoning_effort"),
                 ({"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]},
                  "messages[0].tool_calls[0].function.name")]
        for fields, param in cases:
            with self.subTest(param=param, fields=fields):
                answer = self.server.post("/v1/chat/completions", {"messages": HELLO, **fields}, expected=400)
                self.assertEqual(answer["error"]["type"], "invalid_request_error")
                self.assertEqual(answer["error"]["param"], param)
                self.assertIn(param.split(".")[-1], answer["error"]["message"])
        self.chat(unknown_field={"a": 1})
        self.chat(model=None, temperature=None, stop=None, tools=None, n=None, response_format=None)

    def test_models(self):
        listed = self.server.get("/v1/models")
        self.assertEqual([model["id"] for model in listed["data"]], ["nova", "gpt-4"])
        self.assertEqual(self.server.get("/v1/models/gpt-4")["id"], "gpt-4")
        self.assertEqual(self.server.get("/v1/models/else", expected=404)["error"]["code"], "model_not_found")
        self.assertEqual(self.chat(model="gpt-4")["model"], "gpt-4")
        missing = self.server.post("/v1/chat/completions", {"model": "else", "messages": HELLO}, expected=404)
        self.assertEqual(missing["error"]["param"], "model")

    def test_a_prompt_that_is_too_long_is_refused(self):
        body = {"messages": [{"role": "user", "content": "word " * 200000}]}
        answer = self.server.post("/v1/chat/completions", body, expected=400)
        self.assertEqual(answer["error"]["code"], "context_length_exceeded")

    # --- tools

    def test_a_tool_that_has_to_be_called_is_called_and_streams(self):
        named = {"type": "function", "function": {"name": "calculate"}}
        body = {"messages": [{"role": "user", "content": "What is 12 * 7?"}], "tools": [TOOL], "tool_choice": named,
                "max_tokens": 64}
        first = self.server.post("/v1/chat/completions", body)
        call = first["choices"][0]["message"]["tool_calls"][0]
        self.assertEqual(call["function"]["name"], "calculate")
        self.assertTrue(call["id"])
        events = self.server.stream("/v1/chat/completions", body)
        arguments, names = "", []
        for _, chunk in events[:-1]:
            for choice in chunk["choices"]:
                for piece in choice["delta"].get("tool_calls", []):
                    self.assertEqual(piece["index"], 0)
                    if "name" in piece["function"]:
                        names.append(piece["function"]["name"])
                    arguments += piece["function"].get("arguments", "")
        self.assertEqual(names, ["calculate"])
        self.assertEqual(arguments, call["function"]["arguments"])

    def test_a_history_with_calls_is_cached(self):
        # The call is required, so there is one whatever the model would write by itself.
        tools = [{"type": "function", "function": {"name": "multiply", "parameters": {"type": "object", "properties": {
            "item": {"type": "string", "maxLength": 8}, "count": {"type": "integer", "maximum": 999}},
            "required": ["item", "count"]}}}]
        question = {"role": "user", "content": "What is 12 * 7?"}
        choice = {"type": "function", "function": {"name": "multiply"}}
        first = self.server.post("/v1/chat/completions", {
            "messages": [question], "tools": tools, "tool_choice": choice, "max_tokens": 100})
        self.assertEqual(first["choices"][0]["finish_reason"], "tool_calls")
        message = first["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "84"}
        second = self.server.post("/v1/chat/completions", {
            "messages": [question, message, result], "tools": tools, "max_tokens": 32})
        cached = second["usage"]["prompt_tokens_details"]["cached_tokens"]
        # The prompt with the beginning of the call is cached. (So is the model's text after it, if it chose the tokens
        # that encode its text; chat's history_test tests that for texts.)
        self.assertGreaterEqual(cached, first["usage"]["prompt_tokens"] - 4)

    def test_answers_of_a_form(self):
        schema = {"type": "object", "properties": {
            "name": {"type": "string", "maxLength": 20}, "kind": {"enum": ["city", "country"]},
            "size": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 2}},
            "required": ["name", "kind", "size"], "additionalProperties": False}
        form = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": schema}}
        for temperature in (0, 1.5):
            for seed in range(3):
                body = {"messages": HELLO, "response_format": form, "max_tokens": 400, "temperature": temperature,
                        "seed": seed}
                choice = self.server.post("/v1/chat/completions", body)["choices"][0]
                self.assertEqual(choice["finish_reason"], "stop")
                value = json.loads(choice["message"]["content"])
                self.assertLessEqual({"name", "kind", "size"}, value.keys())
                self.assertIn(value["kind"], ("city", "country"))
                self.assertIsInstance(value["size"], int)
        streamed = self.server.stream("/v1/chat/completions", body)
        text = "".join(c["delta"].get("content") or "" for _, chunk in streamed[:-1] for c in chunk["choices"])
        self.assertEqual(text, choice["message"]["content"])
        answer = self.server.post("/v1/responses", {
            "input": "Where is it?", "text": {"format": {"type": "json_schema", "name": "x", "schema": schema}},
            "max_output_tokens": 400})
        json.loads(answer["output"][0]["content"][0]["text"])
        wrong = {"type": "json_schema", "json_schema": {"schema": {"type": "array", "uniqueItems": True}}}
        refused = self.server.post("/v1/chat/completions", {"messages": HELLO, "response_format": wrong}, expected=400)
        self.assertIn("#/uniqueItems", refused["error"]["message"])

    def test_grammars(self):
        body = {"prompt": "Yes or no? ", "grammar": "root ::= (\"yes\" | \"no\") \"!\"{2}", "temperature": 1.5}
        for seed in range(3):
            text = self.server.post("/v1/completions", {**body, "seed": seed})["choices"][0]["text"]
            self.assertIn(text, ("yes!!", "no!!"))
        wrong = self.server.post("/v1/completions", {**body, "grammar": "root ::= x"}, expected=400)
        self.assertEqual(wrong["error"]["param"], "grammar")

    def test_a_tool_of_several_has_to_be_called(self):
        other = {"type": "function", "function": {"name": "look_up", "parameters": {
            "type": "object", "properties": {"what": {"enum": ["sea", "sky"]}}, "required": ["what"]}}}
        for seed in range(3):
            answer = self.server.post("/v1/chat/completions", {
                "messages": HELLO, "tools": [TOOL, other], "tool_choice": "required", "max_tokens": 100,
                "temperature": 1.5, "seed": seed})
            call = answer["choices"][0]["message"]["tool_calls"][0]["function"]
            self.assertIn(call["name"], ("calculate", "look_up"))
            if answer["choices"][0]["finish_reason"] == "tool_calls":
                arguments = json.loads(call["arguments"])
                self.assertEqual(set(arguments), {"expression"} if call["name"] == "calculate" else {"what"})

    # --- OpenAI: completions

    def test_completions(self):
        answer = self.server.post("/v1/completions", {"prompt": "The capital of France is", "max_tokens": 8})
        self.assertEqual(answer["object"], "text_completion")
        text = answer["choices"][0]["text"]
        self.assertTrue(text)
        echoed = self.server.post("/v1/completions", {
            "prompt": "The capital of France is", "max_tokens": 8, "echo": True})
        self.assertEqual(echoed["choices"][0]["text"], "The capital of France is" + text)
        events = self.server.stream("/v1/completions", {"prompt": "The capital of France is", "max_tokens": 8})
        self.assertEqual("".join(chunk["choices"][0]["text"] for _, chunk in events[:-1]), text)
        two = self.server.post("/v1/completions", {
            "prompt": ["The capital of France is", "One, two,"], "max_tokens": 8})
        self.assertEqual(two["choices"][0]["text"], text)
        self.assertEqual(len(two["choices"]), 2)
        scored = self.server.post("/v1/completions", {"prompt": "One, two,", "max_tokens": 4, "logprobs": 2})
        logprobs = scored["choices"][0]["logprobs"]
        self.assertEqual(len(logprobs["tokens"]), len(logprobs["text_offset"]))

    # --- Anthropic

    def test_messages(self):
        body = {"model": "nova", "max_tokens": 24, "system": "Be brief.", "messages": HELLO}
        answer = self.server.post("/v1/messages", body)
        self.assertEqual((answer["type"], answer["role"]), ("message", "assistant"))
        self.assertEqual(answer["content"][0]["type"], "text")
        self.assertIn(answer["stop_reason"], ("end_turn", "max_tokens"))
        events = self.server.stream("/v1/messages", body)
        names = [name for name, _ in events]
        self.assertEqual(names[0], "message_start")
        self.assertEqual(names[-2:], ["message_delta", "message_stop"])
        self.assertTrue(all(name == json["type"] for name, json in events))
        self.assertEqual([name for name in names if name != "ping" and name != "content_block_delta"],
                         ["message_start", "content_block_start", "content_block_stop", "message_delta",
                          "message_stop"])
        text = "".join(data["delta"]["text"] for name, data in events if name == "content_block_delta")
        self.assertEqual(text, answer["content"][0]["text"])
        usage = events[-2][1]["usage"]
        self.assertEqual(usage["output_tokens"], answer["usage"]["output_tokens"])
        self.assertEqual(usage["input_tokens"] + usage["cache_read_input_tokens"],
                         answer["usage"]["input_tokens"] + answer["usage"]["cache_read_input_tokens"])
        counted = self.server.post("/v1/messages/count_tokens", {
            "model": "nova", "system": "Be brief.", "messages": HELLO})
        self.assertEqual(counted["input_tokens"], usage["input_tokens"] + usage["cache_read_input_tokens"])

    def test_messages_with_tools(self):
        tool = {"name": "calculate", "description": "Works out a sum.", "input_schema": TOOL["function"]["parameters"]}
        body = {"max_tokens": 64, "tools": [tool], "tool_choice": {"type": "tool", "name": "calculate"},
                "messages": [{"role": "user", "content": "What is 12 * 7?"}]}
        answer = self.server.post("/v1/messages", body)
        use = [block for block in answer["content"] if block["type"] == "tool_use"][0]
        self.assertEqual(use["name"], "calculate")
        self.assertIsInstance(use["input"], dict)
        events = self.server.stream("/v1/messages", body)
        starts = [data["content_block"] for name, data in events if name == "content_block_start"]
        self.assertIn("tool_use", [block["type"] for block in starts])
        partial = "".join(data["delta"]["partial_json"] for name, data in events
                          if name == "content_block_delta" and data["delta"]["type"] == "input_json_delta")
        if answer["stop_reason"] == "tool_use":
            self.assertEqual(json.loads(partial), use["input"])
        follow = body["messages"] + [{"role": "assistant", "content": answer["content"]},
                                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use["id"],
                                                                   "content": [{"type": "text", "text": "84"}]}]}]
        self.server.post("/v1/messages", {"max_tokens": 8, "tools": [tool], "messages": follow})

    def test_messages_stop_and_errors(self):
        whole = self.server.post("/v1/messages", {"max_tokens": 24, "messages": HELLO})["content"][0]["text"]
        cut = self.server.post("/v1/messages", {"max_tokens": 24, "messages": HELLO, "stop_sequences": [whole[2:5]]})
        self.assertEqual((cut["stop_reason"], cut["stop_sequence"]), ("stop_sequence", whole[2:5]))
        wrong = self.server.post("/v1/messages", {"messages": HELLO}, expected=400)
        self.assertEqual(wrong["type"], "error")
        self.assertEqual(wrong["error"]["type"], "invalid_request_error")
        self.assertIn("max_tokens", wrong["error"]["message"])

    # --- responses

    def test_responses(self):
        body = {"model": "nova", "input": "What is the capital of France?", "max_output_tokens": 24}
        answer = self.server.post("/v1/responses", body)
        self.assertEqual(answer["object"], "response")
        self.assertIn(answer["status"], ("completed", "incomplete"))
        text = answer["output"][0]["content"][0]["text"]
        self.assertEqual(text, self.chat()["choices"][0]["message"]["content"])
        events = self.server.stream("/v1/responses", body)
        self.assertEqual([data["sequence_number"] for _, data in events], list(range(len(events))))
        self.assertEqual(events[0][0], "response.created")
        self.assertEqual(events[-1][0], "response." + answer["status"])
        self.assertEqual("".join(data["delta"] for name, data in events if name == "response.output_text.delta"), text)
        self.assertEqual(events[-1][1]["response"]["output"][0]["content"], answer["output"][0]["content"])
        tool = {"type": "function", **TOOL["function"]}
        called = self.server.post("/v1/responses", {
            "input": [{"role": "user", "content": "What is 12 * 7?"}], "tools": [tool],
            "tool_choice": {"type": "function", "name": "calculate"}, "max_output_tokens": 64})
        call = [item for item in called["output"] if item["type"] == "function_call"][0]
        self.assertEqual(call["name"], "calculate")
        if called["status"] == "completed":
            self.server.post("/v1/responses", {
                "input": [{"role": "user", "content": "What is 12 * 7?"}, call,
                          {"type": "function_call_output", "call_id": call["call_id"], "output": "84"}],
                "tools": [tool], "max_output_tokens": 8})
        refused = self.server.post("/v1/responses", {"input": "x", "previous_response_id": "resp_1"}, expected=400)
        self.assertEqual(refused["error"]["param"], "previous_response_id")

    # --- the rest

    def test_state(self):
        self.chat()
        self.assertEqual(self.server.get("/health"), {"status": "ok"})
        self.assertEqual(self.server.get("/ready"), {"status": "ready"})
        status = self.server.get("/v1/status")
        self.assertGreater(status["since_start"]["answers"], 0)
        code, headers, body = self.server.request("GET", "/metrics")
        self.assertEqual(code, 200)
        self.assertIn("text/plain", headers["Content-Type"])
        self.assertIn(b"aster_first_token_seconds_bucket", body)

    def test_request_ids(self):
        _, headers, _ = self.server.request("GET", "/health", headers={"X-Request-Id": "mine-1"})
        self.assertEqual(headers["X-Request-Id"], "mine-1")
        _, headers, _ = self.server.request("GET", "/health")
        self.assertTrue(headers["X-Request-Id"])

    def test_what_is_not_there(self):
        self.assertEqual(self.server.request("GET", "/nothing")[0], 404)
        self.assertEqual(self.server.request("GET", "/v1/chat/completions")[0], 405)


class Keys(unittest.TestCase):
    def test_a_key_is_asked_for(self):
        server = Server(NOVA, "--log-level", "info", environment={"ASTER_API_KEY": "secret"})
        try:
            self.assertEqual(server.request("GET", "/v1/models")[0], 401)
            self.assertIn(b"give an API key", server.request("GET", "/v1/models")[2])
            status, _, told = server.request("GET", "/v1/models", headers={"Authorization": "Bearer wrong"})
            self.assertEqual(status, 401)
            self.assertIn(b"the API key is wrong", told)
            self.assertEqual(server.request("GET", "/v1/models", headers={"Authorization": "Bearer secret"})[0], 200)
            self.assertEqual(server.request("GET", "/v1/models", headers={"x-api-key": "secret"})[0], 200)
            self.assertEqual(server.request("GET", "/health")[0], 200)
            # Without a key the server does not wait for the request's body.
            with socket.create_connection((server.host, server.port), timeout=DEADLINE_S) as stranger:
                stranger.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n")
                self.assertIn(b" 401 ", stranger.recv(4096))
            server.post("/v1/completions", {"prompt": "A heliotrope armadillo", "max_tokens": 2},
                        headers={"Authorization": "Bearer secret"})
        finally:
            errors = server.stop()
        self.assertIn("answered", errors)  # something is logged
        for word in ("secret", "heliotrope", "armadillo"):
            self.assertNotIn(word, errors)


class Configuration(unittest.TestCase):
    def test_the_command_line_goes_before_the_environment_and_that_before_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "serve.toml"

            def printed(*arguments, text="", environment=None, check=0):
                path.write_text(text)
                run = subprocess.run([ASTER, "--config", path, "serve", *arguments, "--print-config"],
                                     capture_output=True, env={**os.environ, **(environment or {})})
                self.assertEqual(run.returncode, check, run.stderr)
                return run.stdout.decode()

            table = "[serve]\nqueue = 11\nname = \"moon\"\nalias = [\"a\", \"b\"]\n"
            whole = printed("--parallel", "3", text=table,
                            environment={"ASTER_SERVE_QUEUE": "12", "ASTER_SERVE_GRACE": "13"})
            for line in ("parallel=3", "queue=12", "grace=13", "# deadline=0", "name=\"moon\""):
                self.assertIn(line + "\n", whole)
            self.assertIn("queue=11\n", printed(text=table))
            self.assertIn("queue=5\n", printed("--queue", "5", text=table, environment={"ASTER_SERVE_QUEUE": "12"}))
            # The printed configuration means the same when it is read.
            self.assertEqual(printed(text=whole), whole)
            printed(text="[serve]\nqeue = 11\n", check=2)


if __name__ == "__main__":
    unittest.main()
