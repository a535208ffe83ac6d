#!/usr/bin/env python3
"""
Who answers a call on the remote path is what the spec says: around_test.py SOURCE_ROOT BUILD_ROOT

A call whose travel is "plain" is answered by generated code alone: a body written by hand for it does not link, which is tried
here with one. A call that says "around" has such a body, at one end or at both: where it has lost it, it should say "plain".
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD = (os.path.abspath(p) for p in sys.argv[1:3])
sys.path.insert(0, os.path.join(SOURCE, "api"))
from gen.spec import Spec  # noqa: E402

CC = os.environ.get("CC", "cc").split()
ENDS = (("client", "src/remote/client"), ("worker", "src/remote/worker"))
count = failed = 0


def check(good, text, details=()):
    global count, failed
    count += 1
    failed += not good
    for d in [] if good else list(details)[:20]:
        print("#", d)
    print(f"{'' if good else 'not '}ok {count} - {text}")


def objects(folder):
    return [o for o in glob.glob(os.path.join(BUILD, folder, "**/*.o"), recursive=True) if "_test.p" not in o]


def symbols(files, kind, end):
    out = subprocess.run(["nm", "-A", *files], stdout=subprocess.PIPE, check=True).stdout.decode()
    return {(m[2], m[1]) for m in re.finditer(rf"^(\S+?):.* {kind} {end}_(cu\w+)$", out, re.M)}


def plain_of(symbol):
    return re.sub(r"_(ptsz|ptds)$", "", symbol)


def clash(files, end, symbol):
    """Links the generated object with one more body of that name. Value: what the linker says."""
    generated = next(o for o in files if f"cuda_remote_{'client' if end == 'client' else 'dispatch'}" in o)
    with tempfile.TemporaryDirectory() as scratch:
        source = os.path.join(scratch, "more.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(f"int {end}_{symbol}(void)\n{{\n\treturn 0;\n}}\n")
        r = subprocess.run([*CC, "-nostdlib", "-r", "-o", os.path.join(scratch, "out"), source, generated],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return r.stdout.decode(errors="replace") if r.returncode else ""


calls = Spec(os.path.join(SOURCE, "api/cuda.toml")).calls
by_hand = set()
for name, folder in ENDS:
    files = objects(folder)
    hand = {symbol for symbol, path in symbols(files, "T", name) if "cuda_remote_" not in path}
    by_hand |= {plain_of(symbol) for symbol in hand}
    plain = next(c.symbol for c in calls if c.travel == "plain" and not c.per_thread and not c.goes_as)
    around = next(c.symbol for c in calls if c.travel == "around" and not c.per_thread and not c.goes_as)
    check("multiple definition" in clash(files, name, plain) or "duplicate symbol" in clash(files, name, plain),
          f"{name}: a body by hand for {plain}, which is plain, does not link")
    check(not clash(files, name, around), f"{name}: one for {around}, which says around, does")
arounds = {c.plain for c in calls if c.travel == "around"}
check(len(arounds) > 50, f"{len(arounds)} calls say around")
check(arounds <= by_hand, "each has a body by hand, at one end at least", sorted(arounds - by_hand))
plains = {c.plain for c in calls if c.travel == "plain"}
check(not plains & by_hand, "and no call that says plain has one", sorted(plains & by_hand))
print(f"1..{count}")
sys.exit(1 if failed else 0)
