"""Samples of cumulated counters as something that can be asked about any stretch of time. Pure.

Counters are read some times a second; between two reads they are taken to run straight. A process
that started anew counts from zero, and what its predecessor counted after its last read is lost.
Nothing is made up across a gap: a stretch that is mostly one has no figure.
"""

import bisect

SERVER = ("received", "served", "useful", "wasted")
LOAD = ("offered", "good")
LEVELS = ("queued", "oldest_age", "slots", "capacity", "admitted")


class Series:
    """The counters and levels of a game day; `gap` is how many seconds without a sample are one."""

    def __init__(self, samples, gap=3.0):
        self.gap = gap
        self.server = cumulate(samples, "server", lambda s: s.get("instance"), SERVER)
        self.load = cumulate(samples, "load", lambda s: s.get("life"), LOAD)
        self.levels = [
            (s["server"]["t"], s["server"]) for s in samples if isinstance(s.get("server"), dict)
        ]
        self.level_times = [t for t, _ in self.levels]

    def end(self):
        """When the last sample of the load was taken; 0 without one."""
        return self.load.times[-1] if self.load.times else 0.0

    def total(self, counter, begin, end):
        """By how much a counter grew; none where that is not known."""
        track = self.load if counter in LOAD else self.server
        return track.total(counter, begin, end, self.gap)

    def rate(self, counter, begin, end):
        """A counter's growth per second; none where that is not known."""
        total = self.total(counter, begin, end)
        return None if total is None else total / (end - begin)

    def ratio(self, begin, end):
        """Good ÷ offered; none where nothing was offered or it is not known."""
        return divide(self.total("good", begin, end), self.total("offered", begin, end))

    def attempts(self, begin, end):
        """Attempts that reached the server, per request offered."""
        return divide(self.total("received", begin, end), self.total("offered", begin, end))

    def wasted(self, begin, end):
        """The share of slot time that was spent for callers who had gone."""
        useful, wasted = self.total("useful", begin, end), self.total("wasted", begin, end)
        return None if useful is None else divide(wasted, useful + wasted)

    def utilisation(self, begin, end):
        """Busy slot time ÷ slot time."""
        useful, wasted = self.total("useful", begin, end), self.total("wasted", begin, end)
        slots = self.level("slots", end)
        if useful is None or not slots:
            return None
        return (useful + wasted) / (slots * (end - begin))

    def level(self, name, t):
        """What a level was at `t`, by the last sample before it; none in a gap."""
        index = bisect.bisect_right(self.level_times, t) - 1
        if index < 0 or t - self.level_times[index] > self.gap:
            return None
        return self.levels[index][1].get(name)

    def bins(self, width, begin=0.0, end=None):
        """A row for every `width` seconds: rates per second and levels at its end."""
        end = self.end() if end is None else end
        rows = []
        for index in range(int((end - begin) / width + 1e-9)):
            t0, t1 = begin + index * width, begin + (index + 1) * width
            row = {"t": t1}
            row.update({name: self.rate(name, t0, t1) for name in LOAD + SERVER})
            row.update({name: self.level(name, t1) for name in LEVELS})
            rows.append(row)
        return rows


class Track:
    """Counters of one process over its lives, cumulated."""

    def __init__(self, names):
        self.times = []
        self.values = {name: [] for name in names}

    def total(self, name, begin, end, gap):
        """By how much a counter grew; none outside of what was seen, and in gaps."""
        if not self.times or end <= begin or self.unknown(begin, end, gap) > (end - begin) / 2:
            return None
        return self.at(name, end) - self.at(name, begin)

    def unknown(self, begin, end, gap):
        """How many seconds of a stretch nothing is known of."""
        lost = max(0.0, min(self.times[0], end) - begin)
        lost += max(0.0, end - max(self.times[-1], begin))
        first = max(1, bisect.bisect_right(self.times, begin))
        for index in range(first, len(self.times)):
            t0, t1 = self.times[index - 1], self.times[index]
            if t1 - t0 > gap:
                lost += max(0.0, min(end, t1) - max(begin, t0))
            if t1 >= end:
                break
        return lost

    def at(self, name, t):
        """The cumulated value at `t`, straight between two samples."""
        values = self.values[name]
        index = bisect.bisect_right(self.times, t)
        if index == 0:
            return values[0]
        if index == len(self.times):
            return values[-1]
        t0, t1 = self.times[index - 1], self.times[index]
        return values[index - 1] + (values[index] - values[index - 1]) * (t - t0) / (t1 - t0)


def cumulate(samples, role, life, names):
    """The track of `role`: a counter that starts anew adds to what its predecessor counted."""
    track = Track(names)
    before = None
    for sample in samples:
        now = sample.get(role)
        if not isinstance(now, dict) or (track.times and now["t"] <= track.times[-1]):
            continue
        same = before is not None and life(now) == life(before)
        track.times.append(now["t"])
        for name in names:
            value = now.get(name) or 0
            grown = value - (before.get(name) or 0) if same else value
            if before is None:
                grown = 0
            values = track.values[name]
            values.append((values[-1] if values else 0) + max(0, grown))
        before = now
    return track


def divide(numerator, denominator):
    """The ratio; none where either is unknown or there is nothing to divide by."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator
