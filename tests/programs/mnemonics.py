#!/usr/bin/env python3
"""The committed PTX of all programs together uses every mnemonic that real programs use, and those of newer targets."""
import glob
import os
import re
import sys

# Of 522 real programs, in the order of how many need them; then what newer targets and inline assembly add.
WANTED = """ret ld mov add cvta st mul setp bra mad shl sub cvt and or fma shr selp div bar not neg max xor atom abs min shfl rcp sqrt
ex2 rem barrier call clz bfi vote brev popc copysign membar rsqrt lg2 tex bfind cos prmt nanosleep sin trap shf madc addc subc
activemask bmsk exit match wmma set lop3 tanh prefetch dp4a red vabsdiff4 fence sust
mma ldmatrix cp redux mbarrier bfe dp2a fns sad slct mul24 mad24 cnot testp isspacep suld sured tld4 txq suq brx prefetchu""".split()
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STATEMENT = re.compile(r"(?:^|[;{}:])\s*(?:@!?%?\w+\s+)?([a-z][a-z0-9]*)(?=[.\s;])", re.M)

here = os.path.dirname(os.path.abspath(__file__))
used = {}
for path in sorted(glob.glob(os.path.join(here, "*.ptx"))):
    with open(path, encoding="utf-8") as f:
        for mnemonic in STATEMENT.findall(COMMENT.sub("", f.read())):
            used.setdefault(mnemonic, os.path.basename(path))
print(f"1..{len(WANTED)}")
for number, mnemonic in enumerate(WANTED, 1):
    print(f"{'ok' if mnemonic in used else 'not ok'} {number} - {mnemonic}: {used.get(mnemonic, 'in no program')}")
sys.exit(any(m not in used for m in WANTED))
