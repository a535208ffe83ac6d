#!/usr/bin/env python3
"""The shim's entries assemble for every processor that they are written for; skipped where no assembler knows another.

Checks that the object exports exactly the calls of the source, and that the table stands in writable data.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

PROCESSORS = {
    "x86-64": [["clang", "--target=x86_64-linux-gnu"], ["x86_64-linux-gnu-gcc"]],
    "aarch64": [["clang", "--target=aarch64-linux-gnu"], ["aarch64-linux-gnu-gcc"]],
}

source = sys.argv[1]
with open(source, encoding="utf-8") as f:
    calls = set(re.findall(r"^\tENTRY (\w+), \d+$", f.read(), re.M))
done = []
with tempfile.TemporaryDirectory() as tmp:
    for processor, commands in PROCESSORS.items():
        command = next((c for c in commands if shutil.which(c[0])), None)
        if not command:
            continue
        output = os.path.join(tmp, "entry.o")
        subprocess.run([*command, "-c", source, "-o", output], check=True)
        symbols = [line.split() for line in subprocess.run(["nm", "-g", output], check=True, capture_output=True,
                                                           text=True).stdout.splitlines()]
        exported = {s[2] for s in symbols if len(s) == 3 and s[1] == "T"}
        assert exported == calls, f"{processor}: {exported ^ calls}"
        assert ["shim_table"] == [s[2] for s in symbols if len(s) == 3 and s[1] in "DG"], f"{processor}: {symbols[-3:]}"
        done.append(processor)
print(f"{len(calls)} entries for {', '.join(done) or 'no processor'}")
sys.exit(0 if done else 77)
