"""
What the tests of meted share: a meted of its own in a fresh runtime directory, a control connection, clients without a
driver (wire_client.c), and checks that print TAP.

The devices are the software device's, 2 of 16 GiB, from the build tree (or METE_LIBDIR). The machine's OpenCL devices are
hidden; tests/opencl shows them.
"""
import atexit
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = os.path.abspath(sys.argv[1])
METED = os.path.join(BUILD, "src/daemon/meted")
SANITIZED = bool(os.environ.get("METE_TEST_SANITIZED"))  # a sanitizer keeps freed memory, and takes more of everything
PATIENCE = float(os.environ.get("METE_TEST_PATIENCE", "1"))  # ./check says how much slower a sanitizer may be
WIRE_CLIENT = os.path.join(BUILD, "tests/daemon/wire_client")
# A test that says nothing for so long hangs; 0: it may.
SILENT_S = int(os.environ.get("METE_TEST_SILENT", 0 if os.environ.get("METE_TEST_LONG") else 600 if SANITIZED else 200))

UNIT = 512
OK, NO_ROOM, BAD, WRONG_VERSION, FULL, UNKNOWN_OBJECT = range(6)
ALL = 1
GIB = 1 << 30

count = failed = 0
opened = []


@atexit.register
def leave_nothing():
    """Also when a test stops half-way."""
    for m in opened:
        for c in m.clients:
            c.close()
        if m.process and m.process.poll() is None:
            m.process.kill()
            m.process.wait()
        if m.own:
            shutil.rmtree(m.dir, ignore_errors=True)


def hangs(number, frame):
    """What waits for ever ends here, long before the test's time is up, and says where it waited. Whoever does not end by that either,
    for a thread that waits as well, ends by force."""
    signal.signal(signal.SIGALRM, lambda *_: (leave_nothing(), os._exit(1)))
    signal.alarm(30)
    print(f"# nothing for {SILENT_S} s:", *"".join(traceback.format_stack(frame)).splitlines(), sep="\n# ", flush=True)
    raise SystemExit("Bail out! the test hangs")


def awake():
    """The test goes on."""
    signal.alarm(SILENT_S)


signal.signal(signal.SIGALRM, hangs)
awake()


def ok(good, what, *shown):
    global count, failed
    count += 1
    awake()
    if not good:
        failed += 1
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)
    if not good:
        for thing in shown:
            print(f"#   {thing}", flush=True)
    return good


def same(got, expected, what):
    return ok(got == expected, what, f"got      {got!r}", f"expected {expected!r}")


def skip(what, why):
    global count
    count += 1
    awake()
    print(f"ok {count} - {what} # SKIP {why}", flush=True)


def disk_folder():
    """A folder for memory.disk, of the tree that is built or of a temporary one; None: neither has direct writes to files without a name."""
    for parent in (BUILD, tempfile.gettempdir(), "/var/tmp"):
        try:
            folder = tempfile.mkdtemp(prefix="mete-disk-", dir=parent)
        except OSError:
            continue
        atexit.register(shutil.rmtree, folder, True)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(f"memory: {{disk: {folder}}}\n")
            f.flush()
            if subprocess.run([METED, "--config", f.name, "--check-config"], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0:
                return folder
    return None


def until(what, seconds=5.0):
    """Waits for a condition, longer where a sanitizer slows everything down; its value. Who waits for long asks less often."""
    end = time.monotonic() + seconds * PATIENCE
    pause = 0.001
    while True:
        value = what()
        if value or time.monotonic() > end:
            return value
        time.sleep(pause)
        pause = min(1.3 * pause, 0.02)


def alive(pid):
    """A zombie has ended: whoever has taken it in reaps it when they like."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def starved(pid):
    """Seconds that the main thread of a process was ready to run and had no processor, by the kernel's count; 0 where it does not count."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[1]) / 1e9
    except FileNotFoundError:
        return 0


def starved_threads(pid):
    """The same of each of its threads that there are; thread by thread, for threads come and go."""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as f:
                found[thread] = int(f.read().split()[1]) / 1e9
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


class Beside:
    """Parts of a test that mostly wait and need nothing of the others: each in a process of its own, beside what follows.
    end() waits for them, and tells what they have found."""

    def __init__(self, *parts):
        self.runs = []
        for part in parts:
            said = tempfile.TemporaryFile()
            sys.stdout.flush()
            pid = os.fork()
            if not pid:
                self.run(part, said)
            self.runs.append((part.__name__, pid, said))

    @staticmethod
    def run(part, said):
        global count, failed
        os.dup2(said.fileno(), 1)
        awake()
        count, status = 0, 1
        opened.clear()  # they are the parent's
        try:
            part()
            status = 0
        except BaseException as why:
            print(f"# {why!r}", *traceback.format_exc().splitlines(), sep="\n# ")
        leave_nothing()
        sys.stdout.flush()
        os._exit(status)

    def end(self):
        signal.alarm(0)  # each of them has its own
        for name, pid, said in self.runs:
            status = os.waitpid(pid, 0)[1]
            said.seek(0)
            for line in said.read().decode(errors="replace").splitlines():
                found = re.match(r"(not )?ok \d+ - (.*)", line)
                ok(not found[1], found[2]) if found else print(line, flush=True)
            if status:
                ok(False, f"{name} comes to its end")


class Control:
    def __init__(self, directory):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.path.join(directory, "control.sock"))
        self.socket.settimeout(30)
        self.file = self.socket.makefile("rb")

    def line(self, text):
        """Sends a text and reads one line; None when the connection ends instead."""
        try:
            self.socket.sendall(text if isinstance(text, bytes) else text.encode())
            answer = self.file.readline()
        except (ConnectionError, socket.timeout):
            return None
        return json.loads(answer) if answer else None

    def ask(self, op, **fields):
        return self.line(json.dumps({"op": op, **fields}) + "\n")

    def grant(self, name):
        answer = self.ask("grants", name=name)
        return answer["grants"][0] if answer["ok"] else None

    def share(self, name, device=0):
        return self.grant(name)["devices"][device]

    def close(self):
        self.file.close()
        self.socket.close()


# Of a meted whose tenants are quarantined for faults on software devices.
QUARANTINES = {"METE_CONFIG": os.path.join(os.path.dirname(os.path.abspath(__file__)), "quarantine.yaml")}


class Meted:
    def __init__(self, *options, directory=None, env=None, expect=True, wrap=()):
        self.own = directory is None
        self.dir = directory or tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("METE_") or k == "METE_LIBDIR"}
        self.env.update({"METE_SOFT_DIR": os.path.join(self.dir, "soft"), "METE_SOFT_SMS": "16", "OCL_ICD_VENDORS": "/nonexistent",
                         **(env or {})})
        self.options = list(options)
        self.wrap = list(wrap)
        self.clients = []
        self.process = None
        opened.append(self)
        self.start(expect)

    def start(self, expect=True):
        ready, tell = os.pipe()
        command = self.wrap + [METED, "--runtime-dir", self.dir, "--ready-fd", str(tell)] + self.options
        self.process = subprocess.Popen(command, env=self.env, pass_fds=[tell], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        os.close(tell)
        self.up = os.read(ready, 1) != b""
        os.close(ready)
        if expect and not self.up:
            raise SystemExit(f"Bail out! meted does not start: {self.process.communicate()[1].decode()}")
        return self.up

    def control(self):
        return Control(self.dir)

    def make(self, name, quota=None, devices=None, **fields):
        """Makes a grant: `quota` bytes on device 0, or entries of the request."""
        c = self.control()
        answer = c.ask("grant_create", name=name, driver="soft",
                       devices=devices or [{"device": "0", "mem_bytes": quota}], **fields)
        c.close()
        if not answer["ok"]:
            raise SystemExit(f"Bail out! {answer}")
        return answer["grant"]["socket"]

    def client(self):
        c = Client(self.env)
        self.clients.append(c)
        return c

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.wait()

    def wait(self, seconds=30):
        self.error = self.process.communicate(timeout=seconds)[1].decode()
        return self.process.returncode

    def log(self):
        try:
            with open(os.path.join(self.dir, "meted.log"), errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def pages(self):
        return os.listdir(os.path.join(self.dir, "pages"))

    def close(self):
        """Ends everything; a meted that did not end well is a failed check, and so is a word of a sanitizer."""
        for c in self.clients:
            c.close()
        if self.process.poll() is None:
            same(self.kill(signal.SIGTERM), 0, "meted leaves with status 0")
            ok("ERROR: " not in self.error and "runtime error" not in self.error, "no sanitizer speaks", self.error)
        if self.own:
            shutil.rmtree(self.dir, ignore_errors=True)


class Client:
    """A wire_client process that obeys."""

    def __init__(self, env):
        self.process = subprocess.Popen([WIRE_CLIENT], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def tell(self, *words):
        self.process.stdin.write(" ".join(str(w) for w in words) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return [int(w) if w.lstrip("-").isdigit() else w for w in self.process.stdout.readline().split()]

    def ask(self, *words):
        self.tell(*words)
        return self.answer()

    def hello(self, path):
        return self.ask("hello", path)[0]

    def reserve(self, device, need, want=0, flags=0):
        return self.ask("reserve", device, need, want, flags)

    def hold(self, device, units):
        """As a program that allocates: takes from credit, or asks first. True when it got it."""
        return self.ask("take", device, units)[0] == 1 or (
            self.reserve(device, units)[0] == OK and self.ask("take", device, units)[0] == 1)

    def word(self, device=0):
        """granted, held"""
        return tuple(self.ask("word", device)[:2])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def finish():
    print(f"1..{count}")
    sys.exit(1 if failed else 0)
