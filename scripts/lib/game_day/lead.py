"""Leading a game day: round by round, with a way out at every moment."""

from . import fault, figures, text
from .levers import NAMES, Levers, parse_plan
from .plane import PlaneError
from .series import Series
from .watch import FAULT

TICK = 0.1
LEASE_SPARE = 12.0


class Stop(Exception):
    """The game day ends before its time: `aborted` by somebody, or `inconclusive`."""

    def __init__(self, outcome, what):
        super().__init__(what)
        self.outcome = outcome


class Leader:
    """Leads a game day on a stack that has passed the preflight."""

    def __init__(self, stack, options, record, watch, console, interrupted, lease):
        self.stack, self.options, self.record = stack, options, record
        self.watch, self.console, self.interrupted = watch, console, interrupted
        self.cause = lease.cause
        self.levers = Levers(stack, options, self.cause, self.wait, self.say, lease.renew_now)
        self.next_status = 0.0
        self.fault = None
        self.steps = 0
        self.hidden = False

    def say(self, line):
        """Tells the facilitator."""
        self.console.say(line, self.record.now())

    def note(self, kind, what, source="script", **more):
        """Writes an event down and shows it."""
        event = self.record.event(kind, what, source, **more)
        if not self.hidden:
            self.console.say(what, event["t"])
        return event

    # -- time ---------------------------------------------------------------------------------

    def wait(self, seconds, until=None):
        """Passes time, at most `seconds`; ends early where `until()` holds, and says whether."""
        end = self.record.now() + seconds
        while self.record.now() < end:
            self.tick()
            if until is not None and until():
                return True
            self.console.pause(min(TICK, max(0.0, end - self.record.now())))
        return False

    def tick(self):
        """What has to be looked at all the time. Raises Stop where the game day must end."""
        if self.interrupted():
            raise Stop("aborted", f"ended by {self.interrupted()}")
        asked = self.record.abort_asked()
        if asked is not None:
            reason = f": {asked['reason']}" if asked.get("reason") else ""
            raise Stop("aborted", f"abort asked by {asked.get('by', 'unknown')}{reason}")
        silent, role = self.watch.silent_for()
        if silent > self.options.lost:
            what = f"{role} has not answered for {silent:.0f} s; is the stack still up?"
            self.record.event("lost", what)
            raise Stop("inconclusive", what)
        self.see_fault_end()
        if self.record.now() >= self.next_status:
            self.next_status = self.record.now() + self.options.status_every
            self.say(self.status())

    def see_fault_end(self):
        """Notes the end of the fault, as the server shows it."""
        latest = self.watch.latest["server"]
        if self.fault is None or self.fault.get("ended") or latest is None:
            return
        figures_now = latest[1]
        if figures_now["t"] > self.fault["t"] and FAULT not in figures_now["faults"]:
            self.fault["ended"] = True
            self.note("fault-ended", "the fault is gone, as read back", "rig")

    def series(self, seconds):
        """The last so many seconds as a series."""
        with self.record.guard:
            count = int((seconds + 5) / self.options.interval) + 10
            samples = self.record.samples[-count:]
        return Series(samples, gap=max(1.5, 3 * self.options.unit))

    def ratio(self, seconds):
        """Good ÷ offered of the last so many seconds; none where that is not known."""
        series = self.series(seconds)
        return series.ratio(series.end() - seconds, series.end())

    def status(self):
        """One line of figures."""
        unit = self.options.unit
        series = self.series(3 * unit)
        end = series.end()
        begin = end - 3 * unit
        latest = self.watch.latest["server"]
        queued = latest[1]["queued"] if latest else None
        alerts = "  alerts " + (", ".join(sorted(self.watch.firing)) or "none")
        return (f"offered {text.number(series.rate('offered', begin, end), 0)}  "
                f"goodput {text.number(series.rate('good', begin, end), 0)}  "
                f"throughput {text.number(series.rate('served', begin, end), 0)}  "
                f"attempts/request {text.number(series.attempts(begin, end))}  "
                f"queued {text.number(queued, 0)}{alerts if self.stack.prometheus else ''}")

    # -- the rounds ---------------------------------------------------------------------------

    def lead(self):
        """All rounds, one after the other."""
        for number, plan in enumerate(self.options.rounds, 1):
            if number > 1:
                bring_back(self)
            self.round(number, plan)
        bring_back(self)

    def round(self, number, plan):
        """One round: baseline, cut, what happens by itself, levers."""
        steps = ", ".join("+".join(step) for step in plan)
        self.fault = None
        self.note("round", f"round {number}: cut, then {steps}", round=number, plan=plan)
        self.hold_baseline()
        self.trigger(number)
        if self.console.interactive:
            self.follow()
        else:
            self.observe()
            self.try_steps(plan)
        self.hidden = False
        self.note("round-ended", f"round {number} is over", round=number)

    def hold_baseline(self):
        """Waits until the system has been healthy for as long as is asked; raises Stop if not."""
        options = self.options
        began = self.record.now()
        self.say(f"baseline: waiting for {text.seconds(options.baseline)} of healthy goodput")

        def held():
            return self.record.now() - began >= options.baseline and self.is_healthy()

        if not self.wait(options.baseline + options.patience, held):
            raise Stop("inconclusive", f"the baseline did not hold: {self.why_unhealthy()}")
        begin = self.record.now() - options.baseline
        self.note("baseline", f"the baseline has held for {text.seconds(options.baseline)}",
                  **{"from": round(begin, 3)})

    def is_healthy(self):
        return self.why_unhealthy() is None

    def why_unhealthy(self):
        """What is wrong with the last `baseline` seconds; none where nothing is."""
        options = self.options
        series = self.series(options.baseline)
        end = series.end()
        offered = series.total("offered", end - options.baseline, end)
        if offered is None:
            return "the load generator gives no figures"
        if offered < 20:
            return f"only {offered:.0f} requests were offered"
        ratio = series.ratio(end - options.baseline, end)
        if ratio > 2 - options.healthy:
            return "answers to earlier requests still come in"
        if ratio < options.healthy:
            return (f"{text.percent(ratio)} of the requests were good, and "
                    f"{text.percent(options.healthy)} are needed; scripts/game-day recover "
                    "brings a metastable stack back")
        latest = self.watch.latest["server"]
        if latest is None:
            return "the server gives no figures"
        age = latest[1]["oldest_age"]
        if options.smallest_timeout and age > options.smallest_timeout / 2:
            return f"the oldest in the queue has waited for {text.seconds(age)}"
        return None

    def trigger(self, number):
        """Cuts capacity, and reads back that it is cut."""
        options = self.options
        if self.console.interactive:
            self.ask("press Enter to cut capacity" if not options.blind else
                     "press Enter to begin; the cut comes when you do not expect it")
        if options.blind:
            self.hidden = True
            self.record.event("blind", "the cut comes at a time that nobody knows")
            self.wait(options.random.uniform(0, options.blind))
        self.note("fault-asked", fault.asked(options))
        self.watch.own(2.0)
        before = self.watch.latest["server"][0]
        try:
            via = self.inject()
            state = self.stack.server.get("/state")
        except PlaneError as error:
            raise Stop("inconclusive", f"the cut was refused: {error}") from None
        if not any(held.get("name") == FAULT for held in state["faults"]):
            raise Stop("inconclusive", "the cut was accepted, but the server does not show it")
        what = f"the cut is in force, as read back ({via}): {fault.asked(options)}"
        self.fault = self.note("fault", what, "rig", round=number)
        if not lower(state, before):
            self.note("no-bite", "capacity reads back as before: the cut does not bite", "rig")

    def inject(self):
        """Asks the injector, which renews the lease; without one, a lease as long as the cut."""
        asked = fault.body(self.options)
        length = text.wire(self.options.cut_for)
        if self.stack.injector:
            self.stack.injector.post(
                "/faults", {"name": FAULT, "fault": asked, "for": length, **self.cause})
            return "held by the fault injector"
        self.stack.server.post(
            "/faults", {"name": FAULT, "fault": asked, "lease": length, **self.cause})
        return "on a lease of its whole length"

    def observe(self):
        """Lets the cut end, and then lets the system do what it does by itself."""
        longest = self.options.cut_for + LEASE_SPARE
        if not self.wait(longest, lambda: self.fault.get("ended")):
            raise Stop("inconclusive", "the cut did not end in its time")
        self.say(f"observing for {text.seconds(self.options.observe)}: does goodput come back?")
        self.wait(self.options.observe)
        state = "is back" if self.is_back() else "has not come back"
        self.note("observed", f"goodput {state} by itself")

    def is_back(self):
        """Whether goodput has been in its band for `hold`, by the baseline of this round."""
        taken = self.record.taken()
        part = figures.rounds_of(taken.events)[-1]
        series = Series(taken.samples, gap=max(1.5, 3 * self.options.unit))
        base = figures.baseline(part, series)
        ratio = self.ratio(self.options.hold)
        return ratio is not None and ratio >= self.options.band * base["ratio"]

    def try_steps(self, plan):
        """Pulls levers step by step until goodput is back."""
        for names in plan:
            if self.is_back():
                self.say("goodput is back: no more levers in this round")
                return
            undo = self.step(names)
            self.wait(self.options.watch)
            self.end_step("+".join(names), [] if self.is_back() else undo)

    def step(self, names):
        """Pulls the levers of one step; returns how they are taken back."""
        self.steps += 1
        name = "+".join(names)
        self.record.event("step", f"step {self.steps}: {name}", step=self.steps, name=name)
        undo = []
        for index, lever in enumerate(names):
            if index:
                self.wait(self.options.pause)
            self.note("action", f"lever {lever}: {NAMES[lever]}", self.who(), lever=lever)
            self.watch.own(24 * 3600)
            try:
                did, back = self.levers.pull(lever)
                self.note("did", f"{lever}: {did}", "rig", lever=lever)
                undo += [(lever, back)] if back else []
            except PlaneError as error:
                self.note("lever-failed", f"{lever} failed: {error}", "rig", lever=lever)
            except (KeyError, TypeError) as error:
                self.note("lever-failed", f"{lever} failed: unexpected answer ({error!r})", "rig",
                          lever=lever)
            finally:
                self.watch.own(2.0)
        return undo

    def who(self):
        """Who pulls the levers."""
        return "person" if self.console.interactive else "script"

    def end_step(self, name, undo):
        """Ends a step; levers that did not help are taken back, so that the next is seen alone."""
        state = "is back" if self.is_back() else "is not back"
        self.note("step-ended", f"after {name} goodput {state}", step=self.steps)
        for lever, back in reversed(undo):
            self.watch.own(2.0)
            try:
                self.note("undone", f"{lever} taken back: {back()}", lever=lever)
            except PlaneError as error:
                self.note("lever-failed", f"{lever} could not be taken back: {error}", lever=lever)

    # -- a person at the terminal -------------------------------------------------------------

    def ask(self, question):
        """Waits for a line, within bounds; returns it."""
        if question:
            self.console.say(question)
        end = self.record.now() + self.options.longest
        while self.record.now() < end:
            self.tick()
            typed = self.console.line(TICK)
            if typed is not None:
                if typed == "abort":
                    raise Stop("aborted", "abort typed by the facilitator")
                return typed
            if self.console.ended:
                raise Stop("aborted", "the terminal is gone")
        raise Stop("aborted", f"nobody answered for {text.seconds(self.options.longest)}")

    def follow(self):
        """Writes down and does what the facilitator types until the round is over."""
        self.console.say("type a lever, or: detected · diagnosed TEXT · note TEXT · next · "
                         "abort · help")
        open_step = None
        while True:
            typed = self.ask("")
            word, _, rest = typed.partition(" ")
            if word in ("next", "n"):
                break
            if word in ("detected", "diagnosed", "note"):
                self.note(word, f"{word}: {rest}".rstrip(": "), "person")
            elif word in ("help", "?", "h"):
                for name, what in NAMES.items():
                    self.console.say(f"  {name:12} {what}")
                self.console.say("  several at once: budget+shed-queue")
            elif word:
                open_step = self.typed_step(word, open_step)
        if open_step:
            self.end_step(open_step, [])

    def typed_step(self, word, open_step):
        """Pulls the levers that were typed, if they are any."""
        try:
            names = parse_plan(word)
        except ValueError as error:
            self.console.say(f"{error}; `help` lists what can be typed")
            return open_step
        for step in names:
            if open_step:
                self.end_step(open_step, [])
            self.step(step)
            open_step = "+".join(step)
        return open_step


def bring_back(leader):
    """Puts the stack back as it was before the first round, outside of any round.

    A metastable system does not come back by a reset alone, so the load is halted, the queue shed
    and what is in flight waited for. Everything is read back afterwards.
    """
    leader.fault = None
    leader.watch.own(24 * 3600)
    try:
        if leader.ratio(leader.options.hold) is None or not leader.is_back():
            leader.note("clean-up", "halting the load and shedding the queue, to begin anew")
            drain(leader.stack, leader.cause, leader.wait, 40 * leader.options.unit)
        rows = leader.stack.revert(leader.cause)
    except PlaneError as error:
        raise Stop("inconclusive", f"the stack could not be put back: {error}") from None
    note_reverted(leader.record, rows)
    left = [row["what"] for row in rows if not row["confirmed"]]
    if left:
        raise Stop("inconclusive", "the stack could not be put back: " + "; ".join(left))
    leader.watch.own(2.0)


def drain(stack, cause, wait, longest):
    """Halts the load, sheds the queue, and waits until nothing is in flight."""
    stack.load.post("/halt", cause)
    for _ in range(20):
        stack.server.post("/levers/shed-queue", cause)
        if wait(longest / 20, lambda: stack.load.get("/state")["in_flight"] == 0):
            return


def note_reverted(record, rows):
    """Writes a clean-up down; a process that is gone holds nothing, but is no confirmation."""
    words = "; ".join(f"{row['role']}: {row['what']}" for row in rows)
    confirmed = all(row["confirmed"] for row in rows)
    record.event("reverted", words, "rig", confirmed=confirmed, rows=rows)


def lower(now, before):
    """Whether a state's capacity is below that of another."""
    if now["slots"] < before["slots"]:
        return True
    capacity, was = now.get("capacity"), before.get("capacity")
    return capacity is not None and (was is None or capacity < was)
