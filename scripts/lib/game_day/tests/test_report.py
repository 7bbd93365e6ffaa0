import html.parser
import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

from game_day import chart, record, report
from game_day.figures import figures
from game_day.series import Series
from game_day.tests import made


class Page(html.parser.HTMLParser):
    """Notes what a page would fetch, and whether its tags are closed in order."""

    VOID = {"meta", "br", "link", "img", "path", "rect"}

    def __init__(self):
        super().__init__()
        self.fetched, self.open, self.scripts = [], [], 0

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href")]
        self.scripts += tag == "script"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-5:])
        self.open.pop()


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def write(self, taken):
        taken.path = self.path
        return report.write(taken)

    def test_the_headline_is_told_in_all_forms(self):
        self.write(made.headline())
        told = (self.path / "report.md").read_text(encoding="utf-8")
        page = (self.path / "report.html").read_text(encoding="utf-8")
        for words in ("metastable", "did not hold", "budget+shed-queue", "relapse",
                      "helped: goodput is back", "goodput came and went again"):
            if words != "relapse":
                self.assertIn(words, told)
                self.assertIn(words, page)
        result = json.loads((self.path / "result.json").read_text(encoding="utf-8"))
        self.assertEqual(result["rounds"][0]["verdict"], "metastable")

    def test_the_page_needs_nothing_else(self):
        self.write(made.headline())
        page = Page()
        page.feed((self.path / "report.html").read_text(encoding="utf-8"))
        self.assertEqual((page.fetched, page.scripts, page.open), ([], 0, []))

    def test_a_dashboard_is_linked_over_the_time_of_the_game_day(self):
        taken = made.headline()
        taken.settings.update(grafana="http://127.0.0.1:3000", arm="undefended")
        self.write(taken)
        link = ("http://127.0.0.1:3000/d/rig-metastability?var-arm=undefended"
                "&from=1796039970000&to=1796040212000")
        self.assertIn(f"<{link}>", (self.path / "report.md").read_text(encoding="utf-8"))
        page = Page()
        page.feed((self.path / "report.html").read_text(encoding="utf-8"))
        self.assertEqual(page.fetched, [link])

    def test_the_picture_shows_the_fault_the_levers_and_breaks_in_gaps(self):
        taken = made.headline()
        taken.samples = [s for s in taken.samples if not 60 < s["t"] < 70]
        series = Series(taken.samples)
        drawn = chart.chart(taken, figures(taken)["rounds"][0], series)
        tree = xml.etree.ElementTree.fromstring(drawn)
        labels = [text.text for text in tree.iter("text")]
        for label in ("cut", "restart", "budget+shed-queue", "goodput", "throughput"):
            self.assertIn(label, labels)
        shades = [rect for rect in tree.iter("rect") if rect.get("class") == "shade"]
        self.assertEqual(len(shades), 1)
        good = next(p for p in tree.iter("path") if p.get("class") == "line good")
        self.assertEqual(good.get("d").count("M"), 2)

    def test_text_of_others_cannot_break_the_report(self):
        taken = made.headline()
        taken.settings["hypothesis"] = "<script>alert(1)</script> | & more"
        taken.events.insert(3, made.event(35, "note", "a | b\n<img src=x>", "person"))
        self.write(taken)
        told = (self.path / "report.md").read_text(encoding="utf-8")
        self.assertIn("a \\| b <img", told)
        page = Page()
        page.feed((self.path / "report.html").read_text(encoding="utf-8"))
        self.assertEqual((page.scripts, page.fetched), (0, []))

    def test_a_record_without_samples_or_rounds_is_reported(self):
        for taken in (made.taken([(1, 0, 0, 0)], []), made.headline()):
            taken.samples = []
            found, _ = self.write(taken)
            self.assertIn(found["outcome"], ("cut-short", "inconclusive"))

    def test_an_unknown_time_to_alert_is_not_called_none(self):
        taken = made.headline()
        taken.events.insert(0, made.event(0, "prometheus", "nobody listens", up=False))
        self.write(taken)
        told = (self.path / "report.md").read_text(encoding="utf-8")
        self.assertIn("unknown: Prometheus could not be asked", told)


class RecordTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_what_is_written_is_read_again_though_the_last_line_is_cut_short(self):
        made_record = record.Record(self.folder.name, dict(made.SETTINGS))
        made_record.event("note", "one", "person")
        made_record.sample({"t": 0.5, "server": None, "load": None})
        with open(made_record.path / record.EVENTS, "a", encoding="utf-8") as file:
            file.write('{"t": 2, "kind": "no')
        found = record.read(made_record.path)
        made_record.close()
        self.assertEqual([event["what"] for event in found.events], ["one"])
        self.assertEqual(len(found.samples), 1)

    def test_a_folder_of_something_else_is_refused(self):
        with self.assertRaisesRegex(ValueError, "holds no game-day.json"):
            record.read(self.folder.name)
        path = pathlib.Path(self.folder.name) / record.SETTINGS
        for content in ("[]", "{", '{"schema": 9}'):
            path.write_text(content, encoding="utf-8")
            with self.assertRaises(ValueError):
                record.read(self.folder.name)

    def test_one_game_day_at_a_time(self):
        first, second = record.Lock(self.folder.name), record.Lock(self.folder.name)
        first.take()
        first.name("runs/x")
        with self.assertRaisesRegex(record.Busy, "runs/x"):
            second.take()
        self.assertTrue(second.is_held())
        first.release()
        self.assertFalse(second.is_held())
        second.take()
        second.release()

    def test_a_folder_made_for_a_game_day_that_was_refused_goes_away_again(self):
        base = pathlib.Path(self.folder.name)
        lock = record.Lock(base / "new" / "deep")
        lock.take()
        lock.release()
        self.assertEqual(list(base.iterdir()), [])
        lock.take()
        record.new_folder(base / "new" / "deep", 0)
        lock.release()
        self.assertEqual(len(list((base / "new" / "deep").glob("*-game-day"))), 1)

    def test_two_folders_of_one_second_have_two_names(self):
        parent = pathlib.Path(self.folder.name)
        self.assertNotEqual(record.new_folder(parent, 0), record.new_folder(parent, 0))

    def test_an_abort_asked_from_outside_is_seen(self):
        made_record = record.Record(self.folder.name, dict(made.SETTINGS))
        self.assertIsNone(made_record.abort_asked())
        record.ask_abort(made_record.path, "me", "wrong environment")
        self.assertEqual(made_record.abort_asked()["reason"], "wrong environment")
        made_record.close()
