#!/usr/bin/env python3
"""
What our libraries show and what they need: symbols.py BUILD_ROOT.

The driver libraries, the shim's and the software device's, export the names of the spec and nothing else; the shim's
need libc alone. None of them needs anything that is younger than glibc 2.17: they go into containers' images.
"""
import os
import re
import subprocess
import sys
import tomllib

build = sys.argv[1]
source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
count = failed = 0


def check(good, text, details=()):
    global count, failed
    count += 1
    failed += not good
    for d in list(details)[:20]:
        print("#", d)
    where = "" if good else ": " + ", ".join(str(d) for d in list(details)[:5])
    print(f"{'' if good else 'not '}ok {count} - {text}{where}")


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def names_in_table(header, prefix):
    """The members of a generated call table, in other words the names of the spec."""
    path = next((os.path.join(d, header) for d, _, names in os.walk(build) if header in names), None)
    if path is None:
        return None
    with open(path, encoding="utf-8") as f:
        return set(re.findall(r"\(\*(%s\w+)\)\(" % prefix, f.read()))


def exports(library):
    lines = run("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.split()[-2] != "A"}


def versions(library):
    found = re.findall(r"\(?GLIBC_(\d+)\.(\d+)(?:\.\d+)?\)?\s+(\S+)", run("objdump", "-T", library))
    return [(int(a), int(b), name) for a, b, name in found]


def misplaced(library):
    """
    Functions of libdl and libpthread that are not asked for there: a loader before glibc 2.30 does not find them. And
    pthread_atfork(), which no library has for others.
    """
    homes, wanted = {}, set(re.findall(r"\*UND\*.*\s(dlopen|dlsym|pthread_create|pthread_once|pthread_setspecific)$",
                                       run("objdump", "-T", library), re.M))
    for name in wanted:
        homes["libdl.so.2" if name.startswith("dl") else "libpthread.so.0"] = name
    files = re.findall(r"File: (\S+)", run("readelf", "-VW", library))
    atfork = re.findall(r"\*UND\*.*\s(pthread_atfork)$", run("objdump", "-T", library), re.M)
    return [f"{name} of {home}" for home, name in homes.items() if home not in files] + atfork


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library))


LIBC = re.compile(r"^(libc\.so\.6|ld-linux[-\w]*\.so\.\d|libpthread\.so\.0|libdl\.so\.2|libm\.so\.6|librt\.so\.1)$")

CORE = "libmete-core.so"
faces = [os.path.join(build, "src/shim", n) for n in ("libcuda.so.1", "libmete-opencl.so", "libmete-vulkan.so", "libmete-hip.so", "libmete-ascend.so",
                                                       "libmete-cambricon.so", "libmete-levelzero.so")]
faces = [f for f in faces if os.path.exists(f)]

for folder, library, soname, header, prefix, newest in (
        ("src/shim", CORE, CORE, "no table", "mete_core_", (2, 17)),
        ("src/shim", "libcuda.so.1", "libcuda.so.1", "cuda_table.h", "cu", (2, 17)),
        *([("src/shim", "libmete-opencl.so", "libmete-opencl.so", "no table", "cl", (2, 17))] if any("opencl" in f for f in faces) else []),
        ("src/shim", "libmete-ascend.so", "libmete-ascend.so", "ascend_table.h", "(?:acl|rt)", (2, 17)),
        ("src/shim", "libmete-cambricon.so", "libmete-cambricon.so", "cambricon_table.h", "cn", (2, 17)),
        ("src/shim", "libmete-levelzero.so", "libmete-levelzero.so", "no table", "ze", (2, 17)),
        ("src/shim", "libnvidia-ml.so.1", "libnvidia-ml.so.1", "nvml_table.h", "nvml", (2, 17)),
        ("src/shim", "libmete-rm.so", "libmete-rm.so", "no table", "ioctl", (2, 17)),
        ("src/remote/client", "libcuda.so.1", "libcuda.so.1", "cuda_table.h", "cu", (2, 17)),
        ("src/softdev", "libcuda.so.1", "libcuda.so.1", "cuda_table.h", "cu", (2, 17)),
        ("src/softdev", "libnvidia-ml.so.1", "libnvidia-ml.so.1", "nvml_table.h", "nvml", (2, 17))):
    path = os.path.join(build, folder, library)
    if not os.path.exists(path):
        check(False, f"{folder}/{library} is there")
        continue
    # What the forwarded libraries and the NVML of the same way reach their worker by.
    found = exports(path) - ({"mete_remote_forward", "mete_remote_watch"} if folder == "src/remote/client" else set())
    wanted = names_in_table(header, prefix)
    if wanted:
        check(found == wanted, f"{folder}/{library} exports the {len(wanted)} names of the spec and nothing else",
              [f"missing {n}" for n in sorted(wanted - found)] + [f"not intended {n}" for n in sorted(found - wanted)])
    else:
        strange = sorted(n for n in found if not n.startswith(prefix))
        check(found and not strange, f"{folder}/{library} exports {prefix}... and nothing else ({len(found)})", strange)
    name = re.findall(r"\(SONAME\).*\[(.*)\]", run("readelf", "-d", path))
    check(name == [soname], f"{folder}/{library} is named {soname}", [] if name == [soname] else name)
    lost = misplaced(path)
    check(not lost, f"{folder}/{library} asks libdl and libpthread for what is theirs", lost)
    if newest:
        young = [f"{n} of {a}.{b}" for a, b, n in versions(path) if (a, b) > newest]
        check(not young, f"{folder}/{library} needs no symbol above glibc {newest[0]}.{newest[1]}", young)
        core = [CORE] if path in faces else []
        others = [n for n in needed(path) if not LIBC.match(n)]
        check(others == core, f"{folder}/{library} needs {'the core and ' if core else ''}libc alone", others)
    paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-d", path))
    # OpenCL's and Level Zero's are loaded from a folder below their own as well.
    own = ["$ORIGIN", "$ORIGIN/.."] if "opencl" in library or "levelzero" in library else ["$ORIGIN"] if path in faces else []
    check([f.rstrip("/") for p in paths for f in p.split(":")] == own, f"{folder}/{library} names {'its own' if own else 'no'} folder to search", paths)
    stack = re.search(r"GNU_STACK\s+\S+\s+\S+\s+\S+\s+\S+\s+\S+\s+(\w+)", run("readelf", "-lW", path))
    check(stack and "E" not in stack.group(1), f"{folder}/{library} asks for no executable stack")
# Faces of libraries that are CUDA or HIP under other names, and what shows the share in AMD's tools.
for library, prefix, core in (("libmete-musa.so", "mu", [CORE]), ("libmete-maca.so", ("mc", "__mc"), [CORE]), ("smi/libmete-amd-smi.so", "dlsym", [])):
    path = os.path.join(build, "src/shim", library)
    check(not [n for n in exports(path) if not n.startswith(prefix)], f"{library} exports {prefix}... and nothing else", exports(path))
    others = [n for n in needed(path) if not LIBC.match(n)]
    check(others == core, f"{library} needs {'the core and ' if core else ''}libc alone", others)
    lost = misplaced(path) + [f"{n} of {a}.{b}" for a, b, n in versions(path) if (a, b) > (2, 17)]
    check(not lost, f"{library} needs no symbol above glibc 2.17, and asks for each where it was then", lost)
# The core: what names.h lists, each of it for a face that uses it, under one version.
path = os.path.join(build, "src/shim", CORE)
with open(os.path.join(source, "src/core/names.h"), encoding="utf-8") as f:
    named = set(re.findall(r"^#define \w+ (mete_core_\w+)$", f.read(), re.M))
check(exports(path) == named, f"{CORE} exports the {len(named)} names of src/core/names.h", exports(path) ^ named)
used = {n.split("@")[0] for f in faces for n in re.findall(r" U (mete_core_\S+)", run("nm", "-D", f))}
with open(os.path.join(source, "src/remote/worker/own_account.c"), encoding="utf-8") as f:
    used |= set(re.findall(r'"(mete_core_\w+)"', f.read()))
check(used == named, "the faces, and a worker that looks for its own account, use all of them", used ^ named)
nodes = {line.split("@@")[1] for line in run("nm", "-D", "--defined-only", path).splitlines() if " A " not in line}
check(nodes == {"METE_CORE_1"}, "its symbols have the version METE_CORE_1", nodes)
# The runtime library: a version script names its exports, all under one version node; libc alone.
for soname, major in (("libcudart.so.11.0", 11), ("libcudart.so.12", 12), ("libcudart.so.13", 13)):
    path = os.path.join(build, "src/runtime", soname)
    with open(os.path.join(build, f"api/cudart{major}.map"), encoding="utf-8") as f:
        wanted = set(re.findall(r"^\t(\w+);", f.read(), re.M))
    # What the forwarded libraries and the NVML of the same way reach their worker by.
    found = exports(path) - ({"mete_remote_forward", "mete_remote_watch"} if folder == "src/remote/client" else set())
    check(found == wanted and len(found) > 390, f"{soname} exports the {len(wanted)} names of the spec and nothing else",
          [f"missing {n}" for n in sorted(wanted - found)] + [f"not intended {n}" for n in sorted(found - wanted)])
    nodes = {line.split("@@")[1] for line in run("nm", "-D", "--defined-only", path).splitlines() if " T " in line}
    check(nodes == {soname}, f"its symbols have the version {soname}", nodes - {soname})
    check(re.findall(r"\(SONAME\).*\[(.*)\]", run("readelf", "-d", path)) == [soname], f"it is named {soname}")
    others = [n for n in needed(path) if not LIBC.match(n)]
    check(not others, f"{soname} needs libc alone", others)
    young = [f"{n} of {a}.{b}" for a, b, n in versions(path) if (a, b) > (2, 17)]
    check(not young, f"{soname} needs no symbol above glibc 2.17", young)
    lost = misplaced(path)
    check(not lost, f"{soname} asks libdl and libpthread for what is theirs", lost)
# What LD_PRELOAD names: a name of its own would be every program's.
for folder in ("src/shim", "src/remote/client"):
    path = os.path.join(build, folder, "libmete-preload.so")
    check(not exports(path), f"{folder}/libmete-preload.so exports nothing", exports(path))
    young = [f"{n} of {a}.{b}" for a, b, n in versions(path) if (a, b) > (2, 17)]
    check(not young, f"{folder}/libmete-preload.so needs no symbol above glibc 2.17", young)
    others = [n for n in needed(path) if not LIBC.match(n)]
    check(not others, f"{folder}/libmete-preload.so needs libc alone", others)
# Forwarded libraries: everything that programs may ask for, under the version that they ask for; libc alone.
with open(os.path.join(source, "api/library-newer.toml"), "rb") as f:
    later = tomllib.load(f)
blas = names_in_table("cublas_table.h", "cublas") | {n for of in ("newer", "internal") for n in later[of]["cublasLt"]}
for soname in ("libcublas.so.12", "libcublas.so.13", "libcublasLt.so.12", "libcublasLt.so.13"):
    wanted = {n for n in blas if n.startswith("cublasLt") == soname.startswith("libcublasLt")}
    path = os.path.join(build, "src/libs/blas", soname)
    found = exports(path) - {"mete_blas_prepare"}
    check(found == wanted, f"{soname} of the software device exports the {len(wanted)} names of the spec and nothing else",
          [f"missing {n}" for n in sorted(wanted - found)] + [f"not intended {n}" for n in sorted(found - wanted)])
    nodes = {line.split("@@")[1] for line in run("nm", "-D", "--defined-only", path).splitlines() if " A " not in line}
    check(nodes == {soname}, f"its symbols have the version {soname}", nodes - {soname})
    path = os.path.join(build, "src/remote/client", soname)
    found = exports(path)
    check(found == wanted, f"{soname} exports the {len(wanted)} names of the spec and nothing else",
          [f"missing {n}" for n in sorted(wanted - found)] + [f"not intended {n}" for n in sorted(found - wanted)])
    nodes = {line.split("@@")[1] for line in run("nm", "-D", "--defined-only", path).splitlines() if " A " not in line}
    check(nodes == {soname}, f"its symbols have the version {soname}", nodes - {soname})
    check(re.findall(r"\(SONAME\).*\[(.*)\]", run("readelf", "-d", path)) == [soname], f"it is named {soname}")
    young = [f"{n} of {a}.{b}" for a, b, n in versions(path) if (a, b) > (2, 17)]
    check(not young, f"{soname} needs no symbol above glibc 2.17", young)
    others = [n for n in needed(path) if not LIBC.match(n)]
    check(not others, f"{soname} needs libc alone", others)
# libmete: what its header declares is what its version script names is what it exports.
path = next((os.path.join(build, "src/client", n) for n in ("libmete.so.0", "libmete.so.0.1.0")
             if os.path.exists(os.path.join(build, "src/client", n))), os.path.join(build, "src/client/libmete.so.0"))
with open(os.path.join(source, "include/mete/control.h"), encoding="utf-8") as f:
    declared = set(re.findall(r"^[a-z][^=;#]*?\b(mete_\w+)\(", f.read(), re.M))
with open(os.path.join(source, "src/client/libmete.map"), encoding="utf-8") as f:
    named = set(re.findall(r"^\t(mete_\w+);", f.read(), re.M))
check(declared == named, f"libmete: its header declares the {len(named)} names of its version script", declared ^ named)
check(exports(path) == named, "it exports these and nothing else", exports(path) ^ named)
check(re.findall(r"\(SONAME\).*\[(.*)\]", run("readelf", "-d", path)) == ["libmete.so.0"], "it is named libmete.so.0")
nodes = {line.split("@@")[1] for line in run("nm", "-D", "--defined-only", path).splitlines() if " T " in line}
check(nodes == {"METE_0"}, "its symbols have the version METE_0", nodes)
others = [n for n in needed(path) if not LIBC.match(n) and not n.startswith("libjansson.")]
check(not others, "libmete needs libc and jansson alone", others)
print(f"1..{count}")
sys.exit(1 if failed else 0)
