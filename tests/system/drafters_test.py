#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Drafters on other machines: whatever happens to them, answers are the same as without drafts."""
import contextlib
import json
import re
import signal
import unittest
import urllib.request

from cluster_case import ClusterCase
from fixture import INPUT, OK
from processes import DEADLINE_S, wait_for

TEXT = "Tell me a story about a rabbit."
STORY = ("-p", TEXT, "--temp", 0.8, "--seed", 7)
AT_LAP = ("--draft", "node:lap")
PROPOSED = re.compile(r"comet on lap: (\d+) draft tokens proposed")


class Drafters(ClusterCase):
    def desk_and_drafter(self):
        desk = self.machine("desk")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node("nova")
        lap = self.invited(desk, "lap")
        lap.start_node("--draft-for", "nova=comet", "--draft-for", "nova=ngram", "--join", desk.address)
        self.await_members(desk, 2)
        return desk, lap

    def run_story(self, machine, *options):
        status, out, err = machine.run("run", "nova", *STORY, *options)
        self.assertEqual(status, 0, err)
        return out.decode(), err

    def answer(self, machine, *options):
        return json.loads(self.run_story(machine, "-n", 60, "--json", *options)[0])

    def test_another_machine_drafts(self):
        desk, _ = self.desk_and_drafter()
        plain = self.answer(desk)
        for options in (AT_LAP, ("--draft", "auto"), (*AT_LAP, "--cluster", "--split", "desk"),
                        (*AT_LAP, "--cluster", "--split", "desk=0:1,lap=2:out")):
            drafted = self.answer(desk, *options)
            self.assertEqual(drafted["ids"], plain["ids"], options)
            draft = drafted["draft"]
            self.assertEqual(draft["steps"] + draft["accepted"] + 1, drafted["tokens"]["generated"], options)
        # Whether the drafter has draft tokens in time depends on the load of this machine.
        def proposes():
            # A drafter that did not reply to the search in time is not reported.
            proposed = PROPOSED.search(self.run_story(desk, "-n", 100, *AT_LAP)[1])
            return proposed is not None and int(proposed[1]) > 0

        wait_for(proposes, "draft tokens of the other machine")
        trace = self.folder / "trace.json"

        def is_traced():
            self.run_story(desk, "-n", 100, *AT_LAP, "--cluster", "--split", "desk=0:1,lap=2:out", "--trace", trace)
            return "draft tokens of other machines" in trace.read_text()

        wait_for(is_traced, "draft tokens of the other machine in a trace")

    def test_status_shows_the_models_it_drafts_for(self):
        desk, _ = self.desk_and_drafter()
        drafters = {}

        def have_answered():
            nodes = json.loads(desk.aster("cluster", "status", "--json"))["nodes"]
            drafters.update({node["name"]: node["drafters"] for node in nodes})
            return all(node["answered"] for node in nodes)

        # If it takes longer than status waits, it is missing.
        wait_for(have_answered, "an answer of both nodes")
        self.assertEqual(drafters["desk"], [])
        self.assertEqual([(each["model"], each["drafter"]) for each in drafters["lap"]],
                         [("nova", "comet"), ("nova", "ngram")])
        self.assertGreater(drafters["lap"][0]["tokens_per_s"], 0)
        wait_for(lambda: b"drafts for nova with comet" in desk.aster("cluster", "status"), "the drafter in the table")

    def test_a_node_that_cannot_draft_is_named(self):
        desk, lap = self.desk_and_drafter()

        def is_refused():
            # If lap does not reply to the search in time, the answer has no draft tokens.
            status, _, told = desk.run("run", self.tiny, "-p", "the", "--raw", "-n", 4, *AT_LAP)
            if status == OK and "a node drafts nothing" in told:
                return False
            self.assertEqual(status, INPUT, told)
            self.assertIn("no drafter of this model's vocabulary", told)
            return True

        wait_for(is_refused, "the reply of a node without the drafter")
        refused = desk.aster("run", "nova", *STORY, "--draft", "node:nobody", check=INPUT)
        self.assertIn("no node of the cluster is called nobody", refused)
        lap.stop_node()
        refused = lap.aster("node", "--draft-for", f"{self.tiny}=comet", check=INPUT)
        self.assertIn("same vocabulary", refused)
        refused = lap.aster("node", "--draft-for", "nova", check=INPUT)
        self.assertIn("MODEL=DRAFTER", refused)

    def test_one_that_stops_or_dies_holds_nothing_up(self):
        desk, lap = self.desk_and_drafter()
        long = ("-n", 150, "-q")
        plain, _ = self.run_story(desk, *long)
        for how in (signal.SIGSTOP, signal.SIGKILL):
            self.await_answer(desk, "lap")
            process = desk.start("run", "nova", *STORY, *long, *AT_LAP)
            begin = process.stdout.read(1)  # it answers
            lap.node.send_signal(how)
            rest, err = process.communicate(timeout=DEADLINE_S)
            self.assertEqual(process.returncode, 0, err.decode())
            self.assertEqual((begin + rest).decode(), plain, how)
            if how == signal.SIGSTOP:
                lap.node.send_signal(signal.SIGCONT)
        # Answers are also the same if the drafter is missing at first, so that the search does not find it.
        for options in (("--draft", "auto"), AT_LAP):
            self.assertEqual(self.run_story(desk, *long, *options)[0], plain, options)

    def test_one_that_comes_later_is_used_by_a_server(self):
        desk, lap = self.desk_and_drafter()
        for options in (AT_LAP, ("--draft", "auto")):
            lap.stop_node()
            # A new node does not know of one that is off.
            desk.stop_node()
            desk.start_node("nova")
            with Server(desk, *options) as server:
                plain = server.answer()
                self.assertEqual(server.drafts("draft_tokens_total"), 0)
                # The drafter comes, fails, and comes back with another address.
                for how in (signal.SIGTERM, signal.SIGKILL):
                    before = server.drafts("draft_tokens_total")
                    lap.start_node("--draft-for", "nova=comet", "--join", desk.address)
                    self.assertEqual(server.await_drafts(before), {plain})
                    self.assertEqual(server.drafts("drafters"), 1)
                    # The last drafts of an answer may come after it.
                    wait_for(server.counts_agree, "the same count in the status and in the metrics")
                    lap.stop_node(how)
                    self.assertEqual(server.answer(), plain)


class Server:
    """A server on a machine that answers the same request again and again while it is used."""

    def __init__(self, machine, *options):
        self.process = machine.start("serve", "nova", *options, "--port", 0)

    def __enter__(self):
        line = self.process.stdout.readline().decode()
        self.address = line and re.search(r"http://[\d.:]+", line)[0]
        if not self.address:
            raise AssertionError(self.process.communicate(timeout=DEADLINE_S)[1].decode())
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def open(self, path, body=None):
        with contextlib.closing(urllib.request.urlopen(self.address + path, body, DEADLINE_S)) as reply:
            return reply.read().decode()

    def answer(self):
        body = {"messages": [{"role": "user", "content": TEXT}], "temperature": 0.8, "seed": 7}
        # A short one ends before there can be drafts for it.
        body |= {"max_tokens": 150, "ignore_eos": True}
        reply = json.loads(self.open("/v1/chat/completions", json.dumps(body).encode()))
        return reply["choices"][0]["message"]["content"]

    def drafts(self, name):
        return int(re.search(rf'^aster_remote_{name}\{{model="nova"\}} (\d+)$', self.open("/metrics"), re.MULTILINE)[1])

    def counts_agree(self):
        status = json.loads(self.open("/v1/status"))["models"][0]["remote_drafts"]
        return status["proposed"] == self.drafts("draft_tokens_total")

    def await_drafts(self, before):
        """The answers until draft tokens of another machine have come."""
        answers = set()

        def proposes():
            answers.add(self.answer())
            return self.drafts("draft_tokens_total") > before

        wait_for(proposes, "draft tokens of another machine for a server")
        return answers


if __name__ == "__main__":
    unittest.main()
