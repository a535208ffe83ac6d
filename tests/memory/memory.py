"""What the tests of memory that moves share: a program that changes all it holds (resider.c), and mete's own words."""
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kill"))
from harness import BUILD, PATIENCE, until  # noqa: E402

MIB = 1 << 20
METE, RESIDER = os.path.join(BUILD, "src/cli/mete"), os.path.join(BUILD, "tests/memory/resider")


residers = []


def fall(m):
    """meted is killed and started again. Meanwhile no `mete run` looks: it would start one itself, of which the test knows nothing."""
    living = [r.process for r in residers if r.process.poll() is None]
    for p in living:
        p.send_signal(signal.SIGSTOP)
    m.process.kill()
    m.process.wait()
    m.start()
    for p in living:
        p.send_signal(signal.SIGCONT)


class Resider:
    """`mete run` of it under a grant. Its lines are read as they come."""

    def __init__(self, m, grant, size, rounds, *mode, wall=False, spill=True, ordered=False, program=RESIDER):
        command = [METE, "run", "--grant", grant] + (["--wall"] if wall else []) + ["--", *([] if spill else ["env", "-u", "METE_SPILL"]),
                                                                                                *(["env", "RESIDER_ORDERED=1"] if ordered else []), program,
                                                                                                *[str(word) for word in (size, rounds, *mode) if word is not None]]
        self.process = subprocess.Popen(command, env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, bufsize=1, start_new_session=True)
        self.lines = []
        residers.append(self)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def go_on(self, word=""):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def rounds(self):
        return [line.split() for line in list(self.lines) if line.startswith("round ")]

    def has(self, word, seconds=30):
        return until(lambda: any(line.startswith(word) for line in list(self.lines)), seconds)

    def done(self, rounds, seconds=30):
        return until(lambda: len(self.rounds()) >= rounds, seconds)

    def waits(self):
        """It makes no round; the lines of what it had made may come late."""
        for _ in range(20):
            done = len(self.rounds())
            if not self.done(done + 1, 0.3):
                return True
        return False

    def stop(self):
        """Ends one that goes on until its input ends."""
        self.process.stdin.close()
        return self.end()

    def end(self, seconds=120):
        """Value: the number of words that are wrong; None: it has not said."""
        try:
            self.process.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            return None
        self.thread.join(5)
        last = [line.split() for line in self.lines if line.startswith("wrong ")]
        return int(last[0][1]) if last else None

    def longest(self):
        return [float(line.split()[3]) for line in self.lines if line.startswith("wrong ")][0]

    def stays_in_place(self):
        return len({r[2] for r in self.rounds()}) == 1


def python_program(m, grant, code):
    """
    Python was not built with the thread sanitizer. Its runtime library is loaded first, as it would be in a program that was: else threads that a
    sanitized library makes are none that it knows, and they end by SIGSEGV.
    """
    if "TSAN_OPTIONS" not in os.environ:
        return Resider(m, grant, "-c", code, program=sys.executable)
    listed = subprocess.run(["ldd", os.path.join(BUILD, "src/shim/libcuda.so.1")], capture_output=True, text=True).stdout
    runtime = next(line.split()[2] for line in listed.splitlines() if "libtsan" in line)
    return Resider(m, grant, "-c", f'LD_PRELOAD="{runtime}:$LD_PRELOAD" exec "{sys.executable}" -c "$0"', code, program="/bin/sh")


def mete(m, *words, patience=120):
    """Value: the status, and what it printed."""
    p = subprocess.run([METE, *words], env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=patience)
    return p.returncode, (p.stdout + p.stderr).strip()


def wrong_libdir(folder):
    """A METE_LIBDIR there, whose software device's driver is wrong_driver.c."""
    libdir, soft = os.path.join(folder, "libdir"), os.path.join(BUILD, "src/softdev")
    os.makedirs(os.path.join(libdir, "soft"))
    os.symlink(os.path.join(BUILD, "src/shim"), os.path.join(libdir, "shim"))
    for name in os.listdir(soft):
        os.symlink(os.path.join(soft, name), os.path.join(libdir, "soft", name))
    for name in ("libcuda.so", "libcuda.so.1"):
        os.unlink(os.path.join(libdir, "soft", name))
        os.symlink(os.path.join(BUILD, "tests/memory/libwrong-driver.so"), os.path.join(libdir, "soft", name))
    return libdir
