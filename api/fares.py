#!/usr/bin/env python3
"""
fares.py CUDA.toml CUDA-SOFT.toml CUDART-DONE.toml OUT.c: how the calls that a program is linked against fare without a
local driver: call_fares[] of src/base/call_fare.h, sorted by name. The runtime's calls are those that mete's own library
has; what is not in the table is a call that nobody knows.
"""
import sys
import tomllib

from gen import soft
from gen.spec import Spec


def main():
    cuda, soft_list, runtime, out = sys.argv[1:]
    spec = Spec(cuda, cuda)
    implemented = {c.symbol for c in soft.read_implemented(spec, soft_list, soft_list)}
    with open(runtime, "rb") as f:
        names = tomllib.load(f)["implemented"]
    rows = {c.symbol: (c.symbol in implemented, c.sync != "refused") for c in spec.calls}
    for name in names:
        rows[name] = rows[name + "_ptsz"] = rows[name + "_ptds"] = (True, True)
    lines = ["/* By api/fares.py; do not edit. */", '#include "base/call_fare.h"', "",
             "const struct call_fare call_fares[] = {"]
    lines += [f'\t{{ "{n}", {int(s)}, {int(r)} }},' for n, (s, r) in sorted(rows.items())]
    lines += ["};", "", f"const unsigned int call_fare_count = {len(rows)};", ""]
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))


main()
