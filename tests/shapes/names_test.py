#!/usr/bin/env python3
"""
The tables of names (api/shapes): what the faces and the stand-ins export, that a new call of a specification is every table's
by itself, and what the generator refuses: names_test.py BUILD.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "hip"))

from kit import BUILD, finish, ok, same

API = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "api")
TABLES = {"musa": "cuda", "maca": "hip", "corex": "cuda"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def exports(path):
    text = subprocess.run(["readelf", "-W", "--dyn-syms", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r" FUNC +GLOBAL +DEFAULT +\d+ +(\w+)", text))


def generate(out, spec, table):
    """Writes both texts and generates; the generator's status and what it says."""
    paths = [os.path.join(out, "spec.toml"), os.path.join(out, "table.toml")]
    for path, text in zip(paths, (spec, table)):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    done = subprocess.run([sys.executable, "-B", os.path.join(API, "apigen.py"), paths[0], "--shape", paths[1], "--out", out],
                          stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


for name, prefix in (("musa", "mu"), ("maca", "mc")):
    face = exports(os.path.join(BUILD, f"src/shim/libmete-{name}.so"))
    same(exports(os.path.join(BUILD, f"src/softdev/shaped/libmete-soft-{name}.so")), face, f"{name}: face and stand-in export the same")
    same({n for n in face if not n.removeprefix("__").startswith(prefix)}, set(), f"{name}: every export has the vendor's prefix")
    needed = subprocess.run(["readelf", "-d", os.path.join(BUILD, f"src/shim/libmete-{name}.so")], stdout=subprocess.PIPE, text=True).stdout
    same(sorted(set(re.findall(r"NEEDED.*\[(.+?)\]", needed)) - {"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2",
                                                                   "libasan.so.8", "libubsan.so.1", "libtsan.so.2"}),
         ["libmete-core.so"], f"{name}: the face needs libc and the core alone")
face = exports(os.path.join(BUILD, "src/shim/libmete-musa.so"))
ok({"muMemAlloc_v2", "muMemAlloc", "muLaunchKernel", "muMemCreate", "muDeviceGetUuid_v2", "muLaunchKernel_ptsz"} <= face,
   "calls that Moore Threads' programs use are there, those of 32 bits as their successors' plain names")
ok({"mcMalloc", "mcExtMallocWithFlags", "mcModuleLaunchKernel", "mcModuleLaunchKernelEx", "__mcRegisterFatBinary"} <=
   exports(os.path.join(BUILD, "src/shim/libmete-maca.so")), "and those of MetaX'")

with tempfile.TemporaryDirectory() as out:
    # A call that a specification gains is in every vendor's exports by itself.
    new = {"cuda": '\n[call.cuNewlyMade]\nargs = ["CUstream hStream", "size_t bytes"]\nsince = 13040\nsync = "local"\ncharge = "none"\n'
                   'treat = "custom"\ngate = "compute"\n',
           "hip": '\n[call.hipNewlyMade]\nargs = ["hipStream_t stream"]\ntreat = "custom"\ngate = "compute"\n'}
    for name, api in TABLES.items():
        spec, table = read(os.path.join(API, api + ".toml")), read(os.path.join(API, "shapes", name + ".toml"))
        if api == "hip":
            spec = spec.replace('\n[nodes]', new[api] + '\n[nodes]', 1).replace('"hipLaunchKernelExC"', '"hipLaunchKernelExC", "hipNewlyMade"', 1)
        else:
            spec += new[api]
        status, said = generate(out, spec, table)
        same((status, said), (0, ""), f"{name}: the table takes a specification with one call more")
        if name != "corex":
            theirs = {"cuda": "muNewlyMade", "hip": "mcNewlyMade"}[api]
            ok(f"ENTRY {theirs}," in read(os.path.join(out, f"{name}_shape_entry.S")) and
               f'"{theirs}"' in read(os.path.join(out, f"{name}_shape_names.c")), f"{name}: {theirs} is an export, and asked of the library")

    # What is not known is refused, with file and line.
    spec, table = read(os.path.join(API, "cuda.toml")), read(os.path.join(API, "shapes/musa.toml"))
    for what, change, expected in (
            ("a key", lambda t: t + '\nprefixes = "mu"\n', r'table.toml:\d+: unknown key "prefixes"'),
            ("a key that is missing", lambda t: t.replace("remedy =", "#"), r'"remedy" is missing'),
            ("a call that is refused", lambda t: t.replace('"cuGetExportTable"', '"cuGetExportTables"'),
             r'table.toml:\d+: refuse: "cuGetExportTables" is no call of cuda.toml'),
            ("a call that is absent", lambda t: t.replace('"cuEGL*"', '"cuEagle*"'), r'table.toml:\d+: absent: no call .* "cuEagle\*"'),
            ("a call under another name", lambda t: t + '\nalso = { muOther = "cuOther" }\n', r'also: "cuOther" is no call'),
            ("two calls of one name", lambda t: t + '\nalso = { muInit = "cuMemFree_v2" }\n', r'"muInit" would be two calls: cuInit and cuMemFree_v2'),
            ("a prefix", lambda t: t.replace("cu = ", "cuMem = "), r'begins with none of the prefixes'),
            ("a name that passes and is a call", lambda t: t + '\npass = ["muInit"]\n', r'pass: "muInit" is exported already'),
            ("text that is no TOML", lambda t: t + "\n]\n", r"table.toml:\d+: ")):
        status, said = generate(out, spec, change(table))
        ok(status == 1 and re.search(expected, said), f"refused: {what}", status, said[:300])
    status, said = generate(out, spec, table + '\npass = ["muOfTheirOwn"]\n')
    entry = read(os.path.join(out, "musa_shape_entry.S"))
    ok(status == 0 and re.search(r"ENTRY muOfTheirOwn, (\d+)", entry) and "shim_passed:" in entry, "a name of the vendor's own passes", status, said)
finish()
