#!/usr/bin/env python3
"""
mete's ptxas beside NVIDIA's: judge_test.py BUILD_ROOT [--all]

Both assemble the made-up wrong files of wrong_ptx.py. What NVIDIA's takes, mete's takes, but for REFUSED. Of what belongs
to AGREED, mete's refuses what NVIDIA's refuses. Of the rest the differences are counted; docs/softdevice.md says of what
kinds they are. Without --all and METE_TEST_LONG, a third of those that were thought of and a sixteenth of the mutations, others each time. Skipped where NVIDIA's ptxas is not installed.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import wrong_ptx

# Taken by NVIDIA's and not by mete's.
REFUSED = "|".join((
    r"(module's )?shared (2147483648|8589934592|999999999999)", r"local (2147483648|8589934592|999999999999)",  # NVIDIA's takes sizes beyond 31 bits for others
    r"\.(global|shared|const) \.align 4096", r"declared: vector register", r"line: (unknown special register|tid as a vector)",
    r"line: (behind the parameter|misaligned parameter|constant expression|multimem)", r"text: (two of a line|array of textures|long line)",
    r".* \| \.(sync|approx|cc) twice"))

# The kinds of mistakes that mete's finds as NVIDIA's does.
AGREED = "|".join((
    r"shared (49152|49153|65536|100000|232448|1048576)$", r"module's shared \d{4,7}$", r"two (shared|const)", r"const \d+", r"parameters? 8 \+ \d+", r"parameter \d+$",
    r"\.(maxnreg|maxntid|reqntid|reqnctapercluster) [\d, ]*$", r"\.minnctapersm \d+$", r"\.maxntid 64 \.reqntid 32", r"\.reqnctapercluster 2 \.maxclusterrank 4",
    r"line: (bar (16|0, 33|-1)|call with|call without|f32 register as u32|int immediate|float immediate)", r"\.target sm_(130|999)",
    r"\.version (0\.9|8|x|8\.7\.1|-8\.7) ", r"\.target (sm_|sm_71|sm_76|sm_90f|compute_71|90|sm_90, sideways|sm_90 sm_80|)( for sm_120)?$", r"no (version|target)$",
    r"(add|sub|mul|mad|fma|div|rem|min|max|abs|neg|sqrt|popc|clz|bfe|prmt|lop3)\.\S+ .* \| operand \d: other width",
    r"(add|sub|mul|mad|fma|div|rem|min|max)\.(?!\S*f16)\S+ .* \| operand \d: (3|a float)$"))

NVIDIA = ("/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas")
count = 0


def check(good, what, *said):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {what}")
    for line in said if not good else ():
        print(f"# {line}")
    return good


def real():
    beside = shutil.which("ptxas")
    for path in (*NVIDIA, beside):
        if path and os.access(path, os.X_OK) and b"NVIDIA" in subprocess.run([path, "--version"], stdout=subprocess.PIPE, check=False).stdout:
            return path
    return None


def target(text, given):
    found = re.search(r"\.target\s+(sm_\d+[af]?)", text)
    return given or (found.group(1) if found else "sm_90")


def chosen(whole):
    hand = [c for c in wrong_ptx.cases() if " | " not in c[0] and (whole or not re.search(r", \d\.\d, sm_\w+$", c[0]))]
    mutated = [c for c in wrong_ptx.cases() if " | " in c[0]]
    if whole or os.environ.get("METE_TEST_LONG"):
        return hand + mutated
    return random.sample(hand, len(hand) // 3) + random.sample(mutated, len(mutated) // 16)


def takes(tool, path, arch):
    """Whether the assembler takes the file; None: it ended by a signal."""
    done = subprocess.run([tool, "-arch", arch, "-o", path + ".out", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    return done.returncode == 0 if done.returncode >= 0 else None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--all", action="store_true")
    a = p.parse_args()
    judge, own = real(), os.path.join(a.build, "src/fronts/bin/ptxas")
    if not judge:
        print("1..0 # SKIP NVIDIA's ptxas is not installed")
        return 0
    wrong, agreed, same, more, less = [], 0, 0, 0, []
    with tempfile.TemporaryDirectory(prefix="mete-t-") as folder:
        path = os.path.join(folder, "wrong.ptx")
        for name, text, given in chosen(a.all):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            arch = target(text, given)
            theirs, ours = takes(judge, path, arch), takes(own, path, arch)
            if ours is None:
                wrong.append(f"{name}: mete's ended by a signal")
            if theirs is None or ours is None:
                continue
            same += theirs == ours
            more += ours and not theirs
            agreed += bool(re.match(AGREED, name))
            if ours and not theirs and re.match(AGREED, name):
                wrong.append(f"{name}: mete's takes it, NVIDIA's refuses it")
            if theirs and not ours and not re.match(REFUSED, name):
                less.append(name)
    check(not wrong, f"of {agreed} files with limits, widths and sorts of operands, mete's ptxas refuses what NVIDIA's refuses", *wrong[:40])
    check(not less, "mete's ptxas takes what NVIDIA's takes", *less[:40])
    print(f"# the same verdict {same} times; taken by mete's alone {more} times\n1..{count}")
    return int(bool(wrong or less))


if __name__ == "__main__":
    sys.exit(main())
