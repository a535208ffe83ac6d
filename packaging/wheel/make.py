#!/usr/bin/env python3
"""
Makes a Python wheel of the bundle: make.py BUILD_ROOT VERSION

    meson compile -C BUILD wheel        # makes the bundle as well; mete-VERSION-py3-none-manylinux_X_Y_MACHINE.whl in BUILD
    pip install ./mete-....whl          # mete and meted into the environment's bin/, the rest into its lib/ and libexec/

The wheel holds the bundle's programs as they are; nothing is built on the user's side, and no Python code is needed to run
them. Its tag says which glibc it needs: the newest symbol version that any file in it asks for, looked up here.
"""
import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

build, version = sys.argv[1:3]
machine = platform.machine()
bundle = os.path.join(build, f"mete-{version}-{machine}.tar.gz")
# What the wheel takes, and where an environment gets it.
PARTS = {"bin": "scripts", "lib": "data/lib", "libexec": "data/libexec", "share/man": "data/share/man"}
STAMP = (1980, 1, 1, 0, 0, 0)

INIT = '''"""mete: exact shares of a GPU, and a software device. The program is `mete`; see `mete --help`."""
import os
import sysconfig

__version__ = "@VERSION@"


def program(name="mete"):
    """The path of a program of this package."""
    for scheme in (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")):
        path = os.path.join(sysconfig.get_path("scripts", scheme), name)
        if os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(f"{name} is not in the scripts folder of this Python; install the wheel again")
'''
MAIN = '''"""python -m mete: the same as mete."""
import os
import sys

from . import program

os.execv(program(), ["mete", *sys.argv[1:]])
'''
METADATA = f"""Metadata-Version: 2.1
Name: mete
Version: {version}
Summary: Exact shares of a GPU's memory and time, and a software device to test CUDA programs without a GPU
License: Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

`mete soft run pytest` runs the tests of CUDA code where there is no GPU; `mete run --soft --mem 4G python train.py` runs a
program under a memory limit that is exact to the byte.
"""


def newest_glibc(top):
    newest = (2, 17)
    for folder, _, names in os.walk(top):
        for n in names:
            path = os.path.join(folder, n)
            with open(path, "rb") as f:
                if f.read(4) != b"\x7fELF":
                    continue
            symbols = subprocess.run(["objdump", "-T", path], stdout=subprocess.PIPE, check=True).stdout.decode()
            for major, minor in re.findall(r"\*UND\*.*GLIBC_(\d+)\.(\d+)", symbols):
                newest = max(newest, (int(major), int(minor)))
    return newest


def unpack(folder):
    with tarfile.open(bundle) as tar:
        tar.extractall(folder, filter="tar")
    return os.path.join(folder, f"mete-{version}-{machine}")


def wanted(top):
    """(path on this machine, path below the bundle): a wheel holds no links, so each file stands there once, under the name
    that programs ask for."""
    targets = set()
    links = {}
    for part in PARTS:
        for folder, _, names in os.walk(os.path.join(top, part)):
            for n in sorted(names):
                path = os.path.join(folder, n)
                if os.path.islink(path):
                    real = os.path.realpath(path)
                    # libcuda.so.1 and not libcuda.so, which only a linker asks for.
                    if re.search(r"\.so\.[\d.]+$", n) or not n.endswith(".so"):
                        links[path] = real
                        if os.path.dirname(real) == folder:
                            targets.add(real)
    for part in PARTS:
        for folder, _, names in os.walk(os.path.join(top, part)):
            for n in sorted(names):
                path = os.path.join(folder, n)
                if path in targets or (os.path.islink(path) and path not in links):
                    continue
                yield links.get(path, path), os.path.relpath(path, top)


def place(short, data):
    for part, to in PARTS.items():
        if short.startswith(part + "/"):
            return f"{data}/{to}/{short[len(part) + 1:]}"
    raise ValueError(short)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        top = unpack(scratch)
        tag = "py3-none-manylinux_{}_{}_{}".format(*newest_glibc(top), machine)
        info, data = f"mete-{version}.dist-info", f"mete-{version}.data"
        target = os.path.join(build, f"mete-{version}-{tag}.whl")
        record = []
        with zipfile.ZipFile(target + ".new", "w", zipfile.ZIP_DEFLATED) as wheel:
            def add(name, content, mode=0o644):
                entry = zipfile.ZipInfo(name, STAMP)
                entry.external_attr = (0o100000 | mode) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                wheel.writestr(entry, content)
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                record.append(f"{name},sha256={digest},{len(content)}")

            add("mete/__init__.py", INIT.replace("@VERSION@", version).encode())
            add("mete/__main__.py", MAIN.encode())
            for path, short in sorted(wanted(top)):
                with open(path, "rb") as f:
                    add(place(short, data), f.read(), 0o755 if os.access(path, os.X_OK) else 0o644)
            with open(os.path.join(top, "LICENSE"), "rb") as f:
                add(f"{info}/LICENSE", f.read())
            add(f"{info}/METADATA", METADATA.encode())
            add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: mete\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
            record.append(f"{info}/RECORD,,")
            wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", STAMP), "\n".join(record) + "\n")
        os.replace(target + ".new", target)
        print(f"{target}: {os.path.getsize(target) / 1e6:.1f} MB")


if not os.path.exists(bundle):
    raise SystemExit(f"wheel: {bundle} is not there; meson compile -C BUILD wheel makes it first")
main()
