"""The processes of a stack together: reading them, checking them, and putting them back."""

import os
import pathlib
import shutil
import subprocess

from .plane import Plane, PlaneError

ROOT = pathlib.Path(__file__).resolve().parents[3]
UP = "docker compose up --build --detach"
TOKEN_FILE = "/run/goodput/token"
TOKEN_HINT = (
    "give it with --token TOKEN, --token @FILE or GOODPUT_TOKEN; the stack's is printed by "
    f"`docker compose exec -T fault-injector cat {TOKEN_FILE}`")


class Unusable(Exception):
    """The stack cannot be used as it is: the command ends with 2."""


class Stack:
    """The control planes of a server, of the gateways before it, of whatever stands at the edge,
    and of the load generator; a fault injector and Prometheus where there are."""

    def __init__(self, server, load, injector=None, edge=None, prometheus=None, token=None,
                 gateways=()):
        self.server = Plane("order-status", server, token)
        self.load = Plane("the load generator", load, token)
        self.injector = Plane("the fault injector", injector, token, 5.0) if injector else None
        self.gateways = [Plane("the gateway", url, token) for url in gateways]
        self.edge = Plane("the edge", edge, token) if edge else None
        self.prometheus = Plane("Prometheus", prometheus) if prometheus else None

    def at_edge(self):
        """Where traffic is blocked."""
        return self.edge or self.server

    def planes(self):
        """Every control plane, in the order in which they are put back: capacity first."""
        planes = (self.server, self.injector, *self.gateways, self.edge, self.load)
        return [plane for plane in planes if plane is not None]

    def leased(self):
        """The control planes that one run at a time uses."""
        planes = (self.server, *self.gateways, self.edge, self.load)
        return [plane for plane in planes if plane is not None]

    def give_token(self, token):
        """Uses another token from now on."""
        for plane in self.planes():
            plane.token = token

    def check(self):
        """The states of server, load and the gateways between them, once all control planes have
        answered; raises Unusable."""
        states = {}
        for plane in self.planes():
            try:
                states[plane] = plane.get("/state")
            except PlaneError as error:
                raise Unusable(explain(error, plane)) from None
        server, load = states[self.server], states[self.load]
        if "limiter" not in server or "counters" not in server:
            raise Unusable(f"{self.server.url} is not the control plane of a goodput server; "
                           "give it with --server URL, such as http://127.0.0.1:9901")
        if "offered" not in load or "layers" not in load:
            raise Unusable(f"{self.load.url} is not the control plane of a goodput load generator; "
                           "give it with --load URL, such as http://127.0.0.1:9902")
        if self.injector and "tiers" not in states[self.injector]:
            raise Unusable(f"{self.injector.url} is not a goodput fault injector; give it with "
                           "--injector URL, or --injector none to cut without one")
        before = [(plane, "--gateway") for plane in self.gateways]
        for plane, flag in [*before, (self.edge, "--edge")]:
            if plane and "limiter" not in states[plane]:
                raise Unusable(f"{plane.url} is not the control plane of a goodput server; "
                               f"give it with {flag} URL")
        return server, load, [states[plane] for plane in (*self.gateways, self.edge) if plane]

    def revert(self, cause):
        """Ends every fault, undoes every lever, whoever's they are, and reads back that it is so. With a
        `cause` of a run the leases of that run go on; without one, they end too.

        One process that does not answer keeps none of the others from being put back. Returns a
        row for each: role, whether it is confirmed, whether nobody listens, and what was read.
        """
        said = {}
        for plane in self.planes():
            try:
                plane.post("/reset", {"scope": "all", **cause})
            except PlaneError as error:
                said[plane] = error
        return [self.read_back(plane, said.get(plane)) for plane in self.planes()]

    def read_back(self, plane, error):
        """Whether a process holds nothing any more, by its state."""
        row = {"role": plane.role, "url": plane.url, "confirmed": False, "gone": False}
        try:
            state = plane.get("/state")
        except PlaneError as unread:
            gone = unread.kind == "refused"
            return {**row, "gone": gone, "what": str(unread)}
        left = leftovers(state)
        if left:
            return {**row, "what": "still " + ", ".join(left)}
        # Whoever only holds faults and holds none has nothing left to reset; that it could not
        # reach a tier shows in the tier's own row.
        if error is not None and plane is not self.injector:
            return {**row, "what": f"the reset failed: {error}; its state shows nothing in force"}
        return {**row, "confirmed": True, "what": summary(state)}


def leftovers(state):
    """What is still in force by a state that was read back."""
    left = [f"fault {fault.get('name', '?')} in force" for fault in state.get("faults") or []]
    if isinstance(state.get("admitted"), (int, float)) and state["admitted"] < 1:
        left.append(f"only {state['admitted'] * 100:.0f} % admitted")
    if state.get("halted"):
        left.append("halted")
    left += [f"{name} unconfirmed" for name in state.get("unconfirmed") or []]
    return left


def summary(state):
    """What a state that is as it should be says."""
    if "limiter" in state:
        capacity = state.get("capacity")
        capacity = "unlimited" if capacity is None else f"{capacity:.0f}/s"
        return f"no fault, all traffic admitted, capacity {capacity}"
    if "offered" in state:
        return f"not halted, {state.get('rate', 0):.0f}/s offered"
    return "holds no fault"


def explain(error, plane):
    """What to do about a control plane that cannot be used."""
    if error.kind == "unauthorized":
        return f"{error}; {TOKEN_HINT}"
    if error.kind in ("refused", "unreachable"):
        extra = ", or go without one: --injector none" if plane.role.endswith("injector") else ""
        return f"{error}; is the stack up ({UP}), and is the address right{extra}?"
    if error.kind in ("foreign", "broken"):
        return f"{error}; does something else than goodput listen there?"
    return str(error)


def setting(name, default):
    """A setting of the stack's: from the environment, else from `.env`, else the default."""
    if os.environ.get(name):
        return os.environ[name]
    try:
        content = (ROOT / ".env").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return default
    for line in content.splitlines():
        key, separator, value = line.strip().partition("=")
        if separator and key.strip() == name and value.strip():
            return value.strip().strip("'\"")
    return default


def default_url(port_name, port):
    """Where the stack publishes a port."""
    bind = setting("BIND_ADDRESS", "127.0.0.1")
    host = "127.0.0.1" if bind in ("0.0.0.0", "::", "") else bind
    return f"http://{host}:{setting(port_name, port)}"


def read_token(given):
    """A token as given: itself, or what `@FILE` holds; raises Unusable."""
    if not given or not given.startswith("@"):
        return checked_token(given.strip(), "the token") if given else None
    try:
        token = pathlib.Path(given[1:]).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(f"the token cannot be read from {given[1:]}: {error}") from None
    return checked_token(token, f"the token file {given[1:]}")


def checked_token(token, what):
    """A token that can stand in a header; raises Unusable."""
    if not token:
        raise Unusable(f"{what} is empty")
    if not all("!" <= character <= "~" for character in token):
        raise Unusable(f"{what} holds other than visible ASCII characters")
    return token


def token_of_compose():
    """The token of the stack that Docker runs from this folder; none where it runs none."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) is None:
            continue
        try:
            found = subprocess.run(
                [*command, "exec", "-T", "fault-injector", "cat", TOKEN_FILE], cwd=ROOT, timeout=10,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if found.returncode == 0 and found.stdout.strip():
            return found.stdout.strip()
    return None
