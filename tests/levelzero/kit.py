"""
What the tests of Level Zero share: a meted of their own, and the cases (cases.c) under a grant, by Level Zero's own loader. The driver
behind is a stand-in on the software device (src/softdev/levelzero). METE_TEST_ZE_LIB: the folder of a loader that is not installed.
"""
import ctypes
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "daemon"))

from harness import BUILD, Meted, finish, ok, same, skip, until  # noqa: F401

METE = os.path.join(BUILD, "src/cli/mete")
CASES = os.path.join(BUILD, "tests/levelzero/levelzero_cases")
SHIM = os.path.join(BUILD, "src/shim")
FACE = os.path.join(SHIM, "libmete-levelzero.so")
SOFT = os.path.join(BUILD, "src/softdev/levelzero/libmete-soft-levelzero.so")
EMPTY = os.path.join(BUILD, "tests/levelzero/liblevelzero_empty.so")
MIB = 1 << 20
OOM, UNINITIALIZED = "70000003", "78000001"
LIB = os.environ.get("METE_TEST_ZE_LIB", "")


def loader():
    """Level Zero's loader, or None."""
    name = os.path.join(LIB, "libze_loader.so.1") if LIB else "libze_loader.so.1"
    try:
        ctypes.CDLL(name)
    except OSError:
        return None
    return name


def need_loader():
    if not loader():
        skip("Level Zero", "no libze_loader.so.1 is installed (Debian: libze1)")
        finish()


def with_loader(env):
    path = [p for p in (LIB, env.get("LD_LIBRARY_PATH", "")) if p]
    return {**env, "LD_LIBRARY_PATH": ":".join(path)} if path else dict(env)


class Place:
    def __init__(self, *options, plain=False, **env):
        """`plain`: meted's library path is what `env` says."""
        self.meted = Meted(*options, env=env if plain else with_loader(env))
        self.env = with_loader(dict(self.meted.env, METE_RUNTIME_DIR=self.meted.dir))
        for name in ("ZE_ENABLE_ALT_DRIVERS", "LEVELZERO_SICK"):  # what meted's loader finds is not the programs'
            self.env.pop(name, None)
        # The cases end with queues, kernels and events that live, as programs do.
        self.env["ASAN_OPTIONS"] = self.env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"

    def words(self, *words, mem="64M", options=("--soft",)):
        return [METE, "run", *options, *(["--mem", mem] if mem else []), "--", *words]

    def run(self, *words, mem="64M", options=("--soft",), env=None, whole=None):
        return subprocess.run(whole or self.words(*words, mem=mem, options=options), env={**self.env, **(env or {})}, timeout=200,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def bare(self, *words):
        """Without mete, over the stand-in."""
        return self.run(whole=list(words), env={"ZE_ENABLE_ALT_DRIVERS": SOFT})

    def start(self, *words, whole=None, **more):
        return subprocess.Popen(whole or self.words(*words, **more), env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def ask(self, op, **fields):
        control = self.meted.control()
        try:
            return control.ask(op, **fields)
        finally:
            control.close()

    def grant(self, name, mem, driver="soft", **share):
        answer = self.ask("grant_create", name=name, driver=driver, devices=[{"device": "0", "mem_bytes": mem, **share}])
        ok(answer["ok"], f"the grant {name}", answer)

    def share(self, name):
        control = self.meted.control()
        try:
            return control.share(name)
        finally:
            control.close()

    def processes(self, name):
        control = self.meted.control()
        try:
            return [p["pid"] for p in control.grant(name)["processes"]]
        finally:
            control.close()

    def close(self):
        self.meted.close()


def verdicts(done, what):
    """A case's own checks become ours."""
    for line in done.stdout.splitlines():
        if line.startswith(("ok ", "not ok ")):
            ok(line.startswith("ok "), f"{what}: {line.split(' - ', 1)[1]}")
    ok(done.returncode == 0 and "1.." in done.stdout, f"{what}: the program ends as it should", done.returncode, done.stderr,
       done.stdout[-300:])
