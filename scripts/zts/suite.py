#!/usr/bin/env python3
"""The lists of `run`: which tests there are, what came of them, and what was expected.

  suite.py queue WORK [--timeout S] [--tests "A B"] [--quick] [GROUP ...]   run files for the lanes
  suite.py check WORK                     what the last run did, beside expected.txt; status 1 where it is worse
  suite.py failures WORK [GROUP ...]      the end of each test that did not pass, of what is kept of all runs
  suite.py docs WORK                      the tables of docs/zts.md, from expected.txt
  suite.py unexplained WORK               results that are kept and expected.txt does not tell
  suite.py record WORK [GROUP ...]        puts what is kept into expected.txt: what passes, and what reasons.txt explains

expected.txt has a line for each test: its name, then `pass`, or a class and, after a colon, the reason:

  not-built    a feature that the README lists as not built
  environment  needs what only a kernel module, udev, zed or other hardware gives
  suite        a mistake or an assumption of the test
  defect       wrong here
"""
import argparse
import ast
import collections
import configparser
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
RUNFILES = pathlib.Path("/usr/share/zfs/runfiles")
REPORT = pathlib.Path("/usr/share/zfs/test-runner/bin/zts-report.py")
PREFIX = "tests/functional/"
CLASSES = ("pass", "not-built", "environment", "suite", "defect")
# A test that met this has not been judged, whatever else stands in its log.
DAEMON_LOST = r"Cistern daemon (is not running|while it worked)|Transport endpoint is not connected"
RUN_FILE = """[DEFAULT]
pre = {pre}
quiet = False
pre_user = root
user = {user}
timeout = {timeout}
post_user = root
post = {post}
failsafe_user = root
failsafe = callbacks/zfs_failsafe
outputdir = /var/tmp/test_results
tags = ['functional']

[{prefix}{group}]
tests = {tests!r}
tags = ['functional']
"""


def groups_of_suite():
    """Name of group -> dict of its run file's keys, of all tests that Linux runs."""
    groups = {}
    for name in ("common.run", "linux.run"):
        parsed = configparser.RawConfigParser()
        parsed.read(RUNFILES / name)
        for section in parsed.sections():
            group = groups.setdefault(section.split(":")[0].removeprefix(PREFIX), {"tests": []})
            tests = ast.literal_eval(parsed.get(section, "tests"))
            group["tests"] += [test for test in tests if test not in group["tests"]]
            group.update({key: parsed.get(section, key) for key in ("pre", "post", "user")})
    return groups


def file_name(group):
    return group.replace("/", ".")


def expectations():
    """group/test -> (class, reason)."""
    known = {}
    for line in (HERE / "expected.txt").read_text().splitlines():
        name, _, rest = line.partition(" ")
        if name and not name.startswith("#"):
            verdict, _, reason = rest.partition(": ")
            if verdict not in CLASSES or (verdict == "pass") == bool(reason):
                sys.exit(f"zts: expected.txt: {line}")
            known[name] = (verdict, reason)
    return known


def queue(work, patterns, timeout, only, quick):
    groups = groups_of_suite()
    expected = expectations()
    if quick:
        patterns = [f"^{line}$" for line in (HERE / "quick.txt").read_text().split("\n") if line]
    chosen = [g for p in patterns or ["."] for g in groups if re.search(p, g)]
    queued = []
    for group in dict.fromkeys(chosen):
        keys = groups[group]
        tests = [test for test in keys["tests"] if not only or test in only]
        if quick:
            tests = [test for test in tests if expected.get(f"{group}/{test}", ("",))[0] == "pass"]
        if tests:
            text = RUN_FILE.format(prefix=PREFIX, group=group, tests=tests, timeout=timeout,
                                   pre=keys["pre"], post=keys["post"], user=keys["user"] or "zts")
            (work / "queue" / f"{file_name(group)}.run").write_text(text)
            queued.append((group, tests))
    if not queued:
        sys.exit("zts: no such group or test")
    (work / "queue" / "list").write_text("".join(file_name(group) + "\n" for group, _ in queued))
    (work / "queue" / "tests").write_text("".join(f"{g}/{t}\n" for g, tests in queued for t in tests))
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=PROJECT, text=True,
                            stdout=subprocess.PIPE, check=False).stdout
    (work / "queue" / "commit").write_text(commit)
    print(f"zts: {len(queued)} groups, {sum(len(tests) for _, tests in queued)} tests", flush=True)


def results(work):
    """(group/test, PASS|FAIL|KILLED|SKIP, seconds, lines) of all that is kept."""
    names = {file_name(group): group for group in groups_of_suite()}
    for folder in sorted((work / "results").iterdir()):
        group = names.get(folder.name)
        log = next(folder.glob("runner/*/log"), None)
        if not group or not log:
            continue
        parts = re.split(r"(?m)^(Test: .*)$", log.read_text(errors="replace"))
        setup = None
        for head, body in zip(parts[1::2], parts[2::2]):
            found = re.match(r"Test: (\S+) .*\[(\d+):(\d+)\] \[(\w+)\]", head)
            if not found:
                continue
            test = found[1].split("/")[-1]
            lines = [line[12:] for line in body.strip().split("\n") if line]
            if test == "setup" and found[4] != "PASS":
                setup = lines
            if test not in ("setup", "cleanup", "zfs_failsafe"):
                told = setup if found[4] == "SKIP" and setup else lines
                yield f"{group}/{test}", found[4], int(found[2]) * 60 + int(found[3]), told


def check(work):
    expected = expectations()
    queued = (work / "queue" / "tests").read_text().split()
    found = {name: status for name, status, _, _ in results(work) if name in queued}
    counts = collections.defaultdict(collections.Counter)
    worse, better = [], []
    for name in queued:
        status = found.get(name, "NOT RUN")
        counts[name.rpartition("/")[0]][status] += 1
        was = expected.get(name, ("nothing", ""))[0]
        if was == "pass" and status != "PASS":
            worse.append(f"{name}: {status}")
        if was != "pass" and status == "PASS":
            better.append(f"{name}: passes, expected was {was}")
    for group, count in counts.items():
        print(f"{group:36} {sum(count.values()):4} tests {count['PASS']:4} passed")
    total = sum(counts.values(), collections.Counter())
    print(f"zts: {total['PASS']} of {len(queued)} tests passed")
    for line in better:
        print("better:", line)
    for line in worse:
        print("WORSE:", line)
    died = work / "results" / "died"
    if died.exists():
        print("DAEMON DIED:", died.read_text())
    return 1 if worse or died.exists() else 0


def tail(lines):
    """What was around the line that ended it."""
    ends = [i for i, line in enumerate(lines) if line.startswith(("ERROR:", "NOTE: Performing"))]
    end = ends[0] if ends else len(lines)
    return "\n".join("   " + line[:240] for line in lines[max(0, end - 4):end + 5] if "callback" not in line)


def failures(work, patterns):
    for name, status, seconds, lines in results(work):
        if status != "PASS" and any(re.search(p, name) for p in patterns or ["."]):
            print(f"## {name} {status} {seconds} s\n{tail(lines)}")


def unexplained(work):
    expected = expectations()
    for name, status, _, lines in results(work):
        verdict = expected.get(name, ("nothing", ""))[0]
        if (status == "PASS") != (verdict == "pass"):
            print(f"## {name} {status}, expected {verdict}\n{tail(lines)}")


def known_to_fail():
    """Tests that fail or are skipped on every system, by the list that OpenZFS itself keeps of them."""
    listed = re.search(r"(?ms)^known = \{(.*?)^\}", REPORT.read_text())
    return re.findall(r"'([a-z_]+/[^']+)':", listed[1]) if listed else []


def record(work, patterns):
    expected = expectations()
    known = known_to_fail()
    lines = [line.split("\t") for line in (HERE / "reasons.txt").read_text().splitlines()]
    reasons = [line for line in lines if len(line) == 2]
    for name, status, _, log in results(work):
        if not any(re.search(p, name) for p in patterns or ["."]):
            continue
        end = tail(log)
        if re.search(DAEMON_LOST, end):
            print(f"## {name} {status}\n{end}")
            continue
        explained = [why.partition(": ") for pattern, why in reasons if re.search(pattern, end)]
        if status == "PASS":
            expected[name] = ("pass", "")
        elif explained:
            expected[name] = (explained[0][0], explained[0][2])
        elif name in known:
            expected[name] = ("suite", "OpenZFS's own list says that it does not pass (zts-report.py)")
        else:
            print(f"## {name} {status}\n{end}")
    order = [f"{group}/{test}" for group, keys in sorted(groups_of_suite().items()) for test in keys["tests"]]
    shown = [(name, *expected[name]) for name in order if name in expected]
    text = "".join(f"{name} {verdict}{': ' if reason else ''}{reason}\n" for name, verdict, reason in shown)
    (HERE / "expected.txt").write_text(text)


def docs():
    expected = expectations()
    groups = groups_of_suite()
    columns = (*CLASSES, "not run")
    rows, why, sums = [], collections.Counter(), collections.Counter()
    for group in sorted(groups):
        classes = collections.Counter()
        for test in groups[group]["tests"]:
            verdict, reason = expected.get(f"{group}/{test}", ("not run", ""))
            classes[verdict] += 1
            if reason:
                why[(verdict, reason)] += 1
        sums += classes
        cells = [group, sum(classes.values()), *(classes[column] or "" for column in columns)]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    totals = [sum(sums.values()), *(sums[column] for column in columns)]
    rows.append("| **all** | " + " | ".join(f"**{number}**" for number in totals) + " |")
    table = ["| group | tests | " + " | ".join(columns) + " |", "|---|" + "--:|" * (len(columns) + 1), *rows]
    reasons = ["| class | why | tests |", "|---|---|--:|"]
    reasons += [f"| {verdict} | {reason} | {n} |" for (verdict, reason), n in
                sorted(why.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))]
    page = PROJECT / "docs" / "zts.md"
    text = page.read_text()
    for mark, lines in (("groups", table), ("reasons", reasons)):
        text = re.sub(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)",
                      lambda found, lines=lines: found[1] + "\n".join(lines) + "\n" + found[2], text, flags=re.S)
    page.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["queue", "check", "failures", "unexplained", "record", "docs"])
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--timeout", default="600")
    parser.add_argument("--tests", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("groups", nargs="*")
    args = parser.parse_intermixed_args()
    if args.command == "queue":
        queue(args.work, args.groups, args.timeout, args.tests.split(), args.quick)
    elif args.command == "check":
        sys.exit(check(args.work))
    elif args.command == "failures":
        failures(args.work, args.groups)
    elif args.command == "unexplained":
        unexplained(args.work)
    elif args.command == "record":
        record(args.work, args.groups)
    else:
        docs()


if __name__ == "__main__":
    main()
