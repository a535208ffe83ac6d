"""HTTP: routes, refusals, who may do what, TLS beyond loopback, and connections that misbehave."""
import grp
import gzip
import http.client
import ssl

from http_client import Local, get
from harness import *

if "http_none.c" in open(os.path.join(BUILD, "build.ninja")).read():
    skip("HTTP", "built without it")
    finish()

GOOD = "0123456789abcdef" * 4


def error(answer):
    return json.loads(answer[1])["error"]


def port_of(m):
    at = m.control().ask("hello")["http"]
    return int(at.rsplit(":", 1)[1])


def test_routes(connection):
    status, body, headers = get(connection, "/healthz")
    same((status, json.loads(body)["status"]), (200, "ok"), "health")
    same(headers.get("X-Content-Type-Options"), "nosniff", "no guessing of types")
    ok("default-src 'self'" in headers.get("Content-Security-Policy", ""), "its own scripts alone", headers)
    ok("Access-Control-Allow-Origin" not in headers, "for no other site")
    same(get(connection, "/healthz", "HEAD")[:2], (200, b""), "only the head")
    answer = get(connection, "/nope")
    ok(answer[0] == 404 and "/nope" in error(answer), "what is not there", answer)
    answer = get(connection, "/healthz", "DELETE")
    ok(answer[0] == 405 and "DELETE" in error(answer), "what is not done", answer)
    status, body, _ = get(connection, "/api/v1/events")
    same((status, json.loads(body)["events"][0]["kind"]), (200, "daemon"), "events")
    answer = get(connection, "/api/v1/events?kind=x")
    ok(answer[0] == 400 and "grant, refusal" in error(answer), "a kind that is none", answer)
    same(get(connection, "/api/v1/events?device=77")[0], 404, "a device that is none")
    status, body, headers = get(connection, "/api/v1/events", Accept_Encoding="gzip")
    if headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    ok(json.loads(body)["events"], "compressed when it is worth it")
    answer = get(connection, "/healthz", "POST", b"x" * 100000)
    ok(answer[0] == 413 and "65536" in error(answer), "a body that is too long", answer)
    same(get(connection, "/healthz")[0], 200, "the connection goes on")


def test_host(port):
    for host in ("localhost", f"127.0.0.1:{port}", "[::1]", "LOCALHOST:1"):
        same(get(http.client.HTTPConnection("127.0.0.1", port, timeout=30), "/healthz", Host=host)[0], 200, f"asked for as {host}")
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""):
        same(get(http.client.HTTPConnection("127.0.0.1", port, timeout=30), "/healthz", Host=host)[0], 403, f"not as {host!r}")


def test_refused_starts():
    for options, part in ((["--http", "nonsense"], "ADDRESS:PORT"), (["--http", "127.0.0.1:99999"], "--http"),
                          (["--http", "example.com:80"], "in digits"), (["--http", "0.0.0.0:0"], "give http.cert and http.key"),
                          (["--http", "127.0.0.1:0", "--http-cert", "/x"], "give both, or none"),
                          (["--http", "127.0.0.1:0", "--http-cert", "/x", "--http-key", "/x"], "/x"),
                          (["--http", "192.0.2.1:80"], "--http 192.0.2.1:80: this machine has no such address")):
        m = Meted(*options, expect=False)
        m.wait()
        ok(not m.up and m.process.returncode == 3 and part in m.error and m.error.count("\n") == 1,
           f"{' '.join(options)} is refused", m.error)
        m.close()


def make_cert(folder):
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=localhost", "-keyout", key, "-out", cert, "-days", "2"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cert, key


def test_beyond_loopback():
    """TLS, and nothing without the token."""
    if not shutil.which("openssl"):
        skip("beyond loopback", "no openssl")
        return
    folder = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
    cert, key = make_cert(folder)
    options = ["--http", "0.0.0.0:0", "--http-cert", cert, "--http-key", key]
    m = Meted(*options, directory=folder, expect=False)
    m.wait()
    ok(not m.up and "mete token new" in m.error, "without a token it does not start", m.error)
    token = os.path.join(folder, "console.token")
    with open(token, "w") as f:
        f.write(f"{GOOD}\n")
    os.chmod(token, 0o644)
    m = Meted(*options, directory=folder, expect=False)
    m.wait()
    ok(not m.up and "mete token new" in m.error, "one that others can read is none", m.error)
    os.chmod(token, 0o600)
    m = Meted(*options, directory=folder)
    trust = ssl.create_default_context(cafile=cert)
    connection = http.client.HTTPSConnection("localhost", port_of(m), context=trust, timeout=30)
    same(get(connection, "/healthz")[0], 200, "health is told to everybody")
    answer = get(connection, "/api/v1/events")
    ok(answer[0] == 401 and "Bearer" in error(answer), "nothing else without a token", answer)
    for wrong in ("Bearer " + GOOD[1:], "Bearer " + GOOD + "x", "Bearer ",
                  "Basic " + GOOD, "Bearer " + "x" * 5000):
        same(get(connection, "/api/v1/events", Authorization=wrong)[0], 401, f"a wrong one: {wrong[:40]}")
    same(get(connection, "/api/v1/events", Authorization="Bearer " + GOOD)[0], 200, "the token")
    reader = m.control().ask("token_new", read=True)["token"]
    same(get(connection, "/metrics", Authorization="Bearer " + reader)[0], 200, "the one that reads alone")
    same(get(connection, "/api/v1/devices/0/cordon", method="POST", Authorization="Bearer " + reader)[0], 403, "which does not act")
    plain = http.client.HTTPConnection("localhost", port_of(m), timeout=30)
    try:
        plain.request("GET", "/healthz")
        good = plain.getresponse().status >= 400
    except (http.client.HTTPException, ConnectionError):
        good = True
    ok(good, "no plain HTTP there")
    same(get(Local(folder), "/api/v1/events")[0], 200, "http.sock needs none")
    connection.close()
    m.close()
    shutil.rmtree(folder)


def test_group():
    """http.sock can be reached by a group's members."""
    others = [g for g in os.getgroups() if g != os.getegid()]
    gid = others[0] if others and os.getuid() else (grp.getgrnam("video").gr_gid if not os.getuid() else os.getegid())
    m = Meted("--http-group", grp.getgrgid(gid).gr_name)
    st = os.stat(os.path.join(m.dir, "http.sock"))
    same((st.st_mode & 0o777, st.st_gid), (0o660, gid), "http.sock is the group's")
    m.close()
    m = Meted("--http-group", "no-such-group")
    st = os.stat(os.path.join(m.dir, "http.sock"))
    same(st.st_gid, os.getegid(), "without such a group meted serves, and http.sock is its own group's")
    ok("no-such-group: there is no such group: `getent group`" in m.log(), "the log says so", m.log())
    said = checked("--http-group", "no-such-group")
    ok(said[0] == 1 and "--http-group no-such-group: there is no such group: `getent group`" in said[1], "--check-config refuses it", said)
    m.close()


def checked(*options):
    done = subprocess.run([METED, *options, "--check-config"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    return done.returncode, done.stderr


def test_certificate_ends():
    """One that is over takes no meted down: it is said where an operator looks. So is one that ends soon."""
    if not shutil.which("openssl"):
        skip("certificates that end", "no openssl")
        return
    folder = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
    cert, key = make_cert(folder)
    over, request = os.path.join(folder, "over.pem"), os.path.join(folder, "request.pem")
    for command in (["req", "-new", "-key", key, "-subj", "/CN=localhost", "-out", request],
                    ["x509", "-req", "-in", request, "-signkey", key, "-days", "-1", "-out", over]):
        subprocess.run(["openssl", *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for path, words in ((cert, "it expires at "), (over, "it has expired at ")):
        options = ["--http", "127.0.0.1:0", "--http-cert", path, "--http-key", key]
        m = Meted(*options)
        doctor = subprocess.run([os.path.join(BUILD, "src/cli/mete"), "doctor"], env={**m.env, "METE_RUNTIME_DIR": m.dir},
                                stdout=subprocess.PIPE, text=True, timeout=120).stdout
        ok(f"certificate: {words}" in doctor and "-> renew the certificate" in doctor, f"doctor: {words}", doctor)
        status, said = checked(*options)
        same((status, "expired at" in said and "renew" in said), (int(path == over), path == over), "--check-config knows which")
        same("expired at" in m.log(), path == over, "and so does the log")
        same(get(Local(m.dir), "/healthz")[0], 200, "meted serves with both")
        m.close()
    shutil.rmtree(folder)


def test_data(m, connection):
    """The node, its devices and tenants, and their history."""
    m.make("shown", devices=[{"device": "1", "mem_bytes": GIB, "cores": 25}])
    node = json.loads(get(connection, "/api/v1/node")[1])
    same([d["index"] for d in node["devices"]], [0, 1], "the devices")
    device, tenant = node["devices"][1], node["tenants"][0]
    same((device["promised_bytes"], device["promised_cores"], device["state"]), (GIB, 25.0, "active"), "what is promised")
    same((tenant["name"], tenant["state"], tenant["uid"], tenant["shares"][0]["quota_bytes"]),
         ("shown", "idle", os.getuid(), GIB), "the tenant")
    same(node["last_event"], json.loads(get(connection, "/api/v1/events")[1])["last"], "the newest event")

    def drawn():
        series = json.loads(get(connection, "/api/v1/history?tenant=shown&span=5")[1])["series"]
        return GIB in series["promised"] and 0 in series["held"] and 0.0 in series["got"]

    ok(until(drawn, 20), "its history")
    for query, status in (("device=1", 200), (f"device={device['uuid']}&span=86400", 200), ("device=9", 404),
                          ("tenant=nobody", 404), ("", 400), ("device=1&tenant=shown", 400), ("device=1&span=0", 400),
                          ("device=1&span=86401", 400), ("device=1&series=held,,got", 400), ("device=1&series=got", 200),
                          ("device=1&series=sent", 400), ("node=1&series=received,sent", 200)):
        same(get(connection, f"/api/v1/history?{query}")[0], status, f"history?{query}: {status}")


def test_many(m, port):
    """More connections than there are places, and what they leave."""
    before = m.descriptors()
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(150)]
    for s in held:
        s.sendall(b"GET /healthz HT")
    same(get(Local(m.dir), "/healthz")[0], 200, "http.sock is served meanwhile")
    for s in held:
        s.close()
    ok(until(lambda: m.descriptors() <= before, 20), "their descriptors are closed", before, m.descriptors())
    same(get(http.client.HTTPConnection("127.0.0.1", port, timeout=30), "/healthz")[0], 200, "and the port is served")


m = Meted("--http", "127.0.0.1:0")
port = port_of(m)
test_routes(Local(m.dir))
test_routes(http.client.HTTPConnection("127.0.0.1", port, timeout=30))
same(os.stat(os.path.join(m.dir, "http.sock")).st_mode & 0o777, 0o600, "http.sock is its user's")
test_host(port)
test_data(m, Local(m.dir))
test_many(m, port)
m.close()
ok(not os.path.exists(os.path.join(m.dir, "http.sock")), "http.sock goes with meted")
test_refused_starts()
test_group()
test_certificate_ends()
test_beyond_loopback()
finish()
