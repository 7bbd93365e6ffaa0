import json
import unittest

from game_day.figures import figures
from game_day.tests import made


class FiguresTest(unittest.TestCase):
    def test_the_headline_is_metastable_relapses_and_recovers_by_budget_and_shed(self):
        found = figures(made.headline())
        part = found["rounds"][0]
        self.assertEqual(found["outcome"], "recovered")
        self.assertEqual(part["verdict"], "metastable")
        self.assertIs(part["hypothesis_held"], False)
        restart, shed = part["steps"]
        self.assertEqual(restart["outcome"], "relapsed")
        self.assertAlmostEqual(restart["goodput_for"], 6, delta=1)
        self.assertEqual(shed["outcome"], "recovered")
        self.assertAlmostEqual(shed["after"], 0, delta=1)
        self.assertEqual(part["recovered_by"], "budget+shed-queue")
        self.assertAlmostEqual(part["recovered_after"], 90, delta=1)
        self.assertAlmostEqual(part["time_to_first_action"], 80, delta=0.1)
        self.assertAlmostEqual(part["time_to_mitigate"], 110, delta=3)
        self.assertAlmostEqual(part["peak_attempts"], 4.1, delta=0.05)
        self.assertAlmostEqual(part["wasted_work"], 1, delta=0.01)
        # Baseline 79/s over 110 s, less 20/s in the cut and 70/s for 6 s after the restart.
        self.assertAlmostEqual(part["goodput_lost"], 79 * 110 - 20 * 20 - 70 * 6, delta=120)
        json.dumps(found)

    def test_what_comes_back_by_itself_needs_no_lever(self):
        story = [(30, 79, 80, 0), (20, 40, 90, 100), (15, 60, 90, 50), (65, 79, 80, 0)]
        part = figures(made.taken(story, made.round_events(end=130.0)))["rounds"][0]
        self.assertEqual((part["verdict"], part["recovered_by"]), ("recovered", "itself"))
        self.assertAlmostEqual(part["recovered_after"], 15, delta=3)
        self.assertIs(part["hypothesis_held"], True)

    def test_a_lever_on_a_healthy_system_was_not_needed(self):
        story = [(30, 79, 80, 0), (20, 40, 90, 100), (80, 79, 80, 0)]
        events = made.round_events([(90.0, "budget")], end=130.0)
        part = figures(made.taken(story, events))["rounds"][0]
        self.assertEqual(part["steps"][0]["outcome"], "not-needed")
        self.assertEqual(part["recovered_by"], "itself")

    def test_a_lever_that_changes_nothing_did_not_help(self):
        story = [(30, 79, 80, 0), (20, 20, 300, 1500), (60, 0, 328, 2000), (30, 0, 328, 2000)]
        found = figures(made.taken(story, made.round_events([(110.0, "capacity")], end=140.0)
                                   + [made.event(141, "end", outcome="complete")]))
        part = found["rounds"][0]
        self.assertEqual(part["steps"][0]["outcome"], "no-effect")
        self.assertIsNone(part["recovered_after"])
        self.assertEqual(found["outcome"], "not-recovered")

    def test_a_backlog_that_falls_is_a_slow_recovery(self):
        story = [(30, 79, 80, 0), (20, 20, 300, 1500)]
        story += [(1, 0, 100, 1500 - 20 * second) for second in range(60)]
        part = figures(made.taken(story, made.round_events(end=110.0)))["rounds"][0]
        self.assertEqual(part["verdict"], "slow-recovery")

    def test_who_acts_at_once_learns_nothing_of_what_would_have_been(self):
        events = made.round_events([(52.0, "budget+shed-queue")], end=100.0)
        story = [(30, 79, 80, 0), (20, 20, 300, 1500), (2, 0, 328, 2000), (48, 79, 82, 0)]
        part = figures(made.taken(story, events))["rounds"][0]
        self.assertIsNone(part["verdict"])
        self.assertIsNone(part["hypothesis_held"])
        self.assertEqual(part["recovered_by"], "budget+shed-queue")

    def test_a_round_is_inconclusive_for_each_of_its_reasons(self):
        story = made.HEADLINE
        plain = made.round_events()
        cases = [
            (plain[:2], "nothing was cut"),
            (plain[:1] + plain[2:], "there is no baseline"),
            (plain[:3] + plain[4:], "the fault's end was not seen"),
            (plain + [made.event(31, "no-bite")], "did not bite"),
            (plain + [made.event(40, "seen", change="restart", own=False)], "restarted by itself"),
            (plain + [made.event(90, "lost", "order-status has not answered")], "not answered"),
        ]
        for events, reason in cases:
            events = sorted(events, key=lambda event: event["t"])
            part = figures(made.taken(story, events))["rounds"][0]
            self.assertEqual(part["verdict"], "inconclusive", reason)
            self.assertIn(reason, "; ".join(part["reasons"]))

    def test_another_offered_load_makes_a_round_inconclusive(self):
        record = made.taken(made.HEADLINE, made.round_events())
        for sample in record.samples:
            if sample["t"] > 50:
                sample["load"]["offered"] -= (sample["t"] - 50) * 40
        part = figures(record)["rounds"][0]
        self.assertIn("offered load was 40/s after 80/s", "; ".join(part["reasons"]))

    def test_the_first_alert_that_tells_of_the_outage_counts(self):
        alerts = [
            made.event(5, "alert", alert="RigVulnerable", firing=True, severity="info"),
            made.event(10, "alert", alert="RigOld", firing=True, severity="critical"),
            made.event(33, "alert", alert="RigNote", firing=True, severity="info"),
            made.event(40, "alert", alert="RigOld", firing=True, severity="critical"),
            made.event(44, "alert", alert="RigMetastable", firing=True, severity="page"),
        ]
        events = sorted(made.round_events() + alerts, key=lambda event: event["t"])
        part = figures(made.taken(made.HEADLINE, events))["rounds"][0]
        self.assertAlmostEqual(part["time_to_alert"], 14)

    def test_nobody_to_ask_is_not_no_alert(self):
        events = made.round_events()
        down = made.event(1, "prometheus", "cannot be asked", up=False)
        states = {
            "up": [made.event(1, "prometheus", up=True)], "down": [down], "off": [],
            "gaps": [made.event(0.5, "prometheus", up=True), down],
        }
        for state, more in states.items():
            url = None if state == "off" else "http://127.0.0.1:9090"
            found = figures(made.taken(made.HEADLINE, more + events, prometheus=url))
            self.assertEqual(found["prometheus"]["state"], state)

    def test_a_record_that_was_cut_short_still_has_figures(self):
        record = made.headline()
        record.events = [event for event in record.events if event["t"] < 120]
        record.samples = [sample for sample in record.samples if sample["t"] < 125]
        found = figures(record)
        self.assertEqual(found["outcome"], "cut-short")
        self.assertEqual(found["rounds"][0]["verdict"], "metastable")
        self.assertEqual(found["rounds"][0]["steps"][0]["name"], "restart")
        self.assertIsNone(found["reverted"])

    def test_a_record_of_nothing_has_an_outcome(self):
        found = figures(made.taken([(1, 0, 0, 0)], []))
        self.assertEqual((found["outcome"], found["rounds"]), ("cut-short", []))
