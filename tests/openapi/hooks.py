"""Names that there are, half of the time, so that requests come to the engine; and no long waits."""

import os
import urllib.parse

import schemathesis

POOL, DATASET = os.environ["CISTERN_POOL"], os.environ["CISTERN_DATASET"]
NAMES = [POOL, DATASET, f"{DATASET}@snap"]
# A request may be held for 30 seconds.
WAIT_MS = 20
NAMING = ("name", "names", "source", "snapshot", "snapshots", "dataset", "target", "roots", "to")


def known(given, names=NAMES):
    if isinstance(given, list):
        return [known(name) for name in given]
    if not isinstance(given, str):
        return given
    number = sum(given.encode(errors="replace"))
    return names[number // 2 % len(names)] if number % 2 else given


@schemathesis.hook
def before_call(context, case, **kwargs):
    for members in (case.query, case.body):
        if isinstance(members, dict):
            members.update({member: known(members[member]) for member in NAMING if member in members})
    if "name" in (case.path_parameters or {}):
        # What is in the path has been encoded already.
        names = [POOL] if case.path.startswith("/v1/pools/") else NAMES
        encoded = [urllib.parse.quote(name, safe="") for name in names]
        case.path_parameters["name"] = known(case.path_parameters["name"], encoded)
    # A string where it came to the query as one.
    wait = (case.query or {}).get("wait_ms")
    if isinstance(wait, (int, str)) and str(wait).isdecimal():
        case.query["wait_ms"] = min(int(wait), WAIT_MS)
