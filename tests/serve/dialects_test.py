# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""What each dialect has besides answers: forms, log-probabilities, choice of tools, names, ids, counts, errors."""
import contextlib
import json
import re
import unittest

from server import NOVA, Server

HELLO = [{"role": "user", "content": "What is the capital of France?"}]
PLACE = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20},
                                          "day": {"type": "string", "format": "date"}},
         "required": ["name", "day"], "additionalProperties": False}


def tool(name):
    return {"type": "function", "function": {"name": name, "parameters": {
        "type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}}}


class Dialects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(NOVA, "--temp", 0, "--name", "org/nova", "--alias", "a b")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def chat(self, expected=200, **fields):
        return self.server.post("/v1/chat/completions", {"messages": HELLO, "max_tokens": 24, **fields}, expected)

    def refused(self, path, field, **fields):
        key = "input" if path == "/v1/responses" else "messages"
        answer = self.server.post(path, {key: HELLO, **fields}, expected=400)
        self.assertIn(field, answer["error"].get("param") or answer["error"]["message"])
        return answer["error"]["message"]

    def test_a_problem_names_the_field_of_its_dialect(self):
        def param(path, **fields):
            return self.server.post(path, fields, expected=400)["error"].get("param")
        wrong = {"type": "array", "uniqueItems": True}
        tool = {"name": "f", "parameters": {"type": "object"}}
        long = "word " * 9000
        self.assertEqual(param("/v1/responses", input=long), "input")
        self.assertEqual(param("/v1/completions", prompt=long), "prompt")
        self.assertEqual(param("/v1/chat/completions", messages=[{"role": "user", "content": long}]), "messages")
        self.assertEqual(param("/v1/chat/completions", messages=HELLO, response_format={
            "type": "json_schema", "json_schema": {"schema": wrong}}), "response_format.json_schema.schema")
        self.assertEqual(param("/v1/responses", input="x", text={"format": {"type": "json_schema", "schema": wrong}}),
                         "text.format.schema")
        self.assertEqual(param("/v1/responses", input="x", tools=[{"type": "function", **tool, "name": 7}]),
                         "tools[0].name")
        self.assertEqual(param("/v1/chat/completions", messages=HELLO, tools=[
            {"type": "function", "function": {**tool, "name": ""}}]), "tools[0].function.name")
        self.assertEqual(param("/v1/chat/completions", messages=HELLO, grammar="root ::= a\na ::= a a | \"x\" | \"\""),
                         "grammar")

    # --- Completions

    def test_the_probabilities_of_a_prompt(self):
        prompt = "The capital of France is"
        ids = self.server.post("/tokenize", {"content": prompt, "add_special": True})["tokens"]
        said = self.server.post("/v1/completions", {"prompt": ids, "max_tokens": 9, "logprobs": 2})["choices"][0]
        told = said["logprobs"]
        whole = self.server.post("/completion", {"prompt": ids, "n_predict": 9, "return_tokens": True})["tokens"]
        self.assertEqual(len(whole), len(told["tokens"]))
        body = {"echo": True, "logprobs": 2, "max_tokens": 0}
        scored = self.server.post("/v1/completions", {**body, "prompt": ids + whole})["choices"][0]
        self.assertEqual(scored["finish_reason"], "length")
        again = scored["logprobs"]
        self.assertEqual(len(again["tokens"]), len(ids) + len(whole))
        self.assertIsNone(again["token_logprobs"][0])
        self.assertIsNone(again["top_logprobs"][0])
        self.assertEqual("".join(again["tokens"]), scored["text"])
        # The probabilities of the answer have the same bits as before.
        self.assertEqual(again["token_logprobs"][len(ids):], told["token_logprobs"])
        self.assertEqual(again["top_logprobs"][len(ids):], told["top_logprobs"])
        # The prompt is followed by an answer, several at once, and in a stream.
        both = self.server.post("/v1/completions", {**body, "prompt": [prompt, prompt], "n": 2, "max_tokens": 9})
        self.assertEqual(len(both["choices"]), 4)
        for choice in both["choices"]:
            self.assertEqual(choice["text"], prompt + said["text"])
            self.assertEqual(choice["logprobs"]["token_logprobs"][-len(told["tokens"]):], told["token_logprobs"])
            self.assertEqual("".join(choice["logprobs"]["tokens"]), choice["text"])
            self.assertEqual(choice["logprobs"]["text_offset"][-len(told["tokens"])], len(prompt))
        events = self.server.stream("/v1/completions", {**body, "prompt": prompt, "max_tokens": 9})
        logprobs = [one for _, event in events if event != "[DONE]" for choice in event["choices"]
                    if choice["logprobs"] for one in choice["logprobs"]["token_logprobs"]]
        self.assertEqual(logprobs, both["choices"][0]["logprobs"]["token_logprobs"])
        # Neither an answer nor the prompt's probabilities are requested.
        self.assertEqual(self.server.post("/v1/completions", {"prompt": prompt, "max_tokens": 0})["choices"][0]["text"],
                         "")
        self.server.post("/v1/completions", {**body, "prompt": ""}, expected=400)
        error = self.server.post("/v1/completions", {**body, "prompt": "word " * 9000}, expected=400)["error"]
        self.assertEqual(error["code"], "context_length_exceeded")

    def test_a_stream_of_probabilities_begins_at_once(self):
        # So long that it takes seconds to compute; the headers come before.
        prompts = ["The sea is wide and deep. " * 800 + str(i) for i in range(16)]
        body = {"prompt": prompts, "echo": True, "logprobs": 1, "max_tokens": 0, "stream": True}
        with contextlib.closing(self.server.connect()) as connection:
            connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            with connection.getresponse() as response:
                self.assertEqual(response.status, 200)
                self.assertIn("text/event-stream", response.headers["Content-Type"])
                self.server.until_running()

    # --- Anthropic

    def test_messages_of_a_form(self):
        form = {"type": "json_schema", "schema": PLACE}
        for field in ({"output_config": {"format": form, "effort": "low"}}, {"output_format": form}):
            for seed in range(2):
                answer = self.server.post("/v1/messages", {"max_tokens": 200, "messages": HELLO, "temperature": 1,
                                                           "seed": seed, **field})
                value = json.loads(answer["content"][0]["text"])
                self.assertEqual(set(value), {"name", "day"})
                self.assertRegex(value["day"], r"^\d{4}-\d\d-\d\d$")
        wrong = {"type": "json_schema", "schema": {"type": "array", "uniqueItems": True}}
        self.refused("/v1/messages", "output_config.format.schema", max_tokens=9, output_config={"format": wrong})
        self.refused("/v1/messages", "output_config.effort", max_tokens=9, output_config={"effort": "huge"})

    def test_tools_that_other_models_know(self):
        body = {"max_tokens": 60, "messages": HELLO, "temperature": 1, "seed": 2}
        # The client's tools are offered with their own inputs; those of the maker's servers are left out.
        client = {"type": "bash_20250124", "name": "bash"}
        used = self.server.post("/v1/messages", {**body, "max_tokens": 400, "tool_choice": {"type": "any"}, "tools": [
            client, {"type": "web_search_20250305", "name": "web_search"}]})["content"][0]
        self.assertEqual(used["name"], "bash")
        self.assertTrue(used["id"].startswith("toolu_"))
        plain = self.server.post("/v1/messages", body)
        searched = self.server.post("/v1/messages", {**body, "tools": [{"type": "web_search_20250305", "name": "w"}]})
        self.assertEqual(searched["content"], plain["content"])
        searched = self.chat(tools=[{"type": "web_search"}, {"type": "code_interpreter", "container": {}}])
        self.assertEqual(searched["choices"], self.chat()["choices"])
        custom = {"type": "custom", "custom": {"name": "note", "description": "Takes a note."}}
        call = self.chat(tools=[custom], tool_choice="required", max_tokens=400, parallel_tool_calls=False,
                         temperature=1, seed=1)["choices"][0]["message"]["tool_calls"][0]["function"]
        self.assertEqual(call["name"], "note")

    def test_a_tool_without_parameters_is_called_with_none(self):
        choice = self.chat(tools=[{"type": "function", "function": {"name": "now"}}], tool_choice="required",
                           temperature=1, seed=3, max_tokens=200, parallel_tool_calls=False)["choices"][0]
        call = choice["message"]["tool_calls"][0]
        self.assertEqual(json.loads(call["function"]["arguments"]), {})

    def test_calls_and_results_belong_together(self):
        result = {"role": "tool", "tool_call_id": "call_x", "content": "7"}
        self.refused("/v1/chat/completions", "messages[1].tool_call_id", messages=[*HELLO, result])
        # A missing result is an error, too.
        call = {"id": "call_y", "type": "function", "function": {"name": "add", "arguments": "{}"}}
        calls = {"role": "assistant", "content": "", "tool_calls": [{**call, "id": "call_x"}, call]}
        problem = self.refused("/v1/chat/completions", "messages[1].tool_calls",
                               messages=[*HELLO, calls, result, *HELLO])
        self.assertIn("call_y has no result", problem)
        problem = self.refused("/v1/responses", "input", input=[
            {"type": "function_call", "call_id": "call_y", "name": "add", "arguments": "{}"},
            {"role": "user", "content": "Well?"}])
        self.assertIn("the function_call call_y has no result", problem)
        told = self.server.post("/v1/messages", {"max_tokens": 1, "messages": [
            *HELLO, {"role": "assistant",
                     "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}]},
            *HELLO]}, expected=400)
        self.assertIn("the tool_use toolu_1 has no result", told["error"]["message"])
        # Fields that change nothing must have the right types, too.
        for field, value in (("metadata", 5), ("store", "yes"), ("service_tier", 1), ("verbosity", 2)):
            self.refused("/v1/chat/completions", field, messages=HELLO, **{field: value})
        used = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_x", "content": "7"}]}]
        self.refused("/v1/messages", "messages[0].content[0].tool_use_id", max_tokens=4, messages=used)
        self.refused("/v1/responses", "input[0].call_id",
                     input=[{"type": "function_call_output", "call_id": "call_x", "output": "7"}])

    def test_an_answer_goes_on_from_what_it_is_given(self):
        begun = "The capital of"
        said = [*HELLO, {"role": "assistant", "content": begun}]
        body = {"messages": said, "max_tokens": 12, "temperature": 0}
        message = self.server.post("/v1/messages", body)["content"][0]["text"]
        self.assertFalse(message.startswith(begun))
        chat = self.server.post("/v1/chat/completions", {
            **body, "continue_final_message": True, "reasoning_effort": "none"})
        self.assertEqual(chat["choices"][0]["message"]["content"], message)
        ollama = self.server.post("/api/chat", {"messages": said, "stream": False, "think": False,
                                                "options": {"num_predict": 12, "temperature": 0}})
        self.assertEqual(ollama["message"]["content"], message)
        self.refused("/v1/chat/completions", "continue_final_message", continue_final_message=True)
        self.refused("/v1/chat/completions", "messages", messages=said, continue_final_message=True,
                     response_format={"type": "json_object"})

    def test_a_prompt_that_is_too_long_in_each_services_words(self):
        long = [{"role": "user", "content": "word " * 9000}]
        error = self.server.post("/v1/messages", {"max_tokens": 4, "messages": long}, expected=400)["error"]
        self.assertRegex(error["message"], r"^prompt is too long: \d+ tokens > \d+ maximum$")
        error = self.chat(400, messages=long)["error"]
        self.assertEqual(error["code"], "context_length_exceeded")
        self.assertIn("maximum context length is", error["message"])

    def test_what_made_an_answer(self):
        first, second = self.chat(max_tokens=1), self.chat(max_tokens=1)
        self.assertRegex(first["system_fingerprint"], r"^fp_[0-9a-f]{16}_\d+$")
        self.assertEqual(first["system_fingerprint"], second["system_fingerprint"])
        self.chat(max_tokens=-1, stop=["a"])

    def test_pages_of_models(self):
        names = [model["id"] for model in self.server.get("/v1/models")["data"]]
        page = self.server.get("/v1/models?limit=1")
        self.assertEqual(([model["id"] for model in page["data"]], page["has_more"]), (names[:1], len(names) > 1))
        page = self.server.get(f"/v1/models?after={names[0].replace('/', '%2F')}")
        self.assertEqual([model["id"] for model in page["data"]], names[1:])
        for query in ("limit=0", "limit=x", "after=none"):
            self.server.get("/v1/models?" + query, expected=400)

    def test_headers_of_every_reply(self):
        for path, status in (("/health", 200), ("/nothing", 404), ("/v1/messages", 405)):
            found, headers, _ = self.server.request("GET", path)
            self.assertEqual(found, status)
            self.assertRegex(headers["Date"], r"^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$")
        self.assertEqual(headers["Allow"], "POST")

    def test_a_message_reports_cached_tokens(self):
        body = {"max_tokens": 4, "messages": [{"role": "user", "content": "A remembered question? " * 8}]}
        first = self.server.post("/v1/messages", body)
        events = self.server.stream("/v1/messages", body)
        begun = next(data for name, data in events if name == "message_start")["message"]["usage"]
        delta = next(data for name, data in events if name == "message_delta")
        ended = delta["usage"]
        for whole in (first, delta):
            timings, usage = whole["timings"], whole["usage"]
            self.assertEqual([timings["cache_n"], timings["prompt_n"], timings["predicted_n"]],
                             [usage["cache_read_input_tokens"], usage["input_tokens"], usage["output_tokens"]])
        self.assertGreater(begun["cache_read_input_tokens"], 0)
        for key in ("input_tokens", "cache_read_input_tokens"):
            self.assertEqual(begun[key], ended[key])

    def test_ids_of_requests(self):
        for name in ("X-Request-Id", "Request-Id"):
            status, headers, body = self.server.request("POST", "/v1/messages", {"messages": HELLO},
                                                        {"X-Request-Id": "mine-2"})
            self.assertEqual((status, headers[name]), (400, "mine-2"))
            self.assertEqual(json.loads(body)["request_id"], "mine-2")
        self.assertNotIn("request_id", self.chat(400, messages=[]))

    # --- models

    def test_names_with_slashes(self):
        for escaped, name in (("org/nova", "org/nova"), ("org%2Fnova", "org/nova"), ("a%20b", "a b")):
            model = self.server.get("/v1/models/" + escaped)
            self.assertEqual(model["id"], name)
            self.assertEqual(model["type"], "model")
            self.assertEqual(model["display_name"], "org/nova")
            self.assertRegex(model["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        for missing in ("org%2", "org%ff", "%"):
            self.server.get("/v1/models/" + missing, expected=404)

    # --- responses

    def test_log_probabilities_of_responses(self):
        body = {"input": "What is the capital of France?", "max_output_tokens": 6, "top_logprobs": 2,
                "include": ["message.output_text.logprobs"]}
        part = self.server.post("/v1/responses", body)["output"][0]["content"][0]
        self.assertEqual("".join(one["token"] for one in part["logprobs"]), part["text"])
        for one in part["logprobs"]:
            self.assertEqual(len(one["top_logprobs"]), 2)
        events = self.server.stream("/v1/responses", body)
        pieces = [data for name, data in events if name == "response.output_text.delta"]
        self.assertEqual([one for data in pieces for one in data["logprobs"]], part["logprobs"])
        done = next(data for name, data in events if name == "response.output_text.done")
        self.assertEqual(done["logprobs"], part["logprobs"])
        plain = self.server.post("/v1/responses", {**body, "top_logprobs": None, "include": None})
        self.assertEqual(plain["output"][0]["content"][0]["logprobs"], [])
        self.refused("/v1/responses", "top_logprobs", top_logprobs=21)

    def test_a_response_says_how_it_was_made(self):
        answer = self.server.post("/v1/responses", {"input": "Hello", "max_output_tokens": 2, "store": True,
                                                    "reasoning": {"effort": "low"}})
        self.assertEqual(answer["text"], {"format": {"type": "text"}})
        self.assertEqual(answer["reasoning"], {"effort": "low"})
        self.assertEqual((answer["truncation"], answer["store"], answer["service_tier"]),
                         ("disabled", False, "default"))
        counted = self.server.post("/v1/responses/input_tokens", {"input": "Hello"})
        self.assertEqual(counted, {"object": "response.input_tokens", "input_tokens": answer["usage"]["input_tokens"]})

    # --- tools

    def test_some_of_the_tools_may_be_called(self):
        tools = [tool("first"), tool("second"), tool("third")]
        names = [{"type": "function", "function": {"name": "second"}}]
        choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": names}}
        message = self.chat(tools=tools, tool_choice=choice, max_tokens=60)["choices"][0]["message"]
        self.assertEqual({call["function"]["name"] for call in message["tool_calls"]}, {"second"})
        newer = [{"type": "function", **one["function"]} for one in tools]
        answer = self.server.post("/v1/responses", {
            "input": HELLO, "tools": newer, "max_output_tokens": 60,
            "tool_choice": {"type": "allowed_tools", "mode": "required",
                            "tools": [{"type": "function", "name": "third"}]}})
        self.assertEqual({item["name"] for item in answer["output"] if item["type"] == "function_call"}, {"third"})
        wrong = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"name": "fourth"}]}}
        self.refused("/v1/chat/completions", "tool_choice.allowed_tools.tools", tools=tools, tool_choice=wrong)
        self.assertIn("there are no tools", self.refused("/v1/responses", "tool_choice", tool_choice="required"))

    def test_only_one_call(self):
        for seed in range(3):
            choice = self.chat(tools=[tool("first")], tool_choice="required", parallel_tool_calls=False,
                               temperature=1.5, seed=seed, max_tokens=60)["choices"][0]
            self.assertEqual(len(choice["message"]["tool_calls"]), 1)

    # --- truncation, and errors

    def test_log_probabilities_end_where_the_text_is_cut(self):
        whole = self.chat(logprobs=True)["choices"][0]
        text = whole["message"]["content"]
        for begin in (3, 7):
            stop = text[begin:begin + 6]
            body = {"stop": [stop], "logprobs": True}
            cut = self.chat(**body)["choices"][0]
            self.assertEqual(cut["message"]["content"], text[:text.index(stop)])
            tokens = cut["logprobs"]["content"]
            self.assertEqual(tokens, whole["logprobs"]["content"][:len(tokens)])
            ends = [len("".join(one["token"] for one in tokens[:i + 1])) for i in range(len(tokens))]
            # The last one may extend beyond the cut, but does not begin there.
            self.assertTrue(all(end < text.index(stop) for end in ends[:-1]), (ends, text, stop))
            self.assertGreaterEqual(ends[-1], text.index(stop))
            events = self.server.stream("/v1/chat/completions", {"messages": HELLO, "max_tokens": 24, **body})
            streamed = [one for _, chunk in events[:-1] for choice in chunk["choices"]
                        for one in (choice.get("logprobs") or {}).get("content", [])]
            self.assertEqual(streamed, tokens)

    def test_unsupported_features_are_refused(self):
        for fields, field in (({"functions": [{"name": "f"}]}, "functions"),
                              ({"function_call": "auto"}, "function_call"),
                              ({"modalities": ["text", "audio"]}, "modalities"), ({"audio": {"voice": "x"}}, "audio"),
                              ({"web_search_options": {}}, "web_search_options")):
            self.refused("/v1/chat/completions", field, **fields)
        self.chat(modalities=["text"])

    def test_an_answer_larger_than_the_context(self):
        limit = self.server.get("/v1/models")["data"][0]["context_length"]
        for path, field in (("/v1/chat/completions", "max_tokens"), ("/v1/chat/completions", "max_completion_tokens"),
                            ("/v1/responses", "max_output_tokens")):
            self.assertIn(str(limit), self.refused(path, field, **{field: limit + 1}))
        wrong = self.chat(400, max_tokens=10_000_000)
        self.assertEqual(wrong["error"]["code"], "context_length_exceeded")
        # Up to the context it is a limit that an answer may not reach; Anthropic's clients must give one.
        self.chat(max_tokens=limit, stop=["a"])
        self.server.post("/v1/messages", {"messages": HELLO, "max_tokens": 10 * limit, "stop_sequences": ["a"]})

    def test_where_a_body_goes_wrong(self):
        for body, place in ((b'{"a": 1e999}', 11), (b'{"a": "\\ud83d"}', 14), (b'{"a": [1, }', 11), (b"", 1)):
            status, _, answer = self.server.request("POST", "/v1/chat/completions", body)
            self.assertEqual(status, 400)
            found = re.search(r"at byte (\d+)", json.loads(answer)["error"]["message"])
            self.assertTrue(found, answer)
            self.assertLessEqual(abs(int(found[1]) - place), 1, (body, answer))


if __name__ == "__main__":
    unittest.main()
