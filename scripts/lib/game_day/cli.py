"""The command: what each of its verbs does."""

import shlex
import signal
import sys

from . import lead, record, report
from .console import Console
from .lease import Lease
from .options import parse
from .plane import PlaneError
from .preflight import fill_defaults, preflight, settings
from .stack import Stack, Unusable, read_token, setting, token_of_compose
from .watch import Watch

OK, NOT_BACK, WRONG, INCONCLUSIVE, ABORTED, UNCONFIRMED = 0, 1, 2, 3, 4, 5
CODES = {"recovered": OK, "not-recovered": NOT_BACK, "inconclusive": INCONCLUSIVE,
         "aborted": ABORTED, "cut-short": INCONCLUSIVE}


def main(arguments=None):
    """Runs the command and returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parse(arguments)
    verb = {"run": run, "abort": abort, "recover": recover, "report": report_again}[options.verb]
    try:
        return verb(options)
    except (Unusable, ValueError, record.Busy) as error:
        print(f"game-day: {error}", file=sys.stderr)
        return WRONG
    except OSError as error:
        print(f"game-day: {error}; another folder is given with --runs DIR", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("game-day: interrupted", file=sys.stderr)
        return ABORTED


def run(options):
    """Leads a game day from the preflight to the report."""
    if not options.yes and not sys.stdin.isatty():
        raise Unusable("there is no terminal to ask at; --yes goes through without asking")
    stack = make_stack(options)
    lock = record.Lock(options.runs)
    lock.take()
    lease = Lease(stack, options.by)
    try:
        states = check(stack, options)
        fill_defaults(options, states)
        console = Console(interactive=not options.yes)
        if not options.yes:
            options.hypothesis = ask_hypothesis(options.hypothesis)
        lease.take()
        taken = record.Record(options.runs, settings(stack, states, options, command_line()))
        lock.name(taken.path)
        return carry_out(stack, lease, states, options, console, taken)
    finally:
        lease.release()
        lock.release()


def carry_out(stack, lease, states, options, console, taken):
    """The game day itself. Whatever happens, it ends with a clean-up and a report."""
    console.say(f"game day in {taken.path}; Ctrl-C or scripts/game-day abort ends it at any time")
    taken.event("hypothesis", options.hypothesis)
    signals = Signals(console)
    watch = Watch(stack, taken, options.interval, options.arm)
    ended = None
    lease.tell(lambda what: taken.event("lease-lost", what))
    try:
        preflight(stack, states, options, taken, console.say, lease.cause)
        watch.start()
        lead.Leader(stack, options, taken, watch, console, lambda: signals.name, lease).lead()
        ended = ("complete", "all rounds are over")
    except lead.Stop as stop:
        ended = (stop.outcome, str(stop))
    except Unusable as error:
        ended = ("unusable", str(error))
    except Exception as error:
        ended = ("inconclusive", f"the script failed: {error!r}")
        raise
    finally:
        outcome = clean_up(stack, lease, console, taken, ended or ("inconclusive", "unknown"))
        watch.stop()
        taken.close()
        code = finish(console, taken, outcome)
        signals.restore()
    return code


def clean_up(stack, lease, console, taken, ended):
    """Ends everything that is in force, and writes down how the game day ended."""
    outcome, what = ended
    if outcome != "complete":
        console.say(f"ending: {what}")
    reason = f"end of the game day: {what}"
    rows = stack.revert({**lease.cause, "reason": reason[:900]})
    lease.release()
    lead.note_reverted(taken, rows)
    show(rows, console.say)
    taken.event("end", what, outcome=outcome)
    # A process that is gone took its faults with it; one that does not answer may hold them.
    open_rows = [row for row in rows if not row["confirmed"] and not row["gone"]]
    return "unconfirmed" if open_rows else outcome


def finish(console, taken, outcome):
    """Makes the report and returns the exit code."""
    figures, paths = report.write(taken.taken())
    console.say()
    console.say(report.brief(figures))
    console.say("report: " + "  ".join(str(path) for path in paths))
    if taken.failure:
        console.say(f"the record is incomplete: {taken.failure}")
    if outcome == "unconfirmed":
        console.say("clean-up could not be confirmed: run scripts/game-day abort again")
        return UNCONFIRMED
    if outcome == "unusable":
        return WRONG
    return CODES[figures["outcome"]]


def abort(options):
    """Ends everything, with or without a game day going on."""
    stack = make_stack(options)
    lock = record.Lock(options.runs)
    holder = (lock.holder() or {}) if lock.is_held() else None
    if holder and holder.get("folder"):
        record.ask_abort(holder["folder"], options.by, options.reason or "abort")
        print(f"asked the game day of {holder['folder']} to end", flush=True)
    find_token(stack, options)
    rows = stack.revert({"by": options.by, "reason": options.reason or "abort"})
    if holder is not None and not released(lock):
        print("the game day has not ended yet; its process is " + str(holder.get("pid", "unknown")))
    if holder is not None:
        rows = stack.revert({"by": options.by, "reason": options.reason or "abort, once more"})
    show(rows, print)
    if all(row["confirmed"] for row in rows):
        print("nothing is in force, as read back everywhere")
        return OK
    if all(row["gone"] for row in rows):
        raise Unusable("the stack is not up: nobody listens anywhere, so nothing can be in force")
    print("clean-up could not be confirmed; a fault ends with its lease or with its server",
          file=sys.stderr)
    return UNCONFIRMED


def recover(options):
    """Brings a metastable stack back, outside of a game day."""
    stack = make_stack(options)
    lock = record.Lock(options.runs)
    lock.take()
    try:
        states = check(stack, options)
        fill_defaults(options, states)
        cause = {"by": options.by, "reason": options.reason or "recover"}
        print("halting the load and shedding the queue", flush=True)
        try:
            lead.drain(stack, cause, plain_wait, 40 * options.unit)
        except PlaneError as error:
            raise Unusable(str(error)) from None
        finally:
            rows = stack.revert(cause)
        show(rows, print)
        return OK if all(row["confirmed"] for row in rows) else UNCONFIRMED
    finally:
        lock.release()


def report_again(options):
    """Makes the report of a folder again."""
    figures, paths = report.write(record.read(options.folder))
    print(report.brief(figures))
    print("report: " + "  ".join(str(path) for path in paths))
    return OK


# -- the parts of it ------------------------------------------------------------------------------


def make_stack(options):
    """The stack by its addresses, with the token that was given."""
    none = lambda url: None if url in ("none", "off", "") else url  # noqa: E731
    token = read_token(options.token or setting("GOODPUT_TOKEN", None))
    gateways = [url for url in options.gateway if none(url)]
    return Stack(options.server, options.load, none(options.injector), none(options.edge),
                 none(options.prometheus), token, gateways)


def check(stack, options):
    """The states of server, load and gateways, with the token of the stack where none was given."""
    find_token(stack, options)
    return stack.check()


def find_token(stack, options):
    """Asks Docker for the stack's token where one is needed and none was given."""
    if stack.server.token or options.token:
        return
    for plane in stack.planes():
        try:
            plane.get("/state", wait=1.0)
        except PlaneError as error:
            if error.kind == "unauthorized":
                token = token_of_compose()
                if token:
                    stack.give_token(token)
                return


def released(lock, seconds=20.0):
    """Waits until the game day that was asked to end has ended."""
    for _ in range(int(seconds / 0.1)):
        if not lock.is_held():
            return True
        Console.pause(0.1)
    return False


def plain_wait(seconds, until):
    """Passes time until something holds."""
    for _ in range(int(seconds / 0.1) + 1):
        if until():
            return True
        Console.pause(0.1)
    return False


def show(rows, say):
    """Prints what was read back."""
    for row in rows:
        word = "confirmed" if row["confirmed"] else "gone" if row["gone"] else "NOT CONFIRMED"
        say(f"  {word:13}  {row['role']}: {row['what']}")


def ask_hypothesis(standard):
    """The hypothesis as the facilitator words it."""
    print(f"hypothesis [{standard}]:", flush=True)
    typed = sys.stdin.readline().strip()
    return typed or standard


class Signals:
    """Remembers the first signal, and keeps later ones from cutting a clean-up short."""

    def __init__(self, console):
        self.name = None
        self.console = console
        self.before = {number: signal.signal(number, self.caught) for number in
                       (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}

    def caught(self, number, _frame):
        if self.name is None:
            self.name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name

    def restore(self):
        """Gives the signals back."""
        for number, handler in self.before.items():
            signal.signal(number, handler)


def command_line():
    """The command that repeats this game day, without its token."""
    kept, skip = [], False
    for argument in sys.argv[1:]:
        if skip or argument.startswith("--token="):
            skip = False
        elif argument == "--token":
            skip = True
        else:
            kept.append(argument)
    return shlex.join(["scripts/game-day", *kept])
