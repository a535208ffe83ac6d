"""Somebody moves folders of a container's file system about while the hook mounts there."""
import ctypes
import struct
import threading

from ground import *

root_only("moving what a hook mounts on")
sys.path.insert(0, os.path.join(HERE, "..", "containers"))
import rootfs  # noqa: E402

METE = os.path.join(harness.BUILD, "src/cli/mete")
TRIES = 60
# A process of which the kernel says that it does not know the calls of Linux 5.12: what the filter returns for them is ENOSYS.
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR, ENOSYS = 428, 429, 442, 38
BPF_LOAD, BPF_EQUAL, BPF_RETURN, RET_ALLOW, RET_ERRNO, PR_SET_SECCOMP = 0x20, 0x15, 0x06, 0x7fff0000, 0x50000, 22
MS_REC, MS_PRIVATE, CLONE_NEWNS, RENAME_EXCHANGE, AT_FDCWD = 0x4000, 1 << 18, 0x20000, 2, -100
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
    skip("mounts", "no mount namespace of one's own here")
    finish()
s = system()
folder = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
root = rootfs.make(os.path.join(folder, "root"), {"true": "/bin/true"})
for name in ("run", "run2"):
    os.makedirs(os.path.join(root, name, "mete"))
run, run2 = (os.path.join(root, name).encode() for name in ("run", "run2"))
with open(os.path.join(folder, "config.json"), "w") as f:
    json.dump({"root": {"path": root}, "process": {"args": ["/bin/true"], "env": []}}, f)
answer = s.control().ask(**soft("64M", "kept", container={"keep": True, "files": {"settings": "METE_X=1\n"}}))
ok(answer["ok"], "a grant that many containers use", answer)


def become_old():
    steps = [(BPF_LOAD, 0, 0, 0), *[(BPF_EQUAL, 3 - i, 0, call) for i, call in enumerate((OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR))],
             (BPF_RETURN, 0, 0, RET_ALLOW), (BPF_RETURN, 0, 0, RET_ERRNO | ENOSYS)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    if libc.prctl(PR_SET_SECCOMP, 2, struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program)), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


class Container:
    """A mount namespace as a runtime has it ready, with a volume at /run2/mete."""

    def __init__(self):
        self.process = harness.subprocess.Popen(["/bin/sh", "-c", "echo; exec sleep 600"], stdout=harness.subprocess.PIPE, preexec_fn=self.become)
        self.process.stdout.readline()

    def become(self):
        if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
            raise OSError(ctypes.get_errno(), "unshare")
        while libc.mount(b"volume", run2 + b"/mete", b"tmpfs", 0, None):
            pass

    def hook(self, prepare):
        state = json.dumps({"ociVersion": "1.0.2", "id": "moved", "pid": self.process.pid, "bundle": folder})
        done = harness.subprocess.run([METE, "cdi", "hook", "--runtime-dir", s.dir, "--grant", "kept", "--soft", "create"],
                                      env={**s.env, "METE_RUNTIME_DIR": s.dir}, input=state, capture_output=True, text=True, preexec_fn=prepare)
        return done.returncode, done.stderr

    def mounts(self):
        """(the grant's folder is read-only, the volume is), of what is mounted."""
        ours = volumes = None
        with open(f"/proc/{self.process.pid}/mountinfo") as info:
            for words in map(str.split, info):
                if words[3].endswith("/containers/0/kept"):
                    ours = words[5].startswith("ro")
                elif words[4].endswith(("/run/mete", "/run2/mete")) and "tmpfs" in words:
                    volumes = words[5].startswith("ro")
        return ours, volumes

    def close(self):
        self.process.kill()
        self.process.communicate()


def attempt(prepare=None):
    container = Container()
    code, said = container.hook(prepare)
    found = container.mounts()
    container.close()
    return code, found, said


def move(stop):
    while not stop.is_set():
        libc.renameat2(AT_FDCWD, run, AT_FDCWD, run2, RENAME_EXCHANGE)


def moved(kernel, prepare):
    same(attempt(prepare)[:2], (0, (True, False)), f"{kernel}: the grant's folder is read-only in a container, and its volume is as it was")
    stop = threading.Event()
    mover = threading.Thread(target=move, args=[stop])
    mover.start()
    seen = [attempt(prepare) for _ in range(TRIES)]
    stop.set()
    mover.join()
    bad = [a for a in seen if a[1][1] or (a[0] == 0 and a[1][0] is False)]
    ok(not bad, f"{kernel}: also while its folders are moved: no other mount gets the flags, and no container begins with ours without", len(bad), bad[:3])
    began = [a for a in seen if a[0] == 0]
    ok(began, f"{kernel}: {len(began)} of {TRIES} containers began", seen[:3])
    return seen


moved("this kernel", None)
seen = moved("one before 5.12", become_old)
refused = [a for a in seen if "Stale" in a[1]]
print(f"# {len(refused)} were refused because another mount was found")
shutil.rmtree(folder)
s.close()
finish()
