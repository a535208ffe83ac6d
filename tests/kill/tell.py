"""A program of a tenant that does as it is told: teller.c."""
import json
import os
import signal
import subprocess
import sys

from harness import BUILD

METE, TELLER = os.path.join(BUILD, "src/cli/mete"), os.path.join(BUILD, "tests/kill/teller")


def inside_of(m, grant):
    """What `mete run` gives a program. It is not kept: it would start a meted itself when there is none."""
    done = subprocess.run([METE, "run", "--grant", grant, "--", sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"],
                          env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


class Teller:
    def __init__(self, inside):
        self.process = subprocess.Popen([TELLER], env=inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("Bail out! a program does not begin")

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return [int(w) for w in self.process.stdout.readline().split()]

    def held(self):
        r, free, total = self.ask("info")
        return total - free if r == 0 else -r

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait()
