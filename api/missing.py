#!/usr/bin/env python3
"""
missing.py DOCS [--check]: which calls the software device and the runtime library do not have, written into DOCS/softdevice.md and
DOCS/runtime.md between two marks. With --check nothing is written; exit status 1 when a page says something else.
"""

import os
import re
import sys
import tomllib

from gen import soft
from gen.cudart import Spec as RuntimeSpec, symbols
from gen.spec import Spec

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- missing begins: written by `meson compile coverage-page` -->", "<!-- missing ends -->"


def families(names):
    """Lines of a list: calls by what they are about, the first word of their names."""
    found = {}
    for n in names:
        word = re.match(r"_*[a-z]+(?:[A-Z]+(?![a-z])|[A-Z][a-z]*)?", n).group()
        found.setdefault(word, []).append(n)
    return [f"- {', '.join(found[w])}" for w in sorted(found)] or ["Nothing is missing."]


def device_missing():
    spec = Spec(os.path.join(HERE, "cuda.toml"), "api/cuda.toml")
    have = {c.symbol for c in soft.read_implemented(spec, os.path.join(HERE, "cuda-soft.toml"), "api/cuda-soft.toml")}
    return families([c.symbol for c in spec.calls if c.symbol not in have])


def runtime_missing():
    spec = RuntimeSpec(os.path.join(HERE, "cudart.toml"))
    with open(os.path.join(HERE, "cudart-done.toml"), "rb") as f:
        have = set(tomllib.load(f)["implemented"])
    majors = {}
    for m in spec.majors:
        for name, *_ in symbols(spec.view(m)):
            if name not in have and re.sub(r"_pt[sd][zs]$", "", name) not in have:
                majors.setdefault(name, []).append(str(m))
    for m in spec.majors:
        for name in spec.newer(m):
            majors.setdefault(name, []).append(str(m))
    everywhere = [n for n, m in majors.items() if len(m) == len(spec.majors)]
    out = families(everywhere)
    for m in spec.majors:
        some = [n for n, had in majors.items() if len(had) < len(spec.majors) and str(m) in had]
        out += [f"- in {m}: {', '.join(some)}"] if some else []
    return out


def with_block(text, lines, path):
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{path}: the marks for the missing calls are not there")
    return "\n".join([before + BEGIN, "", *lines, "", END + after])


def main(argv):
    check, faults = "--check" in argv, 0
    docs = [a for a in argv if a != "--check"][0]
    for name, lines in (("softdevice.md", device_missing()), ("runtime.md", runtime_missing())):
        path = os.path.join(docs, name)
        with open(path, encoding="utf-8") as f:
            old = f.read()
        new = with_block(old, lines, path)
        if new == old:
            continue
        if check:
            print(f"{path} does not say what the specs say; write it anew with: meson compile coverage-page", file=sys.stderr)
            faults = 1
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write(new)
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
