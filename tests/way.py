#!/usr/bin/env python3
"""
Runs one test program one way: way.py direct|shim|wall|remote [options] -- PROGRAM [ARGUMENT...]

  direct   on the software device: its folder stands first in the library path
  shim     under `mete run`, on the software device, with the memory of --grant
  wall     the same with `mete run --wall`: the calls go to a worker
  remote   `mete serve` on loopback offers the same, and `mete run --remote` takes it, by TLS with a key; with --delay MS
           (added to the round trip), --loss and --reorder PERCENT (of the packets) by a line between two network
           namespaces that is like that

Each run has a software device and a runtime directory of its own, so tests run side by side. After the program has
ended, the device's pool must be full again and nothing of mete may still run; else the status is 1, and lines that
begin with "# way:" say why. Otherwise the status is the program's.
"""
import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "remote"))
sys.dont_write_bytecode = True
import net  # noqa: E402

PATIENCE = float(os.environ.get("METE_TEST_PATIENCE", "1"))
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def size(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def options():
    p = argparse.ArgumentParser()
    p.add_argument("way", choices=["direct", "shim", "wall", "remote"])
    p.add_argument("--build", required=True, help="the build directory")
    p.add_argument("--memory", default="1G,1G", help="memory of the software devices")
    p.add_argument("--grant", default="0=512M,1=256M", help="devices and their quotas, for the shim")
    p.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("--spill", choices=["stays", "moves"], help="memory that may leave the device; moves: it does, all the time")
    p.add_argument("--delay", type=float, default=0, help="milliseconds, for remote")
    p.add_argument("--loss", type=float, default=0, help="percent, for remote")
    p.add_argument("--reorder", type=float, default=0, help="percent, for remote")
    p.add_argument("program", nargs="+")
    return p.parse_args()


def probe(args, env):
    """UUID, total and free bytes of the software devices, asked without mete in between."""
    list_env = {k: v for k, v in env.items() if k not in ("LD_PRELOAD", "CUDA_VISIBLE_DEVICES")}
    list_env["LD_LIBRARY_PATH"] = os.path.join(args.build, "src/softdev")
    tool = os.path.join(args.build, "tests/behaviour/visible_test")
    out = subprocess.run([tool, "list"], env=list_env, stdout=subprocess.PIPE, check=True, timeout=60 * PATIENCE).stdout
    return [(u, int(total), int(free)) for u, total, _, free in (line.split() for line in out.decode().splitlines())]


def answers(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        s.connect(path)
    except OSError:
        return False
    finally:
        s.close()
    return True


def ask_to_stop(path):
    """Whether the meted behind this socket is there no more, or agrees to leave: it does when nobody has a grant."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        s.connect(path)
        s.sendall(b'{"op":"stop"}\n')
        said = s.makefile().readline()
        return not said or json.loads(said)["ok"]
    except OSError:
        return True
    finally:
        s.close()


def wait_for_end(path, seconds=15):
    """Whether the meted behind this socket ended in time: without a tenant it would by itself, but after a while."""
    end = time.monotonic() + seconds
    while not ask_to_stop(path) or answers(path):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def still_taken(args, env, own, seconds=10):
    """What is taken of a device when all have ended, but for the `own` bytes of who asks; workers end just behind meted."""
    end = time.monotonic() + seconds
    while True:
        taken = [(number, uuid, total - own - free) for number, (uuid, total, free) in enumerate(probe(args, env))]
        left = [f"device {n} ({u}): {b} bytes are still taken after the program's end" for n, u, b in taken if b]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


class Line:
    """
    The way from the client to the server's port. Straight; or longer, with losses: between two network namespaces, or,
    where there can be none and nothing is to be lost, through tests/remote/delay_line.
    """

    def __init__(self, args):
        self.args = args
        self.helper = self.net = None
        self.near, self.far = [], []
        self.host = "127.0.0.1"
        if not args.delay and not args.loss and not args.reorder:
            return
        why = net.missing(args.build)
        if not why:
            self.net = net.Net(args.build, args.delay / 2e3, args.loss / 100, args.reorder / 100)
            self.near, self.far, self.host = self.net.near, self.net.far, net.SERVER
        elif args.loss or args.reorder:
            print("1..0 # SKIP " + why)
            sys.exit(77)

    def begin(self, server):
        """The address where the client finds the server, which listens at HOST:PORT."""
        if not self.args.delay or self.net:
            return server
        host, port = server.rsplit(":", 1)
        tool = os.path.join(self.args.build, "tests/remote/delay_line")
        self.helper = subprocess.Popen([tool, host, port, str(self.args.delay * 500)], stdout=subprocess.PIPE)
        return f"127.0.0.1:{int(self.helper.stdout.readline())}"

    def end(self):
        if self.helper:
            self.helper.kill()
            self.helper.communicate()
        if self.net:
            self.net.close()
        self.helper = self.net = None


def serve(args, env, folder, grant, line):
    """A server that offers the grant. Value: its process, and the command that uses it."""
    mete = os.path.join(args.build, "src/cli/mete")
    keys = os.path.join(folder, "keys")
    subprocess.run([mete, "key", "new", "tester", "--keys", keys], env=env, stdout=subprocess.DEVNULL, check=True)
    command = line.far + [mete, "serve", "--soft", "--keys", keys, "--listen", line.host + ":0", "--json"]
    for d, q in grant:
        command += ["--device", str(d), "--mem", str(q)]
    server = subprocess.Popen(command, env=env, stdout=subprocess.PIPE)
    said = server.stdout.readline()
    if not said:
        raise SystemExit("way: the server did not start")
    address = line.begin(json.loads(said)["listen"][0])
    return server, line.near + [mete, "run", "--remote", address, "--key", os.path.join(keys, "tester.key")]


def end_server(server, bad):
    server.terminate()
    try:
        server.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        bad.append("mete serve still runs 20 s after it was told to end")
        server.kill()
        server.communicate()
    if server.returncode:
        bad.append(f"mete serve ended with {server.returncode}")


class Mover:
    """Has the memory of the grant "moving" leave and return for as long as there is one."""

    def __init__(self, runtime):
        self.path, self.over, self.moves = os.path.join(runtime, "control.sock"), False, 0
        self.thread = threading.Thread(target=self.move, daemon=True)
        self.thread.start()

    def ask(self, control, op, **fields):
        control.write((json.dumps({"op": op, "name": "moving", **fields}) + "\n").encode())
        control.flush()
        answer = json.loads(control.readline())
        return answer if answer["ok"] else None

    def comes_to(self, control, *states):
        end = time.monotonic() + 20
        while not self.over and time.monotonic() < end:
            answer = self.ask(control, "grants")
            if not answer or answer["grants"][0]["suspension"]["state"] in states:
                return
            time.sleep(0.002)

    def once(self, control):
        if not self.ask(control, "grant_suspend", drain_s=1):
            time.sleep(0.01)
            return
        self.comes_to(control, "away", "refused")
        if self.ask(control, "grant_resume"):
            self.comes_to(control, "none", "refused")
        self.moves += 1

    def move(self):
        while not self.over:
            try:
                s = socket.socket(socket.AF_UNIX)
                s.connect(self.path)
                with s, s.makefile("rwb") as control:
                    while not self.over:
                        self.once(control)
            except (OSError, ValueError):
                time.sleep(0.01)

    def end(self):
        self.over = True
        self.thread.join(30)
        print(f"# way: memory moved {self.moves} times")


def main():
    args = options()
    folder = tempfile.mkdtemp(prefix="mete-t-")
    runtime = os.path.join(folder, "run")
    os.mkdir(runtime, 0o700)
    env = dict(os.environ)
    for name in [n for n in env if n.startswith("METE_") and not n.startswith("METE_TEST_")]:
        del env[name]
    env.pop("CUDA_VISIBLE_DEVICES", None)
    config = os.path.join(folder, "meted.yaml")
    with open(config, "w", encoding="utf-8") as f:
        # Programs that fault on purpose are not to be shut out. Workers that nobody takes, and children of meted's that look for other
        # drivers, would cost as much as most programs.
        f.write("faults:\n  count: 0\nworkers:\n  idle: 0\ndriver:\n  soft_only: true\n")
    env.update({
        "METE_CONFIG": config,
        "METE_SOFT_DIR": os.path.join(folder, "soft"),
        "METE_RUNTIME_DIR": runtime,
        "METE_SOFT_DEVICES": str(len(args.memory.split(","))),
        "METE_SOFT_MEMORY": args.memory,
        "METE_SOFT_SMS": "16",  # what figures of occupancy and time count on
        "METE_TEST_WAY": args.way,
        "OCL_ICD_VENDORS": "/nonexistent",  # meted asks OpenCL's drivers as well, and a real one takes longer than the program
    })
    env.update(e.split("=", 1) for e in args.env)
    bad = []
    server = line = client_env = None
    try:
        devices = probe(args, env)
        env["METE_TEST_MACHINE"] = " ".join(f"{u}={total}" for u, total, _ in devices)
        if args.way == "direct":
            env["LD_LIBRARY_PATH"] = os.path.join(args.build, "src/softdev")
            command = args.program
        else:
            grant = [(int(d), size(q)) for d, q in (g.split("=") for g in args.grant.split(","))]
            env["METE_TEST_GRANT"] = " ".join(f"{devices[d][0]}={q}" for d, q in grant)
            env["METE_TEST_QUOTA"] = str(grant[0][1])
            if args.way == "remote":
                line = Line(args)
                server, command = serve(args, env, folder, grant, line)
                client_env = {k: v for k, v in env.items() if not k.startswith("METE_") or k.startswith("METE_TEST_")}
            else:
                command = [os.path.join(args.build, "src/cli/mete"), "run", "--soft"]
                if args.way == "wall":
                    command.append("--wall")
                if args.spill:
                    command += ["--spill", "--name", "moving"]
                for d, q in grant:
                    command += ["--device", str(d), "--mem", str(q)]
            command += ["--"] + args.program
        mover = Mover(runtime) if args.spill == "moves" else None
        status = subprocess.run(command, env=client_env or env).returncode
        if mover:
            mover.end()
        if server:
            end_server(server, bad)
        if not wait_for_end(os.path.join(runtime, "control.sock")):
            bad.append("meted still runs 15 s after its last tenant ended")
        own = size(env.get("METE_SOFT_CONTEXT_MEMORY", "0"))  # what asking takes
        bad += still_taken(args, env, own)
    finally:
        if line:
            line.end()
        if server and server.returncode is None:
            server.kill()
            server.communicate()
        log = os.path.join(runtime, "meted.log")
        if bad and os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as f:
                bad += ["meted.log: " + said.rstrip() for said in f.readlines()[-20:]]
        shutil.rmtree(folder, ignore_errors=True)
    for text in bad:
        print("# way:", text)
    if status < 0:
        print(f"# way: the program died of signal {-status}")
    return 1 if bad or status < 0 else status


if __name__ == "__main__":
    sys.exit(main())
