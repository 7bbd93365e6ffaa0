"""Tables from run folders.

    table.py verdicts FOLDER...   a row a run
    table.py count FOLDER...      how often each verdict came
"""

import collections
import json
import pathlib
import sys


def runs(folders):
    for folder in map(pathlib.Path, folders):
        for result in sorted(folder.rglob("result.json")):
            for run in json.loads(result.read_text())["runs"]:
                yield folder.name, run


def main():
    mode, folders = sys.argv[1], sys.argv[2:]
    if mode == "verdicts":
        for name, run in runs(folders):
            recovery = run["time_to_recover"]
            recovery = "never" if recovery is None else f"{recovery:.0f} s"
            print(f"{name:32} {run['verdict']:14} time to recover {recovery}")
    elif mode == "count":
        for verdict, count in collections.Counter(run["verdict"] for _, run in runs(folders)).most_common():
            print(f"  {verdict:14} {count}")
    else:
        sys.exit(__doc__)


main()
