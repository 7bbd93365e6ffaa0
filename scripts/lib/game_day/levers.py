"""The levers of a game day: what a person does about a system that is down.

Each is one command to a control plane, or two in a row; each says what it did. A lever that stays
in force (a budget, capacity, retries) can be taken back, so that the next one is tried alone.
"""

import shlex
import subprocess

from . import text
from .plane import PlaneError

NAMES = {
    "shed-queue": "refuse everything that waits in the server's queue, once",
    "restart": "restart the server: its queue, its work and its connections are gone",
    "budget": "a retry budget in the clients: retries at most a tenth of the requests",
    "retries-off": "no retries in the clients",
    "capacity": "more capacity (--more-capacity times as much)",
    "block": "block all traffic at the edge, then readmit it in steps",
}


def parse_plan(given):
    """Reads `restart,budget+shed-queue` as a list of steps; raises ValueError."""
    steps = [[name.strip() for name in step.split("+")] for step in given.split(",")]
    for name in (name for step in steps for name in step):
        if name not in NAMES:
            known = ", ".join(NAMES)
            raise ValueError(f"there is no lever {name!r}; there are {known}; such as "
                             "restart,budget+shed-queue")
    return steps


class Levers:
    """The levers on a stack. `wait(seconds)` passes time and raises where the game day must end;
    `renew()` takes the stack's lease again, which a process that starts anew has forgotten."""

    def __init__(self, stack, options, cause, wait, say, renew):
        self.stack = stack
        self.options = options
        self.cause = cause
        self.wait = wait
        self.say = say
        self.renew = renew

    def pull(self, name):
        """Pulls a lever; returns what it did and how it is taken back (none: it is not).

        Raises PlaneError where it was refused or nobody answered.
        """
        act = {"shed-queue": self.shed_queue, "restart": self.restart, "budget": self.budget,
               "retries-off": self.retries_off, "capacity": self.capacity, "block": self.block}
        return act[name]()

    def shed_queue(self):
        return self.server("shed-queue", {}), None

    def restart(self):
        command = self.options.restart_with
        if not command:
            return self.server("restart", {}), None
        try:
            ended = subprocess.run(shlex.split(command), stdin=subprocess.DEVNULL, text=True,
                                   capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PlaneError("status", f"`{command}` failed: {error}") from None
        if ended.returncode != 0:
            said = (ended.stderr or ended.stdout).strip().splitlines()
            raise PlaneError("status", f"`{command}` ended with {ended.returncode}"
                             + (f": {said[-1]}" if said else ""))
        self.renew()
        return f"ran `{command}`", None

    def budget(self):
        layers = self.stack.load.get("/state")["layers"]
        window = text.wire(10 * self.options.unit)
        budget = {"kind": "sre-ratio", "ratio": 0.1, "window": window}
        did = self.load("budget", {"budget": budget})
        return did, lambda: self.back_to("budget", layers)

    def retries_off(self):
        layers = self.stack.load.get("/state")["layers"]
        did = self.load("retries", {"retries": 0})
        return did, lambda: self.back_to("retries", layers)

    def back_to(self, key, layers):
        """Puts a key of every layer back to what a state showed."""
        for layer in layers:
            self.load(key, {"layer": layer["name"], key: layer[key]})
        return f"{key} is as before at each layer"

    def capacity(self):
        state = self.stack.server.get("/state")
        before = state["limiter"].get("capacity")
        if not isinstance(before, (int, float)):
            raise PlaneError("status", "the server's capacity is unlimited: there is none to add")
        did = self.server("limiter", {"capacity": before * self.options.more_capacity})
        more = f"{did}: capacity {before:.0f}/s -> {before * self.options.more_capacity:.0f}/s"
        return more, lambda: self.server("limiter", {"capacity": before})

    def block(self):
        """Blocks at the edge and readmits in steps. Each command ends by itself a while after the
        next one is due, so that traffic comes back where this script dies."""
        spare = max(2.0, 15 * self.options.unit)
        self.admit(0, self.options.block_for, spare)
        self.wait(self.options.block_for)
        shares = self.options.readmit
        for share in shares:
            self.admit(share, self.options.readmit_step, spare)
            self.wait(self.options.readmit_step)
        self.edge("admit", {"share": 1})
        steps = ", ".join(text.percent(share) for share in shares)
        return (f"blocked all traffic for {text.seconds(self.options.block_for)}, then admitted "
                f"{steps} for {text.seconds(self.options.readmit_step)} each, then all"), None

    def admit(self, share, hold, spare):
        body = {"share": share, "for": text.wire(hold + spare), "ramp": text.wire(spare)}
        self.edge("admit", body)
        self.say(f"admitted: {text.percent(share)}")

    def server(self, name, body):
        return self.stack.server.post(f"/levers/{name}", {**body, **self.cause})["did"]

    def edge(self, name, body):
        return self.stack.at_edge().post(f"/levers/{name}", {**body, **self.cause})["did"]

    def load(self, name, body):
        return self.stack.load.post(f"/levers/{name}", {**body, **self.cause})["did"]
