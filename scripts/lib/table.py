"""Tables from run folders.

    table.py verdicts FOLDER...   a row a run
    table.py count FOLDER...      how often each verdict came
"""

import collections
import json
import pathlib
import sys


def results(folders):
    for folder in map(pathlib.Path, folders):
        if not folder.is_dir():
            continue
        for result in sorted(folder.rglob("result.json")):
            yield folder.name, json.loads(result.read_text())


def main():
    mode, folders = sys.argv[1], sys.argv[2:]
    if mode == "verdicts":
        for name, result in results(folders):
            print(f"{name:32} {result['verdict']}")
    elif mode == "count":
        verdicts = collections.Counter(result["verdict"] for _, result in results(folders))
        for verdict, count in verdicts.most_common():
            print(f"  {verdict:16} {count}")
    else:
        sys.exit(__doc__)


main()
