#!/usr/bin/env python3
"""
What a build folder has to build for some of its tests: needed.py FOLDER [--suite NAME | --no-suite NAME]...

Prints ninja's targets, one a line, by the same suites that `meson test` takes: all that is built by default without the
programs of tests of other suites. `./check` builds no more than this where another build compiles the rest.
"""
import json
import os
import subprocess
import sys


def introspect(folder, what):
    return json.loads(subprocess.check_output(["meson", "introspect", f"--{what}", folder]))


def suites(words):
    """The suites to take, and those to leave out."""
    chosen = {"--suite": set(), "--no-suite": set()}
    for option, name in zip(words[::2], words[1::2]):
        chosen[option].add(name)
    return chosen["--suite"], chosen["--no-suite"]


def selected(test, take, leave):
    own = {name.split(":")[-1] for name in test["suite"]}
    return (not take or own & take) and not own & leave


def is_test(target):
    """A program of one test, not one that helps several."""
    return target["name"].endswith(("_test", "_fuzz")) and not target["installed"]


def needed(folder, words):
    take, leave = suites(words)
    wanted, spared = set(), set()
    for test in introspect(folder, "tests"):
        (wanted if selected(test, take, leave) else spared).update(test["depends"])
    top = os.path.abspath(folder)
    every = introspect(folder, "targets")
    targets = [target for target in every if target["build_by_default"] or target["id"] in wanted]
    return sorted(os.path.relpath(name, top) for target in targets
                  if target["id"] in wanted or target["id"] not in spared or not is_test(target)
                  for name in target["filename"])


if __name__ == "__main__":
    print("\n".join(needed(sys.argv[1], sys.argv[2:])))
