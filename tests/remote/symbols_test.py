#!/usr/bin/env python3
"""
The variables of images that nvcc makes, as a worker reads them (remote/worker/symbols.h), beside what readelf says of the
same machine code: every way to pack a fat binary, several targets, code that is linked and code that is still to be.
Skipped without nvcc: symbols_test.py BUILD
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SHOW = os.path.join(sys.argv[1], "tests/remote/symbols_show")
nvcc = shutil.which("nvcc", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")
# nvcc may be a link elsewhere; its packer lies beside the program itself.
packer = nvcc and os.path.join(os.path.dirname(os.path.realpath(nvcc)), "fatbinary")
WRITTEN = (".nv.global", ".nv.global.init")

ONE = """
#include <cstdio>
#include <cassert>
__device__ int seen[100];
static __device__ float hidden = 2.5f;
__constant__ int fixed[4] = {1, 2, 3, 4};
template<int N> __device__ int made[N];
namespace { __device__ double inner[3]; }
__global__ void one(int *p)
{
	static __device__ int counter;
	counter++;
	assert(p);
	printf("one %d\\n", p[0]);
	seen[0] += (int)hidden;
	hidden += 1;
	made<5>[p[1] & 3] = fixed[p[0] & 3];
	inner[1] += 2;
}
"""
FIRST = """
#include <cstdio>
extern __device__ int common[10];
static __device__ int same = 1;
__device__ int other(int);
__global__ void first(int *p) { printf("first %d\\n", p[0]); same += other(p[0]); common[1] = same; }
"""
SECOND = """
#include <cstdio>
__device__ int common[10] = {1};
static __device__ int same = 2;
__device__ int other(int a) { printf("second %d\\n", a); same += a; return same; }
"""

if not nvcc:
    print("1..0 # SKIP no nvcc on this machine")
    sys.exit(0)
count = failed = 0


def ok(good, text, *detail):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)
    if not good:
        print(*(f"# {d}" for d in detail), sep="\n", flush=True)


def run(*words, program=nvcc):
    done = subprocess.run([program, *words], capture_output=True, text=True, cwd=tmp)
    if done.returncode:
        print(f"# {' '.join(words)}: {done.stderr}")
    return done.returncode == 0


def text(name, body):
    with open(os.path.join(tmp, name), "w") as f:
        f.write(body)


def shown(name):
    """How it ends, and the variables of each entry."""
    lines = subprocess.run([SHOW, os.path.join(tmp, name)], capture_output=True, text=True).stdout.splitlines()
    return lines[-1], [sorted(line.split()[1:]) for line in lines if line.startswith("entry")]


def by_readelf(name):
    """The objects of the sections that kernels write, as the other reader says."""
    def lines(*words):
        return subprocess.run(["readelf", "-W", *words, os.path.join(tmp, name)], capture_output=True, text=True).stdout.splitlines()

    written = {m[1] for line in lines("-S") if (m := re.match(r"\s*\[ *(\d+)\] (\S+)", line)) and m[2] in WRITTEN}
    rows = (re.match(r"\s*\d+: \S+ +(\d+) (OBJECT|<processor specific>: 13) .* (\d+) (\S+)$", line) for line in lines("-s"))
    return [(m[4], m[1]) for m in rows if m and m[3] in written]


def variables(name):
    found = by_readelf(name)
    names = [n for n, _ in found]
    return sorted(f"{n}:{b}{':shared' if names.count(n) > 1 else ''}" for n, b in found)


def same_names(entry, there):
    return {v.split(":")[0] for v in entry} == {v.split(":")[0] for v in there}


def packed():
    """In every way, machine code and PTX together: compiled once, and packed by the packer that nvcc calls."""
    run("-arch=compute_90", "-ptx", "one.cu", "-o", "one.ptx")
    run("-arch=sm_90", "-cubin", "one.ptx", "-o", "one.cubin")
    there = variables("one.cubin")
    ok(len(there) > 6 and shown("one.cubin") == ("all", [there]), "machine code: as readelf says", there, shown("one.cubin"))
    for mode in ("default", "size", "speed", "balance", "none"):
        if not run("-64", f"--compress-mode={mode}", "--image3=kind=elf,sm=90,file=one.cubin", "--image3=kind=ptx,sm=90,file=one.ptx",
                   "--create=one.fatbin", program=packer):
            ok(True, f"--compress-mode {mode} # SKIP this nvcc has none")
            continue
        outcome, entries = shown("one.fatbin")
        ok(outcome == "all" and len(entries) == 2 and entries[0] == there and same_names(entries[1], there),
           f"--compress-mode {mode}: both entries have them", outcome, entries, there)


def targets():
    run("-compress-mode", "size", "-fatbin", "-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90",
        "-gencode", "arch=compute_80,code=compute_80", "one.cu", "-o", "many.fatbin")
    outcome, entries = shown("many.fatbin")
    ok(outcome == "all" and len(entries) == 3 and all(same_names(e, entries[0]) for e in entries), "several targets: each entry has them",
       outcome, entries)


def linked():
    for name in ("first", "second"):
        run("-arch=sm_90", "-rdc=true", "-cubin", f"{name}.cu", "-o", f"{name}.cubin")
        run("-arch=sm_90", "-rdc=true", "-c", f"{name}.cu", "-o", f"{name}.o")
        ok(shown(f"{name}.cubin") == ("all", [variables(f"{name}.cubin")]) and len(by_readelf(f"{name}.cubin")) > 1,
           f"{name}: code that is still to be linked", shown(f"{name}.cubin"), variables(f"{name}.cubin"))
    run("-arch=sm_90", "-dlink", "-cubin", "first.o", "second.o", "-o", "linked.cubin")
    there = variables("linked.cubin")
    ok(shown("linked.cubin") == ("all", [there]) and [v for v in there if v.endswith(":shared")],
       "linked: two variables of one name are known as such", there, shown("linked.cubin"))
    run("-arch=sm_90", "-dlink", "-compress-mode", "size", "-fatbin", "first.o", "second.o", "-o", "linked.fatbin")
    ok(shown("linked.fatbin") == ("all", [there]), "and in a fat binary", shown("linked.fatbin"), there)


def stripped():
    """Machine code whose table of symbols is gone: bytes without a name."""
    with open(os.path.join(tmp, "one.cubin"), "rb") as f:
        code = bytearray(f.read())
    table = int.from_bytes(code[40:48], "little")
    for i in range(int.from_bytes(code[60:62], "little")):
        at = table + 64 * i + 4
        if int.from_bytes(code[at:at + 4], "little") == 2:
            code[at:at + 4] = (1).to_bytes(4, "little")
    with open(os.path.join(tmp, "stripped.cubin"), "wb") as f:
        f.write(code)
    ok(shown("stripped.cubin") == ("unknown", []), "without symbols: nobody knows them", shown("stripped.cubin"))


with tempfile.TemporaryDirectory() as tmp:
    text("one.cu", ONE)
    text("first.cu", FIRST)
    text("second.cu", SECOND)
    packed()
    targets()
    linked()
    stripped()
print(f"1..{count}")
sys.exit(failed > 0)
