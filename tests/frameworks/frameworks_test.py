#!/usr/bin/env python3
"""
Frameworks as they come from their package index, on the software device, with nothing set: frameworks_test.py BUILD_ROOT

METE_FRAMEWORKS names the folder that fetch.py filled; what is not in it is skipped and counted. Each program of
examples/frameworks compares its results with the processor's and says PASS; it runs without a grant, under a quota,
behind a wall and over the network (a server on the software device, on loopback, with TLS); nothing may be left charged. At the points
where a program says HELD, its account is what the device itself counts, to the byte. Some run at other compute capabilities than the default too. A name in METE_FRAMEWORKS_ONLY (numba,triton) leaves the others away.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

build = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))
cache = os.environ.get("METE_FRAMEWORKS", "")
only = os.environ.get("METE_FRAMEWORKS_ONLY", "").split(",")
METE = os.path.join(build, "src/cli/mete")
WAYS = {"alone": ["soft", "run", "--"], "under a quota": ["run", "--soft", "--mem", "MEMORY", "--"],
        "behind a wall": ["run", "--soft", "--wall", "--mem", "MEMORY", "--"]}

with open(os.path.join(here, "packages.json"), encoding="utf-8") as packages:
    known = {n: v for n, v in json.load(packages).items() if only == [""] or n in only}
if not cache:
    print("1..0 # SKIP set METE_FRAMEWORKS to the folder that tests/frameworks/fetch.py filled")
    sys.exit(0)

count = failed = 0
tmp = tempfile.mkdtemp(prefix="mete-fw-")
env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "TRITON_", "CUDA_", "NUMBA_", "TORCH", "JAX_", "XLA_"))}
# Caches of compiled kernels are of this run alone.
env.update(HOME=tmp, TMPDIR=tmp, METE_RUNTIME_DIR=os.path.join(tmp, "run"), PYTHONDONTWRITEBYTECODE="1",
           METE_SOFT_DIR=os.path.join(tmp, "soft"))
os.mkdir(env["METE_RUNTIME_DIR"], 0o700)
os.mkdir(env["METE_SOFT_DIR"], 0o700)


def report(good, text, done=None):
    global count, failed
    count += 1
    failed += not good
    if not good and done:
        print("".join(f"# {line}\n" for line in (done.stdout + done.stderr).splitlines()[-20:]), end="")
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)


def held():
    """Grants that there still are: none when a program has ended, and behind a wall when its worker has."""
    for _ in range(300):
        done = subprocess.run([METE, "ps", "--json"], env=env, capture_output=True, text=True, timeout=60)
        grants = json.loads(done.stdout)["grants"] if done.returncode == 0 else []
        if not grants:
            return 0
        time.sleep(0.1)
    return len(grants)


def run(name, program, way, words):
    python = os.path.join(cache, name, "bin/python")
    command = [python, os.path.join(top, "examples/frameworks", program)]
    if "source" in known[name]:
        command = [os.path.join(tmp, os.path.splitext(program)[0])]
    says, least, most = known[name].get("says", {}).get(program, ["", 0, 0])
    words = [known[name].get("memory", "1G") if w == "MEMORY" else w for w in words]
    if "--wall" in words or "--remote" in words:
        least = 0  # the worker says it, in its own log
    if "source" not in known[name] and not os.path.exists(python):
        how = known[name].get("how", f"tests/frameworks/fetch.py {cache} {name}")
        return report(True, f"{name}: {program} {way} # SKIP not in {cache}: {how}")
    for tool in known[name].get("needs", ()):
        if not shutil.which(tool):
            return report(True, f"{name}: {program} {way} # SKIP no {tool} in PATH")
    if "source" in known[name] and not os.path.exists(command[0]) and not build_source(name, program, command[0]):
        return None
    try:
        done = subprocess.run([METE, *words, *command], env=env, capture_output=True, text=True, timeout=480)
    except subprocess.TimeoutExpired:
        return report(False, f"{name}: {program} {way} ends in time")
    own = [line for line in done.stderr.splitlines() if line.startswith("mete:")]
    report(done.returncode == 0 and done.stdout.splitlines()[-1:] == ["PASS"] and
           all(says and re.search(says, line) for line in own) and least <= len(own) <= most,
           f"{name}: {program} {way}, and mete says {'nothing' if not most else 'what it has to'}", done)
    if "soft" != words[0]:
        report(not held(), f"{name}: {program} {way} leaves nothing behind")


def build_source(name, program, path):
    """By nvcc, as the program's head says: with a shared runtime, and PTX. Libraries are NVIDIA's; mete's stand in when it runs."""
    toolkit = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc"))))
    done = subprocess.run(["nvcc", "-std=c++17", "-cudart", "shared", "-O1", *known[name]["source"], "-L", os.path.join(toolkit, "lib64/stubs"),
                           "-o", path, os.path.join(top, "examples/frameworks", program), "-lcublas", "-lcublasLt", "-lnvrtc", "-lcuda"],
                          env=env, capture_output=True, text=True, timeout=900)
    if done.returncode:
        report(False, f"{name}: {program} is built", done)
    return not done.returncode


def device_used():
    """What the first software device counts, by its own NVML; nobody's quota is in it."""
    code = ("import ctypes, sys\n"
            "class M(ctypes.Structure):\n _fields_ = [(n, ctypes.c_ulonglong) for n in ('total', 'free', 'used')]\n"
            "l = ctypes.CDLL(sys.argv[1]); d = ctypes.c_void_p(); m = M()\n"
            "assert not l.nvmlInit_v2() and not l.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(d))\n"
            "assert not l.nvmlDeviceGetMemoryInfo(d, ctypes.byref(m)); print(m.used)\n")
    done = subprocess.run([sys.executable, "-c", code, os.path.join(build, "src/softdev/libnvidia-ml.so.1")], env=env, capture_output=True,
                          text=True, timeout=60)
    return int(done.stdout)


def run_counted(name, program):
    """At each HELD: what the account holds, and has held at most so far, is the device's own count."""
    python = os.path.join(cache, name, "bin/python")
    if not os.path.exists(python):
        return report(True, f"{name}: {program} is counted # SKIP not in {cache}: tests/frameworks/fetch.py {cache} {name}")
    words = [METE, "run", "--soft", "--mem", "200M", "--", python, os.path.join(top, "examples/frameworks", program)]
    process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    most, last = 0, ""
    for line in process.stdout:
        last = line.strip()
        if not last.startswith("HELD "):
            continue
        used = device_used()
        grant = json.loads(subprocess.run([METE, "ps", "--json"], env=env, capture_output=True, text=True).stdout)["grants"][0]["devices"][0]
        _, least, what = last.split(" ", 2)
        most = max(most, used)
        report(grant["held_bytes"] == used and used >= int(least) and (what != "nothing" or used < 1 << 20),
               f"{name}: {program} with {what}: the account is the device's count")
        if what.startswith("until"):
            report(grant["peak_bytes"] == used and 176 << 20 <= used <= 200 << 20, f"{name}: {program} {what}: the peak is the device's count, and within")
        print(f"# account {grant['held_bytes']}, peak {grant['peak_bytes']}, device {used}")
        process.stdin.write("\n")
        process.stdin.flush()
    errors = process.stderr.read()
    done = subprocess.CompletedProcess(words, process.wait(timeout=60), last, errors)
    report(done.returncode == 0 and last == "PASS" and not errors, f"{name}: {program} goes on after it, and nothing is said", done)
    return report(not held(), f"{name}: {program} leaves nothing behind")


def run_together(name, program):
    """Two tenants at once, each under its own quota: both are right, and nothing is left behind."""
    python = os.path.join(cache, name, "bin/python")
    if not os.path.exists(python):
        return report(True, f"{name}: {program} twice at once # SKIP not in {cache}: tests/frameworks/fetch.py {cache} {name}")
    words = [METE, "run", "--soft", "--mem", known[name].get("memory", "1G"), "--", python, os.path.join(top, "examples/frameworks", program)]
    both = [subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    done = [subprocess.CompletedProcess(words, p.returncode, *said) for p, said in [(p, p.communicate(timeout=480)) for p in both]]
    report(all(d.returncode == 0 and d.stdout.splitlines()[-1:] == ["PASS"] for d in done), f"{name}: {program} twice at once, both right",
           next((d for d in done if d.returncode), done[0]))
    return report(not held(), f"{name}: {program} twice at once leaves nothing behind")


def serve():
    """A server; the way to it is one more way. Value: its process."""
    keys = os.path.join(tmp, "keys")
    subprocess.run([METE, "key", "new", "tester", "--keys", keys], env=env, stdout=subprocess.DEVNULL, check=True)
    process = subprocess.Popen([METE, "serve", "--soft", "--mem", "1G", "--keys", keys, "--listen", "127.0.0.1:0", "--json"], env=env,
                               stdout=subprocess.PIPE, text=True)
    address = json.loads(process.stdout.readline())["listen"][0]
    WAYS["over the network"] = ["run", "--remote", address, "--key", os.path.join(keys, "tester.key"), "--"]
    return process


def end_meted():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
            if words[0].endswith(b"meted") and env["METE_RUNTIME_DIR"].encode() in words:
                os.kill(int(pid), 15)
        except OSError:
            pass


server = serve()
try:
    for framework, about in known.items():
        for example in about["programs"]:
            for manner, arguments in WAYS.items():
                run(framework, example, manner, arguments)
            for capability in about.get("capabilities", {}).get(example, []):
                run(framework, example, f"at compute capability {capability}", ["soft", "run", "--cc", capability, "--"])
        for example in about.get("counted", []):
            run_counted(framework, example)
        for example in about["programs"]:
            if about.get("together"):
                run_together(framework, example)
finally:
    server.terminate()
    server.communicate(timeout=30)
    end_meted()
    shutil.rmtree(tmp, ignore_errors=True)
print(f"1..{count}")
sys.exit(1 if failed else 0)
