#!/usr/bin/env python3
"""
Tools that people use, where they are installed: nvtop (on a terminal of its own) and the Python module pynvml. Outside
they show the devices as they are; under a grant they show the grant's, as `mete ps` does. Skipped where neither is.
"""
import argparse
import fcntl
import importlib.util
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import termios
import time

from place import Place, Report

M = 1 << 20
PYNVML = """
import json, pynvml as n
n.nvmlInit()
handles = [n.nvmlDeviceGetHandleByIndex(i) for i in range(n.nvmlDeviceGetCount())]
def text(s):
    return s.decode() if isinstance(s, bytes) else s
print(json.dumps([{
    "name": text(n.nvmlDeviceGetName(h)), "uuid": text(n.nvmlDeviceGetUUID(h)),
    "memory": [getattr(n.nvmlDeviceGetMemoryInfo(h), k) for k in ("total", "free", "used")],
    "utilisation": n.nvmlDeviceGetUtilizationRates(h).gpu,
    "processes": sorted([p.pid, p.usedGpuMemory] for p in n.nvmlDeviceGetComputeRunningProcesses(h)),
} for h in handles]))
"""


def screen(command, env, seconds, enough):
    """What a program has drawn on a terminal, without the terminal's escapes, once `enough` says so."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, {**env, "TERM": "xterm"})
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    drawn, end, text = b"", time.monotonic() + seconds, ""
    while time.monotonic() < end and not enough(text):
        if select.select([fd], [], [], 0.2)[0]:
            try:
                drawn += os.read(fd, 65536)
            except OSError:
                break
        escapes = rb"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()][0-9A-B]|\x1b[=>]"
        text = " ".join(re.sub(escapes, b" ", drawn).decode(errors="replace").split())
    end_program(pid)
    os.close(fd)
    return text


def end_program(pid):
    """Asks a program to end; `mete run` passes the request on. A tool that does not listen is killed."""
    os.kill(pid, signal.SIGTERM)
    for _ in range(100):
        if os.waitpid(pid, os.WNOHANG)[0]:
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def nvtop(place, report, holder_pid):
    def shows(total, pid):
        return lambda text: f"/{total}" in text and re.search(rf"\b{pid}\b", text)

    wanted = shows("1.000Gi", holder_pid)
    text = screen(["nvtop"], {**place.env, "LD_LIBRARY_PATH": place.soft}, 20, wanted)
    report.ok(wanted(text), "nvtop outside: the device's memory and the process")
    report.ok("Device 1" in text, "nvtop outside: both devices")
    wanted = shows("256.000Mi", holder_pid)
    text = screen([place.mete_path, "run", "--grant", "a", "--", "nvtop"], place.env, 20, wanted)
    report.ok(wanted(text), "nvtop under a grant: the quota and the process")
    report.ok("Device 1" not in text, "nvtop under a grant: the grant's device alone")
    if report.failed:
        print("# nvtop drew:", text[:1500])


def pynvml(place, report, holder_pid):
    def ask(program):
        seen = json.loads(program.hear())
        program.end()
        return seen

    seen = ask(place.direct(sys.executable, "-c", PYNVML))
    report.same([d["memory"] for d in seen], [[1024 * M, 984 * M, 40 * M], [512 * M, 512 * M, 0]], "pynvml outside: memory")
    report.same(seen[0]["processes"], [[holder_pid, 40 * M]], "pynvml outside: the process")
    inside = ask(place.under("a", sys.executable, "-c", PYNVML))
    report.same([d["uuid"] for d in inside], [seen[0]["uuid"]], "pynvml under a grant: its device")
    report.same(inside[0]["memory"], [256 * M, 216 * M, 40 * M], "pynvml under a grant: memory")
    report.same(inside[0]["processes"], [[holder_pid, 40 * M]], "pynvml under a grant: the process")


def main():
    p = argparse.ArgumentParser()
    for name in ("--build", "--client", "--holder"):
        p.add_argument(name, required=True)
    a = p.parse_args()
    tools = [tool for tool, there in ((nvtop, shutil.which("nvtop")), (pynvml, importlib.util.find_spec("pynvml")))
             if there]
    if not tools:
        print("1..0 # SKIP neither nvtop nor the Python module pynvml is installed")
        return 0
    report = Report()
    with Place(a.build, [1024 * M, 512 * M]) as place:
        place.mete("create", "a", "--soft", "--device", "0", "--mem", str(256 * M))
        holder = place.under("a", a.holder, "0")
        report.same(holder.hear(), "ready", "a program with a context")
        report.same(holder.tell(f"alloc {40 * M}"), "ok", "takes 40 MiB")
        told = json.loads(place.mete("ps", "--json"))
        pid = told["grants"][0]["processes"][0]["pid"]
        for tool in tools:
            tool(place, report, pid)
        holder.end()
        place.mete("delete", "a")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
