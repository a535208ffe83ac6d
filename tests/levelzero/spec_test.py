#!/usr/bin/env python3
"""api/levelzero.toml and src/levelzero/ze_types.h beside Level Zero's own headers, where they are installed: spec_test.py BUILD.

METE_TEST_ZE_INCLUDE: the folder with level_zero/, where it is not the compiler's own.
"""
import os
import re
import subprocess
import sys
import tempfile

from kit import FACE, SOFT, finish, ok, same, skip

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir)
SPEC = os.path.join(ROOT, "api/levelzero.toml")
INCLUDE = os.environ.get("METE_TEST_ZE_INCLUDE", "/usr/include")
GENERATOR = [sys.executable, "-B", os.path.join(ROOT, "api/levelzerogen.py")]


def exports(path):
    text = subprocess.run(["readelf", "-W", "--dyn-syms", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r" FUNC +GLOBAL +DEFAULT +(?!UND)\w+ +([\w]+)", text))


def refused(change, expected):
    """The generator names what is wrong with the spec, and writes nothing."""
    with open(SPEC, encoding="utf-8") as f:
        text = f.read()
    with tempfile.TemporaryDirectory() as folder:
        spec = os.path.join(folder, "levelzero.toml")
        with open(spec, "w", encoding="utf-8") as f:
            f.write(change(text))
        done = subprocess.run([*GENERATOR, spec, "--out", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ok(done.returncode and expected in done.stderr and os.listdir(folder) == ["levelzero.toml"], f"the generator: {expected}",
           done.stderr)


def without(text, call):
    return re.sub(rf"\[call\.{call}\]\n(?:.+\n)+", "", text)


same(exports(FACE), exports(SOFT), "the face and the stand-in export the same")
ok("zeGetMemProcAddrTable" in exports(FACE), "what the loader looks for")
refused(lambda t: without(t, "zeMemAllocDevice"), 'zeMemAllocDevice: "charge" is missing')
refused(lambda t: without(t, "zeCommandListAppendLaunchKernel"), 'zeCommandListAppendLaunchKernel: "gate" is missing')
refused(lambda t: t.replace('"PutIpcHandle 6"', '"PutIpcHandle 6", "AllocDeviceNewer 13"'), 'zeMemAllocDeviceNewer: "charge" is missing')
refused(lambda t: t.replace('"PutIpcHandle 6"', '"PutIpcHandle 6", "GetSomething 14"'), "is newer than the file")
refused(lambda t: t + '\n[call.zeMemNothing]\ncharge = "release"\n', "zeMemNothing: no table has this call")
refused(lambda t: t.replace('charge = "bytes(desc->size)"\ntreat = "custom"', 'charge = "bytes(desc->size)"'), "nobody would charge it")

headers = [os.path.join(INCLUDE, "level_zero", n) for n in ("ze_ddi.h", "zes_ddi.h", "zet_ddi.h")]
if not all(os.path.exists(h) for h in headers):
    skip("the tables and the types", "Level Zero's headers are not installed (Debian: libze-dev)")
    finish()

ours = {}
for line in subprocess.run([*GENERATOR, SPEC, "--tables"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
    getter, call, minor = line.split()
    ours.setdefault(getter, []).append((call, int(minor)))
known = set(re.findall(r"global:|\t(\w+);", subprocess.run(["cat", os.path.join(os.path.abspath(sys.argv[1]), "api/levelzero.map")],
                                                           stdout=subprocess.PIPE, text=True, check=True).stdout))
with open(os.path.join(INCLUDE, "level_zero/ze_api.h"), encoding="utf-8") as f:
    minor = int(re.search(r"ZE_API_VERSION_CURRENT = ZE_MAKE_VERSION\( 1, (\d+) \)", f.read())[1])
tables = 0
for header in headers:
    with open(header, encoding="utf-8") as f:
        text = f.read()
    for kind, body, getter in re.findall(r"typedef struct _(\w+)_dditable_t\s*\{(.*?)\}.*?^(ze\w+ProcAddrTable)\(", text, re.S | re.M):
        theirs = [m[3:] for m in re.findall(r"ze[st]?_pfn\w+_t\s+(pfn\w+);", body)]
        mine = [re.sub(r"^ze[st]?", "", c) for c, since in ours.get(getter, []) if since <= min(minor, 13)]
        stem = re.sub(r"^ze[st]?Get|(Exp)?ProcAddrTable$", "", getter)
        mine = [m if stem == "Global" else m.removeprefix(stem) for m in mine]
        tables += 1
        if getter not in known:
            ok(False, f"{getter} is known")
        elif mine:
            same(theirs[:len(mine)] if header.endswith("zes_ddi.h") or minor > 13 else theirs, mine, f"{getter}: the calls, in the table's order")
ok(tables > 30, "all tables of the headers were compared", tables)

# Every value and every offset that is ours: printed by a program with our header, and by one with theirs.
with open(os.path.join(ROOT, "src/levelzero/ze_types.h"), encoding="utf-8") as f:
    types = f.read()
structs = {n: re.findall(r"^\t[\w ]+[ *](\w+)(?:\[\w+\])?;", body, re.M)
           for body, n in re.findall(r"^typedef struct \w+ \{\n(.*?)^\} (\w+);", types, re.S | re.M)}
with open(os.path.join(INCLUDE, "level_zero/ze_api.h"), encoding="utf-8") as f:
    theirs = f.read()
with open(os.path.join(INCLUDE, "level_zero/zes_api.h"), encoding="utf-8") as f:
    theirs += f.read()
values = [v for v in re.findall(r"^\t(ZES?_\w+) = ", types, re.M) if re.search(rf"\b{v}\b", theirs)]
lines = [f'printf("{v} %d\\n", (int){v});' for v in values]
compared = [n for n in structs if re.search(rf"\}} {n};", theirs)]
for n in compared:
    lines.append(f'printf("{n} %zu\\n", sizeof({n}));')
    lines += [f'printf("{n}.{m} %zu\\n", offsetof({n}, {m}));' for m in structs[n]]
said = []
with tempfile.TemporaryDirectory() as folder:
    for name, include, path in (("ours", '#include "levelzero/ze_types.h"', os.path.join(ROOT, "src")),
                                ("theirs", "#include <level_zero/zes_api.h>", INCLUDE)):
        with open(os.path.join(folder, name + ".c"), "w", encoding="utf-8") as f:
            f.write("#include <stdio.h>\n#include <stddef.h>\n" + include + "\nint main(void)\n{\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
        program = os.path.join(folder, name)
        subprocess.run(["cc", "-w", "-I", path, "-o", program, program + ".c"], check=True)
        said.append(subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout)
same(said[0], said[1], f"{len(values)} values and {len(compared)} structures are theirs")
ok(len(values) > 25 and len(compared) > 15, "and none was left out for want of a name", len(values), len(compared))
finish()
