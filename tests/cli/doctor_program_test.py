#!/usr/bin/env python3
"""`mete doctor --program` and `mete doctor -- COMMAND`: doctor_program_test.py BUILD_ROOT"""
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

build = os.path.abspath(sys.argv[1])
METE = os.path.join(build, "src/cli/mete")
PARTS = os.path.join(build, "tests/cli")
env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "CUDA_", "LD_"))}
count = failed = 0


def ok(good, what, *shown):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)
    for s in shown if not good else ():
        print("".join(f"#   {line}\n" for line in str(s).splitlines()[:30]), end="", flush=True)


def doctor(*words, seconds=60, **more):
    return subprocess.run([METE, "doctor", *words], env={**env, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=seconds, check=False)


def report(*words, **more):
    done = doctor("--json", *words, **more)
    try:
        return json.loads(done.stdout)["program"]
    except (ValueError, KeyError):
        ok(False, f"{words} gives a report", done.stdout, done.stderr)
        return {"files": [], "missing": [], "ways": {w: {"grade": "", "reasons": []} for w in ("local", "soft", "wall", "remote")},
                "cuda": None, "observed": None}


def part(name):
    return os.path.join(PARTS, f"libanatomy-{name}.so")


def grades(r):
    return {w: v["grade"] for w, v in r["ways"].items()}


def reasons(r, way):
    return "\n".join(x["text"] for x in r["ways"][way]["reasons"])


def kernels(r, name):
    for f in r["files"]:
        if os.path.basename(f["path"]) == name:
            return sorted((k["kind"], k["arch"], k["only"], k["count"]) for k in f["kernels"])
    return None


def libraries():
    r = report("--program", part("ptx"))
    ok(kernels(r, "libanatomy-ptx.so") == [("ptx", 75, "", 2)], "PTX of two images is counted", r)
    ok(grades(r) == dict.fromkeys(("local", "soft", "wall", "remote"), "works"), "a library with PTX works everywhere", r)
    ok(r["files"][0]["runtime"] == "none" and not r["observed"], "no runtime is in it, and nothing of it ran", r)
    r = report("--program", part("machine"))
    ok(kernels(r, "libanatomy-machine.so") == [("machine code", 80, "", 2), ("machine code", 90, "this", 2)],
       "machine code for sm_80 and sm_90a", r)
    ok(grades(r) == {"local": "works", "soft": "fails", "wall": "works", "remote": "works"},
       "machine code alone fails on the software device and nowhere else", r)
    ok("holds no PTX (machine code sm_80, sm_90a)" in reasons(r, "soft") and "mete soft cc" in reasons(r, "soft"),
       "the reason names what is in it and the remedy", reasons(r, "soft"))
    r = report("--program", part("both"), METE_SOFT_CC="7.5")
    ok(grades(r)["soft"] == "fails" and "set METE_SOFT_CC=9.0" in reasons(r, "soft"),
       "PTX for a newer device than the one that is configured", r)
    ok(grades(report("--program", part("both"), METE_SOFT_CC="9.0"))["soft"] == "works", "and for one that takes it")
    r = report("--program", part("static"))
    ok(grades(r) == {"local": "works", "soft": "fails", "wall": "fails", "remote": "fails"},
       "NVIDIA's runtime inside: fails wherever the driver is not NVIDIA's", r)
    ok(r["files"][0]["runtime"] == "static" and "mete soft cc" in reasons(r, "wall"), "and it says so with the remedy", r)
    done = doctor("--program", part("both"))
    ok(done.returncode == 0 and "PTX compute_90; machine code sm_80, sm_90a" in done.stdout and not done.stderr,
       "the same for people", done.stdout, done.stderr)


def programs():
    r = report("--program", os.path.join(PARTS, "anatomy_program"))
    ok(kernels(r, "libanatomy-both.so") == [("machine code", 80, "", 2), ("machine code", 90, "this", 2), ("ptx", 90, "", 2)],
       "libraries are found by their search path, and looked into", r)
    calls = next((f["calls"] for f in r["files"] if f["path"].endswith("anatomy_program")), [])
    ok(calls == ["cuGraphicsUnregisterResource", "cuInit"] or set(calls) >= {"cuInit"}, "the calls that it imports", calls)
    ok("cuGraphicsUnregisterResource" in reasons(r, "soft") and "cuInit" not in reasons(r, "soft"),
       "the call that the software device does not have is named, and no other", r)
    r = report("--", os.path.join(PARTS, "anatomy_program"), "--some", "argument")
    ok(not r["observed"] and r["cuda"], "a command whose files say it all is not run", r)
    r = report("--program", sys.executable)
    ok(r["cuda"] is False and grades(r)["soft"] == "works", "a program without CUDA", r)
    ok("nothing in it uses CUDA" in doctor("--program", sys.executable).stdout, "and it says so")
    with tempfile.TemporaryDirectory() as folder:
        alone = os.path.join(folder, "program")
        shutil.copy(os.path.join(PARTS, "anatomy_program"), alone)
        r = report("--program", alone)
        lacks = [m for m in r["missing"] if m.startswith("libanatomy")]
        ok(lacks and grades(r)["local"] == "fails" and lacks[0] in reasons(r, "soft"), "a library that is not found", r)
        for version, brought in (("13", True), ("12", True), ("11", False)):
            with open(os.path.join(PARTS, "anatomy_program"), "rb") as f:
                program = f.read().replace(b"libanatomy-both.so\0", f"libcublas.so.{version}".encode().ljust(19, b"\0"))
            with open(alone, "wb") as f:
                f.write(program)
            r = report("--program", alone)
            name = f"libcublas.so.{version} is not found"
            there = not any(m.startswith("libcublas") for m in r["missing"])
            ok(there or (name in reasons(r, "local") and all((name in reasons(r, way)) != brought for way in ("soft", "wall", "remote"))),
               f"cuBLAS {version} that is not there: mete {'brings it' if brought else 'has none'}", r)


def closed():
    """Libraries of others, which nobody here can build anew: no word says so, and what runs is not said to fail."""
    with tempfile.TemporaryDirectory() as folder:
        load = "import ctypes; [ctypes.CDLL(p) for p in {!r}]"

        def judged(name, content):
            path = os.path.join(folder, name)
            shutil.copy(part(content), path)
            return report("--", sys.executable, "-c", load.format([path]))

        r = judged("libother.so.1", "static")
        text = reasons(r, "soft")
        ok("where its source is at hand" in text and "the rest works" in text and grades(r)["soft"] == "partly",
           "NVIDIA's runtime in a library: what can be done with it", text)
        r = judged("libother.so.1", "machine")
        ok("where its source is at hand" in reasons(r, "soft"), "machine code in a library likewise", reasons(r, "soft"))
        for name in ("libcufile.so.0", "libnvshmem_host.so.3"):
            text = reasons(judged(name, "static"), "soft")
            ok("accepts NVIDIA's driver only: what uses it fails" in text and "soft cc" not in text, f"{name} is nobody's to build", text)
        for name in ("libcufft.so.12", "libcudnn.so.9", "libcusolver.so.12", "libnccl.so.2"):
            r = judged(name, "machine")
            text = reasons(r, "soft")
            ok("products of matrices" not in text and "docs/libraries.md" in text and grades(r)["soft"] == "works",
               f"{name}: mete's own, and what it has", text)


def commands():
    load = f"import ctypes; ctypes.CDLL({part('machine')!r}); print('loaded')"
    done = doctor("--json", "--", sys.executable, "-c", load)
    r = json.loads(done.stdout)["program"]
    ok(r["observed"] and kernels(r, "libanatomy-machine.so"), "what a script loads is seen", r)
    ok("loaded" in done.stderr and "loaded" not in done.stdout, "its output is on standard error", done.stderr)
    ok(grades(r)["soft"] == "partly" and "libanatomy-machine.so holds no PTX" in reasons(r, "soft"), "and judged", r)
    ok(not any(f["path"].startswith(os.path.join(build, "src")) for f in r["files"]), "mete's own libraries are not shown", r)
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {load!r}])"
    ok(kernels(report("--", sys.executable, "-c", child), "libanatomy-machine.so"), "also what its children load")
    began = time.monotonic()
    done = doctor("--seconds", "1", "--", sys.executable, "-c", "import time; time.sleep(600)")
    ok(done.returncode == 0 and "ended after 1 s" in done.stdout and time.monotonic() - began < 50, "a command without an end",
       done.stdout, done.stderr)
    done = doctor("--", sys.executable, "-c", "raise SystemExit(3)")
    ok(done.returncode == 0 and "it failed" in done.stdout, "one that fails is said to", done.stdout)
    left = [n for n in os.listdir("/tmp") if n.startswith("mete-doctor-") and os.stat("/tmp/" + n).st_uid == os.getuid()]
    ok(not left or all(time.time() - os.stat("/tmp/" + n).st_mtime > 60 for n in left), "nothing is left in /tmp", left)


def one_line(what, words, code=1, text="", **more):
    began = time.monotonic()
    done = doctor(*words, **more)
    lines = done.stderr.splitlines()
    ok(done.returncode == code and len(lines) == 1 and lines[0].startswith("mete: ") and text in lines[0] and not done.stdout,
       f"{what}: one line", done.returncode, done.stderr, done.stdout)
    ok(time.monotonic() - began < 30, f"{what}: at once")


def bad_input(folder):
    script, fifo, cut, large = (os.path.join(folder, n) for n in ("script", "fifo", "cut", "large"))
    with open(script, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nexit 0\n")
    os.chmod(script, 0o755)
    os.mkfifo(fifo, 0o755)
    one_line("a script", ("--program", script), text="mete doctor -- ")
    one_line("a missing file", ("--program", os.path.join(folder, "none")), text="No such file")
    one_line("a folder", ("--program", folder), text="not a regular file")
    one_line("a FIFO", ("--program", fifo), text="not a regular file")
    one_line("an empty file", ("--program", "/dev/null"), text="not a regular file")
    one_line("a command that is not there", ("--", os.path.join(folder, "none")), text="no such program")
    one_line("a command that is a FIFO", ("--", fifo))
    one_line("both", ("--program", script, "--", script), code=2, text="give one of them")
    one_line("seconds that are none", ("--seconds", "x", "--", script), code=2, text="--seconds")
    with open(part("both"), "rb") as f:
        whole = f.read()
    crashed = []
    for size in [*range(0, 200, 16), *range(200, len(whole), max(1, len(whole) // 40))]:
        with open(cut, "wb") as f:
            f.write(whole[:size])
        done = doctor("--program", cut)
        if done.returncode not in (0, 1) or (done.returncode and len(done.stderr.splitlines()) != 1):
            crashed.append((size, done.returncode, done.stderr))
    ok(not crashed, "an ELF file that is cut off anywhere: a report or one line", crashed[:3])
    with open(cut, "wb") as f:
        f.write(whole[:len(whole) // 2])
    one_line("half an ELF file", ("--program", cut), text="damaged")
    # Headers that promise what is not there: every field of the file's and of the sections' headers in turn.
    wild = []
    begin = int.from_bytes(whole[40:48], "little")
    for at in [*range(16, 64, 8), *range(begin, min(len(whole), begin + 64 * 12), 8)]:
        with open(cut, "wb") as f:
            f.write(whole[:at] + b"\xff" * 8 + whole[at + 8:])
        done = doctor("--program", cut)
        if done.returncode not in (0, 1):
            wild.append((at, done.returncode, done.stderr))
    ok(not wild, "headers that cannot be: a report or one line", wild[:3])
    shutil.copy(part("both"), large)
    with open(large, "r+b") as f:
        f.truncate(2 << 30)
    began = time.monotonic()
    r = report("--program", large)
    ok(kernels(r, "large") and time.monotonic() - began < 20, "a library of 2 GiB", r)
    if os.getuid() == 0:
        shutil.copy(shutil.which("true"), cut)
        os.chown(cut, 12345, 12345)
        os.chmod(cut, 0o4755)
        one_line("a command that gains privileges", ("--", cut), text="gains privileges")
        shutil.copy(os.path.join(PARTS, "anatomy_program"), cut)
        os.chown(cut, 12345, 12345)
        os.chmod(cut, 0o4755)
        r = report("--program", cut)
        ok(grades(r)["soft"] == "fails" and re.search("setuid|privileges", reasons(r, "soft")), "a setuid program is read, and its "
           "fate told", r)
    ok(stat.S_ISFIFO(os.stat(fifo).st_mode), "the FIFO is as it was")


libraries()
programs()
closed()
commands()
with tempfile.TemporaryDirectory() as scratch:
    bad_input(scratch)
print(f"1..{count}")
sys.exit(1 if failed else 0)
