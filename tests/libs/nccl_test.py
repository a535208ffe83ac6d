"""
nccl_test.py BUILD: ranks of NCCL that are processes: two train together and have the bits of one that does it alone, on the
software device, behind walls and over two servers; a rank is killed, one never comes, one is of another version.
"""
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import checks
from checks import check

build = sys.argv[1]
METE = os.path.join(build, "src/cli/mete")
RANKS = os.path.join(build, "tests/libs/nccl_ranks")
folder = tempfile.mkdtemp(prefix="mete-nccl-")
STEPS = "40"


def env_of(name, **more):
    own = {k: v for k, v in os.environ.items() if not k.startswith("METE_") and k not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
    own.update(METE_RUNTIME_DIR=os.path.join(folder, "run-" + name), METE_SOFT_DIR=os.path.join(folder, "soft-" + name), **more)
    os.makedirs(own["METE_RUNTIME_DIR"], mode=0o700, exist_ok=True)
    return own


def start(command, env, rank, ranks, id_file, *more, steps=STEPS):
    return subprocess.Popen([*command, RANKS, str(rank), str(ranks), id_file, steps, *more], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def end(process, seconds=90):
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return "hangs", err
    return out.strip(), err


number = 0


def id_file():
    global number
    number += 1
    return os.path.join(folder, f"id-{number}")


alone = subprocess.run([RANKS, "0", "0", "none", STEPS], env={**env_of("alone"), "LD_LIBRARY_PATH": os.path.join(build, "src/softdev")},
                       capture_output=True, text=True, timeout=60).stdout.strip()
check(alone.startswith("parameters "), "one process trains alone", alone)

# Two processes of one machine: each its device; then two that share one; then behind walls.
soft = env_of("soft", METE_SOFT_DEVICES="2")
for what, commands in (("two devices", [["soft", "run"]] * 2),
                       ("one device, shared", [["run", "--soft", "--mem", "64M", "--cores", "50"]] * 2),
                       ("behind walls", [["run", "--soft", "--wall", "--mem", "64M"]] * 2)):
    path = id_file()
    ranks = [start([METE, *commands[r]], {**soft, **({"CUDA_VISIBLE_DEVICES": str(r)} if commands[r][0] == "soft" else {})}, r, 2, path)
             for r in range(2)]
    said = [end(p) for p in ranks]
    check(all(out == alone for out, _ in said), f"{what}: the bits of one process", said)

path = id_file()
tcp = {**soft, "NCCL_SHM_DISABLE": "1"}
ranks = [start([METE, "soft", "run"], tcp, r, 2, path) for r in range(2)]
said = [end(p) for p in ranks]
check(all(out == alone for out, _ in said), "by sockets: the bits of one process", said)
path = id_file()
ranks = [start([METE, "soft", "run"], tcp, r, 2, path, *(["die", "20"] if r else [])) for r in range(2)]
said = [end(p) for p in ranks]
check(said[0][0].split()[:2] == ["error", "6"] and float(said[0][0].split()[2]) < 10, "by sockets: a killed rank", said)

# One is killed: the other has an error soon, and its stream goes on.
path = id_file()
ranks = [start([METE, "soft", "run"], soft, r, 2, path, *(["die", "20"] if r else [])) for r in range(2)]
said = [end(p) for p in ranks]
words = said[0][0].split()
check(words[:2] == ["error", "6"] and float(words[2]) < 10, "a killed rank: ncclRemoteError of the other", said)
check("rank 1 has ended" in said[0][0] and "NCCL: rank 1 has ended" in said[0][1], "which names it", said)

# One sums fewer numbers, and leaves at once with its error: both are told what was wrong.
for what, env in (("shared memory", soft), ("sockets", tcp)):
    path = id_file()
    ranks = [start([METE, "soft", "run"], env, r, 2, path, *(["differ", "20"] if r else [])) for r in range(2)]
    said = [end(p) for p in ranks]
    check(all(out.split()[:2] == ["error", "5"] and "call different things" in out for out, _ in said),
          f"by {what}: different counts are ncclInvalidUsage of both", said)

# One of three is killed, and the two others go on without it (ncclCommShrink).
three = env_of("three", METE_SOFT_DEVICES="3")  # devices of their own: those above are two while a process has them
for what, env in (("shared memory", three), ("sockets", {**three, "NCCL_SHM_DISABLE": "1"})):
    path = id_file()
    ranks = [start([METE, "soft", "run"], {**env, "CUDA_VISIBLE_DEVICES": str(r)}, r, 3, path, *(["die", "20"] if r == 0 else ["survive", "0"]))
             for r in range(3)]
    said = [end(p) for p in ranks]
    check(all(out == "left 2 sum 6" for out, _ in said[1:]), f"by {what}: two go on without the one that was killed", said)

# It leaves a child behind, which has what its parent had open: by shared memory and by sockets.
for what, env in (("shared memory", soft), ("sockets", tcp)):
    path = id_file()
    ranks = [start([METE, "soft", "run"], env, r, 2, path, *(["orphan", "20"] if r else [])) for r in range(2)]
    said = [end(p, 25) for p in ranks]
    words = said[0][0].split()
    check(words[:2] == ["error", "6"] and float(words[2]) < 10, f"by {what}: a killed rank whose child lives on", said)

# One never comes, or goes before all have come.
path = id_file()
out, err = end(start([METE, "soft", "run"], {**soft, "METE_NCCL_TIMEOUT": "2"}, 0, 2, path), 30)
words = out.split()
check(words[:2] == ["error", "6"] and 1 < float(words[2]) < 20, "a rank that never comes: an error when the time is over", out + err)
check("1 of 2 ranks came within 2 s (METE_NCCL_TIMEOUT)" in err, "which says so", err)
check("1 of 2 ranks came within 2 s (METE_NCCL_TIMEOUT)" in out, "as ncclGetLastError() does without a communicator", out)
path = id_file()
ranks = [start([METE, "soft", "run"], soft, r, 3, path) for r in range(2)]
while not os.path.exists(path):
    time.sleep(0.01)
time.sleep(0.5)
ranks[1].send_signal(signal.SIGTERM)  # mete ends what it started
said = [end(p, 40) for p in ranks]
check(said[0][0].split()[:2] == ["error", "6"], "a rank that is killed before all have come", said)

# Two versions, and somebody who is none of ours.
path = id_file()
first = start([METE, "soft", "run"], soft, 0, 2, path)
while not os.path.exists(path):
    time.sleep(0.01)
with open(path, "rb") as f:
    magic, version, address, port, _, secret = struct.unpack("<QIIHH16s", f.read(36))
at = (socket.inet_ntoa(struct.pack("<I", address)), port)
stranger = socket.create_connection(at)
stranger.sendall(b"x" * 100)
try:
    heard = stranger.recv(1)
except ConnectionResetError:
    heard = b""
check(heard == b"", "a stranger is sent away")
other = socket.create_connection(at)
other.sendall(struct.pack("<QIIIIHH16s16s", magic, version + 1, 1, 2, address, 1, 0, secret, b"m" * 16) + bytes(20))
answer = other.recv(200)
out, err = end(first, 40)
check(struct.unpack("<I", answer[:4])[0] == 5 and b"another version" in answer, "a rank of another version is told", answer)
check(out.split()[:2] == ["error", "5"] and "of another version of mete's NCCL (4, here 3)" in err, "and so are the others", out + err)

# Strangers who connect to all sockets of a rank and say nothing hold nobody up; and what everybody on the machine can read is no secret.
def sockets(pid):
    """Inodes of the process's and its children's."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.add(os.readlink(f"/proc/{pid}/fd/{fd}").removeprefix("socket:[").rstrip("]"))
        except OSError:
            pass
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return found.union(*(sockets(child) for child in f.read().split()))


def listening(pid):
    """Addresses of its sockets that listen: of TCP, and abstract names."""
    own = sockets(pid)
    with open("/proc/net/tcp") as f:
        lines = [line.split() for line in f]
    tcp = [(socket.inet_ntoa(struct.pack("<I", int(w[1].split(":")[0], 16))), int(w[1].split(":")[1], 16)) for w in lines
           if w[3] == "0A" and w[9] in own]
    with open("/proc/net/unix") as f:
        lines = [line.split() for line in f]
    return tcp, [b"\0" + w[7][1:].encode() for w in lines if len(w) > 7 and w[6] in own and w[7].startswith("@mete-nccl-")]


path = id_file()
first = start([METE, "soft", "run"], soft, 0, 2, path)
end_of_wait, tcp_at, names_at = time.monotonic() + 30, [], []
while time.monotonic() < end_of_wait and (len(tcp_at) < 2 or not names_at):  # who made the id, and the rank
    tcp_at, names_at = listening(first.pid)
    time.sleep(0.01)
strangers = [socket.create_connection(at) for at in tcp_at for _ in range(3)]
for name in names_at:
    strangers.append(socket.socket(socket.AF_UNIX))
    strangers[-1].connect(name)
with open(path, "rb") as f:
    secret = struct.unpack("<QIIHH16s", f.read(36))[5]
check(len(tcp_at) == 2 and len(names_at) == 1 and secret.hex().encode() not in names_at[0], "a socket's name does not hold the secret",
      f"{tcp_at} {names_at}")
began = time.monotonic()
second = start([METE, "soft", "run"], soft, 1, 2, path)
said = [end(p, 60) for p in (first, second)]
took = time.monotonic() - began
check(all(out == alone for out, _ in said) and took < 14, "strangers who say nothing hold nobody up", f"{said}, {took:.1f} s")
for s in strangers:
    s.close()

# Over two servers, each with a device of its own.
servers, clients = [], []
for name in ("a", "b"):
    env = env_of(name)
    keys = os.path.join(folder, "keys-" + name)
    subprocess.run([METE, "key", "new", "tester", "--keys", keys], env=env, stdout=subprocess.DEVNULL, check=True)
    server = subprocess.Popen([METE, "serve", "--soft", "--keys", keys, "--listen", "127.0.0.1:0", "--json", "--device", "0", "--mem",
                               "128M"], env=env, stdout=subprocess.PIPE, text=True)
    servers.append(server)
    address = json.loads(server.stdout.readline())["listen"][0]
    clients.append(([METE, "run", "--remote", address, "--key", os.path.join(keys, "tester.key")], env_of("client-" + name)))
path = id_file()
ranks = [start(clients[r][0], {**clients[r][1], "NCCL_SHM_DISABLE": "1"}, r, 2, path) for r in range(2)]
said = [end(p) for p in ranks]
check(all(out == alone for out, _ in said), "over two servers: the bits of one process", said)
path = id_file()
ranks = [start(*clients[r], r, 2, path, *(["die", "20"] if r else [])) for r in range(2)]
said = [end(p) for p in ranks]
check(said[0][0].split()[:2] == ["error", "6"], "over two servers: a killed rank is an error of the other", said)
for server in servers:
    server.terminate()
    server.communicate(timeout=20)
shutil.rmtree(folder, ignore_errors=True)
checks.end()
