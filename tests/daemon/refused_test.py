"""What an operator meets when meted does not start, or not as it was meant: the console's token can be made before there is a
meted; who starts it by asking is told why it does not start; doctor sees what the unit's sandbox takes away. refused_test.py BUILD"""
import threading

from harness import *
from supervisor import Supervisor

METE = os.path.join(BUILD, "src/cli/mete")
place = tempfile.mkdtemp(prefix="mete-refused-", dir="/tmp")
atexit.register(shutil.rmtree, place, True)
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith("METE_") or k == "METE_LIBDIR"}


def mete(directory, *words, path=None):
    env = {**CLEAN, "METE_RUNTIME_DIR": directory, "METE_SOFT_DIR": os.path.join(place, "soft"), **({"PATH": path} if path else {})}
    done = subprocess.run([METE, *words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=60)
    return done.returncode, done.stdout, done.stderr


def pair():
    cert, key = os.path.join(place, "cert.pem"), os.path.join(place, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                    "/CN=localhost", "-keyout", key, "-out", cert, "-days", "2"], check=True, stderr=subprocess.DEVNULL)
    return cert, key


def test_token():
    """A meted that wants a token to start is helped by a token that wants no meted."""
    directory = os.path.join(place, "token")
    os.mkdir(directory, 0o700)
    cert, key = pair()
    options = ["--http", "0.0.0.0:0", "--http-cert", cert, "--http-key", key, "--soft-only"]
    m = Meted(*options, directory=directory, expect=False)
    same((m.up, m.wait()), (False, 3), "without a token it does not start")
    ok("mete token new" in m.error and m.error.startswith("meted: --http 0.0.0.0:0: "), "and says how one is made", m.error)
    status, token, err = mete(directory, "token", "new")
    ok(status == 0 and len(token.strip()) == 64, "`mete token new` makes one where no meted runs", status, token, err)
    m = Meted(*options, directory=directory)
    same(mete(directory, "token", "show")[1], token, "with it meted starts, and has it")
    m.close()
    status, token, err = mete(os.path.join(place, "nowhere"), "token", "new")
    ok(status and not token and "mkdir -m 700" in err and "room" not in err, "where there is no folder, it says to make one", status, err)


def test_flooded():
    """Users who ask without an end, or connect and say nothing, do not keep a meted that was refused."""
    directory = os.path.join(place, "flooded")
    os.mkdir(directory, 0o700)
    config = os.path.join(place, "flooded.yaml")
    with open(config, "w", encoding="utf-8") as f:
        f.write("zebra: 1\n")
    s = Supervisor(directory, [METED, "--config", config, "--runtime-dir", directory, "--foreground"], CLEAN)
    ok(until(lambda: s.statuses == [3], 20), "a meted is refused", s.statuses, s.errors)
    ends = [socket.socket(socket.AF_UNIX) for _ in range(60)]

    def flood(end):
        try:
            while True:
                end.sendall(b"x" * (1 << 20))
        except OSError:
            pass
    for n, end in enumerate(ends):
        end.connect(os.path.join(directory, "control.sock"))
        for _ in range(3 if n % 10 == 0 else 0):
            threading.Thread(target=flood, args=(end,), daemon=True).start()
    began = time.monotonic()
    ok(until(lambda: s.statuses == [3, 3], 15), "started by users who flood it or say nothing it ends", s.statuses)
    ok(time.monotonic() - began < 4 * PATIENCE, "within some seconds", time.monotonic() - began)
    for end in ends:
        end.close()
    s.end()


def test_one_line():
    """One who asks starts it once, and is told at once; later ones start nothing."""
    directory = os.path.join(place, "line")
    os.mkdir(directory, 0o700)
    config = os.path.join(place, "meted.yaml")

    def write(text):
        with open(config, "w", encoding="utf-8") as f:
            f.write(text)
    write("driver:\n  soft_only: true\nhttp:\n  listen: 192.0.2.1:7480\n")
    s = Supervisor(directory, [METED, "--config", config, "--runtime-dir", directory, "--foreground"], CLEAN)
    ok(until(lambda: s.statuses == [3], 20), "exit status 3", s.statuses, s.errors)
    for _ in range(20):
        before = time.monotonic()
        status, _, err = mete(directory, "ps")
        if not (status == 1 and f"{config}:4: http.listen 192.0.2.1:7480: this machine has no such address" in err and err.count("\n") == 1
                and time.monotonic() - before < PATIENCE):
            ok(False, "mete ps says which line of which file", err, time.monotonic() - before)
    same(len(s.starts), 1, "twenty who ask start it no more")
    os.unlink(os.path.join(directory, "refused"))
    raw = Control(directory)  # another program, which does not know of the file
    answer = raw.ask("hello")
    same((answer["ok"], answer["code"]), (False, "not-started"), "who starts it by connecting is answered")
    ok(f"{config}:4: " in answer["error"], "with the line", answer)
    raw.close()
    same(len(s.starts), 2, "by one start")
    write("driver:\n  soft_only: true\n")
    os.unlink(os.path.join(directory, "refused"))
    ok(mete(directory, "ps")[0] == 0, "mended, it starts")
    ok(not os.path.exists(os.path.join(directory, "refused")), "and nothing is left of it")
    status, out, err = mete(directory, "doctor")
    write("zebra: 1\n")
    m = Meted("--system", "--config", config, directory=directory, expect=False)
    same(m.wait(), 3, "a second one, with a fault")
    ok(mete(directory, "ps")[0] == 0, "does not speak for the one that serves")
    s.end()


def test_unit():
    """The unit lets in this machine alone, and sees no home: doctor says so before somebody waits in vain."""
    directory, tools = os.path.join(place, "unit"), os.path.join(place, "tools")
    os.mkdir(directory, 0o755)
    os.mkdir(tools)
    cert, key = pair()
    Meted("--http", "0.0.0.0:0", directory=directory, expect=False).wait()
    same(mete(directory, "token", "new")[0], 0, "a token")
    m = Meted("--system", "--http", "0.0.0.0:0", "--http-cert", cert, "--http-key", key, "--soft-only", directory=directory)

    def doctor(deny, allow):
        with open(os.path.join(tools, "systemctl"), "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n[ $1 = show ] || exit 1\necho 'MainPID={m.process.pid}\nIPAddressAllow={allow}\nIPAddressDeny={deny}'\n")
        os.chmod(os.path.join(tools, "systemctl"), 0o755)
        return mete(directory, "doctor", path=f"{tools}:{os.environ['PATH']}")[1]
    said = doctor("0.0.0.0/0 ::/0", "127.0.0.0/8 ::1/128")
    ok("lets in no address beyond this machine" in said and "IPAddressAllow=" in said, "shut off: doctor says it, with the drop-in", said)
    ok("lets in no address" not in doctor("0.0.0.0/0 ::/0", "127.0.0.0/8 ::1/128 10.0.0.0/8"), "let in: nothing is wrong")
    ok("lets in no address" not in doctor("", ""), "without a sandbox: nothing is wrong")
    m.close()


if shutil.which("openssl"):
    test_token()
test_flooded()
test_one_line()
if os.geteuid() or not shutil.which("openssl"):
    skip("the unit", "only root serves all users")
else:
    test_unit()
finish()
