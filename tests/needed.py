#!/usr/bin/env python3
"""
What a build folder has to build for some of its tests: needed.py FOLDER [--installed] [--suite NAME | --no-suite NAME]...

Prints ninja's targets, one a line, by the same suites that `meson test` takes: what these tests depend on, by meson's
`depends`, the links beside libraries by which they are found (stamps), and what each `mete run` preloads. --installed adds all that is installed. `./check`
builds no more than this where another build compiles the rest.
"""
import json
import os
import sys


def introspect(folder, what):
    """What `meson introspect` says, from the file in which meson leaves it."""
    with open(os.path.join(folder, f"meson-info/intro-{what}.json"), encoding="utf-8") as f:
        return json.load(f)


def suites(words):
    """The suites to take, and those to leave out."""
    chosen = {"--suite": set(), "--no-suite": set()}
    for option, name in zip(words[::2], words[1::2]):
        chosen[option].add(name)
    return chosen["--suite"], chosen["--no-suite"]


def selected(test, take, leave):
    own = {name.split(":")[-1] for name in test["suite"]}
    return (not take or own & take) and not own & leave


def is_taken(target, installed):
    always = target["filename"][0].endswith((".stamp", "/libmete-preload.so"))
    return target["build_by_default"] and (installed and target["installed"] or always)


def needed(folder, words):
    installed = "--installed" in words
    take, leave = suites([w for w in words if w != "--installed"])
    wanted = {d for test in introspect(folder, "tests") if selected(test, take, leave) for d in test["depends"]}
    top = os.path.abspath(folder)
    return sorted(os.path.relpath(name, top) for target in introspect(folder, "targets")
                  if target["id"] in wanted or is_taken(target, installed)
                  for name in target["filename"])


if __name__ == "__main__":
    print("\n".join(needed(sys.argv[1], sys.argv[2:])))
