"""What the tests of the faces that stand beside a vendor's libraries share: a meted of their own, and the cases under a grant."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "daemon"))

from harness import BUILD, Meted, finish, ok, same, skip, until  # noqa: F401

METE = os.path.join(BUILD, "src/cli/mete")
HERE = os.path.join(BUILD, "tests/beside")
SHIM = os.path.join(BUILD, "src/shim")
MIB = 1 << 20


class Vendor:
    """One of the two: its cases, its libraries, and the codes that they answer."""

    def __init__(self, word, library, no_memory, visible):
        self.word, self.no_memory, self.visible = word, no_memory, visible
        self.cases = os.path.join(HERE, f"{word}_cases")
        self.library = os.path.join(HERE, library)


VENDORS = {"ascend": Vendor("ascend", "libascendcl.so", 207001, "ASCEND_RT_VISIBLE_DEVICES"),
           "cambricon": Vendor("cambricon", "libcndrv.so", 100100, "MLU_VISIBLE_DEVICES")}


class Place:
    """A meted whose software device offers the vendor's API as well, on the same cards."""

    def __init__(self, vendor, *options, **env):
        self.vendor = VENDORS[vendor]
        self.meted = Meted(*options, env=env)
        self.env = dict(self.meted.env, METE_RUNTIME_DIR=self.meted.dir, METE_FACES=vendor)

    def words(self, *words, mem="64M", options=("--soft",)):
        return [METE, "run", *options, *(["--mem", mem] if mem else []), "--", *words]

    def run(self, *words, whole=None, env=None, **more):
        return subprocess.run(whole or self.words(*words, **more), env={**self.env, **(env or {})}, timeout=200, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

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
