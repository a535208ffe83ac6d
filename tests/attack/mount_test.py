"""Somebody moves folders of a container's file system about while the hook mounts there."""
import ctypes
import threading

from ground import *

root_only("moving what a hook mounts on")
sys.path.insert(0, os.path.join(HERE, "..", "containers"))
import rootfs  # noqa: E402

METE = os.path.join(harness.BUILD, "src/cli/mete")
TRIES = 60
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

    def hook(self):
        state = json.dumps({"ociVersion": "1.0.2", "id": "moved", "pid": self.process.pid, "bundle": folder})
        done = harness.subprocess.run([METE, "cdi", "hook", "--runtime-dir", s.dir, "--grant", "kept", "--soft", "create"],
                                      env={**s.env, "METE_RUNTIME_DIR": s.dir}, input=state, capture_output=True, text=True)
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


def attempt():
    container = Container()
    code, said = container.hook()
    found = container.mounts()
    container.close()
    return code, found, said


same(attempt()[:2], (0, (True, False)), "the grant's folder is read-only in a container, and its volume is as it was")
stop = threading.Event()


def move():
    while not stop.is_set():
        libc.renameat2(AT_FDCWD, run, AT_FDCWD, run2, RENAME_EXCHANGE)


mover = threading.Thread(target=move)
mover.start()
seen = [attempt() for _ in range(TRIES)]
stop.set()
mover.join()
bad = [a for a in seen if a[1][0] is False or a[1][1]]
ok(not bad, "also while its folders are moved: no other mount gets the flags, and ours none without", len(bad), bad[:3])
began = [a for a in seen if a[0] == 0]
ok(began, f"{len(began)} of {TRIES} containers began", seen[:3])
shutil.rmtree(folder)
s.close()
finish()
