"""docs/threats.md names no test that is not there, and leaves out none of the attacks that are tried."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from harness import BUILD, finish, ok  # noqa: E402

DOC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "threats.md")

with open(os.path.join(BUILD, "meson-info", "intro-tests.json"), encoding="utf-8") as f:
    there = {t["name"] for t in json.load(f)}
with open(DOC, encoding="utf-8") as f:
    rows = [line.strip().strip("|").split("|") for line in f if line.startswith("| ") and not line.startswith("|---")]
rows = [r for r in rows if r[-1].strip() != "test"]
ok(len(rows) > 20, f"{len(rows)} rows")
NO_ATTACK = {"attack threats", "attack rootless"}  # this one, and what must stay open
attacks = {name for name in there if name.startswith("attack ")} - NO_ATTACK
left_out = {name for name in attacks if not any(f"`{name}`" in r[-1] for r in rows)}
ok(attacks and not left_out, "each attack that is tried stands in a row", left_out)
# The guard's tests, and its fuzzer, are there where libbpf and clang are.
if "guard ways" not in there:
    print("# no guard here: its tests are not looked for")
    there |= {name for row in rows for name in re.findall(r"`((?:guard |fuzz-guard)[^`]*)`", row[-1])}
for row in rows:
    named = re.findall(r"`([^`]+)`", row[-1])
    ok(named and set(named) <= there, f"{row[0].strip()[:70]}: {', '.join(named) or 'no test'}", set(named) - there)
finish()
