"""A software device, a meted and a folder of their own for one test, and a report of what was checked."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Report:
    def __init__(self):
        self.count, self.failed = 0, 0

    def ok(self, good, name):
        self.count += 1
        self.failed += not good
        print(f"{'' if good else 'not '}ok {self.count} - {name}", flush=True)
        return good

    def same(self, got, wanted, name):
        if not self.ok(got == wanted, name):
            print(f"#      got {got}\n# expected {wanted}", flush=True)

    def end(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


class Program:
    """A program that is told a line and answers with a line."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended with status {self.process.wait()}")
        return line.strip()

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.hear()

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(timeout=30)
        self.process.stdout.close()
        return status


class Place:
    def __init__(self, build, memory):
        self.build, self.programs = build, []
        self.folder = tempfile.mkdtemp(prefix="mete-n-")
        self.runtime = os.path.join(self.folder, "run")
        os.mkdir(self.runtime, 0o700)
        self.soft = os.path.join(build, "src/softdev")
        self.shim = os.path.join(build, "src/shim")
        self.mete_path = os.path.join(build, "src/cli/mete")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "CUDA_VISIBLE", "LD_PRELOAD"))}
        self.env.update({
            "METE_SOFT_DIR": os.path.join(self.folder, "soft"), "METE_RUNTIME_DIR": self.runtime,
            "METE_SOFT_DEVICES": str(len(memory)), "METE_SOFT_MEMORY": ",".join(str(m) for m in memory),
        })

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.programs:
            if p.process.poll() is None: # only after a failed check
                p.process.kill()
                p.process.wait()
        pid = (self.control("hello") or {}).get("pid")
        if pid:
            os.kill(pid, signal.SIGTERM)
            self.until(lambda: self.control("hello") is None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, command, env):
        self.programs.append(Program(command, env))
        return self.programs[-1]

    def control(self, op):
        """One operation of meted's control protocol. None: no meted."""
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(os.path.join(self.runtime, "control.sock"))
            s.sendall(json.dumps({"op": op}).encode() + b"\n")
            return json.loads(s.makefile().readline() or "{}")
        except OSError:
            return None
        finally:
            s.close()

    def mete(self, *args):
        return subprocess.run([self.mete_path, *args], env=self.env, stdout=subprocess.PIPE, text=True, check=True,
                              timeout=60).stdout

    def under(self, grant, *command):
        return self.start([self.mete_path, "run", "--grant", grant, "--", *command], self.env)

    def direct(self, *command, **more):
        return self.start(list(command), {**self.env, "LD_LIBRARY_PATH": self.soft, **more})

    def client(self):
        return [sys.executable, "-B", os.path.join(HERE, "client.py")]

    def machine(self):
        """What the device itself says, nothing of mete in between."""
        p = self.direct(*self.client())
        p.hear()
        seen = json.loads(p.tell("look"))
        p.end()
        return seen

    def until(self, what, seconds=10):
        end = time.monotonic() + seconds
        while not what():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True
