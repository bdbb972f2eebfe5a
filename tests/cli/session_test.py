#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster session and --kv-cache: the KV cache is restored, whatever node computed it, and gives the same bits."""
import json
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from fixture import ASTER, INPUT, OK, ROOT, USAGE, Case, aster
from run_test import DEADLINE_S, PROMPT, Conversation

NOVA = ROOT / "models/nova.gguf"
PAGE = 128  # positions
TEXT = " ".join(f"line {i} of what is to be remembered" for i in range(40))


class Home(Case):
    """Each test with a home folder of its own."""

    def setUp(self):
        self.home_holder = tempfile.TemporaryDirectory()
        self.home = pathlib.Path(self.home_holder.name)
        self.prompt = self.home / "prompt.txt"
        self.prompt.write_text(TEXT)

    def tearDown(self):
        self.home_holder.cleanup()

    def run_here(self, *arguments, environment=None, **more):
        return aster(*arguments, environment={"XDG_DATA_HOME": str(self.home / "data"), **(environment or {})}, **more)

    def answer(self, *options, **more):
        return json.loads(self.run_here("run", *options, "-n", 8, "--temp", 0, "--json", **more).stdout)

    def session(self, *arguments, **more):
        return self.run_here("session", *arguments, **more).stdout.decode()

    def list_json(self):
        return json.loads(self.session("list", "--json"))


class Cache(Home):
    def test_the_second_time_it_comes_from_the_disk(self):
        cache = self.home / "cache"
        options = (self.tiny, "--prompt-file", self.prompt, "--raw", "--kv-cache", cache)
        plain = self.answer(*options[:-2])
        first = self.answer(*options)
        second = self.answer(*options)
        self.assertEqual(plain["ids"], first["ids"])
        self.assertEqual(first["ids"], second["ids"])
        self.assertEqual(first["tokens"]["cached"], 0)
        whole_pages = (first["tokens"]["prompt"] - 1) // PAGE * PAGE
        self.assertGreater(whole_pages, PAGE)
        self.assertEqual(second["tokens"]["cached"], whole_pages)
        self.assertEqual(second["kv_cache"]["loaded_tokens"], whole_pages)
        self.assertEqual(first["kv_cache"]["kept_files"], whole_pages // PAGE)
        self.assertEqual(second["kv_cache"]["kept_files"], 0)
        said = self.run_here("run", *options, "-n", 2, "--temp", 0).stderr.decode()
        self.assertIn(f"{whole_pages} tokens from the disk", said)

    def test_threads_and_instruction_sets_share_it(self):
        cache = self.home / "cache"
        options = (self.tiny, "--prompt-file", self.prompt, "--raw", "--kv-cache", cache)
        first = self.answer(*options, "--threads", 1, environment={"ASTER_ISA": "avx2"})
        second = self.answer(*options, "--threads", 2)
        self.assertGreater(second["tokens"]["cached"], 0)
        self.assertEqual(first["ids"], second["ids"])

    def test_nodes_share_it_whatever_layers_they_have(self):
        cache = self.home / "cache"
        options = (self.tiny, "--prompt-file", self.prompt, "--raw", "--kv-cache", cache)
        alone = self.answer(*options)
        for nodes in (2, 1):
            together = self.answer(*options, "--local-nodes", nodes)
            self.assertEqual(together["ids"], alone["ids"])
            self.assertGreater(together["tokens"]["cached"], 0)
            told = together["kv_cache"]
            self.assertEqual(told["loaded_tokens"], together["tokens"]["cached"])
            self.assertGreaterEqual(told["found_pages"], told["loaded_tokens"] // PAGE)
            self.assertEqual(told["files"], len(list(cache.iterdir())))
        said = self.run_here("run", *options, "-n", 2, "--local-nodes", 2).stderr
        self.assertIn(b"tokens from the disk", said)

    def test_what_nodes_wrote_one_machine_finds(self):
        cache = self.home / "cache"
        options = (self.tiny, "--prompt-file", self.prompt, "--raw", "--kv-cache", cache)
        together = self.answer(*options, "--local-nodes", 2)
        alone = self.answer(*options)
        self.assertEqual(together["ids"], alone["ids"])
        self.assertGreater(alone["tokens"]["cached"], 0)

    def test_a_group_finds_what_one_machine_wrote(self):
        cache = self.home / "cache"
        options = (self.tiny, "--prompt-file", self.prompt, "--raw", "--kv-cache", cache)
        alone = self.answer(*options)
        together = self.answer(*options, "--local-nodes", 2, "--split", "group")
        self.assertEqual(together["ids"], alone["ids"])
        self.assertGreater(together["tokens"]["cached"], 0)

    def test_damaged_pages_are_ignored(self):
        cache = self.home / "cache"
        options = (self.tiny, "--prompt-file", self.prompt, "--raw", "--kv-cache", cache)
        first = self.answer(*options)
        for file in cache.iterdir():
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            file.write_bytes(content)
        second = self.answer(*options)
        self.assertEqual(second["ids"], first["ids"])
        self.assertEqual(second["tokens"]["cached"], 0)
        self.assertGreater(second["kv_cache"]["damaged_files"], 0)
        self.assertGreater(self.answer(*options)["tokens"]["cached"], 0)

    def test_a_killed_process_leaves_no_wrong_pages(self):
        cache = self.home / "cache"
        options = (self.tiny, "--prompt-file", self.prompt, "--raw", "--kv-cache", cache)
        plain = self.answer(*options[:-2])
        # The process is killed while it opens its cache, writes its first pages, and later ones.
        for files in (0, 1, 2, 4):
            cache = self.home / f"cache-{files}"
            kept = (*options[:-1], cache)
            process = subprocess.Popen([ASTER, "run", *map(str, kept), "-n", "1500", "--ignore-eos"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            end = time.monotonic() + DEADLINE_S
            while not cache.exists() or len([*cache.iterdir()]) < files:
                self.assertLess(time.monotonic(), end, f"{files} page files")
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            process.wait()
            report = self.answer(*kept)
            self.assertEqual(report["ids"], plain["ids"])
            self.assertEqual(report["kv_cache"]["damaged_files"], 0)

    def test_it_is_bounded(self):
        cache = self.home / "cache"
        for i in range(4):
            self.prompt.write_text(f"{i} {TEXT}")
            self.answer(self.tiny, "--prompt-file", self.prompt, "--raw", "--kv-cache", cache, "--kv-cache-size",
                        "1MiB")
        taken = sum(file.stat().st_size for file in cache.iterdir())
        self.assertGreater(taken, 1 << 18)
        self.assertLessEqual(taken, 1 << 20)

    def test_a_bound_below_a_page_is_not_called_a_slow_disk(self):
        options = (self.tiny, "--prompt-file", self.prompt, "--raw", "--kv-cache", self.home / "cache",
                   "--kv-cache-size", "1KiB", "-n", 2)
        said = self.run_here("run", *options).stderr
        self.assertIn(b"larger than --kv-cache-size", said)
        self.assertNotIn(b"too slow", said)
        report = json.loads(self.run_here("run", *options, "--json").stdout)
        self.assertGreater(report["kv_cache"]["oversized_files"], 0)
        self.assertEqual(report["kv_cache"]["dropped_files"], 0)

    def test_a_disk_that_is_full_costs_nothing_but_the_cache(self):
        cache = self.home / "cache"
        options = (self.tiny, "--prompt-file", self.prompt, "--raw", "--kv-cache", cache)
        plain = self.answer(*options[:-2])
        limit = 20_000  # of a file, in bytes
        run = subprocess.run([ASTER, "run", *map(str, options), "-n", "8", "--temp", "0", "--json"],
                             capture_output=True, timeout=120, stdin=subprocess.DEVNULL,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(run.returncode, OK, run.stderr)
        report = json.loads(run.stdout)
        self.assertEqual(report["ids"], plain["ids"])
        self.assertGreater(report["kv_cache"]["failed_files"], 0)
        self.assertEqual(list(cache.iterdir()), [])

    def test_a_folder_that_cannot_be_is_an_error_at_once(self):
        run = self.run_here("run", self.tiny, "-p", "a", "--kv-cache", self.prompt / "below", check=None)
        self.assertNotEqual(run.returncode, OK)
        self.assertIn(b"--kv-cache", run.stderr)
        self.run_here("run", self.tiny, "-p", "a", "--kv-cache-size", "1GiB", check=USAGE)
        self.run_here("run", self.tiny, "-p", "a", "--kv-cache", self.home / "c", "--kv-cache-size", "much",
                      check=INPUT)


class Sessions(Home):
    def save(self, name="kept", *options):
        return self.session("save", name, self.tiny, "--prompt-file", self.prompt, *options)

    def save_talk(self, messages):
        """A conversation with these messages, as the session `talk`."""
        talk = self.home / "talk.json"
        words = json.loads(self.run_here("inspect", self.tiny, "--json").stdout)["shape"]["vocab_size"]
        talk.write_text(json.dumps({"aster_conversation": 1, "vocab_size": words, "system": "", "messages": messages,
                                    "text": "", "tokens": [1, 2, 3, 4, 5, 6, 7]}))
        self.session("save", "talk", self.tiny, "--conversation", talk)

    def test_a_text_is_computed_once(self):
        self.save("kept", "--raw")
        expected = self.answer(self.tiny, "-p", TEXT + " and then", "--raw")
        report = self.answer(self.tiny, "--session", "kept", "--raw", "-p", " and then")
        self.assertEqual(report["ids"], expected["ids"])
        self.assertEqual(report["tokens"]["prompt"], expected["tokens"]["prompt"])
        listed = self.list_json()[0]
        self.assertEqual(report["tokens"]["cached"], listed["tokens"])
        self.assertEqual(listed["kv_tokens"], listed["tokens"])

    def test_a_system_message_is_computed_once(self):
        self.save()
        expected = self.answer(self.tiny, "--system", TEXT, "-p", "what now")
        report = self.answer("--session", "kept", "-p", "what now")  # with its own model
        self.assertEqual(report["ids"], expected["ids"])
        self.assertGreater(report["tokens"]["cached"], 200)
        again = json.loads(self.run_here("session", "load", "kept", "-p", "what now", "-n", 8, "--temp", 0,
                                         "--json").stdout)
        self.assertEqual(again["ids"], expected["ids"])

    def test_a_text_is_never_left_out_by_a_chat_template(self):
        self.session("save", "kept", NOVA, "--prompt-file", self.prompt, "--raw")
        for command in (("run", "--session"), ("session", "load")):
            refused = self.run_here(*command, "kept", "-p", "what now", "-n", 4, check=INPUT)
            self.assertIn(b"run it with --raw", refused.stderr)
            self.assertEqual(refused.stdout, b"")
        self.assertGreater(self.answer("--session", "kept", "--raw", "-p", " x")["tokens"]["cached"], 200)
        # A system message has a place in the template.
        self.session("save", "kept", NOVA, "--prompt-file", self.prompt)
        self.assertGreater(self.answer("--session", "kept", "-p", "what now")["tokens"]["cached"], 200)

    def test_other_threads_instruction_sets_and_nodes_go_on_alike(self):
        self.run_here("session", "save", "kept", self.tiny, "--prompt-file", self.prompt, "--raw", "--threads", 1,
                      environment={"ASTER_ISA": "avx2"})
        ids = self.answer(self.tiny, "-p", TEXT + " and then", "--raw")["ids"]
        for options in ((), ("--threads", 2)):
            report = self.answer("--session", "kept", "--raw", "-p", " and then", *options)
            self.assertEqual(report["ids"], ids)
            self.assertGreater(report["tokens"]["cached"], 200)
        self.assertEqual(self.answer("--session", "kept", "--raw", "-p", " and then", "--local-nodes", 2)["ids"], ids)

    def test_a_group_saves_and_loads_rows(self):
        group = ("--local-nodes", 2, "--split", "group")
        self.session("save", "whole", self.tiny, "--prompt-file", self.prompt, "--raw")
        self.assertNotIn(" 0 of them with their KV rows",
                         self.session("save", "parts", self.tiny, "--prompt-file", self.prompt, "--raw", *group))
        go_on = ("--raw", "-p", " and then")
        ids = self.answer("--session", "whole", *go_on)["ids"]
        self.assertEqual(self.answer("--session", "parts", *go_on)["ids"], ids)
        for name in ("whole", "parts"):
            report = self.answer("--session", name, *go_on, *group)
            self.assertEqual(report["ids"], ids)
            self.assertGreater(report["tokens"]["cached"], 200)

    def test_two_share_pages_and_rm_frees_only_its_own(self):
        self.save("one", "--raw")
        self.prompt.write_text(TEXT + " more")
        self.save("two", "--raw")
        one, two = self.list_json()
        self.assertGreater(one["shared_bytes"], one["own_bytes"])
        self.assertEqual(one["shared_bytes"], two["shared_bytes"])
        self.assertIn("freed", self.session("rm", "one"))
        left = self.list_json()
        self.assertEqual([listed["name"] for listed in left], ["two"])
        self.assertEqual(left[0]["shared_bytes"], 0)
        self.assertGreater(self.answer("--session", "two", "--raw", "-p", " x")["tokens"]["cached"], 200)
        self.session("rm", "two")
        self.assertEqual(list((self.home / "data/asterism/sessions/pages").iterdir()), [])
        self.session("rm", "two", check=INPUT)

    def test_list_and_show(self):
        self.assertIn("no sessions", self.session("list"))
        self.save()
        self.assertRegex(self.session("list"), r"kept .*ago")
        shown = self.session("show", "kept")
        self.assertIn("of them with KV rows of", shown)
        self.assertEqual(json.loads(self.session("show", "kept", "--json"))["system"], TEXT)
        self.session("show", "nobody", check=INPUT)

    def test_a_turn_with_calls_is_one(self):
        self.save_talk([{"role": role, "content": "x"} for role in ("user", "assistant", "tool", "tool", "assistant",
                                                                    "user", "assistant")])
        self.assertEqual(self.list_json()[0]["turns"], 2)
        self.assertRegex(self.session("list"), r"talk .* 7 +2 ")
        self.assertRegex(self.session("show", "talk"), r"turns +2\n")
        self.assertEqual(json.loads(self.session("show", "talk", "--json"))["turns"], 2)

    def test_a_file_goes_elsewhere(self):
        self.save("kept", "--raw")
        carried = self.home / "carried.session"
        self.session("export", "kept", carried)
        alone = self.home / "alone.session"
        self.save(alone, "--raw")
        self.assertEqual(alone.stat().st_size, carried.stat().st_size)
        self.session("rm", "kept")
        for name in (carried, alone):
            self.assertGreater(self.answer("--session", name, "--raw", "-p", " x")["tokens"]["cached"], 200)
        self.session("import", carried, "back")
        self.assertGreater(self.answer("--session", "back", "--raw", "-p", " x")["tokens"]["cached"], 200)

    def test_damage_is_told_with_its_place_and_what_precedes_it_is_used(self):
        alone = self.home / "alone.session"
        self.save(alone, "--raw")
        expected = self.answer("--session", alone, "--raw", "-p", " x")
        whole = alone.read_bytes()
        alone.write_bytes(whole[:len(whole) * 3 // 4])
        run = self.run_here("run", "--session", alone, "--raw", "-p", " x", "-n", 8, "--temp", 0, "--json")
        self.assertIn(b"damaged at byte", run.stderr)
        report = json.loads(run.stdout)
        self.assertEqual(report["ids"], expected["ids"])
        self.assertGreater(report["tokens"]["cached"], 64)
        self.assertLess(report["tokens"]["cached"], expected["tokens"]["cached"])
        shown = self.run_here("session", "show", alone, check=INPUT)
        self.assertIn(b"damaged at byte", shown.stderr)
        for damaged in (b"", b"nonsense", whole[:30]):
            alone.write_bytes(damaged)
            self.run_here("run", "--session", alone, self.tiny, "-p", " x", check=INPUT)

    def flip(self, path, where):
        content = bytearray(path.read_bytes())
        content[where] ^= 1
        path.write_bytes(content)

    def record_offsets(self, path):
        """The payload offsets of a session's records, by type."""
        content, offset, found = path.read_bytes(), 16, {}
        while offset < len(content):
            kind = int.from_bytes(content[offset:offset + 4], "little")
            found.setdefault(kind, offset + 24)
            offset += 24 + int.from_bytes(content[offset + 8:offset + 16], "little")
        return found

    def test_a_damaged_text_is_never_continued_silently(self):
        self.save("trip", "--raw")
        path = self.home / "data/asterism/sessions/trip.session"
        whole = path.read_bytes()
        ask = ("--raw", "-p", " x", "-n", 8, "--temp", 0, "-q")
        expected = self.run_here("run", "--session", "trip", *ask).stdout
        records = self.record_offsets(path)
        self.assertEqual(sorted(records), [1, 3, 4, 5, 7])
        for kind, offset in records.items():
            path.write_bytes(whole)
            self.flip(path, offset + {3: 0, 7: 0}.get(kind, 20))
            run = self.run_here("run", self.tiny, "--session", "trip", *ask, check=None)
            self.assertIn(b"damaged at byte", run.stderr, kind)
            if kind < 5:
                self.assertEqual((run.returncode, run.stdout), (INPUT, b""), kind)
            else:  # rows are computed again, and -q does not hide that
                self.assertEqual((run.returncode, run.stdout), (OK, expected), run.stderr)
                self.assertIn(b"computed again" if kind == 5 else b"all messages are there", run.stderr)

    def test_turns_before_the_damage_stay_and_later_ones_are_reported(self):
        self.save_talk([{"role": role, "content": f"{role} says {i}"} for i in range(3)
                        for role in ("user", "assistant")])
        path = self.home / "data/asterism/sessions/talk.session"
        whole = path.read_bytes()
        records = self.record_offsets(path)
        for kind, said in ((2, b"lost"), (4, b"the whole text is there")):
            path.write_bytes(whole)
            where = records[kind] if kind == 4 else whole.index(b"user says 1")
            self.flip(path, where)
            run = self.run_here("run", "--session", "talk", "-p", "x", "-n", 4, "--temp", 0, "-q", check=None)
            self.assertIn(said, run.stderr, kind)
            self.assertEqual(run.returncode, OK)
        # A session without a readable turn is refused.
        path.write_bytes(whole)
        self.flip(path, whole.index(b"user says 0"))
        self.run_here("run", "--session", "talk", "-p", "x", "-n", 4, check=INPUT)

    def test_show_and_list_look_at_the_pages(self):
        self.save("kept", "--raw")
        pages = sorted((self.home / "data/asterism/sessions/pages").iterdir(),
                       key=lambda page: int(page.name.split("-")[2]))
        content = pages[1].read_bytes()
        self.flip(pages[1], len(content) // 2)
        shown = self.run_here("session", "show", "kept", check=INPUT)
        self.assertIn(b"128 of them with KV rows", shown.stdout)
        self.assertIn(b"from position 128 on", shown.stderr)
        self.assertIn(b"damaged at byte", shown.stderr)
        pages[1].unlink()
        shown = json.loads(self.run_here("session", "show", "kept", "--json", check=INPUT).stdout)
        self.assertEqual(shown["kv_tokens"], PAGE)
        self.assertIn("from position 128 on", shown["damage"])
        listed = self.run_here("session", "list")
        self.assertIn(b"damaged", listed.stdout)
        self.assertIn(b"from position 128 on", listed.stderr)
        alone = self.home / "alone.session"
        self.save(alone, "--raw")
        self.flip(alone, alone.stat().st_size * 3 // 4)
        self.assertIn(b"damaged at byte", self.run_here("session", "show", alone, check=INPUT).stderr)
        # A damaged session whose text can be computed again is complete when it is saved again.
        self.save("kept", "--raw")
        self.session("show", "kept")

    def test_a_model_is_found_again_from_another_folder(self):
        model = self.home / "m.gguf"
        shutil.copy(self.tiny, model)
        self.run_here("session", "save", "rel", "m.gguf", "--prompt-file", self.prompt, "--raw", cwd=self.home)
        self.assertEqual(self.list_json()[0]["model_path"], str(model))
        self.answer("--session", "rel", "--raw", "-p", " x")
        model.unlink()
        gone = self.run_here("run", "--session", "rel", "--raw", "-p", " x", check=INPUT).stderr.decode()
        self.assertRegex(gone, r"the session rel belongs to the model .*m\.gguf does not exist: name the model")
        self.answer(self.tiny, "--session", "rel", "--raw", "-p", " x")

    def test_import_replaces_nothing_unasked(self):
        self.save("kept", "--raw")
        carried = self.home / "carried.session"
        self.session("export", "kept", carried)
        self.prompt.write_text(TEXT + " more")
        self.save("other", "--raw")
        before = {listed["name"]: listed["tokens"] for listed in self.list_json()}
        refused = self.run_here("session", "import", carried, "other", check=INPUT)
        self.assertIn(b"--force", refused.stderr)
        self.assertEqual({listed["name"]: listed["tokens"] for listed in self.list_json()}, before)
        self.session("import", "--force", carried, "other")
        self.assertEqual({listed["tokens"] for listed in self.list_json()}, {before["kept"]})

    def test_rm_removes_what_there_is_and_tells_what_there_is_not(self):
        self.save("kept", "--raw")
        run = self.run_here("session", "rm", "missing", "kept", "lost", check=INPUT)
        self.assertIn(b"freed", run.stdout)
        for name in (b"missing", b"lost"):
            self.assertIn(name, run.stderr)
        self.assertEqual(self.list_json(), [])

    def other_model(self):
        other = self.folder / "other.gguf"
        if not other.exists():
            aster("synth", other, "--type", "Q8_0", "--seed", 7)
        return other

    def test_another_model_renders_the_messages_again(self):
        other = self.other_model()
        talk = self.home / "talk.json"
        chat = Conversation(self.tiny, self.home, "-n", 6, "--temp", 0)
        self.addCleanup(chat.stop)
        chat.until(b"\x1b[?2004h" + PROMPT)
        chat.ask("hello")
        chat.ask(f"/save {talk}")
        saved = json.loads(talk.read_text())
        self.assertTrue(saved["text"])
        prompts = []
        for tokens in (saved["tokens"], saved["tokens"][:4]):
            talk.write_text(json.dumps({**saved, "tokens": tokens}))
            self.session("save", "talk", self.tiny, "--conversation", talk)
            prompts.append(self.answer(other, "--session", "talk", "--text", "-p", "what now")["tokens"]["prompt"])
        self.assertEqual(prompts[0], prompts[1])

    def test_another_model_is_refused_by_name_and_can_have_the_text(self):
        other = self.other_model()
        self.save("kept", "--raw")
        refused = self.run_here("run", other, "--session", "kept", "-p", " x", check=INPUT).stderr.decode()
        self.assertRegex(refused, r"a session of .*\([0-9a-f]{8}\), and this is .*\([0-9a-f]{8}\)")
        taken = self.answer(other, "--session", "kept", "--text", "--raw", "-p", " x")
        self.assertEqual(taken["ids"], self.answer(other, "-p", TEXT + " x", "--raw")["ids"])
        self.assertEqual(taken["tokens"]["cached"], 0)

    def test_other_rows_of_the_same_model_are_computed_again(self):
        self.save("kept", "--raw")
        run = self.run_here("run", "--session", "kept", "--kv-type", "q8", "--raw", "-p", " x", "-n", 8, "--temp", 0,
                            "--json")
        self.assertIn(b"computed again", run.stderr)
        self.assertEqual(json.loads(run.stdout)["ids"],
                         self.answer(self.tiny, "-p", TEXT + " x", "--raw", "--kv-type", "q8")["ids"])

    def test_rows_of_integer_attention_are_a_type_of_their_own(self):
        whole = self.answer(self.tiny, "-p", TEXT + " x", "--raw", "--kv-type", "q8i")
        self.save("integers", "--raw", "--kv-type", "q8i")
        kept = self.run_here("run", "--session", "integers", "--kv-type", "q8i", "--raw", "-p", " x", "-n", 8, "--temp",
                             0, "--json")
        self.assertNotIn(b"computed again", kept.stderr)
        self.assertGreater(json.loads(kept.stdout)["tokens"]["cached"], 0)
        self.assertEqual(json.loads(kept.stdout)["ids"], whole["ids"])
        # The rows have as many bytes as those of q8, and were made from other numbers.
        other = self.run_here("run", "--session", "integers", "--kv-type", "q8", "--raw", "-p", " x", "-n", 8, "--temp",
                              0, "--json")
        self.assertIn(b"computed again", other.stderr)

    def test_wrong_usage(self):
        self.session("save", "kept", self.tiny, check=USAGE)
        self.session("save", ".hidden", self.tiny, "--prompt-file", self.prompt, check=INPUT)
        empty = self.home / "empty.txt"
        empty.write_text("")
        refused = self.run_here("session", "save", "kept", self.tiny, "--prompt-file", empty, "--raw", check=INPUT)
        self.assertIn(f"{empty}: gives no tokens", refused.stderr.decode())
        self.session(check=USAGE)
        # A name that no session has is reported before the prompt is read and a model is looked for.
        for model in ((), (self.home / "missing.gguf",)):
            missing = self.run_here("run", *model, "--session", "nobody", check=INPUT).stderr
            self.assertIn(b"there is no such session", missing)
        self.run_here("run", self.tiny, "--text", "-p", "x", check=USAGE)
        self.save()
        for option in ("--ids", "--system"):
            self.session("load", "kept", option, self.prompt, check=USAGE)

    def test_copies_are_sessions_too(self):
        self.save("kept", "--raw")
        folder = self.home / "data/asterism/sessions"
        shutil.copy(folder / "kept.session", folder / "copy.session")
        self.session("rm", "kept")
        self.assertGreater(self.answer("--session", "copy", "--raw", "-p", " x")["tokens"]["cached"], 200)


if __name__ == "__main__":
    unittest.main()
