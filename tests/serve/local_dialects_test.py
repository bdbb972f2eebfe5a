# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The APIs of Ollama and llama.cpp: answers, streams, options, errors, and information about models."""
import json
import pathlib
import tempfile
import unittest

from gguf_edit import with_more
from server import COMET, NOVA, Server

QUESTION = "What is the capital of France?"
HELLO = [{"role": "user", "content": QUESTION}]
GREEDY = {"temperature": 0, "num_predict": 12}
PLACE = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "big": {"type": "boolean"}},
         "required": ["name", "big"], "additionalProperties": False}


class LocalDialects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(NOVA, COMET, "--temp", 0)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def lines(self, path, **fields):
        status, headers, body = self.server.request("POST", path, fields)
        self.assertEqual(status, 200, body)
        self.assertEqual(headers["Content-Type"], "application/x-ndjson")
        return [json.loads(line) for line in body.decode().splitlines()]

    def refused(self, path, word, expected=400, **fields):
        error = self.server.post(path, fields, expected)["error"]
        message = error if isinstance(error, str) else error["message"]
        self.assertIn(word, message)

    # --- models

    def test_names_as_people_write_them(self):
        for name in ("nova", "Nova", "NOVA:latest", "nova.gguf", "models/nova.gguf", "", None):
            answer = self.server.post("/v1/chat/completions", {"model": name, "messages": HELLO, "max_tokens": 1})
            self.assertEqual(answer["model"], name or "nova")
        self.refused("/api/chat", "there is nova, comet", 404, model="nova:7b", messages=HELLO)
        self.assertEqual(self.server.get("/v1/models/Comet:latest")["context_length"],
                         self.server.get("/v1/models/comet")["context_length"])

    def test_ollama_lists_models(self):
        models = self.server.get("/api/tags")["models"]
        self.assertEqual([model["name"] for model in models], ["nova:latest", "comet:latest"])
        self.assertEqual(models[0]["size"], NOVA.stat().st_size)
        self.assertEqual(models[0]["details"]["format"], "gguf")
        running = self.server.get("/api/ps")["models"]
        self.assertGreater(running[0]["context_length"], 0)
        self.assertRegex(self.server.get("/api/version")["version"], r"^\d+\.\d+")

    def test_ollama_shows_a_model(self):
        for key in ("model", "name"):
            shown = self.server.post("/api/show", {key: "comet"})
            arch = shown["model_info"]["general.architecture"]
            self.assertGreater(shown["model_info"][arch + ".context_length"], 0)
            self.assertIn("completion", shown["capabilities"])
            self.assertIn("messages", shown["template"])
        self.refused("/api/show", "none", 404, model="none")

    def test_a_model_that_is_to_be_loaded_is(self):
        for path, fields in (("/api/chat", {"messages": []}), ("/api/generate", {"keep_alive": -1})):
            answer = self.server.post(path, {"model": "nova", **fields})
            self.assertEqual((answer["done"], answer["done_reason"]), (True, "load"))

    # --- Ollama's answers

    def test_ollama_streams_unless_told_not_to(self):
        lines = self.lines("/api/chat", model="nova", messages=HELLO, options=GREEDY)
        whole = self.server.post("/api/chat", {"model": "nova", "messages": HELLO, "options": GREEDY, "stream": False})
        self.assertEqual("".join(line["message"]["content"] for line in lines), whole["message"]["content"])
        self.assertEqual([line["done"] for line in lines], [False] * (len(lines) - 1) + [True])
        for key in ("done_reason", "prompt_eval_count", "eval_count"):
            self.assertEqual(lines[-1][key], whole[key])
        self.assertGreater(whole["total_duration"], 0)
        for last in (lines[-1], whole):
            self.assertAlmostEqual(last["timings"]["predicted_ms"], last["eval_duration"] / 1e6)
            self.assertEqual(last["timings"]["prompt_n"] + last["timings"]["cache_n"], last["prompt_eval_count"])
        same = self.server.post("/v1/chat/completions", {"messages": HELLO, "max_tokens": 12, "temperature": 0})
        self.assertEqual(same["choices"][0]["message"]["content"], whole["message"]["content"])
        self.assertEqual(same["usage"]["prompt_tokens"], whole["prompt_eval_count"])

    def test_ollama_generates(self):
        chat = self.server.post("/api/chat", {"messages": [{"role": "system", "content": "Be brief."}, *HELLO],
                                              "options": GREEDY, "stream": False})
        told = self.server.post("/api/generate", {"system": "Be brief.", "prompt": QUESTION, "options": GREEDY,
                                                  "stream": False})
        self.assertEqual(told["response"], chat["message"]["content"])
        raw = self.server.post("/api/generate", {"prompt": QUESTION, "raw": True, "options": GREEDY, "stream": False})
        same = self.server.post("/v1/completions", {"prompt": QUESTION, "max_tokens": 12, "temperature": 0})
        self.assertEqual(raw["response"], same["choices"][0]["text"])

    def test_ollama_forms(self):
        answer = self.server.post("/api/chat", {"messages": HELLO, "format": PLACE, "stream": False,
                                                "options": {"temperature": 1, "seed": 3, "num_predict": 200}})
        self.assertEqual(set(json.loads(answer["message"]["content"])), {"name", "big"})
        answer = self.server.post("/api/generate", {"prompt": QUESTION, "format": "json", "stream": False,
                                                    "options": {"seed": 3, "num_predict": 400}})
        if answer["done_reason"] == "stop":
            self.assertIsInstance(json.loads(answer["response"]), dict)
        self.refused("/api/chat", "format", messages=HELLO, format="yaml")
        self.refused("/api/chat", "uniqueItems", messages=HELLO, format={"type": "array", "uniqueItems": True})

    def test_ollama_calls(self):
        tools = [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {
            "type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}}}]
        history = [*HELLO, {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "add", "arguments": {"n": 1}}}]},
            {"role": "tool", "tool_name": "add", "content": "2"}]
        answer = self.server.post("/api/chat", {"messages": history, "tools": tools, "options": GREEDY,
                                                "stream": False})
        self.assertTrue(answer["done"])
        orphan = [*HELLO, {"role": "tool", "tool_name": "add", "content": "2"}]
        self.refused("/api/chat", "messages[1].tool_name", messages=orphan, tools=tools)

    def test_what_ollama_can_and_this_cannot(self):
        self.refused("/api/chat", "messages[0].images", messages=[{**HELLO[0], "images": ["aGk="]}])
        self.refused("/api/generate", "images", prompt="x", images=["aGk="])
        self.refused("/api/generate", "context", prompt="x", context=[1, 2])
        self.refused("/api/chat", "options.mirostat", messages=HELLO, options={"mirostat": 2})
        self.refused("/api/chat", "options.temperature", messages=HELLO, options={"temperature": "hot"})
        self.refused("/api/chat", "messages[0].role", messages=[{"role": "robot", "content": "x"}])
        self.refused("/api/generate", "fill-in-the-middle", prompt="a", suffix="b")
        for path in ("/api/create", "/api/copy", "/api/push"):
            self.refused(path, "aster pull", 501, model="x")
        # Options that concern only the machine are left to the server.
        self.server.post("/api/chat", {"messages": HELLO, "stream": False, "keep_alive": "5m", "options": {
            **GREEDY, "num_ctx": 512, "num_gpu": 9, "num_thread": 4, "mirostat": 0, "tfs_z": 1}})

    # --- llama.cpp

    def test_a_completion_and_its_stream(self):
        body = {"prompt": "The capital of France", "n_predict": 12, "temperature": 0, "return_tokens": True,
                "n_probs": 2}
        whole = self.server.post("/completion", body)
        self.assertEqual(whole["stop_type"], "limit" if whole["tokens_predicted"] == 12 else "eos")
        self.assertEqual(self.server.post("/detokenize", {"tokens": whole["tokens"]})["content"], whole["content"])
        self.assertGreater(whole["tokens_predicted"], 1)
        probabilities = whole["completion_probabilities"]
        self.assertEqual([one["id"] for one in probabilities], whole["tokens"])
        self.assertEqual(probabilities[0]["top_logprobs"][0]["id"], whole["tokens"][0])
        events = [data for _, data in self.server.stream("/completion", body)]
        self.assertEqual("".join(event["content"] for event in events), whole["content"])
        self.assertEqual([token for event in events for token in event["tokens"]], whole["tokens"])
        self.assertEqual([event["stop"] for event in events], [False] * (len(events) - 1) + [True])
        several = self.server.post("/completion", {**body, "prompt": [body["prompt"], "Once"]})
        self.assertEqual([one["index"] for one in several], [0, 1])
        self.assertEqual(several[0]["content"], whole["content"])

    def test_a_completion_of_tokens(self):
        tokens = self.server.post("/tokenize", {"content": QUESTION, "add_special": True})["tokens"]
        body = {"n_predict": 8, "temperature": 0}
        self.assertEqual(self.server.post("/completion", {"prompt": tokens, **body})["content"],
                         self.server.post("/completion", {"prompt": QUESTION, **body})["content"])
        pieces = self.server.post("/tokenize", {"content": QUESTION, "with_pieces": True})["tokens"]
        self.assertEqual("".join(one["piece"] for one in pieces).strip(), QUESTION)

    def test_timings_and_progress(self):
        words = "A prompt with its very own words, once and again. " * 40
        events = [data for _, data in self.server.stream(
            "/v1/chat/completions", {"messages": [{"role": "user", "content": words}], "max_tokens": 4,
                                     "return_progress": True, "stream_options": {"include_usage": True}})
            if data != "[DONE]"]
        progress = [event["prompt_progress"] for event in events if "prompt_progress" in event]
        self.assertGreater(len(progress), 1)
        self.assertGreaterEqual(progress[-1]["processed"], progress[-1]["total"] - 1)
        self.assertEqual([one["processed"] for one in progress], sorted(one["processed"] for one in progress))
        timings = events[-1]["timings"]
        self.assertEqual(timings["prompt_n"] + timings["cache_n"], events[-1]["usage"]["prompt_tokens"])
        self.assertEqual(timings["predicted_n"], events[-1]["usage"]["completion_tokens"])
        self.assertGreater(timings["prompt_per_second"], 0)

    def test_what_llama_cpp_can_and_this_cannot(self):
        for field, value in (("mirostat", 1), ("dry_multiplier", 0.8), ("xtc_probability", 0.5), ("n_predict", 0),
                             ("lora", [{"id": 0, "scale": 1}]), ("image_data", [{"data": "", "id": 1}]),
                             ("logit_bias", [[-1, 2]]), ("samplers", ["top_k"]), ("post_sampling_probs", True)):
            self.refused("/completion", field, prompt="x", **{field: value})
        self.refused("/infill", "fill-in-the-middle", input_prefix="a", input_suffix="b")
        self.refused("/infill", "input_suffix", input_prefix="a")
        self.refused("/detokenize", "tokens", tokens=[-1])
        self.refused("/tokenize", "content")
        self.server.post("/completion", {"prompt": "x", "n_predict": 2, "mirostat": 0, "dry_multiplier": 0,
                                         "xtc_probability": 0, "cache_prompt": True, "grammar": "", "lora": [],
                                         "json_schema": None, "seed": -1, "logit_bias": [[5, False], [6, 1.5]]})

    def test_gaps_as_editors_ask_for_them(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "gaps.gguf"
            eos = self.server.post("/tokenize", {"content": self.server.get("/props")["eos_token"]})["tokens"][-1]
            with_more(NOVA, path, {f"tokenizer.ggml.fim_{part}_token_id": eos for part in ("pre", "suf", "mid")})
            server = Server(path)
            try:
                # llama.vim computes a prompt before the request that needs it.
                gap = {"input_prefix": "a = 1\nb = ", "input_suffix": "\nc = 3\n", "input_extra": [], "prompt": "",
                       "n_indent": 4, "samplers": ["top_k", "top_p", "infill"], "t_max_prompt_ms": 500,
                       "t_max_predict_ms": 1}
                warm = server.post("/infill", {**gap, "n_predict": 0, "samplers": []})
                self.assertEqual((warm["content"], warm["tokens_predicted"]), ("", 0))
                said = server.post("/infill", {**gap, "n_predict": 4})
                self.assertEqual(said["tokens_evaluated"], warm["tokens_evaluated"])
                self.assertGreater(said["tokens_cached"], 0)
                # The time is over long before the end, but a line becomes whole.
                line = server.post("/infill", {**gap, "n_predict": 400, "grammar": 'root ::= "a\\n" "b"{400,}'})
                self.assertTrue(line["content"].startswith("a\n"), line)
                self.assertLess(line["tokens_predicted"], 400)
                self.assertEqual(line["stop_type"], "limit")
                server.post("/infill", {**gap, "samplers": ["dry"]}, expected=400)
            finally:
                server.stop()

    def test_what_llama_cpp_tells(self):
        props = self.server.get("/props")
        self.assertEqual(props["model_alias"], "nova")
        self.assertEqual(props["total_slots"], len(self.server.get("/slots")))
        self.assertGreater(props["default_generation_settings"]["n_ctx"], 0)
        prompt = self.server.post("/apply-template", {"messages": HELLO})["prompt"]
        self.assertIn(QUESTION, prompt)

    # --- forms

    def test_a_form_that_is_asked_for_is_never_ignored(self):
        asked = {"temperature": 1, "seed": 5, "max_tokens": 200}
        for fields in ({"json_schema": PLACE}, {"guided_json": PLACE},
                       {"response_format": {"type": "json_object", "schema": PLACE}},
                       {"response_format": {"type": "json_schema", "schema": PLACE}}):
            for path, prompt in (("/v1/chat/completions", {"messages": HELLO}), ("/v1/completions", {"prompt": "x"})):
                choice = self.server.post(path, {**prompt, **asked, **fields})["choices"][0]
                text = choice["text"] if "text" in choice else choice["message"]["content"]
                self.assertEqual(set(json.loads(text)), {"name", "big"}, (path, fields))
        for fields in ({"guided_regex": "a+"}, {"guided_choice": ["a"]}, {"structured_outputs": {"regex": "a"}},
                       {"json_schema": PLACE, "grammar": "root ::= \"a\""}, {"repeat_penalty": "much"}):
            self.refused("/v1/chat/completions", list(fields)[-1], messages=HELLO, **fields)


if __name__ == "__main__":
    unittest.main()
