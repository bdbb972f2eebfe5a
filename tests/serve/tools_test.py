# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Tools and reasoning, with the chat templates of popular families: a model that was trained for none of them writes
the form of each."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from server import ASTER, NOVA, ROOT, Server
from slices import write_with_template

HELLO = [{"role": "user", "content": "What is 12 + 7?"}]
TOOLS = [{"type": "function", "function": {
    "name": "add", "description": "Adds.", "parameters": {
        "type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99},
                                         "b": {"enum": ["x", "y"]}, "c": {"type": "string", "maxLength": 12}},
        "required": ["a", "b", "c"], "additionalProperties": False}}},
    # Optional parameters are left out.
    {"type": "function", "function": {
        "name": "look", "parameters": {"type": "object", "properties": {"far": {"type": "boolean"}},
                                       "required": ["far"]}}}]
TEMPLATES = pathlib.Path(os.environ.get("ASTER_SHARED_DIR", ROOT.parent / "shared")) / "data/templates"
# Templates that describe tools to a model, and whose calls are parsed.
WITH_TOOLS = ("GLM-4.6", "Kimi-K2-Instruct", "NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "Qwen-Qwen2.5-7B-Instruct",
              "Qwen-Qwen3-0.6B", "deepseek-ai-DeepSeek-V4", "meta-llama-Llama-3.1-8B-Instruct",
              "meta-llama-Llama-3.2-3B-Instruct", "mistralai-Mistral-Nemo-Instruct-2407")

# Reasons if it is told to, and calls like its relatives.
THINKER = """{%- if tools %}<|system|>{{ tools | tojson }}{% endif -%}
{%- for m in messages -%}<|{{ m.role }}|>
{%- if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif -%}{{ m.content }}
{%- for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments if c.function.arguments is string
 else c.function.arguments | tojson }}}
</tool_call>{% endfor -%}{{ eos_token }}{%- endfor -%}
{%- if add_generation_prompt %}<|assistant|>{% if enable_thinking %}<think>{% endif %}{% endif -%}"""
# Ids of calls are nine letters or digits, before the arguments.
WITH_IDS = """{%- if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif -%}
{%- for m in messages -%}
{%- if m.role == 'tool' and m.tool_call_id | length != 9 %}{{ raise_exception('nine') }}{% endif -%}
{{ '[INST]' if m.role == 'user' }}{{ '[TOOL_RESULTS]' + m.tool_call_id if m.role == 'tool' }}{{ m.content }}
{%- for c in m.tool_calls or [] -%}
{%- if c.id | length != 9 %}{{ raise_exception('nine') }}{% endif -%}
[TOOL_CALLS]{{ c.function.name }}[CALL_ID]{{ c.id }}[ARGS]{{ c.function.arguments | tojson }}
{%- endfor -%}
{{ '[/INST]' if m.role == 'user' }}{{ eos_token if m.role == 'assistant' }}{%- endfor -%}"""
# Like DeepSeek V3.1's template: with calls, and without tools.
WITHOUT_TOOLS = """{{ bos_token }}{% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor -%}
{%- for m in messages if m.role != 'system' -%}
{{ '<｜User｜>' if m.role == 'user' }}{{ '<｜tool▁output▁begin｜>' if m.role == 'tool' }}{{ m.content }}
{%- for c in m.tool_calls or [] -%}
{{ '<｜tool▁calls▁begin｜>' if loop.first }}<｜tool▁call▁begin｜>{{ c.function.name }}<｜tool▁sep｜>
{{- c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}<｜tool▁call▁end｜>
{{- '<｜tool▁calls▁end｜>' if loop.last }}
{%- endfor -%}
{{ '<｜tool▁output▁end｜>' if m.role == 'tool' }}{{ '<｜end▁of▁sentence｜>' if m.role == 'assistant' }}
{%- endfor -%}
{{ '<｜Assistant｜></think>' if add_generation_prompt }}"""
THOUGHT = r'root ::= "<think>\nI think.\n</think>\n\nParis."'


class Models:
    """Servers with one model each, nova or a preset, with another template."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()

    def serve(self, source, *options, preset=None):
        path = pathlib.Path(self.folder.name) / "model.gguf"
        shape = path.with_name("shape.gguf") if preset else NOVA
        if preset:
            subprocess.run([ASTER, "synth", shape, "--preset", preset], check=True, capture_output=True)
        write_with_template(shape, path, source)
        return Server(path, *options)


def is_valid(call):
    arguments = json.loads(call["arguments"])
    if call["name"] == "look":
        return set(arguments) == {"far"} and isinstance(arguments["far"], bool)
    return (call["name"] == "add" and set(arguments) == {"a", "b", "c"} and type(arguments["a"]) is int and
            0 <= arguments["a"] <= 99 and arguments["b"] in ("x", "y") and isinstance(arguments["c"], str))


class Checks(unittest.TestCase):
    """Checks for every template whose calls can be constrained."""

    @classmethod
    def setUpClass(cls):
        cls.models = Models()

    @classmethod
    def tearDownClass(cls):
        cls.models.folder.cleanup()

    def check_calls(self, server):
        def ask(expected=200, **fields):
            return server.post("/v1/chat/completions", {
                "messages": HELLO, "tools": TOOLS, "max_tokens": 300, **fields}, expected)

        named = {"type": "function", "function": {"name": "add"}}
        for choice in ("required", named):
            for seed in range(2):
                answer = ask(tool_choice=choice, temperature=1.5, seed=seed,
                             parallel_tool_calls=seed == 0)["choices"][0]
                calls = [call["function"] for call in answer["message"].get("tool_calls") or []]
                self.assertFalse(answer["message"].get("content"), answer)
                # This model may write calls until there is no room for more: then the last one is truncated.
                if answer["finish_reason"] == "length":
                    calls = calls[:-1]
                else:
                    self.assertEqual(answer["finish_reason"], "tool_calls")
                    self.assertTrue(calls, answer)
                for call in calls:
                    self.assertTrue(is_valid(call), call)
                if seed == 1:
                    self.assertLessEqual(len(calls), 1)
                    self.assertEqual(answer["finish_reason"], "tool_calls")
        form = {"type": "json_schema", "json_schema": {"name": "n", "schema": {
            "type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}}}
        answer = ask(response_format=form, temperature=1)["choices"][0]
        if answer["message"].get("tool_calls"):
            self.assertFalse(answer["message"].get("content"))
        else:
            self.assertIn(json.loads(answer["message"]["content"]), ({"n": 1}, {"n": 2}))

    def check_conversations(self, server):
        call = {"id": "call_of_another_server", "type": "function",
                "function": {"name": "add", "arguments": "{\"a\": 1, \"b\": \"x\", \"c\": \"\"}"}}
        told = [{"role": "system", "content": "Be brief."}, *HELLO]
        server.post("/v1/chat/completions", {"messages": told, "max_tokens": 1})
        later = [*HELLO, {"role": "assistant", "content": "19"}, *told]
        server.post("/v1/chat/completions", {"messages": later, "max_tokens": 1})
        server.post("/v1/chat/completions", {
            "messages": [*HELLO, {"role": "assistant", "content": "", "tool_calls": [call]},
                         {"role": "tool", "tool_call_id": call["id"], "content": "19"}],
            "tools": TOOLS, "max_tokens": 1})

    def check_strict(self, server):
        strict = json.loads(json.dumps(TOOLS))
        strict[0]["function"]["strict"] = True
        answer = server.post("/v1/chat/completions", {
            "messages": HELLO, "tools": strict, "max_tokens": 60, "temperature": 0})["choices"][0]
        for one in answer["message"].get("tool_calls") or []:
            if answer["finish_reason"] == "tool_calls" and one["function"]["name"] == "add":
                self.assertTrue(is_valid(one["function"]), one)
        strict[0]["function"]["parameters"]["not"] = {}
        refused = server.post("/v1/chat/completions", {"messages": HELLO, "tools": strict}, 400)
        self.assertIn("add cannot be strict", refused["error"]["message"])


class Templates(Checks):
    @classmethod
    def setUpClass(cls):
        if not TEMPLATES.is_dir():
            raise unittest.SkipTest(f"no templates in {TEMPLATES}")
        super().setUpClass()

    def test_each_template_with_tools(self):
        for name in WITH_TOOLS:
            with self.subTest(name):
                server = self.models.serve((TEMPLATES / f"{name}.jinja").read_text())
                try:
                    self.check_calls(server)
                    self.check_conversations(server)
                    self.check_strict(server)
                finally:
                    server.stop()

    def test_a_template_that_refuses_the_system(self):
        server = self.models.serve((TEMPLATES / "google-gemma-2-2b-it.jinja").read_text())
        try:
            server.post("/v1/chat/completions", {
                "messages": [{"role": "system", "content": "Be brief."}, *HELLO], "max_tokens": 1})
            server.post("/v1/messages", {"system": "Be brief.", "messages": HELLO, "max_tokens": 1})
        finally:
            server.stop()


def streamed_calls(events):
    """The calls in the pieces of a stream."""
    calls = []
    for _, chunk in events[:-1]:
        for delta in (choice["delta"] for choice in chunk["choices"]):
            for piece in delta.get("tool_calls") or []:
                if piece["index"] == len(calls):
                    calls.append({"id": piece["id"], "name": piece["function"]["name"], "arguments": ""})
                calls[piece["index"]]["arguments"] += piece["function"].get("arguments") or ""
    return calls


class Ids(Checks):
    """Mistral Small 3.2, which writes an id for each call."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.models.serve(WITH_IDS, preset="mistral3-tiny")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        super().tearDownClass()

    def ask(self, **fields):
        return {"messages": HELLO, "tools": TOOLS, "max_tokens": 400, **fields}

    def test_forced_calls(self):
        self.check_calls(self.server)
        self.check_conversations(self.server)
        self.check_strict(self.server)

    def favoured(self, text):
        """Makes the model write the beginning of the text wherever it may."""
        return {str(self.server.post("/tokenize", {"content": text})["tokens"][0]): 100}

    def test_ids_are_nine_letters_or_digits_and_come_back(self):
        for seed in range(3):
            # The model continues to call, until the last call is truncated.
            body = self.ask(tool_choice="required", temperature=1.5, seed=seed, logit_bias=self.favoured("["))
            answer = self.server.post("/v1/chat/completions", body)["choices"][0]
            self.assertEqual(answer["finish_reason"], "length")
            message = answer["message"]
            calls = message["tool_calls"] = message["tool_calls"][:-1]
            self.assertGreaterEqual(len(calls), 2)
            for call in calls:
                self.assertTrue(is_valid(call["function"]), call)
                self.assertRegex(call["id"], "^[0-9A-Za-z]{9}$")
            self.assertEqual(len({call["id"] for call in calls}), len(calls))
            streamed = streamed_calls(self.server.stream("/v1/chat/completions", {**body, "stream": True}))[:-1]
            self.assertEqual([{**call["function"], "id": call["id"]} for call in calls], streamed)
            # The template would refuse ids of another length.
            results = [{"role": "tool", "tool_call_id": call["id"], "content": "19"} for call in calls]
            again = {"messages": [*HELLO, message, *results], "tools": TOOLS}
            self.server.post("/v1/chat/completions", {**again, "max_tokens": 1})
            prompt = self.server.post("/apply-template", again)["prompt"]
            for call in calls:
                written = f"{call['function']['name']}[CALL_ID]{call['id']}[ARGS]{call['function']['arguments']}"
                self.assertIn(f"[TOOL_CALLS]{written}", prompt)

    def test_a_call_in_free_text_keeps_its_id(self):
        # The calls have an id, none, and an invalid one.
        said = "".join("[TOOL_CALLS]look" + mark + r'[ARGS]{\"far\": true}'
                       for mark in ("[CALL_ID]aZ0bY1cX2", "", "[CALL_ID]no id"))
        body = self.ask(grammar=f'root ::= "Well.{said}"', logit_bias=self.favoured("Well."), temperature=0)
        message = self.server.post("/v1/chat/completions", body)["choices"][0]["message"]
        self.assertEqual(message["content"], "Well.")
        calls = message["tool_calls"]
        self.assertEqual([call["function"] for call in calls],
                         [{"name": "look", "arguments": '{"far": true}'}] * 3)
        self.assertEqual(calls[0]["id"], "aZ0bY1cX2")
        for call in calls[1:]:
            self.assertRegex(call["id"], "^[0-9A-Za-z]{9}$")
        streamed = streamed_calls(self.server.stream("/v1/chat/completions", {**body, "stream": True}))
        self.assertEqual([call["arguments"] for call in streamed], ['{"far": true}'] * 3)
        self.assertEqual(streamed[0]["id"], "aZ0bY1cX2")


class DeepSeek31(Checks):
    """Its template has no tools: they are appended to the system's text."""

    def serve(self, source):
        return self.models.serve(source, preset="deepseek2-tiny")

    def test_calls(self):
        sources = {"ours": WITHOUT_TOOLS}
        published = TEMPLATES / "deepseek-ai-DeepSeek-V3.1.jinja"
        if published.is_file():
            sources["published"] = published.read_text()
        for name, source in sources.items():
            with self.subTest(name):
                server = self.serve(source)
                try:
                    self.check_calls(server)
                    self.check_conversations(server)
                    self.check_strict(server)
                    with_tools = server.post("/apply-template", {"messages": HELLO, "tools": TOOLS})["prompt"]
                    without = server.post("/apply-template", {"messages": HELLO})["prompt"]
                    question = without.index("<｜User｜>")
                    self.assertTrue(with_tools.startswith(without[:question] + "\n\n## Tools\n"), with_tools)
                    self.assertTrue(with_tools.endswith("spaces" + without[question:]), with_tools)
                finally:
                    server.stop()

    def test_calls_in_fences_are_not_explained(self):
        server = self.serve(WITHOUT_TOOLS + "{# ```json #}")
        try:
            refused = server.post("/v1/chat/completions", {"messages": HELLO, "tools": TOOLS}, 400)
            self.assertIn("no place for tools", refused["error"]["message"])
        finally:
            server.stop()


class Quasar(unittest.TestCase):
    """Its calls have a tag for each argument."""

    def test_a_tool_that_has_to_be_called(self):
        server = Server(ROOT / "models/quasar.gguf")
        try:
            for seed in range(3):
                for choice in ("required", {"type": "function", "function": {"name": "add"}}):
                    answer = server.post("/v1/chat/completions", {
                        "messages": HELLO, "tools": TOOLS, "tool_choice": choice, "max_tokens": 400,
                        "parallel_tool_calls": False, "temperature": 1, "seed": seed})["choices"][0]
                    self.assertEqual(answer["finish_reason"], "tool_calls", answer)
                    self.assertFalse(answer["message"].get("content"))
                    self.assertTrue(is_valid(answer["message"]["tool_calls"][0]["function"]), answer)
        finally:
            server.stop()


class Reasoning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = Models()
        cls.server = cls.models.serve(THINKER, "--temp", 0)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.models.folder.cleanup()

    def chat(self, **fields):
        return {"messages": HELLO, "max_tokens": 64, **fields}

    def test_calls_of_unknown_tools_are_text(self):
        call = r'root ::= "<tool_call>\n{\"name\": \"multiply\", \"arguments\": {}}\n</tool_call>"'
        server = self.server
        # A grammar may guide the model if there are no tools.
        answer = server.post("/v1/chat/completions", self.chat(grammar=call))["choices"][0]
        self.assertIn("multiply", answer["message"]["content"])
        answer = server.post("/v1/chat/completions", self.chat(grammar=call, tools=TOOLS))["choices"][0]
        if answer["message"].get("tool_calls"):
            self.assertIn(answer["message"]["tool_calls"][0]["function"]["name"], ("add", "look"))
        else:
            self.assertIn("multiply", answer["message"]["content"])

    def test_only_one_call_where_only_one_is_wanted(self):
        body = self.chat(tools=TOOLS, tool_choice="required", parallel_tool_calls=False, temperature=2, max_tokens=300)
        for seed in range(4):
            answer = self.server.post("/v1/chat/completions", {**body, "seed": seed})["choices"][0]
            self.assertEqual(answer["finish_reason"], "tool_calls")
            self.assertEqual(len(answer["message"]["tool_calls"]), 1)
            self.assertTrue(is_valid(answer["message"]["tool_calls"][0]["function"]))
        tools = [{"name": one["function"]["name"], "input_schema": one["function"]["parameters"]} for one in TOOLS]
        answer = self.server.post("/v1/messages", {
            "messages": HELLO, "max_tokens": 300, "tools": tools,
            "tool_choice": {"type": "any", "disable_parallel_tool_use": True}})
        self.assertEqual([block["type"] for block in answer["content"]], ["tool_use"])
        self.assertEqual(answer["stop_reason"], "tool_use")

    def test_reasoning_is_separate_from_the_answer(self):
        body = self.chat(grammar=THOUGHT)
        whole = self.server.post("/v1/chat/completions", body)["choices"][0]["message"]
        self.assertEqual((whole["reasoning_content"], whole["content"]), ("I think.", "Paris."))
        events = self.server.stream("/v1/chat/completions", body)
        deltas = [choice["delta"] for _, chunk in events[:-1] for choice in chunk["choices"]]
        for key, said in (("reasoning_content", "I think."), ("content", "Paris.")):
            self.assertEqual("".join(delta.get(key) or "" for delta in deltas), said)

    def test_reasoning_in_each_dialect(self):
        # The model decides whether to reason, and its reasoning is known.
        body = self.chat(chat_template_kwargs={"enable_thinking": True}, temperature=0)
        whole = self.server.post("/v1/chat/completions", body)["choices"][0]["message"]
        self.assertTrue(whole["reasoning_content"])
        events = self.server.stream("/v1/chat/completions", body)
        deltas = [choice["delta"] for _, chunk in events[:-1] for choice in chunk["choices"]]
        self.assertEqual("".join(delta.get("reasoning_content") or "" for delta in deltas),
                         whole["reasoning_content"])
        quiet = self.server.post("/v1/chat/completions", self.chat(reasoning_effort="none"))["choices"][0]["message"]
        self.assertFalse(quiet.get("reasoning_content"))

        body = {"messages": HELLO, "max_tokens": 64}
        thinking = {"type": "enabled", "budget_tokens": 1024}
        block = self.server.post("/v1/messages", {**body, "thinking": thinking})["content"][0]
        self.assertEqual(block["type"], "thinking")
        self.assertEqual(block["thinking"], whole["reasoning_content"])
        self.assertIn("signature", block)
        names = [name for name, event in self.server.stream("/v1/messages", {**body, "thinking": thinking})]
        self.assertEqual(names[0], "message_start")
        self.assertEqual(names[-1], "message_stop")
        plain = self.server.post("/v1/messages", body)["content"]
        self.assertNotIn("thinking", [block["type"] for block in plain])

        body = {"input": "What is 12 + 7?", "max_output_tokens": 64, "reasoning": {"effort": "high"}}
        item = self.server.post("/v1/responses", body)["output"][0]
        self.assertEqual(item["type"], "reasoning")
        self.assertEqual(item["content"][0]["text"], whole["reasoning_content"])


if __name__ == "__main__":
    unittest.main()
