"""A hostile image: files that take for ever, wait, do something when they are opened, or change while the hook looks at them."""
import ctypes
import glob
import stat
import struct
import threading

from ground import *

root_only("hostile images")
METE = os.path.join(harness.BUILD, "src/cli/mete")
LIBDIR = "lib/x86_64-linux-gnu"
IN_OPEN = 0x20
LIMIT_S = 20  # of the hook, connect/cdi/hook.c
libc = ctypes.CDLL(None)
s = system()
folder = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
env = {**s.env, "METE_RUNTIME_DIR": s.dir}

# A hook that nobody tells what it is for; it is looked at in the end.
ok(s.control().ask(**soft("64M", "waits", container={}))["ok"], "a grant for one container")
began = time.monotonic()
hook = harness.subprocess.Popen([METE, "cdi", "hook", "--runtime-dir", s.dir, "--grant", "waits", "create"], env=env,
                                stdin=harness.subprocess.PIPE, stderr=harness.subprocess.PIPE, text=True)


def image(name, files):
    """A root file system: bytes, or what makes the file."""
    root = os.path.join(folder, name)
    for path, what in files.items():
        path = os.path.join(root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(what, bytes):
            with open(path, "wb") as f:
                f.write(what)
            os.chmod(path, 0o755)
        else:
            what(path)
    return root


def look(root, program="/app", seconds=5.0):
    """What mete says to the image, and how long it took; None: longer than is good."""
    begun = time.monotonic()
    try:
        done = harness.subprocess.run([METE, "doctor", "--image", root, "--program", program], env=env, text=True, capture_output=True,
                                      timeout=seconds * harness.PATIENCE)
    except harness.subprocess.TimeoutExpired:
        return None
    return done.returncode, done.stdout + done.stderr, time.monotonic() - begun


def opened(path, act):
    """Whether the file is opened, for more than its name, while act runs."""
    fd = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(fd, path.encode(), IN_OPEN)
    act()
    try:
        return bool(os.read(fd, 4096))
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


def elf(sections=b"", count=0, link_text=b"", interpreter=b""):
    """An ELF file with these section headers behind its head, and bytes at 0x1000 before them."""
    parts = struct.pack("<IIQQQQQQ", 3, 4, 0x200, 0, 0, len(interpreter), len(interpreter), 1) if interpreter else b""
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\177ELF\2\1\1", 3, 62, 1, 0, 64, 0x3000, 0, 64, 56, bool(interpreter), 64, count, 0)
    return ((head + parts).ljust(0x200, b"\0") + interpreter).ljust(0x1000, b"\0") + link_text.ljust(0x2000, b"\0") + sections


# Each section names a thousand versions, each of which names a thousand more: the same ones.
need = struct.pack("<HHIII", 1, 1000, 0, 16, 0) + struct.pack("<IHHII", 0, 0, 0, 64, 0)
section = struct.pack("<IIQQQQIIQQ", 0, 0x6ffffffe, 0, 0, 0x1000, 0, 0, 1000, 0, 0)
slow = image("slow", {"app": elf(section * 60000, 60000, need)})
found = look(slow)
ok(found and found[2] < 2 * harness.PATIENCE, "a file whose lists never end is given up soon", found)

# What is sought in a loader begins at every fifth byte, and never ends.
many = image("many", {"app": elf(interpreter=b"/ld.so\0"), "ld.so": b"/etc/" * (3 << (16 if SANITIZED else 20))})
found = look(many)
ok(found and found[2] < 2 * harness.PATIENCE, "a loader full of beginnings is read once", found)
ok(look(image("huge", {"app": elf(interpreter=b"/ld.so\0"), "ld.so": lambda p: (open(p, "w").close(), os.truncate(p, 1 << 42))})),
   "and one of terabytes is not")

places = (f"{LIBDIR}/libc.so.6", "lib/ld-musl-x86_64.so.1", "app", "bin/sh", "etc/ld.so.preload")
pipes = image("pipes", {p: os.mkfifo for p in places})
found = look(pipes)
ok(found, "pipes at the places of files are not waited for", found)
nodes = image("nodes", {p: lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3)) for p in places})
for p in places:
    ok(not opened(os.path.join(nodes, p), lambda: look(nodes)), f"a device at {p} is not opened")
for target in ("/proc/self/fd/0", "/dev/tty"):
    found = look(image("links" + target.replace("/", "-"), {p: lambda path: os.symlink(target, path) for p in places}))
    ok(found and found[0] == 1, f"links to {target} lead nowhere", found)

real = (glob.glob("/lib/*/libc.so.6") or ["/lib64/libc.so.6"])[0]
with open(real, "rb") as f:
    bytes_of_libc = f.read()
shrinks = image("shrinks", {f"{LIBDIR}/libc.so.6": bytes_of_libc, "app": elf(interpreter=b"/ld.so\0"), "ld.so": bytes_of_libc})
same("glibc" in look(shrinks)[1], True, "an image whose files stay is understood")
# Words that do not fit are not cut off: the container's programs would be started without the last ones.
for name, words, good in (("short", b"/lib/a.so:/lib/b.so", True), ("word", b"/" + b"a" * 4095, False), ("long", b"/lib/a.so\n" * 1000, False),
                          ("last", b"/" + b"a" * 4094, False), ("comment", b"#" * 4095, True)):
    root = image("preload-" + name, {f"{LIBDIR}/libc.so.6": bytes_of_libc, "app": elf(interpreter=b"/ld.so\0"), "ld.so": bytes_of_libc,
                                     "etc/ld.so.preload": words})
    found = look(root)
    ok(found and ("etc/ld.so.preload: name fewer" in found[1]) != good, f"a preload file: {name}", found)
# Nothing of an image writes to the terminal of who looks at it.
found = look(image("escape", {"app": elf(interpreter=b"/\x1b]0;mine\x07\n/\xc2\x9b7m/ld.so\0")}))
ok(found and not any(c in found[1].rstrip("\n") for c in "\x1b\x07\x9b") and found[1].count("\n") < 12, "nor do the names in it", found)
stop = threading.Event()


def shrink():
    while not stop.is_set():
        for path in (f"{LIBDIR}/libc.so.6", "ld.so"):
            with open(os.path.join(shrinks, path), "wb") as file:
                file.write(bytes_of_libc)
                file.flush()
                os.truncate(file.fileno(), 4096)


changer = threading.Thread(target=shrink)
changer.start()
codes = {look(shrinks)[0] for _ in range(40)}
stop.set()
changer.join()
ok(codes <= {0, 1}, "files that shrink while they are read do no harm", codes)

hook.wait((LIMIT_S + 10) * harness.PATIENCE)
taken = time.monotonic() - began
said = hook.stderr.read()
same(hook.returncode, 1, "a hook that gets no further gives up")
ok(f"not done after {LIMIT_S} s" in said and taken < (LIMIT_S + 5) * harness.PATIENCE, "after its time, with a line", said, taken)
ok(s.control().grant("waits") is None, "and gives the grant back that was made for its container")
shutil.rmtree(folder)
s.close()
finish()
