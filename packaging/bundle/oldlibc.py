#!/usr/bin/env python3
"""
Makes a folder to link against in place of this machine's C library: oldlibc.py FOLDER MAJOR.MINOR

A program that is linked on a new glibc asks for the newest version of every function, and then does not start on an
older one. The libraries made here carry the names of this machine's glibc, but of each function only the newest version
that is not above the wanted one, and no code: they serve the linker alone. What the wanted version does not have at all is
taken from modern.c, or the link fails and names it.

Before 2.34 threads and dlopen lay in libraries of their own. So everything that is linked here asks for these as well;
in newer ones they are there and empty.
"""
import os
import re
import subprocess
import sys

folder, wanted = sys.argv[1], tuple(int(n) for n in sys.argv[2].split("."))
here = os.path.dirname(os.path.abspath(__file__))
cc = os.environ.get("CC", "cc").split()
LIBRARIES = {"c": "libc.so.6", "pthread": "libpthread.so.0", "dl": "libdl.so.2", "rt": "librt.so.1", "m": "libm.so.6",
             "util": "libutil.so.1"}
os.makedirs(folder, exist_ok=True)


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def number(version):
    m = re.fullmatch(r"GLIBC_(\d+(?:\.\d+)+)", version)
    return tuple(int(n) for n in m.group(1).split(".")) if m else None


def symbols(path):
    """name -> (version, type, size) of the newest version that is not above the wanted one."""
    best = {}
    for line in run("readelf", "-W", "--dyn-syms", path).splitlines():
        part = line.split()
        if len(part) < 8 or part[6] == "UND" or "@" not in part[7]:
            continue
        kind, (name, version) = part[3], part[7].replace("@@", "@").split("@")
        n = number(version)
        if n is None or n[:2] > wanted or kind not in ("FUNC", "IFUNC", "OBJECT", "NOTYPE"):
            continue
        if name not in best or n > best[name][0]:
            best[name] = (n, version, kind, int(part[2], 0))
    return best


def build(name, soname, found):
    versions = sorted({version for _, version, _, _ in found.values()}, key=number)
    source, script, out = (os.path.join(folder, name + end) for end in (".s", ".map", ""))
    with open(source, "w", encoding="utf-8") as f:
        for i, (symbol, (_, version, kind, size)) in enumerate(sorted(found.items())):
            data = kind == "OBJECT"
            f.write(f"\t{'.data' if data else '.text'}\n\t.globl s{i}\n\t.type s{i}, {'%object' if data else '%function'}\n")
            f.write(f"s{i}:\n\t.zero {max(size, 1) if data else 1}\n\t.size s{i}, {size if data else 1}\n")
            f.write(f"\t.symver s{i}, {symbol}@@@{version}\n")
        f.write('\t.section .note.GNU-stack,"",%progbits\n')
    with open(script, "w", encoding="utf-8") as f:
        for version in versions:
            f.write(f"{version} {{}};\n")
    subprocess.run([*cc, "-shared", "-nostdlib", "-Wl,-soname," + soname, "-Wl,--version-script," + script, "-o",
                    os.path.join(folder, soname), source], check=True)
    return os.path.abspath(os.path.join(folder, soname))


made = {}
for name, soname in LIBRARIES.items():
    path = run(*cc, "-print-file-name=" + soname).strip()
    made[name] = build(name, soname, symbols(path)) if os.path.isabs(path) else None

modern = os.path.abspath(os.path.join(folder, "libmodern.a"))
subprocess.run([*cc, "-O2", "-fPIC", "-ffunction-sections", "-fvisibility=hidden", "-c", os.path.join(here, "modern.c"), "-o",
                os.path.join(folder, "modern.o")], check=True)
subprocess.run(["ar", "rcs", modern, os.path.join(folder, "modern.o")], check=True)

# The loader holds a few symbols of its own; its name stands in every program.
interpreter = re.search(r"interpreter: (\S+?)\]", run("readelf", "-lW", os.path.realpath(sys.executable)))
loader = f"AS_NEEDED({interpreter.group(1)})" if interpreter else ""
rest = run(*cc, "-print-file-name=libc_nonshared.a").strip()
with open(os.path.join(folder, "libc.so"), "w", encoding="utf-8") as f:
    f.write(f"GROUP({made['c']} {modern} {rest} {loader})\n")
for name in LIBRARIES:
    if name != "c" and made[name]:
        link = os.path.join(folder, f"lib{name}.so")
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(os.path.basename(made[name]), link)
