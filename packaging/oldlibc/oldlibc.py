#!/usr/bin/env python3
"""
Makes a folder to link against in place of this machine's C library: oldlibc.py FOLDER MAJOR.MINOR [COMPILER...]

A program that is linked on a new glibc asks for the newest version of every function, and then does not start on an
older one. The libraries made here carry the names of this machine's glibc, but of each function only the newest version
that is not above the wanted one, and no code: they serve the linker alone. What the wanted version does not have at all is
taken from modern.c, or the link fails and names it.

Before 2.34 threads and dlopen lay in libraries of their own. So everything that is linked here asks for these as well, and
asks them for what was theirs: a loader before 2.30 does not look further than the library that it is told. In newer ones
these libraries are there and empty, and their functions are found in libc.
"""
import os
import re
import subprocess
import sys

folder, wanted = sys.argv[1], tuple(int(n) for n in sys.argv[2].split("."))
here = os.path.dirname(os.path.abspath(__file__))
cc = sys.argv[3:] or os.environ.get("CC", "cc").split()
LIBRARIES = {"c": "libc.so.6", "pthread": "libpthread.so.0", "dl": "libdl.so.2", "rt": "librt.so.1", "m": "libm.so.6",
             "util": "libutil.so.1"}
# Where functions lay whose names begin so, before they came into libc.so.6.
HOMES = {"dl": r"dl(?!iter)", "pthread": r"_*pthread_|sem_", "rt": r"aio_|lio_|mq_|__mq_|shm_|timer_", "util": r"openpty|forkpty|log"}
os.makedirs(folder, exist_ok=True)


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def number(version):
    m = re.fullmatch(r"GLIBC_(\d+(?:\.\d+)+)", version)
    return tuple(int(n) for n in m.group(1).split(".")) if m else None


def symbols(path):
    """name -> (number, version, type, size, address, binding) of the newest version that is not above the wanted one."""
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
            best[name] = (n, version, kind, int(part[2], 0), part[1], part[4])
    return best


def build(name, soname, found):
    versions = sorted({f[1] for f in found.values()}, key=number)
    source, script = (os.path.join(folder, name + end) for end in (".s", ".map"))
    # A variable with several names (environ, __environ) must have them here as well: where the linker gives a program a
    # copy of it, all its names move to the copy.
    places = {}
    for symbol, f in sorted(found.items()):
        places.setdefault((f[4], f[3]) if f[2] == "OBJECT" else symbol, []).append((symbol, f))
    label = 0
    with open(source, "w", encoding="utf-8") as out:
        for names in places.values():
            data = names[0][1][2] == "OBJECT"
            size = max(names[0][1][3], 1) if data else 1
            out.write(f"\t{'.data' if data else '.text'}\n\t.balign 16\n")
            for symbol, (_, version, _, _, _, binding) in names:
                out.write(f"\t.{'weak' if binding == 'WEAK' else 'globl'} s{label}\n\t.type s{label}, %{'object' if data else 'function'}\n"
                          f"\t.size s{label}, {size}\ns{label}:\n\t.symver s{label}, {symbol}@@@{version}\n")
                label += 1
            out.write(f"\t.zero {size}\n")
        out.write('\t.section .note.GNU-stack,"",%progbits\n')
    with open(script, "w", encoding="utf-8") as f:
        for version in versions:
            f.write(f"{version} {{}};\n")
    subprocess.run([*cc, "-shared", "-nostdlib", "-Wl,-soname," + soname, "-Wl,--version-script," + script, "-o",
                    os.path.join(folder, soname), source], check=True)
    return os.path.abspath(os.path.join(folder, soname))


def moved(path):
    """What came into libc.so.6 with 2.32 to 2.34: functions that have got a second, younger version there."""
    found = re.findall(r"\s(\w+)@@GLIBC_2\.3[234]$", run("readelf", "-W", "--dyn-syms", path), re.M)
    return [(name, home) for name in found for home, mark in HOMES.items() if re.match(mark, name)]


def send_home(parts, path):
    """Gives the libraries back what was theirs."""
    for name, home in moved(path):
        if wanted < (2, 34) and name in parts["c"]:
            parts[home][name] = parts["c"].pop(name)


parts, paths, made = {}, {}, {}
for name, soname in LIBRARIES.items():
    paths[name] = run(*cc, "-print-file-name=" + soname).strip()
    parts[name] = symbols(paths[name]) if os.path.isabs(paths[name]) else {}
send_home(parts, paths["c"])
# What every program gets from an archive beside libc.so.6 (pthread_atfork, atexit) is not asked of libc.so.6.
rest = run(*cc, "-print-file-name=libc_nonshared.a").strip()
for name in re.findall(r" [TtWi] (\w+)$", run("nm", "--defined-only", rest), re.M):
    for part in parts.values():
        part.pop(name, None)
for name, soname in LIBRARIES.items():
    made[name] = build(name, soname, parts[name]) if os.path.isabs(paths[name]) else None

modern = os.path.abspath(os.path.join(folder, "modern.a"))
subprocess.run([*cc, "-O2", "-fPIC", "-ffunction-sections", "-fvisibility=hidden", "-c", os.path.join(here, "modern.c"), "-o",
                os.path.join(folder, "modern.o")], check=True)
subprocess.run(["ar", "rcs", modern, os.path.join(folder, "modern.o")], check=True)

# The loader holds a few symbols of its own; its name stands in every program.
interpreter = re.search(r"interpreter: (\S+?)\]", run("readelf", "-lW", os.path.realpath(sys.executable)))
loader = f"AS_NEEDED({interpreter.group(1)})" if interpreter else ""
with open(os.path.join(folder, "libc.so"), "w", encoding="utf-8") as f:
    f.write(f"GROUP({made['c']} {modern} {rest} {loader})\n")
for name in LIBRARIES:
    if name != "c" and made[name]:
        link = os.path.join(folder, f"lib{name}.so")
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(os.path.basename(made[name]), link)
