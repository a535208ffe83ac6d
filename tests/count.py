#!/usr/bin/env python3
"""
Sums up what `meson test` did: count.py TESTLOG [TESTLOG_OF_SECOND_TRY], or count.py --again TESTLOG.

Prints a line "passed failed skipped", then the names of what failed, "- NAME", and of what passed only at the second try,
"+ NAME", one a line. --again prints the names of what deserves a second try, alone on the machine: what failed may have
been late, because tests run beside each other and builds behind them. What a sanitizer reported is never tried again, nor
are more than MOST programs: so many do not fail by being late.
"""
import json
import re
import sys

MOST = 6
REPORT = re.compile(r"(Address|Thread|Leak|Memory|UndefinedBehavior)Sanitizer|: runtime error: ")


def results(path):
    with open(path, encoding="utf-8") as f:
        return {test["name"]: test for test in map(json.loads, f)}


def passed(test):
    return test["result"] in ("OK", "EXPECTEDFAIL")


def failed(test):
    return not passed(test) and test["result"] != "SKIP"


def reported(test):
    return REPORT.search(test.get("stdout") or "") or REPORT.search(test.get("stderr") or "")


def again(tests):
    late = [name for name, test in tests.items() if failed(test)]
    return late if len(late) <= MOST and not any(reported(tests[name]) for name in late) else []


def name_of(test):
    return test["name"].split(" / ")[-1]


def main(words):
    try:
        first = results(words[-1] if words[0] == "--again" else words[0])
    except OSError as e:
        print("" if words[0] == "--again" else f"0 1 0\n- no result at all: {e}\n", end="")
        return
    if words[0] == "--again":
        print("".join(f"{name_of(first[name])}\n" for name in again(first)), end="")
        return
    second = results(words[1]) if len(words) > 1 else {}
    last = {**first, **second}
    saved = [name for name, test in first.items() if failed(test) and passed(last[name])]
    lost = [f'{name} ({test["result"]})' for name, test in last.items() if failed(test)]
    skipped = sum(test["result"] == "SKIP" for test in last.values())
    print(sum(map(passed, last.values())), len(lost), skipped)
    print("".join([f"- {name}\n" for name in lost] + [f"+ {name}\n" for name in saved]), end="")


main(sys.argv[1:])
