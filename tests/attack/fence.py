"""What the tests of a worker's fence share: what there is of a worker, read from outside, and what this machine gives."""
import ctypes
import errno

from ground import *

SPACES = {"user": 0x10000000, "network": 0x40000000, "ipc": 0x08000000, "mounts": 0x00020000}
LINK = {"user": "user", "network": "net", "ipc": "ipc", "mounts": "mnt"}
# The thread sanitizer's runtime has a thread of its own before main(): such a process cannot change its user namespace.
TSAN = "TSAN_OPTIONS" in os.environ
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_DETACH, LANDLOCK_CREATE_RULESET = 16, 17, 444


def gives(space):
    """Whether a process of root can have such a namespace here."""
    def act():
        return libc.unshare(SPACES["user"] | SPACES[space]) == 0
    return as_user(0, act) and not TSAN


def landlock():
    return libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), 1)


def space(pid, name):
    return os.readlink(f"/proc/{pid}/ns/{LINK[name]}")


def tasks(pid):
    """What /proc says of each thread."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii", errors="replace") as f:
            yield dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)


def uid(pid):
    return os.stat(f"/proc/{pid}/task").st_uid or int(next(tasks(pid))["Uid"].split()[0])


def worker_of(control, name):
    return control.grant(name)["processes"][0]["pid"]


def try_to(act):
    """The error's name, or None: it was possible."""
    ctypes.set_errno(0)
    try:
        value = act()
    except OSError as e:
        return errno.errorcode[e.errno]
    return None if value >= 0 else errno.errorcode[ctypes.get_errno()]


def touch(pid):
    """Signals a process, traces it, reads its memory: by the names of the errors."""
    def memory():
        with open(f"/proc/{pid}/mem", "rb", buffering=0):
            return 0

    def trace():
        if libc.ptrace(PTRACE_ATTACH, pid, None, None) < 0:
            return -1
        os.waitpid(pid, 0)
        return libc.ptrace(PTRACE_DETACH, pid, None, None)
    return {"signal": try_to(lambda: os.kill(pid, 0) or 0), "trace": try_to(trace), "memory": try_to(memory)}
