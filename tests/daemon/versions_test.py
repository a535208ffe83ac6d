"""Programs and meteds of neighbouring releases: each version of the protocol is served, and what it does not know kept from it."""
import struct

import harness
from harness import *

BEFORE = os.path.join(BUILD, "tests/daemon/meted_before")
FAR = os.path.join(BUILD, "tests/daemon/meted_far")
SHIM_BEFORE = os.path.join(BUILD, "tests/daemon/libcuda.so.1")
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


def program(m, path, shim):
    """A program that takes what its grant allows: its status and what it says."""
    env = dict(m.env, METE_SOCKET=path, METE_DRIVER=DRIVER, LD_PRELOAD=shim, LD_LIBRARY_PATH=os.path.dirname(shim),
               METE_LOG="stderr")
    done = subprocess.run([HUNGRY], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode, done.stdout


def test_older_shim():
    """A program with the shim of the release before under this meted."""
    m = Meted("--soft-only")
    path = m.make("share", 1 << 20)
    same(program(m, path, SHIM_BEFORE)[0], 0, "a program of the release before has its share here")
    grant = m.control().grant("share")
    ok(grant["attached_total"] >= 1 and grant["devices"][0]["peak_bytes"] == 1 << 20, "to the last byte", grant)
    m.close()


def far(directory):
    """A meted whose pages and workers are of another release, where one is installed."""
    for folder in "daemon", "remote/worker":
        os.makedirs(os.path.join(directory, folder))
    os.symlink(os.path.join(BUILD, "src/remote/worker/mete-worker"), os.path.join(directory, "remote/worker/mete-worker"))
    return shutil.copy(FAR, os.path.join(directory, "daemon/meted"))


def workers(m):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if name == "mete-worker" and int(rest.split()[1]) == m.process.pid:
            found.append(int(pid))
    return found


def test_other_pages():
    """A meted that shares pages of another form with programs takes over when there are none."""
    directory = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
    binary = far(directory)
    m = Meted("--soft-only")
    path = m.make("share", 100 * UNIT)
    client = m.client()
    same((client.hello(path), client.hold(0, 10)), (OK, True), "a program runs")
    answer = m.control().ask("upgrade", binary=binary)
    ok(not answer["ok"] and "when no program runs" in answer["error"], "then it is refused, with the remedy", answer)
    print("#", answer["error"])
    ok(m.control().ask("upgrade", check=True, binary=binary)["ok"] is False, "a check says so, too")
    same(client.reserve(0, 20), [OK, 20], "and the program goes on")
    # By a kill instead: what the page says is not believed.
    m.kill()
    harness.METED, m.env["METE_LIBDIR"] = binary, libdir(directory)
    m.start()
    ok("is of another release" in m.log() and "end that program" in m.log(), "the log says what to do", m.log()[-300:])
    client.kill()
    if not SANITIZED:
        status, said = program(m, path, SHIM)
        ok(status != 0 and "install both from one release" in said, "a program of this release is told why it cannot begin", said)
        print("#", " ".join(said.split())[-200:])
    harness.METED = METED
    m.close()
    shutil.rmtree(directory)


def libdir(directory):
    path = os.path.join(directory, "lib")
    os.makedirs(os.path.join(path, "soft"))
    for library in DRIVER, NVML:
        os.symlink(library, os.path.join(path, "soft", os.path.basename(library)))
    return path


def test_other_workers():
    """A worker that waits for a client does not understand the next meted: it is ended, and what is installed is named."""
    directory = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
    binary = far(directory)
    m = Meted("--soft-only")
    m.make("walled", 1 << 26, wall=True)
    ok(until(lambda: workers(m), 20), "a worker waits")
    old = workers(m)[0]
    answer = m.control().ask("upgrade", binary=binary)
    ok(answer["ok"], "the next one takes over", answer)
    ok(until(lambda: not alive(old), 20), "the worker ends")
    ok(until(lambda: "mete-worker is of another release" in m.log() or "mete-worker is of another release" in
             json.dumps(m.control().ask("grants")), 20), "that the installed one does not fit is said", m.log()[-500:])
    m.close()
    shutil.rmtree(directory)


test_older_programs()
test_other_pages()
if SANITIZED:
    skip("a program under an older meted", "programs do not have the sanitizer of the shim")
else:
    test_older_shim()
    test_other_workers()
    test_older_meted()
finish()
