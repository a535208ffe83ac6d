#!/usr/bin/env python3
"""Builds every program with nvcc and runs it on the software device: nvcc.py BUILD_ROOT [NAME...].

A program over the driver API is built by the C compiler around the PTX that nvcc makes of it. What was built is kept
beside the build and made again only when a source or the compiler changed.

All of them with METE_TEST_LONG or by name. Else those that have no committed PTX, and one for each thing that nvcc registers
with the runtime; the others run from the PTX that nvcc makes of them (tests/programs/meson.build; `ptx --check` compares it).
"""
import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import names

build, here = sys.argv[1], names.here
# Kernels alone, variables, managed ones, textures, functions by pointer, print, cooperative launches, the driver's own calls.
KINDS = ["atomics", "copies", "managed", "textures", "calls", "output", "grid", "modules"]
cc = os.environ.get("CC", "cc")
keep = os.path.join(build, "tests", "programs", "nvcc")
sys.path.insert(0, here)


def text(path):
    with open(path, "rb") as f:
        return f.read()


def load_ptx():
    """tests/programs/ptx as a module: it knows the compiler and the targets."""
    import importlib.machinery
    import importlib.util
    loader = importlib.machinery.SourceFileLoader("ptx", os.path.join(here, "ptx"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("ptx", loader))
    loader.exec_module(module)
    return module


ptx = load_ptx()


def made(name):
    """The program's path."""
    source = os.path.join(here, name + ".cu")
    arch = ptx.target(source)
    driver = b"PROGRAM_DRIVER" in text(source)
    key = hashlib.sha256(b"".join([text(source), text(os.path.join(here, "program.h")), text(__file__), ptx.nvcc.encode(), ptx.compiler().encode()]))
    program = os.path.join(keep, f"{name}-{key.hexdigest()[:16]}")
    if os.path.exists(program):
        return program
    libraries = [f"{build}/examples/driver/libcuda.so", f"{build}/src/runtime/libcudart.so.13", "-lpthread", "-lm"]
    if driver:
        stem = os.path.join(keep, name)
        compiled = ptx.compile_ptx(source, keep, ptx.compiler())  # by way of the same file
        with open(stem + ".ptx", "w", encoding="utf-8") as f:
            f.write(compiled)
        subprocess.run([sys.executable, "-B", os.path.join(here, "stubs.py"), source, stem + ".ptx", stem + ".c", stem + "_stubs.h"], check=True)
        command = [cc, "-std=gnu11", "-O1", "-D_GNU_SOURCE", f"-I{keep}", f"-I{here}", f"-I{build}/api/include", "-o", program, stem + ".c", *libraries]
    else:
        command = [ptx.nvcc, "-O1", "-cudart", "shared", f"-gencode=arch=compute_{arch},code=compute_{arch}", "-o", program, source,
                   "-D_GNU_SOURCE", libraries[0], "-lpthread", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return program


def ran(name, scratch):
    try:
        program = made(name)
    except RuntimeError as words:
        return "not ok", f"{name} is not built", str(words)
    env = {**os.environ, "LD_LIBRARY_PATH": f"{build}/src/runtime:{build}/src/softdev", "METE_SOFT_DEVICES": "2",
           "METE_SOFT_DIR": os.path.join(scratch, name)}
    try:
        done = subprocess.run([program], capture_output=True, text=True, env=env, timeout=60)
    except subprocess.TimeoutExpired:
        return "not ok", f"{name} does not end", ""
    if done.returncode == 77:
        return "ok", f"{name} # SKIP {done.stdout.strip().removeprefix('1..0 # SKIP ')}", ""
    return "not ok" if done.returncode else "ok", name, (done.stdout + done.stderr) if done.returncode else ""


def main():
    import tempfile
    if not ptx.nvcc:
        print("1..0 # SKIP no nvcc on this machine")
        return 0
    os.makedirs(keep, exist_ok=True)
    every, committed = names.names(every=True), names.names()
    wanted = sys.argv[2:] or [n for n in every if n in KINDS or n not in committed or os.environ.get("METE_TEST_LONG")]
    print(f"1..{len(wanted)}", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        for number, (word, label, output) in enumerate(pool.map(lambda n: ran(n, scratch), wanted), 1):
            failed += word != "ok"
            print(f"{word} {number} - {label}\n" + "".join(f"# {l}\n" for l in output.splitlines()[:30]), end="", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
