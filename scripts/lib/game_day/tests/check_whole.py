"""Whole game days on real processes: real sockets, real time, no Docker.

Run by scripts/checks/50-game-day, with GOODPUT naming the binary.
"""

import json
import re
import signal
import sys
import time
import unittest

from game_day import record
from game_day.tests.processes import CAPACITY, QUICK, RATE, SCRIPT, LocalStack, wait_until

FAULT = "the cut is in force"


class WholeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = LocalStack()
        cls.addClassCleanup(cls.stack.close)

    def test_1_a_game_day_by_itself_ends_with_its_report(self):
        run = self.stack.game_day("--yes", *QUICK)
        run.wait_for("baseline: waiting")
        self.refuses_another_one_meanwhile()
        self.assertEqual(run.ended(150), 0, run.text()[-6000:])
        folder = self.stack.last_run()
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        told = json.dumps(result, indent=1)
        self.assertEqual(result["outcome"], "recovered", told)
        first, second = result["rounds"]
        for part in (first, second):
            self.assertEqual(part["verdict"], "metastable", told)
            self.assertIs(part["hypothesis_held"], False)
            self.assertGreater(part["peak_attempts"], 3, told)
            self.assertGreater(part["wasted_work"], 0.9, told)
            self.assertGreater(part["goodput_lost"], 20 * RATE, told)
        helped = {step["name"]: step["outcome"] for part in (first, second)
                  for step in part["steps"]}
        self.assertEqual(helped["restart"], "relapsed", told)
        self.assertIn(helped["shed-queue"], ("relapsed", "no-effect"), told)
        self.assertEqual(helped["budget+shed-queue"], "recovered", told)
        self.assertIn(helped["capacity"], ("relapsed", "no-effect"), told)
        self.assertEqual(helped["block"], "recovered", told)
        budget = next(s for s in first["steps"] if s["name"] == "budget+shed-queue")
        # A pause of 6 times as long as a second of the stack, then at once.
        self.assertLess(budget["after"], 3, told)
        self.assertEqual(result["prometheus"]["state"], "down")
        self.assertIs(result["reverted"], True)
        self.leaves_a_report(folder)
        self.is_as_before()

    def refuses_another_one_meanwhile(self):
        other = self.stack.game_day("--yes", *QUICK)
        self.assertEqual(other.ended(10), 2, other.text())
        self.assertIn("a game day is going on already", other.text())
        elsewhere = self.stack.game_day("--yes", *QUICK, runs="elsewhere")
        for refused in (elsewhere, self.stack.run()):
            self.assertEqual(refused.ended(20), 2, refused.text())
            self.assertIn("the run `game-day` (", refused.text())
            self.assertIn("has held the lease", refused.text())
        self.assertEqual(self.stack.state()["run"]["name"], "game-day")
        self.assertEqual(self.stack.state(self.stack.load_url)["run"]["name"], "game-day")

    def leaves_a_report(self, folder):
        told = (folder / "report.md").read_text(encoding="utf-8")
        for words in ("unknown: Prometheus could not be asked", "goodput came and went again",
                      "budget+shed-queue", "by block", "metastable"):
            self.assertIn(words, told)
        page = (folder / "report.html").read_text(encoding="utf-8")
        self.assertEqual(page.count("<svg"), 2)

    def is_as_before(self):
        server, load = self.stack.state(), self.stack.state(self.stack.load_url)
        self.assertEqual((server["faults"], server["admitted"]), ([], 1.0))
        self.assertEqual((server["run"], load["run"]), (None, None))
        self.assertEqual(server["limiter"]["capacity"], CAPACITY * server["speed"])
        self.assertIs(load["halted"], False)
        self.assertEqual(load["layers"][0]["budget"]["kind"], "off")

    def test_2_an_abort_in_a_cut_reverts_it_twice_over(self):
        run = self.stack.game_day("--yes", *QUICK, "--cut-for", "60s")
        run.wait_for(FAULT, 60)
        self.assertEqual(len(self.stack.state()["faults"]), 1)
        abort = self.stack.game_day("abort", "--reason", "of the check")
        self.assertEqual(abort.ended(30), 0, abort.text())
        self.assertEqual(self.stack.state()["faults"], [])
        self.assertEqual(run.ended(20), 4, run.text()[-3000:])
        self.assertIn("of the check", run.text())
        again = self.stack.game_day("abort")
        self.assertEqual(again.ended(30), 0, again.text())
        self.assertIn("nothing is in force", again.text())
        result = json.loads((self.stack.last_run() / "result.json").read_text(encoding="utf-8"))
        self.assertEqual((result["outcome"], result["reverted"]), ("aborted", True))

    def test_3_an_interrupt_in_a_block_reverts_it_though_it_comes_twice(self):
        self.recovers()
        run = self.stack.game_day("--yes", *QUICK, "--observe", "500ms", "--block-for", "60s",
                                  "--round", "block")
        run.wait_for("admitted: 0 %", 60)
        run.kill(signal.SIGINT)
        run.kill(signal.SIGINT)
        self.assertEqual(run.ended(20), 4, run.text()[-3000:])
        server = self.stack.state()
        self.assertEqual((server["faults"], server["admitted"]), ([], 1.0))

    def recovers(self):
        recover = self.stack.game_day("recover")
        self.assertEqual(recover.ended(30), 0, recover.text())

    def test_4_a_script_that_is_killed_leaves_its_record_and_no_fault(self):
        self.recovers()
        run = self.stack.game_day("--yes", *QUICK, "--cut-for", "5s")
        run.wait_for(FAULT, 60)
        run.kill()
        self.assertEqual(run.ended(10), -signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.stack.state()["faults"] == [], 10))
        self.assertTrue(wait_until(lambda: self.stack.state()["run"] is None, 6))
        folder = self.stack.last_run()
        report = self.stack.start([*self.report_command(), folder])
        self.assertEqual(report.ended(20), 0, report.text())
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        self.assertEqual(result["outcome"], "cut-short")
        self.assertEqual(result["rounds"][0]["round"], 1)

    @staticmethod
    def report_command():
        return [sys.executable, SCRIPT, "report"]

    def test_4_a_person_at_a_terminal_leads_it(self):
        self.recovers()
        run = self.stack.game_day(*QUICK, terminal=True)
        run.wait_for("hypothesis")
        run.type("it heals | by itself")
        run.wait_for("press Enter", 60)
        run.type("")
        run.wait_for("type a lever")
        run.type("detected")
        run.type("rebot")
        run.wait_for("there is no lever 'rebot'")
        run.wait_for("the fault is gone", 20)
        run.type("budget+shed-queue")
        run.wait_for("shed-queue: refused")
        self.assertTrue(wait_until(self.is_good, 30), run.text()[-3000:])
        run.type("next")
        run.wait_for("press Enter.*press Enter", 90, re.DOTALL)
        run.type("abort")
        self.assertEqual(run.ended(20), 4, run.text()[-3000:])
        result = json.loads((self.stack.last_run() / "result.json").read_text(encoding="utf-8"))
        part = result["rounds"][0]
        self.assertEqual(result["hypothesis"], "it heals | by itself")
        self.assertLess(part["time_to_detect"], 4)
        self.assertEqual([step["name"] for step in part["steps"]], ["budget+shed-queue"])

    def is_good(self):
        """Whether nine of ten requests offered within two seconds are good."""
        before = self.stack.state(self.stack.load_url)
        time.sleep(2)
        after = self.stack.state(self.stack.load_url)
        return after["good"] - before["good"] > 0.9 * (after["offered"] - before["offered"])

    def test_5_what_is_wrong_is_said_and_nothing_is_cut(self):
        wrong = self.stack.game_day("--yes", env={"GOODPUT_TOKEN": "another"})
        self.assertEqual(wrong.ended(30), 2, wrong.text())
        self.assertIn("bearer token", wrong.text())
        self.assertIn("--token", wrong.text())
        missing = self.stack.game_day("--yes", env={"GOODPUT_TOKEN": ""})
        self.assertEqual(missing.ended(40), 2, missing.text())
        self.assertIn("a bearer token is needed", missing.text())
        for arguments, words in (
                (["--load", self.stack.server_url], "is not the control plane of a goodput load"),
                (["--server", "http://127.0.0.1:1"], "nobody listens"),
                (["--injector", self.stack.load_url], "is not a goodput fault injector")):
            run = self.stack.start([*self.report_command()[:2], "--yes", "--server",
                                    self.stack.server_url, "--load", self.stack.load_url,
                                    "--injector", self.stack.injector_url, "--runs",
                                    self.stack.path / "runs", *arguments])
            self.assertEqual(run.ended(30), 2, run.text())
            self.assertIn(words, run.text())
        on_top = self.stack.run()
        self.assertEqual(on_top.ended(30), 2, on_top.text())
        self.assertIn("docker compose stop load-generator", on_top.text())
        typed = self.stack.game_day()
        self.assertEqual(typed.ended(30), 2, typed.text())
        self.assertIn("--yes", typed.text())

    def test_6_a_server_that_is_killed_leaves_the_evidence(self):
        self.recovers()
        run = self.stack.game_day("--yes", *QUICK, "--lost", "3s")
        run.wait_for("observing for", 60)
        self.stack.server.kill()
        self.assertEqual(run.ended(40), 3, run.text()[-3000:])
        self.assertIn("has not answered", run.text())
        folder = self.stack.last_run()
        taken = record.read(folder)
        self.assertGreater(len(taken.samples), 50)
        self.assertIn("fault", [event["kind"] for event in taken.events])
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        self.assertEqual((result["outcome"], result["reverted"]), ("inconclusive", False))
        self.assertIn("has not answered", "; ".join(result["rounds"][0]["reasons"]))
        self.assertGreater(result["rounds"][0]["peak_attempts"], 1)

    def test_7_an_abort_where_nothing_is_up_says_so(self):
        for process in (self.stack.server, self.stack.load, self.stack.injector):
            process.stop()
        abort = self.stack.game_day("abort")
        self.assertEqual(abort.ended(20), 2, abort.text())
        self.assertIn("the stack is not up", abort.text())


if __name__ == "__main__":
    unittest.main(verbosity=2, failfast=True)
