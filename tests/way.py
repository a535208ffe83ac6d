#!/usr/bin/env python3
"""
Runs one test program one way: way.py direct|shim [options] -- PROGRAM [ARGUMENT...]

  direct   on the software device: its folder stands first in the library path
  shim     under `mete run`, on the software device, with the memory of --grant

Each run has a software device and a runtime directory of its own, so tests run side by side. After the program has
ended, the device's pool must be full again and nothing of mete may still run; else the status is 1, and lines that
begin with "# way:" say why. Otherwise the status is the program's.
"""
import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def size(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def options():
    p = argparse.ArgumentParser()
    p.add_argument("way", choices=["direct", "shim"])
    p.add_argument("--build", required=True, help="the build directory")
    p.add_argument("--memory", default="1G,1G", help="memory of the software devices")
    p.add_argument("--grant", default="0=512M,1=256M", help="devices and their quotas, for the shim")
    p.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("program", nargs="+")
    return p.parse_args()


def probe(args, env):
    """UUID, total and free bytes of the software devices, asked without mete in between."""
    list_env = {k: v for k, v in env.items() if k not in ("LD_PRELOAD", "CUDA_VISIBLE_DEVICES")}
    list_env["LD_LIBRARY_PATH"] = os.path.join(args.build, "src/softdev")
    tool = os.path.join(args.build, "tests/behaviour/visible_test")
    out = subprocess.run([tool, "list"], env=list_env, stdout=subprocess.PIPE, check=True, timeout=60).stdout
    return [(u, int(total), int(free)) for u, total, _, free in (line.split() for line in out.decode().splitlines())]


def answers(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        s.connect(path)
    except OSError:
        return False
    finally:
        s.close()
    return True


def wait_for_end(path, seconds=15):
    """Whether the meted behind this socket ended in time."""
    end = time.monotonic() + seconds
    while answers(path):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def main():
    args = options()
    folder = tempfile.mkdtemp(prefix="mete-t-")
    runtime = os.path.join(folder, "run")
    os.mkdir(runtime, 0o700)
    env = dict(os.environ)
    for name in [n for n in env if n.startswith("METE_") and not n.startswith("METE_TEST_")]:
        del env[name]
    env.pop("CUDA_VISIBLE_DEVICES", None)
    env.update({
        "METE_SOFT_DIR": os.path.join(folder, "soft"),
        "METE_RUNTIME_DIR": runtime,
        "METE_SOFT_DEVICES": str(len(args.memory.split(","))),
        "METE_SOFT_MEMORY": args.memory,
        "METE_TEST_WAY": args.way,
    })
    env.update(e.split("=", 1) for e in args.env)
    bad = []
    try:
        devices = probe(args, env)
        env["METE_TEST_MACHINE"] = " ".join(f"{u}={total}" for u, total, _ in devices)
        if args.way == "direct":
            env["LD_LIBRARY_PATH"] = os.path.join(args.build, "src/softdev")
            command = args.program
        else:
            grant = [(int(d), size(q)) for d, q in (g.split("=") for g in args.grant.split(","))]
            env["METE_TEST_GRANT"] = " ".join(f"{devices[d][0]}={q}" for d, q in grant)
            env["METE_TEST_QUOTA"] = str(grant[0][1])
            command = [os.path.join(args.build, "src/cli/mete"), "run", "--soft"]
            for d, q in grant:
                command += ["--device", str(d), "--mem", str(q)]
            command += ["--"] + args.program
        status = subprocess.run(command, env=env).returncode
        if not wait_for_end(os.path.join(runtime, "control.sock")):
            bad.append("meted still runs 15 s after its last tenant ended")
        own = size(env.get("METE_SOFT_CONTEXT_MEMORY", "0"))  # what asking takes
        for number, (uuid, total, free) in enumerate(probe(args, env)):
            if free != total - own:
                bad.append(f"device {number} ({uuid}): {total - own - free} bytes are still taken after the program's end")
    finally:
        log = os.path.join(runtime, "meted.log")
        if bad and os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as f:
                bad += ["meted.log: " + line.rstrip() for line in f.readlines()[-20:]]
        shutil.rmtree(folder, ignore_errors=True)
    for line in bad:
        print("# way:", line)
    if status < 0:
        print(f"# way: the program died of signal {-status}")
    return 1 if bad or status < 0 else status


if __name__ == "__main__":
    sys.exit(main())
