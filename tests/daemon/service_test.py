"""meted under a service manager: it is given its control socket, says that it is ready, feeds the watchdog, and leaves the
socket where it is when it ends. service_test.py BUILD"""
import re
import threading

from harness import *

NOTIFY = tempfile.mkdtemp(prefix="mete-notify-", dir="/tmp")
atexit.register(shutil.rmtree, NOTIFY, True)
# Puts the descriptor behind its first word to the place where a service manager has the first one.
START = ("import os, sys\n"
         "fd = int(sys.argv[1])\n"
         "os.dup2(fd, 99); os.close(fd); os.dup2(99, 3, inheritable=True)\n"
         "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')\n"
         "os.execv(sys.argv[2], sys.argv[2:])\n")

directory = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
atexit.register(shutil.rmtree, directory, True)
listener = socket.socket(socket.AF_UNIX)
listener.bind(os.path.join(directory, "control.sock"))
listener.listen(16)
told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
told.bind(os.path.join(NOTIFY, "notify"))
told.settimeout(30)

# A request that is there before meted is.
early = Control(directory)
early.socket.sendall(b'{"op":"hello"}\n')


def start():
    env = {k: v for k, v in os.environ.items() if not k.startswith("METE_") or k == "METE_LIBDIR"}
    env.update(METE_SOFT_DIR=os.path.join(directory, "soft"), NOTIFY_SOCKET=os.path.join(NOTIFY, "notify"), WATCHDOG_USEC="200000")
    return subprocess.Popen([sys.executable, "-c", START, str(listener.fileno()), METED, "--runtime-dir", directory,
                             "--foreground"], env=env, pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)


def hears(word):
    for _ in range(1000):
        if told.recv(200).decode().split("=")[0] == word:
            return True
    return False


def main_pid():
    """What the manager is told next of who the main process is; what else is told meanwhile is passed over."""
    for _ in range(1000):
        text, rights, *_ = socket.recv_fds(told, 200, 1)
        for fd in rights:
            os.close(fd)
        if text.startswith(b"MAINPID="):
            return int(text.split(b"=")[1])
    return None


def barrier():
    for _ in range(1000):
        text, rights, *_ = socket.recv_fds(told, 200, 1)
        if text == b"BARRIER=1":
            return rights[0]
    return None


def test_journal_stream():
    """The journal has the time of each line already; a file that is not the journal gets it, whatever the environment says."""
    log = os.path.join(directory, "log")
    for what, other, expected in (("the journal", 0, r"meted \S+ serves .*"), ("no journal", 1, r"meted: \d+-\d+-\d+ \d+:\d+:\d+ meted \S+ serves .*")):
        with open(log, "w+b") as f:
            st = os.fstat(f.fileno())
            env = dict(os.environ, METE_SOFT_DIR=os.path.join(directory, "soft"), JOURNAL_STREAM=f"{st.st_dev}:{st.st_ino + other}")
            os.makedirs(os.path.join(directory, "own"), 0o700, exist_ok=True)
            p = subprocess.Popen([METED, "--runtime-dir", os.path.join(directory, "own"), "--foreground", "--soft-only"], env=env, stderr=f)
            atexit.register(p.kill)
            ok(until(lambda: b"serves" in open(log, "rb").read()), f"{what}: it starts")
            p.send_signal(signal.SIGTERM)
            same(p.wait(30), 0, f"{what}: it leaves")
        line = open(log).readline().rstrip("\n")
        ok(re.fullmatch(expected, line), f"{what}: the line", line)


def upgrades(c):
    """While one meted becomes the next, its keeper is the service's main process: it is there whatever the next one does."""
    own = c.ask("hello")["pid"]
    # As a manager does, it reads all the while: the queue of a socket is short, and what finds no room in it is not told.
    answers = []
    asking = threading.Thread(target=lambda: answers.append(c.ask("upgrade")))
    asking.start()
    keeper = main_pid()
    ok(keeper not in (None, own) and os.path.exists(f"/proc/{keeper}"), "the keeper was the main process", keeper)
    same(main_pid(), own, "and then meted is again")
    fd = barrier()
    ok(fd is not None and os.path.exists(f"/proc/{keeper}"), "the keeper is there until that has been heard")
    os.close(fd)
    ok(until(lambda: not alive(keeper)), "then it ends")
    asking.join()
    ok(answers[0]["ok"] and answers[0]["pid"] == own, "it is upgraded", answers)


for turn in ("first", "second"):
    process = start()
    atexit.register(process.kill)
    ok(hears("READY"), f"the {turn} meted says that it is ready")
    ok(hears("WATCHDOG") and hears("WATCHDOG") and hears("WATCHDOG"), "it feeds the watchdog")
    if turn == "first":
        answer = json.loads(early.file.readline())
        ok(answer["ok"], "a request from before its start is answered")
    c = Control(directory)
    ok(c.ask("hello")["ok"], "it answers on the socket that it was given")
    if turn == "first":
        upgrades(c)
    c.close()
    process.send_signal(signal.SIGTERM)
    ok(hears("STOPPING"), "it says that it leaves")
    same(process.wait(30), 0, "it leaves with status 0")
    ok(os.path.exists(os.path.join(directory, "control.sock")), "the socket stays: it is the service manager's")
    process.stderr.close()

test_journal_stream()
finish()
