#!/usr/bin/env python3
"""Adds up the results of all test runs in a folder: JUnit files of ctest and pytest, notes.tsv.

Prints each failure, each skip's reason, and as the last line "N passed, N failed, N skipped".
Exit code 1 when a test failed or none passed.
"""

import collections
import re
import sys
import xml.etree.ElementTree as ElementTree

from pathlib import Path


def first_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[0] if lines else ""


def gtest_skip_reason(output):
    """GoogleTest prints the place, then "Skipped", then the message of GTEST_SKIP()."""
    match = re.search(r"^.*: Skipped\n(.*)$", output or "", re.MULTILINE)
    return match.group(1).strip() if match else ""


def gtest_failure(output):
    """Place and first line of the first failure that GoogleTest reports."""
    match = re.search(r"^(\S+:\d+): Failure\n(.*)$", output or "", re.MULTILINE)
    return f"{match.group(1)}: {match.group(2).strip()}" if match else ""


def outcome_of(case):
    """("passed" | "failed" | "skipped", reason) of one testcase element."""
    for kind in ("failure", "error"):
        found = case.find(kind)
        if found is not None:
            output = case.findtext("system-out")
            reason = gtest_failure(output) or found.get("message") or first_line(found.text)
            return "failed", first_line(reason) or "the program ended with an error"
    skipped = case.find("skipped")
    status = case.get("status", "run")
    if status == "fail":
        return "failed", "the program failed"
    if skipped is not None or status in ("notrun", "disabled"):
        reason = gtest_skip_reason(case.findtext("system-out"))
        if not reason and skipped is not None:
            reason = skipped.get("message") or first_line(skipped.text)
        return "skipped", reason or status
    return "passed", ""


def results_of(folder):
    """Every result in the folder as (suite, name, outcome, reason)."""
    for file in sorted(folder.glob("*.xml")):
        try:
            cases = list(ElementTree.parse(file).getroot().iter("testcase"))
        except ElementTree.ParseError as error:
            yield file.stem, file.name, "failed", f"its results cannot be read: {error}"
            continue
        for case in cases:
            name = case.get("name", "?")
            group = case.get("classname", "")
            yield file.stem, name if group in ("", name) else f"{group}.{name}", *outcome_of(case)
    notes = folder / "notes.tsv"
    if notes.is_file():
        for line in notes.read_text(encoding="utf-8").splitlines():
            outcome, name, reason = line.split("\t", 2)
            yield "set-up", name, outcome, reason


def main():
    results = list(results_of(Path(sys.argv[1])))
    count = collections.Counter(outcome for _, _, outcome, _ in results)
    suites = collections.defaultdict(collections.Counter)
    skips = collections.Counter()
    for suite, name, outcome, reason in results:
        suites[suite][outcome] += 1
        if outcome == "failed":
            print(f"FAILED  {suite}: {name}: {reason}")
        elif outcome == "skipped":
            skips[suite, reason or "no reason given"] += 1
    for suite, outcomes in suites.items():
        print(f"{suite}:", ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items())))
    for (suite, reason), number in sorted(skips.items()):
        print(f"skipped {number} of {suite}: {reason}")
    if not count["passed"]:
        print("nothing was tested")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
