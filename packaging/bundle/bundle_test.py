#!/usr/bin/env python3
"""
The bundle keeps its promises: bundle_test.py TARBALL

Nothing in it needs a glibc above 2.31 (what goes into programs: 2.17), nothing needs a library that is neither in it nor part of libc,
nothing names a folder of the machine that built it; and it runs, moved, from a folder with a blank in its name, with an
empty environment. The two commands that README begins with lead from an empty folder to a program under a quota in 30 s.
"""
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from http.client import HTTPConnection

tarball = os.path.abspath(sys.argv[1])
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../README.md")
FIRST_PROGRAM_S = 30
LIBC = re.compile(r"^(lib(c|m|pthread|dl|rt|util)\.so\.\d|ld-linux[-\w]*\.so\.\d|libcuda\.so\.1)$")
count = failed = 0


def check(good, text, details=()):
    global count, failed
    count += 1
    failed += not good
    for d in [] if good else list(details)[:20]:
        print("#", d)
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def binaries(top):
    for folder, _, names in os.walk(top):
        for n in sorted(names):
            path = os.path.join(folder, n)
            with open(path, "rb") as f:
                if f.read(4) == b"\x7fELF" and not os.path.islink(path):
                    yield path


def inspect(top):
    young, missing, paths, starting, seen = [], [], [], [], 0
    for path in binaries(top):
        seen += 1
        short = os.path.relpath(path, top)
        newest = (2, 17) if "lib/mete/" in path else (2, 31)
        for line in run("objdump", "-T", path).stdout.decode().splitlines():
            m = re.search(r"\*UND\*.*GLIBC_(\d+)\.(\d+)", line)
            if m and (int(m.group(1)), int(m.group(2))) > newest:
                young.append(f"{short}: {line.split()[-1]} of {m.group(1)}.{m.group(2)}")
        dynamic = run("readelf", "-dW", path).stdout.decode()
        folders = [f for found in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic) for f in found.split(":")]
        # A library that programs find by links in a folder below its own looks in the folder above those as well.
        beside = os.listdir(os.path.dirname(path)) if folders and set(folders) <= {"$ORIGIN", "$ORIGIN/.."} else []
        missing += [f"{short}: {n}" for n in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if not LIBC.match(n) and n not in beside]
        paths += [f"{short}: {n}" for n in folders if n not in ("$ORIGIN", "$ORIGIN/..")]
        # glibc before 2.34 does not run the constructors of a program that was linked on a newer one; so there is
        # only the one that the compiler puts in, which does nothing.
        m = re.search(r"\(INIT_ARRAYSZ\)\s+(\d+)", dynamic)
        if m and int(m.group(1)) > 8 and "Shared library" in dynamic and not re.search(r"\(SONAME\)", dynamic):
            starting.append(f"{short}: {int(m.group(1)) // 8} constructors")
    check(seen > 10, f"{seen} binaries")
    check(not young, "none needs a glibc above 2.31, what goes into programs none above 2.17", young)
    check(not missing, "none needs a library that is neither there nor part of libc", missing)
    check(not paths, "none names a folder to search but its own", paths)
    check(not starting, "no program depends on constructors", starting)


def http(mete, home, env):
    """meted's console and figures; HTTPS, which the bundle has not, is refused with a line."""
    state = os.path.join(home, "console")
    os.mkdir(state, 0o700)
    meted = [os.path.join(os.path.dirname(mete), "meted"), "--runtime-dir", state, "--soft-only", "--foreground"]
    read_end, write_end = os.pipe()
    server = subprocess.Popen([*meted, "--http", "127.0.0.1:0", "--ready-fd", str(write_end)], env=env, pass_fds=[write_end],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(write_end)
    up = os.read(read_end, 1)
    os.close(read_end)
    address = None
    while up and not address:
        line = server.stderr.readline()
        address = re.search(rb"http: 127\.0\.0\.1:(\d+)", line)
        if not line:
            break
    check(address, "meted serves HTTP")
    for path, words in (("/", b"<title>mete"), ("/console/console.js", b"overview"), ("/metrics", b"mete_"), ("/api/v1/node", b'"devices"')):
        if not address:
            break
        connection = HTTPConnection("127.0.0.1", int(address[1]), timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        check(answer.status == 200 and words in answer.read(), f"GET {path}", [f"status {answer.status}"])
        connection.close()
    server.terminate()
    server.communicate(timeout=30)
    check(server.returncode == 0, "meted with a console ends as it is told", [f"status {server.returncode}"])
    r = run(*meted, "--http", "127.0.0.1:0", "--http-cert", "/c.pem", "--http-key", "/k.pem", env=env, timeout=60)
    check(r.returncode == 3 and b"has no TLS" in r.stdout, "HTTPS is refused with a line", [r.stdout.decode(errors="replace")])


def remote(works, mete, program, home, env):
    """A server with a key, and a program on its device, over TLS."""
    keys = os.path.join(home, "keys")
    works("mete key new", mete, "key", "new", "guest", "--keys", keys)
    server = subprocess.Popen([mete, "serve", "--soft", "--mem", "64M", "--keys", keys, "--listen", "127.0.0.1:0", "--json"],
                              env=env, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = server.stdout.readline()
    address = re.search(rb'"listen":\["([\d.:]+)"', said)
    check(address, "mete serve", [said.decode(errors="replace")])
    if address:
        works("mete run --remote", mete, "run", "--remote", address[1].decode(), "--key", os.path.join(keys, "guest.key"), "--",
              program, "4M", words=b"PASS")
    server.terminate()
    server.communicate(timeout=30)
    check(server.returncode == 0, "mete serve ends as it is told", [f"status {server.returncode}"])


def first_program(folder):
    """What README's first block of commands says, by a shell, in a folder with nothing but the bundle in it."""
    with open(README, encoding="utf-8") as file:
        block = re.search(r"^```\n(.*?)^```", file.read(), re.M | re.S)[1]
    commands = [line for line in block.splitlines() if line and not line.startswith("#")]
    check(len(commands) == 2, f"README begins with two commands: {commands}")
    shutil.copy(tarball, folder)
    env = {"PATH": "/usr/bin:/bin", "HOME": folder, "METE_RUNTIME_DIR": os.path.join(folder, "run"),
           "METE_SOFT_DIR": os.path.join(folder, "soft")}
    begun = time.monotonic()
    r = run("/bin/sh", "-ec", "\n".join(commands), env=env, cwd=folder, timeout=120)
    took = time.monotonic() - begun
    words = r.stdout.decode(errors="replace")
    check(r.returncode == 0 and "CUDA_ERROR_OUT_OF_MEMORY" in words and "PASS" in words,
          "they run a program that gets its share to the last byte", words)
    check(took <= FIRST_PROGRAM_S, f"in {took:.1f} s, of {FIRST_PROGRAM_S}")


def programs(top, home):
    """As a stranger's shell would: nothing in the environment."""
    env = {"PATH": "/usr/bin:/bin", "HOME": home, "METE_RUNTIME_DIR": os.path.join(home, "run"),
           "METE_SOFT_DIR": os.path.join(home, "soft")}
    os.mkdir(env["METE_RUNTIME_DIR"], 0o700)
    mete = os.path.join(top, "bin/mete")

    def works(text, *command, want=0, words=b""):
        r = run(*command, env=env, cwd=home, timeout=120)
        good = r.returncode == want and words in r.stdout
        check(good, text, [] if good else [f"status {r.returncode}"] + r.stdout.decode(errors="replace").splitlines()[-15:])

    works("mete version", mete, "version", words=b"mete")
    works("mete devices", mete, "devices", words=b"mete software device")
    for example in sorted(os.listdir(os.path.join(top, "examples"))):
        works(f"mete run examples/{example}", mete, "run", "--soft", "--mem", "64M", "--", os.path.join(top, "examples", example),
              words=b"PASS")
    works("an exit status comes through", mete, "run", "--soft", "--mem", "64M", "--", "/bin/sh", "-c", "exit 7", want=7)
    works("mete run --wall", mete, "run", "--soft", "--wall", "--mem", "64M", "--", os.path.join(top, "examples/saxpy"), "64K",
          words=b"PASS")
    http(mete, home, env)
    remote(works, mete, os.path.join(top, "examples/hungry"), home, env)
    works("tests/gpu/run --soft", os.path.join(top, "tests/gpu/run"), "--soft", "--quick", "--report", os.path.join(home, "report"),
          words=b" 0 failed")


if not os.path.exists(tarball):
    print("1..0 # SKIP there is no bundle; meson compile -C BUILD bundle makes it")
    sys.exit(0)
scratch = tempfile.mkdtemp(prefix="mete-b-")
try:
    with tarfile.open(tarball) as tar:
        tar.extractall(scratch)
    first = os.path.join(scratch, os.listdir(scratch)[0])
    moved = os.path.join(scratch, "a b", "mete here")
    os.mkdir(os.path.dirname(moved))
    shutil.move(first, moved)
    home = os.path.join(scratch, "home")
    os.mkdir(home)
    empty = os.path.join(scratch, "empty")
    os.mkdir(empty)
    first_program(empty)
    inspect(moved)
    programs(moved, home)
finally:
    shutil.rmtree(scratch, ignore_errors=True)
print(f"1..{count}")
sys.exit(1 if failed else 0)
