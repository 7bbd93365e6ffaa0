import unittest

from game_day.series import Series
from game_day.tests import made


class SeriesTest(unittest.TestCase):
    def test_a_rate_is_that_of_the_counters_over_any_stretch(self):
        series = Series(made.samples([(10, 80, 80, 0), (10, 0, 320, 500)]))
        self.assertAlmostEqual(series.rate("offered", 3.1, 17.7), 80)
        self.assertAlmostEqual(series.ratio(0, 10), 1)
        self.assertAlmostEqual(series.ratio(5, 15), 0.5)
        self.assertAlmostEqual(series.attempts(10, 20), 4)
        self.assertAlmostEqual(series.wasted(10, 20), 1)
        self.assertAlmostEqual(series.utilisation(10, 20), 1)

    def test_a_server_that_starts_anew_counts_from_zero(self):
        samples = made.samples([(10, 80, 80, 0)])
        for index, sample in enumerate(samples):
            if sample["t"] >= 5:
                before = samples[index]["server"]
                sample["server"] = {**before, "instance": "b", "served": (sample["t"] - 5) * 80}
        series = Series(samples)
        # What the first process served between its last sample and its end is not known.
        self.assertAlmostEqual(series.total("served", 0, 10), 780, delta=1)
        self.assertGreaterEqual(series.total("served", 4, 6), 0)

    def test_nothing_is_made_up_where_nothing_was_seen(self):
        samples = made.samples([(30, 80, 80, 0)])
        holed = [s if not 10 < s["t"] < 20 else {**s, "server": None} for s in samples]
        series = Series(holed)
        self.assertIsNone(series.rate("served", 12, 18))
        self.assertIsNone(series.level("queued", 15))
        self.assertAlmostEqual(series.ratio(12, 18), 1)
        self.assertAlmostEqual(series.total("served", 0, 30), 2400)
        self.assertIsNone(series.ratio(31, 40))
        self.assertIsNone(Series([]).ratio(0, 10))

    def test_no_offered_load_is_no_ratio(self):
        samples = made.samples([(10, 0, 0, 0)])
        for sample in samples:
            sample["load"]["offered"] = 0
        self.assertIsNone(Series(samples).ratio(0, 10))

    def test_bins_have_rates_and_levels(self):
        rows = Series(made.samples([(5, 80, 80, 0), (5, 0, 320, 700)])).bins(1.0)
        self.assertEqual(len(rows), 10)
        self.assertAlmostEqual(rows[2]["good"], 80)
        self.assertAlmostEqual(rows[7]["received"], 320)
        self.assertEqual(rows[8]["queued"], 700)
