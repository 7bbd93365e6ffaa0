"""The options of the command."""

import argparse
import getpass
import os
import pathlib
import random
import socket

from . import fault, text
from .levers import NAMES, parse_plan
from .stack import ROOT, default_url

ROUNDS = ["restart,shed-queue,budget+shed-queue", "capacity,block"]

# Where docker-compose.yml publishes each arm: the setting that names the port, and its default;
# for gateways a list of them.
ARMS = {
    "undefended": {
        "server": ("ORDER_STATUS_CONTROL_PORT", 9901), "load": ("LOAD_CONTROL_PORT", 9902),
        "injector": ("FAULT_INJECTOR_PORT", 9903), "gateway": [], "edge": None},
    "defended": {
        "server": ("DEFENDED_CONTROL_PORT", 9911), "load": ("DEFENDED_LOAD_CONTROL_PORT", 9912),
        "injector": None, "gateway": [], "edge": None},
    "three-layers": {
        "server": ("LAYERS_CONTROL_PORT", 9921), "load": ("LAYERS_LOAD_CONTROL_PORT", 9924),
        "injector": None, "gateway": [("GATEWAY_CONTROL_PORT", 9922)],
        "edge": ("EDGE_CONTROL_PORT", 9923)},
}

EPILOG = """\
verbs:
  run       lead a game day (what happens without a verb)
  abort     end whatever is in force, undo every lever, and read back that it is so; works at any
            time, as often as you like, with or without a game day going on, without Prometheus
  recover   bring a metastable stack back: halt the load, shed the queue, reset, read back
  report    make the report of a folder again

levers: {levers}

examples:
  scripts/game-day                                       ask before each step
  scripts/game-day --yes                                 for one person alone, or without a terminal
  scripts/game-day --yes --round restart,budget+shed-queue --round block
  scripts/game-day --yes --arm defended                  what the defences change
  scripts/game-day --yes --arm three-layers --round block   a stall, and traffic blocked at the edge
  scripts/game-day --yes --restart-with 'docker compose restart order-status'
  scripts/game-day abort --reason "wrong environment"
  scripts/game-day report runs/20261130T120000Z-game-day

exit codes:
  0  goodput was back at the end of every round; abort: confirmed
  1  goodput was not back at the end of a round
  2  the command is wrong, or the stack cannot be used
  3  inconclusive: no healthy baseline, a process went away, too few samples
  4  aborted; everything in force was ended, as read back
  5  clean-up could not be confirmed: a fault may be in force still

docs/game-day.md is the runbook.
""".format(levers=", ".join(NAMES))


def parse(arguments):
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/game-day", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Leads a facilitator through a game day on a running goodput stack.",
        epilog=EPILOG)
    parser.add_argument("verb", nargs="?", default="run",
                        choices=["run", "abort", "recover", "report"], help="see below")
    parser.add_argument("folder", nargs="?", help="the folder, for `report`")
    add_where(parser.add_argument_group("where (the stack of docker-compose.yml by default)"))
    add_what(parser.add_argument_group("the game day"))
    add_times(parser.add_argument_group(
        "times, such as 20s; at --speed N the defaults of the stack are divided by N"))
    options = parser.parse_args(arguments)
    if (options.folder is not None) != (options.verb == "report"):
        parser.error("`report` needs a folder, such as scripts/game-day report "
                     "runs/20261130T120000Z-game-day; nothing else takes one")
    options.rounds = [parse_plan(given) for given in options.round or ROUNDS]
    options.runs = options.runs.resolve()
    fill_addresses(options)
    if options.mode == "stall" and options.cut_to is not None:
        parser.error("--cut-to has no effect with --mode stall, which leaves nothing; such as "
                     "--mode slow --cut-to 40%")
    if options.cut_to is not None and options.mode is None:
        options.mode = "slow"
    options.cut_to = 0.4 if options.cut_to is None else options.cut_to
    options.random = random.Random(options.seed)
    options.status_every = 1.0 if options.yes else 5.0
    return options


def fill_addresses(options):
    """Addresses that were not given: those at which the stack publishes the arm."""
    for key, published in ARMS[options.arm].items():
        if getattr(options, key) is None:
            setattr(options, key, published_urls(published))


def published_urls(published):
    """The address of a port, or of each of a list of ports; `none` where there is none."""
    if isinstance(published, list):
        return [default_url(*port) for port in published]
    return default_url(*published) if published else "none"


def add_where(group):
    user = f"{user_name()}@{socket.gethostname()}"
    group.add_argument("--arm", choices=list(ARMS), default="undefended",
                       help="which arm of the stack; the addresses below follow it (%(default)s)")
    group.add_argument("--server", metavar="URL",
                       help="control plane of the server that is cut (port 9901)")
    group.add_argument("--load", metavar="URL",
                       help="control plane of the load generator (port 9902)")
    group.add_argument("--injector", metavar="URL",
                       help="the fault injector, or none: then the cut goes on a lease of its "
                            "whole length (port 9903; none for other arms)")
    group.add_argument("--gateway", metavar="URL", action="append",
                       help="control plane of a gateway between the edge and the server, which each "
                            "clean-up resets too, or none; repeat it for more")
    group.add_argument("--edge", metavar="URL",
                       help="control plane of the tier where traffic is blocked (the server)")
    group.add_argument("--prometheus", metavar="URL", default=default_url("PROMETHEUS_PORT", 9090),
                       help="where alerts are read, or none (%(default)s)")
    group.add_argument("--token", metavar="TOKEN",
                       help="bearer token of the control planes, or @FILE (GOODPUT_TOKEN, else "
                            "what Docker says)")
    group.add_argument("--runs", metavar="DIR", type=pathlib.Path, default=ROOT / "runs",
                       help="where the folder of the game day is made (runs)")
    group.add_argument("--by", metavar="NAME", default=user[:100],
                       help="who, for the audit logs (%(default)s)")


def add_what(group):
    group.add_argument("--yes", action="store_true", help="ask nothing; pull the levers of --round")
    group.add_argument("--hypothesis", metavar="TEXT", help="what is expected, in a sentence")
    group.add_argument("--round", metavar="LEVERS", action="append", type=checked(plan),
                       help="a round: the levers to pull one after the other until goodput is "
                            "back, `+` for several at once; repeat it for more rounds "
                            f"({' and '.join(ROUNDS)})")
    group.add_argument("--cut-to", metavar="SHARE", type=checked(cut_share), default=None,
                       help="what is left of the capacity (40%%)")
    group.add_argument("--mode", choices=fault.MODES,
                       help="slower service, fewer slots, or none at all (slow; stall for the arm "
                            "three-layers)")
    group.add_argument("--more-capacity", metavar="FACTOR", type=checked(factor), default=2.0,
                       help="what the lever `capacity` multiplies by (%(default)s)")
    group.add_argument("--restart-with", metavar="COMMAND",
                       help="a command that restarts the server, instead of the lever of its "
                            "control plane")
    group.add_argument("--readmit", metavar="SHARES", type=checked(shares),
                       default=[0.25, 0.5, 0.75],
                       help="the steps after a block (25%%,50%%,75%%)")
    group.add_argument("--healthy", metavar="SHARE", type=checked(text.share), default=0.95,
                       help="good requests of those offered that make a baseline (95%%)")
    group.add_argument("--band", metavar="SHARE", type=checked(text.share), default=0.95,
                       help="the share of the baseline at which goodput is back (95%%)")
    group.add_argument("--seed", metavar="N", type=int, default=None, help="of --blind")
    group.add_argument("--reason", metavar="TEXT", help="why, for the audit logs (abort, recover)")


def add_times(group):
    for name, what in (
            ("baseline", "how long goodput must be healthy before a cut (30s)"),
            ("patience", "how long to wait for that (2m)"),
            ("cut-for", "how long the cut lasts (20s; 10s for the arm three-layers)"),
            ("observe", "how long nobody acts after the cut (1m)"),
            ("pause", "how long between the levers of one step: retries that were granted before a "
                      "budget still come (6s)"),
            ("watch", "how long a lever is watched (30s)"),
            ("block-for", "how long the edge is blocked (1m)"),
            ("readmit-step", "how long each step of the way back lasts (10s)"),
            ("hold", "how long goodput must stay in its band to be back (10s)"),
            ("within", "the hypothesis: back so long after the cut (1m)")):
        group.add_argument(f"--{name}", metavar="TIME", type=checked(text.duration), help=what)
    group.add_argument("--lost", metavar="TIME", type=checked(text.duration), default=20.0,
                       help="give up when a process has not answered for so long (20s)")
    group.add_argument("--longest", metavar="TIME", type=checked(text.duration), default=3600.0,
                       help="abort when nobody types for so long (1h)")
    group.add_argument("--blind", metavar="TIME", type=checked(text.duration), default=None,
                       help="cut at a random moment within this time, and do not tell")


def checked(read):
    """A reader for argparse whose message is the reader's own."""
    def wrapped(given):
        try:
            return read(given)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    return wrapped


def plan(given):
    parse_plan(given)
    return given


def cut_share(given):
    value = text.share(given)
    if not 0 < value < 1:
        raise ValueError(f"{given!r} is not between 0 and 100%; such as 40%")
    return value


def shares(given):
    return [text.share(part.strip()) for part in given.split(",")]


def factor(given):
    try:
        value = float(given)
    except ValueError:
        value = 0.0
    if not 1 < value <= 100:
        raise ValueError(f"{given!r} is not above 1 and at most 100; such as 2")
    return value


def user_name():
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return str(os.getuid())
