"""Users who do nothing but TLS handshakes with meted's HTTP port: they are computed in the loop that everybody waits for."""
import encodings.idna  # noqa: F401  (an attacker has no files to import it from later)
import ssl
import threading

from ground import *

SECONDS = 4


def greet():
    """How many handshakes were had."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    end, counts = time.monotonic() + SECONDS + 2, []

    def one():
        count = 0
        while time.monotonic() < end:
            try:
                context.wrap_socket(socket.create_connection(("127.0.0.1", port), 3)).close()
                count += 1
            except OSError:
                time.sleep(0.001)
        counts.append(count)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return sum(counts)


root_only("users who greet without end")
place = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
atexit.register(shutil.rmtree, place, True)
if not shutil.which("openssl"):
    harness.skip("users who greet without end", "there is no openssl to make a certificate with")
    finish()
harness.subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:4096", "-nodes", "-keyout", f"{place}/key", "-out", f"{place}/cert",
                        "-subj", "/CN=localhost", "-days", "2"], check=True, stderr=harness.subprocess.DEVNULL)
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
with open(f"{place}/meted.yaml", "w", encoding="ascii") as f:
    f.write(f"http:\n  listen: 127.0.0.1:{port}\n  cert: {place}/cert\n  key: {place}/key\n")
s = system("--config", f"{place}/meted.yaml", expect=False)
if not s.up:
    harness.skip("users who greet without end", "this meted has no TLS")
    s.opened = []
    finish()


def asked_of(m):
    """How long a new connection and its answer take, without what the kernel let the two of them wait for a processor, which the
    attackers have as well."""
    began, waited = time.monotonic(), harness.starved(m.process.pid) + harness.starved(os.getpid())
    c = m.control()
    good = c.ask("hello")["ok"]
    c.close()
    waited = harness.starved(m.process.pid) + harness.starved(os.getpid()) - waited
    return time.monotonic() - began - waited if good else 1e9


attackers = [Child(UID + i, greet) for i in range(3)]
time.sleep(1)
end, slowest = time.monotonic() + SECONDS, 0
while time.monotonic() < end:
    slowest = max(slowest, asked_of(s))
    time.sleep(0.02)
had = [a.value() for a in attackers]
ok(sum(had) <= 40 + 20 * (SECONDS + 8), "of all handshakes there are a few a second", had)
ok(slowest < 2 * PATIENCE, "and root is answered, and does not wait for them", slowest)
s.close()
finish()
