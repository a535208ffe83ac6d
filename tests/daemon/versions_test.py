"""Programs and meteds of neighbouring releases: each version of the protocol is served, and what it does not know kept from it."""
import struct

import harness
from harness import *

BEFORE = os.path.join(BUILD, "tests/daemon/meted_before")
SHIM, DRIVER = (os.path.join(BUILD, f"src/{part}/libcuda.so.1") for part in ("shim", "softdev"))
NVML = os.path.join(BUILD, "src/softdev/nvml/libnvidia-ml.so.1")
HUNGRY = os.path.join(BUILD, "examples/hungry")
HELLO, WELCOME, OUT_OF_SERVICE = 1, 2, 6


def hello(path, version):
    """The status of the answer to HELLO of a process that ends then."""
    child = os.fork()
    if not child:
        os._exit(say_hello(path, version))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def say_hello(path, version):
    body = struct.pack("2I32s64sQ", version, 1, b"versions", bytes(64), 0)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(10)
        s.connect(path)
        s.sendall(struct.pack("4I", HELLO, 16 + len(body), 1, 0) + body)
        kind, _, _, status = struct.unpack_from("4I", s.recv(65536))
    return status if kind == WELCOME else 100


def test_older_programs():
    """A program that was started, or linked, under the release before."""
    m = Meted("--soft-only")
    path = m.make("old", 100 * UNIT)
    same([hello(path, v) for v in (1, 2, 3, 4)], [WRONG_VERSION, OK, OK, WRONG_VERSION], "this release and the one before")
    ok("speaks version 1" in m.log() and "restart the program" in m.log(), "the log names the remedy", m.log()[-300:])
    ok(m.control().ask("device_cordon", device="0", reason="a test")["ok"], "a device is cordoned")
    ok(m.control().ask("device_drain", device="0", reason="a test", grace_s=60)["ok"], "and drained")
    ok(until(lambda: hello(path, 3) == OUT_OF_SERVICE), "a program of this release is told why it may not begin")
    same(hello(path, 2), FULL, "one of the release before is told what it knows")
    m.close()


def test_older_meted():
    """A program of this release under a meted that has not been upgraded yet."""
    harness.METED = BEFORE
    libdir = tempfile.mkdtemp()  # this meted does not lie beside the software device
    os.makedirs(os.path.join(libdir, "soft"))
    for library in DRIVER, NVML:
        os.symlink(library, os.path.join(libdir, "soft", os.path.basename(library)))
    os.environ["METE_LIBDIR"] = libdir
    m = Meted("--soft-only")
    path = m.make("share", 1 << 20)
    same([hello(path, v) for v in (2, 3)], [OK, WRONG_VERSION], "a meted of the release before")
    env = dict(m.env, METE_SOCKET=path, METE_DRIVER=DRIVER, LD_PRELOAD=SHIM, LD_LIBRARY_PATH=os.path.dirname(SHIM))
    done = subprocess.run([HUNGRY], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    same(done.returncode, 0, "a program has its share there")
    grant = m.control().grant("share")
    ok(grant["attached_total"] >= 1 and grant["devices"][0]["peak_bytes"] == 1 << 20, "to the last byte", grant, done.stdout)
    m.close()
    shutil.rmtree(libdir)


test_older_programs()
if os.environ.get("ASAN_OPTIONS") or os.environ.get("TSAN_OPTIONS"):
    skip("a program under an older meted", "programs do not have the sanitizer of the shim")
else:
    test_older_meted()
finish()
