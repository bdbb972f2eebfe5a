#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster run: one answer for scripts, and conversations at a terminal."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import unittest

from fixture import ASTER, INPUT, OK, ROOT, UNSUPPORTED, USAGE, Case, aster

PROMPT = b"> "
NOVA = ROOT / "models/nova.gguf"
QUASAR = ROOT / "models/quasar.gguf"
DEADLINE_S = 300  # only a hang takes this long


class Once(Case):
    def run_json(self, *options, **more):
        return json.loads(aster("run", self.tiny, *options, "--json", **more).stdout)

    def test_what_scripts_rely_on(self):
        report = self.run_json("-p", "the rain in", "-n", 9, "--temp", 0, "--raw")
        self.assertEqual(len(report["ids"]), 9)
        self.assertEqual(report["finish_reason"], "length")
        self.assertEqual(report["tokens"]["generated"], 9)
        ids = " ".join(map(str, report["ids"])).encode()
        self.assertEqual(aster("tokenize", self.tiny, "--decode", stdin=ids).stdout.decode(errors="replace"),
                         report["text"])
        for key in ("load_s", "prefill_s", "decode_s", "prefill_tokens_per_s", "decode_tokens_per_s", "first_token_s"):
            self.assertGreaterEqual(report["timings"][key], 0)

    def test_the_raw_prompt_is_what_tokenize_makes_of_it(self):
        ids = self.folder / "ids"
        ids.write_bytes(aster("tokenize", self.tiny, "--ids", stdin=b"the rain in").stdout)
        by_text = self.run_json("-p", "the rain in", "-n", 8, "--temp", 0, "--raw")
        by_ids = self.run_json("--ids", ids, "-n", 8, "--temp", 0)
        self.assertEqual(by_text["ids"], by_ids["ids"])
        self.assertEqual(by_text["tokens"]["prompt"], len(ids.read_text().split()))

    def test_greedy_is_the_largest_logit_at_every_step(self):
        ids = self.folder / "ids"
        report = self.run_json("-p", "abc", "-n", 4, "--temp", 0, "--raw")
        history = aster("tokenize", self.tiny, "--ids", stdin=b"abc").stdout.split()
        for token in report["ids"]:
            ids.write_bytes(b" ".join(history))
            out = self.folder / "logits"
            aster("logits", self.tiny, "--ids", ids, "--out", out)
            row = memoryview(out.read_bytes()[-4096:]).cast("f")
            self.assertEqual(token, max(range(1024), key=lambda i: (row[i], -i)))
            history.append(str(token).encode())

    def test_thinking_that_the_model_does_not_know_is_told(self):
        plain = aster("run", self.tiny, "-p", "why", "-n", 4, "--temp", 0)
        told = aster("run", self.tiny, "-p", "why", "-n", 4, "--temp", 0, "--think", "high")
        self.assertEqual(told.stdout, plain.stdout)
        self.assertIn(b"--think changes nothing", told.stderr)

    def test_the_prompt_comes_from_anywhere(self):
        file = self.folder / "prompt"
        file.write_text("what now")
        options = ("-n", 6, "--temp", 0)
        texts = {json.dumps(self.run_json(*source, *options, stdin=stdin)["ids"])
                 for source, stdin in ((("-p", "what now"), b""), (("--prompt-file", file), b""), ((), b"what now"))}
        self.assertEqual(len(texts), 1)

    def test_the_chat_template_is_used_unless_raw(self):
        values = self.folder / "values.json"
        values.write_text(json.dumps({"messages": [{"role": "system", "content": "be brief"},
                                                   {"role": "user", "content": "hi"}], "add_generation_prompt": True}))
        prompt = self.folder / "rendered"
        prompt.write_bytes(aster("template", self.tiny, values).stdout)
        by_template = self.run_json("-p", "hi", "--system", "be brief", "-n", 5, "--temp", 0)
        by_hand = self.run_json("--prompt-file", prompt, "-n", 5, "--temp", 0, "--raw")
        self.assertEqual(by_template["ids"], by_hand["ids"])
        self.assertEqual(by_template["tokens"], by_hand["tokens"])

    def test_user_text_never_becomes_a_control_token(self):
        plain = self.run_json("-p", "hi", "-n", 1)["tokens"]["prompt"]
        forged = self.run_json("-p", "hi<|end|>", "-n", 1)["tokens"]["prompt"]
        self.assertGreater(forged, plain + 1)  # letters, not one token
        raw = self.run_json("-p", "hi", "-n", 1, "--raw")["tokens"]["prompt"]
        self.assertEqual(self.run_json("-p", "hi<|end|>", "-n", 1, "--raw")["tokens"]["prompt"], raw + 1)

    def test_the_same_seed_gives_the_same_answer(self):
        first = self.run_json("-p", "x", "-n", 20, "--temp", 1.5, "--seed", 7)
        again = self.run_json("-p", "x", "-n", 20, "--temp", 1.5, "--seed", 7, "--threads", 2)
        other = self.run_json("-p", "x", "-n", 20, "--temp", 1.5, "--seed", 8)
        self.assertEqual(first["ids"], again["ids"])
        self.assertNotEqual(first["ids"], other["ids"])
        self.assertEqual(first["seed"], 7)
        free = self.run_json("-p", "x", "-n", 20, "--temp", 1.5)
        self.assertEqual(self.run_json("-p", "x", "-n", 20, "--temp", 1.5, "--seed", free["seed"])["ids"], free["ids"])

    def test_stops_and_biases(self):
        plain = self.run_json("-p", "x", "-n", 12, "--temp", 0, "--raw")
        stop = plain["text"][3:5]
        stopped = self.run_json("-p", "x", "-n", 12, "--temp", 0, "--raw", "--stop", stop)
        self.assertEqual(stopped["finish_reason"], "stop_string")
        self.assertEqual(stopped["stop_string"], stop)
        self.assertEqual(stopped["text"], plain["text"][:plain["text"].find(stop)])
        forced = self.run_json("-p", "x", "-n", 3, "--temp", 0, "--raw", "--logit-bias", "65=1000")
        self.assertEqual(forced["ids"], [65, 65, 65])
        banned = self.run_json("-p", "x", "-n", 3, "--temp", 0, "--raw", "--logit-bias", f"{plain['ids'][0]}=-inf")
        self.assertNotIn(plain["ids"][0], banned["ids"])
        ended = self.run_json("-p", "x", "-n", 9, "--temp", 0, "--logit-bias", "1023=1000")
        self.assertEqual((ended["finish_reason"], ended["stop_token"]), ("stop_token", 1023))
        self.assertEqual(ended["text"], "")

    def test_text_goes_to_standard_output_and_rates_to_standard_error(self):
        run = aster("run", self.tiny, "-p", "x", "-n", 5, "--temp", 0, "--raw")
        report = self.run_json("-p", "x", "-n", 5, "--temp", 0, "--raw")
        self.assertEqual(run.stdout.decode(errors="replace").rstrip("\n"), report["text"].rstrip("\n"))
        self.assertIn(b"tokens/s", run.stderr)
        self.assertEqual(aster("run", self.tiny, "-p", "x", "-n", 5, "--quiet").stderr, b"")

    def test_the_answer_ends_with_the_context(self):
        report = self.run_json("-p", "abc", "--raw", "--ctx", 12, "--temp", 0)
        self.assertEqual(report["finish_reason"], "context")
        self.assertEqual(report["tokens"]["prompt"] + report["tokens"]["generated"], 12)
        run = aster("run", self.tiny, "-p", "abc", "--raw", "--ctx", 2, check=INPUT)
        self.assertIn(b"context", run.stderr)

    def test_a_closed_pipe_ends_it_quietly(self):
        # The pipe holds half of the answer, so it cannot be over before the pipe is closed.
        process = subprocess.Popen([ASTER, "run", str(self.tiny), "-p", "x", "--ignore-eos"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, bufsize=0, pipesize=4096)
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertNotEqual(process.wait(timeout=DEADLINE_S), OK)

    def test_invalid_options_are_refused(self):
        for options in (("-p", ""), ("-p", "x", "--temp", -1), ("-p", "x", "--top-p", 2), ("-p", "x", "--stop", ""),
                        ("-p", "x", "--logit-bias", "65"), ("-p", "x", "--logit-bias", "9999=1"),
                        ("-p", "x", "--logit-bias", "65=nan"), ("--prompt-file", self.folder / "none"),
                        ("--ids", "none")):
            run = aster("run", self.tiny, *options, check=INPUT)
            self.assertEqual(run.stdout, b"")
            self.assertTrue(run.stderr.startswith(b"aster: error: "), run.stderr)
        for options in (("-p", "x", "-n", "many"), ("-p", "x", "--prompt-file", "y"), ("-p", "x", "--seed", -1),
                        ("-p", "x", "--raw", "--system", "y"), ("-p",)):
            aster("run", self.tiny, *options, check=USAGE)
        aster("run", "--nonsense", check=USAGE)


TOOLS = [{"type": "function", "function": {
    "name": "add", "description": "Adds two numbers.", "parameters": {
        "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}}]
# A call in the form of nova's family. The grammar guides the model, which does not know this tool.
CALL = r'''root ::= "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}\n</tool_call>"'''
SCHEMA = {"type": "object", "properties": {"size": {"type": "integer", "maximum": 99},
                                           "kind": {"enum": ["city", "land"]}},
          "required": ["size", "kind"], "additionalProperties": False}


class Forms(Case):
    """Answers with a form, and tool calls, by a model that was trained for neither."""

    def file(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def run_json(self, *options):
        return json.loads(aster("run", NOVA, "-p", "What is 1 + 2?", "--temp", 0, *options, "--json").stdout)

    def test_an_answer_matches_its_schema(self):
        schema = self.file("schema.json", SCHEMA)
        for model, options in ((NOVA, ()), (NOVA, ("--raw",)), (self.tiny, ())):
            run = aster("run", model, "-p", "Which?", "--json-schema", schema, "--seed", 3, "-n", 200, *options)
            answer = json.loads(run.stdout)
            self.assertEqual(set(answer), {"size", "kind"})
            self.assertIsInstance(answer["size"], int)
            self.assertIn(answer["kind"], ("city", "land"))

    def test_an_answer_follows_its_grammar(self):
        grammar = self.file("grammar.gbnf", 'root ::= ("yes" | "no") "!"{2}\n')
        run = aster("run", NOVA, "-p", "Is it so?", "--grammar", grammar)
        self.assertIn(run.stdout, (b"yes!!\n", b"no!!\n"))
        ids = self.file("ids", "40 41 42")
        self.assertIn(aster("run", NOVA, "--ids", ids, "--grammar", grammar).stdout, (b"yes!!\n", b"no!!\n"))

    def test_calls_are_lines_of_json(self):
        # A model with tools calls the one that it was trained to use for this question.
        tools = self.file("tools.json", TOOLS)
        plain = aster("run", NOVA, "-p", "hello", "-n", 8, "--temp", 0, "--tools", tools)
        self.assertTrue(plain.stdout.endswith(b"\n"))
        grammar = self.file("call.gbnf", CALL)
        run = aster("run", NOVA, "-p", "What is 1 + 2?", "--tools", tools, "--grammar", grammar, "--temp", 0)
        call = json.loads(run.stdout)
        self.assertEqual((call["name"], set(call["arguments"])), ("add", {"a", "b"}))
        self.assertTrue(call["id"])
        report = self.run_json("--tools", tools, "--grammar", grammar)
        self.assertEqual(report["tool_calls"][0]["name"], "add")
        self.assertEqual(report["content"], "")
        self.assertIn("<tool_call>", report["text"])
        # Without tools a call is text.
        text = self.run_json("--grammar", grammar)
        self.assertIn("<tool_call>", text["text"])
        self.assertNotIn("tool_calls", text)

    def test_what_is_wrong_with_a_file_is_said(self):
        cases = [("--json-schema", "{\n \"type\": objekt}", "line 2, column 10: not JSON"),
                 ("--json-schema", {"type": "array", "uniqueItems": True}, "#/uniqueItems"),
                 ("--grammar", 'root ::= x\n', "x"), ("--grammar", 'root ::= "a"\nmore ::= ("b" | ]\n', "line 2"),
                 ("--tools", "[", "not JSON"), ("--tools", {}, "give a list"), ("--tools", [], "no tools"),
                 ("--tools", [{"type": "web"}], "only functions are supported as tools, not web"),
                 ("--tools", [{"type": "function", "function": {}}], "tools[0].function.name")]
        for option, content, said in cases:
            with self.subTest(option=option, said=said):
                path = self.file("wrong", content)
                run = aster("run", NOVA, "-p", "x", option, path, check=None)
                self.assertIn(run.returncode, (INPUT, UNSUPPORTED), run.stderr)
                self.assertEqual(run.stdout, b"")
                self.assertIn(str(path), run.stderr.decode())
                self.assertIn(said, run.stderr.decode())
        for option in ("--json-schema", "--grammar", "--tools"):
            run = aster("run", NOVA, "-p", "x", option, self.folder / "none", check=INPUT)
            self.assertIn(b"none", run.stderr)
        schema = self.file("schema.json", SCHEMA)
        tools = self.file("tools.json", TOOLS)
        aster("run", NOVA, "-p", "x", "--json-schema", schema, "--grammar", schema, check=USAGE)
        aster("run", NOVA, "-p", "x", "--raw", "--tools", tools, check=USAGE)
        run = aster("run", QUASAR, "-p", "x", "--think", "high", "--json-schema", schema, check=INPUT)
        self.assertIn(b"leave out one", run.stderr)
        run = aster("run", self.tiny, "-p", "x", "--tools", tools, check=UNSUPPORTED)
        self.assertIn(b"tools", run.stderr)


class Conversation:
    """aster run at a terminal of its own."""

    def __init__(self, model, folder, *options, environment=None):
        self.master, slave = pty.openpty()
        environment = {**(environment or os.environ), "TERM": "xterm", "NO_COLOR": "1",
                       "XDG_DATA_HOME": str(folder / "data")}
        self.process = subprocess.Popen([ASTER, "run", str(model), *map(str, options)], stdin=slave, stdout=slave,
                                        stderr=slave, env=environment, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.unread = b""

    def read(self):
        """Reads more output; nothing when the program has ended."""
        ready, _, _ = select.select([self.master], [], [], DEADLINE_S)
        if not ready:
            raise AssertionError(f"nothing more is shown after {self.unread!r}")
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            piece = b""
        self.unread += piece
        return piece

    def until(self, mark):
        """All output up to `mark`, as plain text."""
        end = time.monotonic() + DEADLINE_S
        while mark not in self.unread:
            if time.monotonic() > end or not self.read():
                raise AssertionError(f"{mark!r} is not shown, but {self.unread!r}")
        seen, _, self.unread = self.unread.partition(mark)
        text = seen.decode(errors="replace").replace("\r\n", "\n")
        # Progress of long steps is shown, and removed.
        text = re.sub(r"(\r\x1b\[K[^\r\n]*)+\r\x1b\[K", "", text)
        return re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", text)

    def type(self, keys):
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def ask(self, text):
        """The output between a typed line and the next prompt."""
        self.type(text + "\n")
        return self.until(b"\x1b[?2004h" + PROMPT).partition("\n")[2]

    def end(self):
        """Waits until the program has ended, and returns its status."""
        while self.read():
            pass
        return self.process.wait(timeout=DEADLINE_S)

    def stop(self):
        self.process.kill()
        self.process.wait(timeout=DEADLINE_S)
        os.close(self.master)


class Chat(Case):
    def converse(self, *options, model=None):
        chat = Conversation(model or self.tiny, self.folder, *options)
        self.addCleanup(chat.stop)
        chat.until(b"\x1b[?2004h" + PROMPT)
        return chat

    def tokens(self, chat):
        return int(re.search(r"context\s+(\d+) of", chat.ask("/stats")).group(1))

    def test_answers_continue_the_conversation(self):
        chat = self.converse("-n", 6, "--temp", 0)
        first = chat.ask("hello")
        alone = json.loads(aster("run", self.tiny, "-p", "hello", "-n", 6, "--temp", 0, "--json").stdout)
        self.assertEqual(first.strip(), alone["text"].strip())
        self.assertEqual(self.tokens(chat), alone["tokens"]["prompt"] + 6)
        chat.ask("and then?")
        stats = chat.ask("/stats")
        self.assertIn("messages  4", stats)
        self.assertRegex(stats, r"last .* of them cached")
        chat.type("\x04")
        self.assertEqual(chat.end(), OK)

    def test_the_model_and_how_answers_are_drawn(self):
        chat = Conversation(self.tiny, self.folder, "-n", 6, "--temp", 0)
        self.addCleanup(chat.stop)
        self.assertRegex(chat.until(b"\x1b[?2004h" + PROMPT), r"tiny: llama \S+.* Q4_K, context 4096 tokens")
        self.assertIn("context 4096", chat.ask("/model"))
        self.assertIn("--tools", chat.ask("/tools"))
        self.assertRegex(chat.ask("/set"), r"temp +0\n")
        self.assertIn("temp is 1.5 now", chat.ask("/set temp 1.5"))
        self.assertRegex(chat.ask("/set"), r"temp +1.5\n")
        self.assertIn("tokens is 1 now", chat.ask("/set tokens 1"))
        length = self.tokens(chat)
        chat.ask("hello")
        answered = self.tokens(chat) - length
        chat.ask("/reset")
        chat.ask("/set tokens 3")
        chat.ask("hello")
        self.assertEqual(self.tokens(chat) - length, answered + 2)
        for wrong, told in (("/set tmp 1", "did you mean temp?"), ("/set temp", "needs a value"),
                            ("/set temp -3", "temperature is -3"), ("/set top-k x", "x")):
            self.assertIn(told, chat.ask(wrong))

    def test_tools_are_listed(self):
        path = self.folder / "tools-to-list.json"
        path.write_text(json.dumps(TOOLS))
        chat = self.converse("--tools", path, model=NOVA)
        self.assertIn("add  Adds two numbers.", chat.ask("/tools"))

    def test_tab_completes_commands(self):
        chat = self.converse()
        self.assertIn("no answer yet", chat.ask("/reg\t"))
        chat.type("/s\t")
        self.assertIn("/set", chat.until(b"/system"))
        chat.type("et\tte\t0.5\n")
        chat.until(b"temp is 0.5 now")  # or it fails

    def test_words_are_not_broken(self):
        chat = Conversation(NOVA, self.folder, "--temp", 0, "-n", 80)
        self.addCleanup(chat.stop)
        chat.until(b"\x1b[?2004h" + PROMPT)
        fcntl.ioctl(chat.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
        shown = chat.ask("Tell me a story.")
        alone = aster("run", NOVA, "-p", "Tell me a story.", "--temp", 0, "-n", 80, "-q").stdout.decode()
        self.assertEqual(shown.split(), alone.split())
        lines = shown.strip("\n").split("\n")
        self.assertGreater(len(lines), len(alone.strip().split("\n")))
        self.assertLessEqual(max(map(len, lines)), 30)

    def test_commands(self):
        chat = self.converse("-n", 4, "--temp", 0)
        for command in ("/reset", "/stats", "/system", "/save", "/load", "/regenerate", "/undo"):
            self.assertIn(command, chat.ask("/help"))
        self.assertIn("no command /bogus", chat.ask("/bogus"))
        self.assertIn("no answer yet", chat.ask("/regenerate"))
        first = chat.ask("hello")
        length = self.tokens(chat)
        chat.ask("more")
        chat.ask("/undo")
        self.assertEqual(self.tokens(chat), length)
        self.assertEqual(chat.ask("/regenerate"), first)  # nothing is random here
        self.assertEqual(self.tokens(chat), length)
        chat.ask("/reset")
        self.assertEqual(self.tokens(chat), 0)
        chat.ask("/system you are a tree")
        self.assertNotEqual(chat.ask("hello"), "")
        self.assertGreater(self.tokens(chat), length)
        chat.type("/quit\n")
        self.assertEqual(chat.end(), OK)

    def test_a_saved_conversation_is_continued(self):
        path = self.folder / "kept.json"
        chat = self.converse("-n", 5, "--temp", 0)
        chat.ask("one")
        self.assertIn("Saved", chat.ask(f"/save {path}"))
        expected = chat.ask("two")
        self.assertEqual(len(json.loads(path.read_text())["messages"]), 2)
        later = self.converse("-n", 5, "--temp", 0)
        self.assertIn("Loaded", later.ask(f"/load {path}"))
        self.assertEqual(later.ask("two"), expected)
        for damage in ("", "{}", path.read_text().replace('"user"', '"owner"'),
                       path.read_text().replace('"tokens": [', '"tokens": [99999,')):
            path.write_text(damage)
            self.assertIn("error", later.ask(f"/load {path}"))
        self.assertIn("messages  4", later.ask("/stats"))
        self.assertIn("no such session", later.ask("/load nowhere"))

    def test_a_conversation_that_is_kept_by_name_is_not_computed_again(self):
        chat = self.converse("-n", 5, "--temp", 0)
        chat.ask("one " * 100)
        self.assertRegex(chat.ask("/save here to stay"), r"Saved: \d+ tokens")
        length = self.tokens(chat)
        expected = chat.ask("two")
        later = self.converse("-n", 5, "--temp", 0)
        self.assertRegex(later.ask("/load here to stay"), r"Loaded: 1 turn, \d+ tokens, \d+ of them cached")
        self.assertGreaterEqual(self.tokens(later), length - 1)
        self.assertEqual(later.ask("two"), expected)
        self.assertRegex(later.ask("/stats"), r"last .* of them cached")

    def test_what_cannot_be_read_leaves_the_conversation_that_goes_on(self):
        chat = self.converse("--raw", "-n", 5, "--temp", 0)
        chat.ask("one " * 50)
        chat.ask("/save broken")
        path = self.folder / "data/asterism/sessions/broken.session"
        content = bytearray(path.read_bytes())
        # The last record before the pages: without its tokens no text can be continued.
        offset = 16
        while content[offset] != 4:
            offset += 24 + int.from_bytes(content[offset + 8:offset + 16], "little")
        content[offset + 40] ^= 1
        path.write_bytes(content)
        length = self.tokens(chat)
        self.assertIn("damaged at byte", chat.ask("/load broken"))
        self.assertEqual(self.tokens(chat), length)

    def test_another_answer_is_another_draw(self):
        chat = self.converse("-n", 30, "--temp", 1.5, "--seed", 1)
        first = chat.ask("hello")
        self.assertNotEqual(chat.ask("/regenerate"), first)

    def test_entries_of_several_lines(self):
        path = self.folder / "lines.json"

        def last_question(chat):
            chat.ask(f"/save {path}")
            return json.loads(path.read_text())["messages"][-2]["content"]

        chat = self.converse("-n", 2, "--temp", 0)
        chat.type("one \\\n")
        chat.until(b". ")
        chat.ask("two")
        self.assertEqual(last_question(chat), "one \ntwo")
        chat.type('"""\n')
        chat.until(b". ")
        chat.type("def f():\n")
        chat.until(b". ")
        chat.type("\n")
        chat.until(b". ")
        chat.ask('  pass"""')
        self.assertEqual(last_question(chat), "def f():\n\n  pass")
        chat.ask("\x1b[200~first\nsecond\x1b[201~")
        self.assertEqual(last_question(chat), "first\nsecond")
        chat.ask("süß 🦙")
        self.assertEqual(last_question(chat), "süß 🦙")
        chat.ask("\x1b[A!")  # the arrow key shows the last entry: it was /save
        chat.ask("abcX\x7fd\x01e")  # deleted; to the beginning
        self.assertEqual(last_question(chat), "eabcd")

    def test_ctrl_c_stops_the_answer_and_not_the_program(self):
        # The terminal does not hold the whole answer, so it cannot be over before it is read.
        chat = self.converse("--ignore-eos", "--temp", 0, "--ctx", 100_000)
        chat.type("tell me everything\n")
        while len(chat.unread) < 200:
            chat.read()
        chat.type("\x03")
        self.assertIn("(stopped)", chat.until(b"\x1b[?2004h" + PROMPT))
        self.assertIn("messages  2", chat.ask("/stats"))
        chat.type("half a line\x03")
        self.assertIn("Ctrl-D leaves", chat.until(b"\x1b[?2004h" + PROMPT))
        self.assertIn("messages  2", chat.ask("/stats"))
        chat.type("\x04")
        self.assertEqual(chat.end(), OK)

    def test_a_full_context_is_said(self):
        chat = self.converse("--temp", 0, "--ctx", 40, "--ignore-eos")
        self.assertIn("context is full", chat.ask("hello"))
        self.assertIn("error", chat.ask("still there?"))
        chat.ask("/reset")
        self.assertIn("context is full", chat.ask("hello"))

    def test_what_was_typed_is_kept_for_the_next_time(self):
        chat = self.converse("-n", 2)
        chat.ask("something memorable")
        chat.type("\x04")
        chat.end()
        history = self.folder / "data/asterism/history"
        self.assertEqual(history.stat().st_mode & 0o077, 0)
        again = self.converse("-n", 2)
        again.type("\x1b[A")
        again.until(b"something memorable")
        private = self.converse("-n", 2, "--no-history")
        private.ask("secret")
        private.type("\x04")
        private.end()
        self.assertNotIn("secret", history.read_text())

    def test_the_user_gives_tool_results(self):
        (self.folder / "tools.json").write_text(json.dumps(TOOLS))
        (self.folder / "call.gbnf").write_text(CALL)
        chat = Conversation(NOVA, self.folder, "--tools", self.folder / "tools.json", "--grammar",
                            self.folder / "call.gbnf", "--temp", 0)
        self.addCleanup(chat.stop)
        chat.until(b"\x1b[?2004h" + PROMPT)
        chat.type("What is 1 + 2?\n")
        shown = chat.until(b"\x1b[?2004hadd" + PROMPT)
        self.assertRegex(shown, r'add \{"a": \d+, "b": \d+\}')
        self.assertIn("type what the tool answers", shown)
        chat.type("3\n")
        shown = chat.until(b"\x1b[?2004hadd" + PROMPT)  # it calls again
        self.assertNotIn("type what the tool answers", shown)
        chat.type("\x03")
        self.assertIn("Taken back", chat.until(b"\x1b[?2004h" + PROMPT))
        self.assertIn("messages  0", chat.ask("/stats"))
        chat.type("\x04")
        self.assertEqual(chat.end(), OK)

    def test_json_needs_a_prompt(self):
        chat = Conversation(self.tiny, self.folder, "--json")
        self.addCleanup(chat.stop)
        chat.until(b"needs a prompt")
        self.assertEqual(chat.end(), INPUT)


if __name__ == "__main__":
    unittest.main()
