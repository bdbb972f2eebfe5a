# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""README's examples for curl, the SDKs (see clients_test.py for more of them) and editors, run literally."""
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import unittest

from server import NOVA, ROOT, Server, events_of


def read_block(text):
    """README's subset of YAML: keys at the left, and one list of mappings."""
    table, entries = {}, []
    for line in text.splitlines():
        key, _, value = line.strip().removeprefix("- ").partition(": ")
        if line.startswith("  - "):
            entries.append({})
        if not line.startswith(" "):
            table[key.rstrip(":")] = value or entries
        else:
            entries[-1][key] = value[1:-1].split(", ") if value.startswith("[") else value
    return table


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = (ROOT / "README.md").read_text()
        cls.server = Server(NOVA)
        cls.address = f"http://{cls.server.host}:{cls.server.port}"
        cls.editor = read_block(re.search(r"```yaml\n(.*?)```", cls.text, re.DOTALL)[1])

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def path_of(self, base):
        self.assertTrue(base.startswith("http://127.0.0.1:8080"), base)
        return base.removeprefix("http://127.0.0.1:8080")

    @unittest.skipUnless(shutil.which("curl"), "there is no curl here")
    def test_curl(self):
        command = next(line for line in self.text.splitlines() if line.startswith("curl http://127.0.0.1:8080/"))
        run = subprocess.run(["bash", "-c", command.replace("http://127.0.0.1:8080", self.address)],
                             capture_output=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(json.loads(run.stdout)["choices"])

    def test_addresses_of_sdks(self):
        # OpenAI's clients add /models and others to their base URL, Anthropic's add /v1/messages.
        for pattern, path in ((r'openai\.OpenAI\(base_url="([^"]+)"', "/models"),
                              (r'anthropic\.Anthropic\(base_url="([^"]+)"', "/v1/models")):
            base = self.path_of(re.search(pattern, self.text)[1])
            self.assertIn("nova", [model["id"] for model in self.server.get(base + path)["data"]])

    def run_python(self, package, more):
        """The README's line for the package, with the rest of a program."""
        if importlib.util.find_spec(package) is None:
            self.skipTest(f"there is no {package} here")
        line = next(line for line in self.text.splitlines() if line.startswith(f"{package}."))
        program = (f"import {package}\nclient = "
                   f"{line.replace('http://127.0.0.1:8080', self.address)}\n{more}\n")
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=300)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(run.stdout.strip())

    def test_openai_for_python(self):
        self.run_python("openai", """
messages = [{"role": "user", "content": "Hello"}]
assert "nova" in [model.id for model in client.models.list()]
print(client.chat.completions.create(model="nova", messages=messages, max_tokens=8).choices[0].message.content)
for chunk in client.chat.completions.create(model="nova", messages=messages, max_tokens=8, stream=True):
    print(chunk.choices[0].delta.content)
print(client.responses.create(model="nova", input="Hello", max_output_tokens=8).output_text)
""")

    def test_anthropic_for_python(self):
        self.run_python("anthropic", """
messages = [{"role": "user", "content": "Hello"}]
assert client.models.list().data[0].type == "model"
answer = client.messages.create(model="nova", messages=messages, max_tokens=8)
assert answer._request_id
print(answer.content[0].text)
with client.messages.stream(model="nova", messages=messages, max_tokens=8) as stream:
    print("".join(stream.text_stream))
    assert stream.get_final_message().usage.output_tokens
""")

    # --- the editor

    def editor_models(self, role):
        found = [model for model in self.editor["models"] if role in model["roles"]]
        self.assertEqual(len(found), 1, role)
        return found[0]

    def ask_as_editor(self, model, path, body):
        headers = {"Authorization": f"Bearer {model['apiKey']}", "api-key": model["apiKey"],
                   "Accept": "text/event-stream"}
        status, answered, text = self.server.request(
            "POST", self.path_of(model["apiBase"]) + path, {"model": model["model"], "stream": True, **body}, headers)
        self.assertEqual(status, 200, text)
        self.assertTrue(answered["Content-Type"].startswith("text/event-stream"))
        events = events_of(text.decode())
        self.assertEqual(events[-1][1], "[DONE]")
        return [choice for _, chunk in events[:-1] for choice in chunk["choices"]]

    def test_editor_has_what_its_file_must_say(self):
        self.assertEqual(self.editor["schema"], "v1")
        self.assertTrue(self.editor["name"] and self.editor["version"])
        for model in self.editor["models"]:
            self.assertEqual(model["provider"], "openai")
            listed = self.server.get(self.path_of(model["apiBase"]) + "/models",
                                     headers={"Authorization": f"Bearer {model['apiKey']}"})
            self.assertIn(model["model"], [one["id"] for one in listed["data"]])

    def test_editor_chats_and_edits(self):
        model = self.editor_models("chat")
        self.assertEqual(model["useLegacyCompletionsEndpoint"], "false")
        system = {"role": "system", "content": "You help in an editor. Code stands in blocks."}
        turns = [system, {"role": "user", "content": [{"type": "text", "text": "What is the capital of France?"}]}]
        for question in ("And of Italy?", "Write it in capitals:\n```txt\nRome\n```\n"):
            choices = self.ask_as_editor(model, "/chat/completions", {
                "messages": turns, "max_tokens": 4096, "temperature": 0.01})
            said = "".join(choice["delta"].get("content") or "" for choice in choices)
            self.assertTrue(said)
            self.assertEqual(choices[-1]["finish_reason"], "stop")
            turns += [{"role": "assistant", "content": said}, {"role": "user", "content": question}]

    def test_editor_fills_in(self):
        model = self.editor_models("autocomplete")
        self.assertEqual(model["useLegacyCompletionsEndpoint"], "true")
        before, behind = "def add(a, b):\n    return ", "\n\nprint(add(1, 2))\n"
        choices = self.ask_as_editor(model, "/completions", {
            "prompt": f"<fim_prefix>{before}<fim_suffix>{behind}<fim_middle>", "max_tokens": 64, "temperature": 0.01,
            "stop": ["<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<file_sep>", "<|endoftext|>", "</fim_middle>",
                     "\n\n", "\r\n\r\n", "/src/", "#- coding: utf-8", "```"]})
        said = "".join(choice["text"] for choice in choices)
        self.assertNotIn("\n\n", said)
        self.assertIn(choices[-1]["finish_reason"], ("stop", "length"))


if __name__ == "__main__":
    unittest.main()
