import io
import http.server
import threading
import unittest
from contextlib import redirect_stderr

from game_day import fault, levers, options, preflight, stack, text, watch
from game_day.plane import Plane, PlaneError


class TextTest(unittest.TestCase):
    def test_durations_and_shares_are_read_and_what_is_none_is_refused(self):
        self.assertEqual(text.duration("1m30s"), 90)
        self.assertAlmostEqual(text.duration("500ms"), 0.5)
        for wrong in ("", "5", "s", "-3s", "0s", "25h", "1 s", "5x"):
            with self.assertRaisesRegex(ValueError, "such as"):
                text.duration(wrong)
        self.assertAlmostEqual(text.share("40%"), 0.4)
        self.assertAlmostEqual(text.share("0.4"), 0.4)
        for wrong in ("", "140%", "-1", "nan", "x"):
            with self.assertRaisesRegex(ValueError, "such as"):
                text.share(wrong)

    def test_what_is_unknown_is_a_dash(self):
        self.assertEqual((text.seconds(None), text.percent(None), text.number(None)), ("-",) * 3)
        self.assertEqual(text.seconds(125), "2 min 5 s")

    def test_figures_keep_the_zeros_that_count(self):
        found = [text.number(0, 0), text.number(20, 0), text.number(10), text.number(1234.4)]
        self.assertEqual(found, ["0", "20", "10", "1,234"])
        self.assertEqual([text.number(4.08), text.seconds(4)], ["4.1", "4 s"])


class OptionsTest(unittest.TestCase):
    def refused(self, *arguments):
        said = io.StringIO()
        with redirect_stderr(said), self.assertRaises(SystemExit) as ended:
            options.parse(list(arguments))
        self.assertEqual(ended.exception.code, 2)
        return said.getvalue()

    def test_wrong_options_are_refused_with_a_valid_example(self):
        self.assertIn("such as 40%", self.refused("--cut-to", "100%"))
        self.assertIn("such as 20s", self.refused("--cut-for", "20"))
        self.assertIn("there is no lever 'rebot'", self.refused("--round", "rebot"))
        self.assertIn("needs a folder", self.refused("report"))
        self.assertIn("such as 2", self.refused("--more-capacity", "1"))

    def test_a_stall_leaves_nothing_to_cut_to(self):
        self.assertIn("--mode slow --cut-to 40%", self.refused("--mode", "stall", "--cut-to", "5%"))
        found = options.parse(["--mode", "stall"])
        self.assertEqual(fault.body(found), {"kind": "stall"})
        self.assertIsNone(fault.felt(found, 100, 10))

    def test_a_cut_that_nobody_will_feel_is_told(self):
        found = options.parse(["--arm", "three-layers", "--cut-to", "40%"])
        self.assertEqual(fault.body(found), {"kind": "capacity", "to": 0.4, "mode": "slow"})
        self.assertIn("40/s for 10/s offered", fault.felt(found, 100, 10))
        self.assertIsNone(fault.felt(found, 100, 80))
        self.assertIsNone(fault.felt(found, None, 80))

    def test_a_plan_is_steps_of_levers(self):
        found = options.parse(["--round", "restart,budget+shed-queue", "--round", "block"])
        self.assertEqual(found.rounds, [[["restart"], ["budget", "shed-queue"]], [["block"]]])
        self.assertEqual(levers.parse_plan("block"), [["block"]])

    def test_every_process_of_an_arm_is_among_those_that_a_clean_up_resets(self):
        found = options.parse(["--arm", "three-layers"])
        ports = [url.rsplit(":", 1)[1] for url in (found.server, *found.gateway, found.edge,
                                                   found.load)]
        self.assertEqual(ports, ["9921", "9922", "9923", "9924"])
        made = stack.Stack(found.server, found.load, edge=found.edge, gateways=found.gateway)
        self.assertEqual([plane.url.rsplit(":", 1)[1] for plane in made.planes()], ports)
        self.assertEqual(options.parse([]).gateway, [])
        self.assertEqual(options.parse(["--gateway", "none"]).gateway, ["none"])


class TokenTest(unittest.TestCase):
    def test_a_token_that_no_header_can_hold_is_refused_before_it_is_sent(self):
        self.assertIsNone(stack.read_token(None))
        self.assertEqual(stack.read_token(" abc\n"), "abc")
        for wrong in ("\n", "a b", "\u00fc", "a\x00"):
            with self.assertRaisesRegex(stack.Unusable, "the token"):
                stack.read_token(wrong)


class Answering(http.server.BaseHTTPRequestHandler):
    answers = {"/state": (200, b"{}"), "/401": (401, b'{"error": "no token"}'),
               "/409": (409, b'{"error": "it is there"}'), "/html": (200, b"<html>"),
               "/404": (404, b"not found")}

    def do_GET(self):
        if self.path == "/hang":
            self.server.released.wait(5)
            return
        status, body = self.answers.get(self.path, (200, b"{}"))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class PlaneTest(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.server.released = threading.Event()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.released.set)
        self.plane = Plane("order-status", f"http://127.0.0.1:{self.server.server_address[1]}")

    def kind(self, path, **more):
        with self.assertRaises(PlaneError) as raised:
            self.plane.get(path, **more)
        return raised.exception

    def test_failures_are_told_apart(self):
        self.assertEqual(self.plane.get("/state"), {})
        for path, kind in (("/401", "unauthorized"), ("/409", "status"), ("/html", "foreign"),
                           ("/404", "foreign")):
            self.assertEqual(self.kind(path).kind, kind, path)
        self.assertIn("it is there", str(self.kind("/409")))
        self.assertEqual(self.kind("/hang", wait=0.2).kind, "timeout")

    def test_a_port_that_nobody_listens_on_is_refused(self):
        port = self.server.server_address[1]
        self.server.shutdown()
        self.server.server_close()
        gone = Plane("order-status", f"http://127.0.0.1:{port}")
        with self.assertRaises(PlaneError) as raised:
            gone.get("/state")
        self.assertEqual(raised.exception.kind, "refused")
        self.assertIn("nobody listens", str(raised.exception))

    def test_addresses_that_are_none_are_refused(self):
        for wrong in ("127.0.0.1:9901", "https://x", "http://", "http://x:99999", "http://x/state"):
            with self.assertRaisesRegex(ValueError, "such as http://127.0.0.1:9901"):
                Plane("order-status", wrong)


class StateTest(unittest.TestCase):
    def test_the_smallest_time_out_of_the_layers_is_read(self):
        layers = [{"timeout": None}, {"timeout": "1m 30s"}, {"timeout": "1s 666ms 666us"}, {}]
        self.assertAlmostEqual(preflight.smallest_timeout([{"layers": layers}]), 1.666666)
        below = {"layers": [{"timeout": "1s"}]}
        self.assertEqual(preflight.smallest_timeout([{"layers": layers}, below]), 1)
        self.assertIsNone(preflight.smallest_timeout([{"layers": [{"timeout": None}]}, {}]))

    def test_the_attempts_of_every_layer_multiply(self):
        three = {"layers": [{"retries": 3}]}
        server = {"capacity": 100}
        alone = preflight.vulnerability(server, {**three, "rate": 20}, [])
        self.assertIn("4 attempts a request at most, C_stable 25/s; stable", alone)
        deep = preflight.vulnerability(server, {**three, "rate": 20}, [three, three])
        self.assertIn("64 attempts a request at most, C_stable 1.6/s; vulnerable", deep)

    def test_what_is_left_in_force_is_named(self):
        state = {"faults": [{"name": "game-day"}], "admitted": 0.25}
        self.assertEqual(stack.leftovers(state),
                         ["fault game-day in force", "only 25 % admitted"])
        self.assertEqual(stack.leftovers({"halted": True}), ["halted"])
        self.assertEqual(stack.leftovers({"faults": [], "admitted": 1.0}), [])

    def test_changes_that_anybody_makes_are_seen(self):
        old = {"instance": "a", "restarts": 0, "faults": [], "admitted": 1.0, "limiter": "x"}
        limiter = {"limiter": {"capacity": 100}}
        new = {**old, "restarts": 1, "faults": ["f"], "admitted": 0.0, "limiter": "y"}
        changes = watch.server_changes(limiter, old, {"limiter": {"capacity": 200}}, new)
        self.assertEqual([kind for kind, _ in changes],
                         ["restart", "fault", "admitted", "limiter"])
        self.assertIn("capacity = 200", changes[-1][1])
        self.assertEqual(watch.server_changes(limiter, old, limiter, dict(old)), [])

    def test_firing_alerts_are_read_with_their_severity(self):
        answer = {"data": {"result": [
            {"metric": {"alertname": "RigMetastable", "severity": "page"}, "value": [0, "1"]},
            {"metric": {"alertname": "RigLate", "arm": "defended"}, "value": [0, "1"]}]}}
        found = watch.firing_alerts(answer, "undefended")
        self.assertEqual(found, {"RigMetastable": "page"})
