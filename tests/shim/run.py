#!/usr/bin/env python3
"""
Runs one case of the shim's tests: run.py --build DIR [--quota BYTES[:GRANULE[:soft]]]... [--env NAME=VALUE]...
[--way preload|path|linked|dlopen-so|none] [--keeper no] -- PROGRAM ARGUMENT...

Starts a keeper (keeper.c) for a grant with these quotas, runs the program over the test driver with the shim in front,
and kills and starts the keeper when the program asks for it by a file. The program's output and status are passed on.
"""
import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


def answers(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        s.connect(path)
        return True
    except OSError:
        return False
    finally:
        s.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--quota", action="append", default=[])
    p.add_argument("--env", action="append", default=[])
    p.add_argument("--way", default="preload")
    p.add_argument("--keeper", default="yes")
    p.add_argument("--driver", default="test", help="test or soft: the test driver or the software device")
    p.add_argument("--log", help="a text that must stand in the log, exactly once")
    p.add_argument("program", nargs="+")
    a = p.parse_args()
    folder = tempfile.mkdtemp(prefix="mete-shim-")
    shim = os.path.join(a.build, "src/shim")
    tests = os.path.join(a.build, "tests/shim")
    sock = os.path.join(folder, "s")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "TEST_", "CUDA_"))}
    env.update({
        "METE_SOCKET": sock, "METE_DRIVER": os.path.join(tests, "libtestdriver.so"),
        "METE_NVML": os.path.join(tests, "libtestnvml.so"), "METE_LOG": os.path.join(folder, "log"), "TEST_FOLDER": folder,
        "TEST_DRIVER_FILE": os.path.join(folder, "truth"),
    })
    if a.driver == "soft":
        soft = os.path.join(a.build, "src/softdev")
        env.update({"METE_DRIVER": os.path.join(soft, "libcuda.so.1"), "METE_NVML": os.path.join(soft, "libnvidia-ml.so.1"),
                    "METE_SOFT_DIR": os.path.join(folder, "soft")})
    if a.way in ("preload", "linked"):
        env["LD_PRELOAD"] = " ".join(filter(None, [env.get("LD_PRELOAD"), os.path.join(shim, "libcuda.so.1")]))
    env["LD_LIBRARY_PATH"] = shim
    for e in a.env:
        k, _, v = e.partition("=")
        if v == "-":
            env.pop(k, None)
        else:
            env[k] = v.replace("@FOLDER@", folder).replace("@SHIM@", shim)

    def start():
        k = subprocess.Popen([os.path.join(tests, "keeper"), sock, folder, *(a.quota or ["67108864:2097152"])])
        while not answers(sock):
            time.sleep(0.001)
        return k

    keeper = start() if a.keeper == "yes" else None
    program = subprocess.Popen(a.program, env=env)
    while program.poll() is None:
        time.sleep(0.005)
        for word in ("kill", "start", "stop", "cont"):
            path = os.path.join(folder, word)
            if not os.path.exists(path):
                continue
            if word == "kill":
                keeper.kill()
                keeper.wait()
                os.unlink(sock)
            elif word in ("stop", "cont"):
                keeper.send_signal(signal.SIGSTOP if word == "stop" else signal.SIGCONT)
            else:
                keeper = start()
            os.unlink(path)
    if keeper:
        keeper.terminate()
        keeper.wait()
    status = program.returncode
    log = open(env["METE_LOG"]).read() if os.path.exists(env.get("METE_LOG", "/nonexistent")) else ""
    sys.stderr.write("".join("# log: " + line + "\n" for line in log.splitlines()))
    if a.log and log.count(a.log) != 1:
        print(f"# run.py: the log does not say '{a.log}' exactly once")
        status = status or 1
    if not a.log and log:
        print("# run.py: the log should be empty")
        status = status or 1
    shutil.rmtree(folder)
    sys.exit(status if status >= 0 else 128 - status)


main()
