"""What the tests of OpenCL share: a meted of their own, a device that has OpenCL alone, and the cases (cases.c) under it."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "daemon"))

from harness import BUILD, GIB, Meted, finish, ok, same, skip, until  # noqa: F401

METE = os.path.join(BUILD, "src/cli/mete")
CASES = os.path.join(BUILD, "tests/opencl/opencl_cases")
LAYER = os.path.join(BUILD, "src/shim/libmete-opencl.so")
MIB = 1 << 20
VENDORS = os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")


class Place:
    """A meted and the machine's first OpenCL device; without one the test is over."""

    def __init__(self, **env):
        # PoCL compiles kernels in time: not for each test anew.
        cache = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"mete-opencl-cache-{os.getuid()}")
        self.meted = Meted(env={"POCL_CACHE_DIR": cache, "OCL_ICD_VENDORS": VENDORS, **env})
        self.env = dict(self.meted.env, METE_RUNTIME_DIR=self.meted.dir)
        control = self.meted.control()
        self.devices = control.ask("devices")
        control.close()
        mine = [d for d in self.devices["devices"] if d["driver"] == "opencl"]
        if not mine and not env.get("METE_OPENCL_CARD"):
            why = next((d["status"] for d in self.devices["drivers"] if d["kind"] == "opencl"), "")
            print(f"1..0 # SKIP no OpenCL device here: {why}")
            self.meted.close()
            sys.exit(0)
        self.uuid = mine[0]["uuid"] if mine else None

    def words(self, *words, mem="64M", options=()):
        return [METE, "run", "--opencl", "--mem", mem, *options, "--", *words]

    def run(self, *words, mem="64M", options=(), env=None, seconds=120):
        return subprocess.run(self.words(*words, mem=mem, options=options), env={**self.env, **(env or {})}, timeout=seconds,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def bare(self, *words, seconds=120):
        return subprocess.run(words, env=self.env, timeout=seconds, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)

    def start(self, *words, mem="64M", options=(), env=None, whole=None):
        return subprocess.Popen(whole or self.words(*words, mem=mem, options=options), env={**self.env, **(env or {})},
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def grant(self, name, mem, **share):
        control = self.meted.control()
        answer = control.ask("grant_create", name=name, driver="opencl", devices=[{"device": "0", "mem_bytes": mem, **share}])
        control.close()
        if not answer["ok"]:
            raise SystemExit(f"Bail out! {json.dumps(answer)}")

    def share(self, name):
        control = self.meted.control()
        try:
            return control.share(name)
        finally:
            control.close()

    def close(self):
        self.meted.close()


def verdicts(text):
    """A case's own checks become ours."""
    for line in text.splitlines():
        if line.startswith(("ok ", "not ok ")):
            what = line.split(" - ", 1)[1]
            if " # SKIP " in what:
                skip(*what.split(" # SKIP ", 1))
            else:
                ok(line.startswith("ok "), what)
