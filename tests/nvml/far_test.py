#!/usr/bin/env python3
"""NVML where the device is a worker's: behind a wall, and on another machine (a server on loopback). See far_client.py."""
import argparse
import json
import os
import subprocess
import sys

from place import HERE, Place, Report

QUOTA = 256 << 20


def serve(place):
    keys = os.path.join(place.folder, "keys")
    subprocess.run([place.mete_path, "key", "new", "tester", "--keys", keys], env=place.env, stdout=subprocess.DEVNULL, check=True)
    server = subprocess.Popen([place.mete_path, "serve", "--soft", "--mem", str(QUOTA), "--keys", keys, "--listen", "127.0.0.1:0",
                               "--json"], env=place.env, stdout=subprocess.PIPE, text=True)
    address = json.loads(server.stdout.readline())["listen"][0]
    return server, [place.mete_path, "run", "--remote", address, "--key", os.path.join(keys, "tester.key"), "--"]


def check(report, way, command, place, case):
    done = subprocess.run([*command, sys.executable, "-B", os.path.join(HERE, "far_client.py"), str(QUOTA), case], env=place.env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    report.same((done.returncode, done.stdout.splitlines(), done.stderr), (0, ["done"], ""), f"{way}: {case}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--client")
    p.add_argument("--holder")
    report = Report()
    with Place(p.parse_args().build, [1 << 30]) as place:
        server, remote = serve(place)
        local = [place.mete_path, "run", "--soft", "--mem", str(QUOTA), "--"]
        wall = [place.mete_path, "run", "--soft", "--wall", "--mem", str(QUOTA), "--"]
        try:
            check(report, "on this machine", local, place, "own")
            for way, command in (("behind a wall", wall), ("over the network", remote)):
                for case in ("order", "hidden", "fork", "own", "logs"):
                    check(report, way, command, place, case)
            lost = subprocess.Popen([*remote, sys.executable, "-B", os.path.join(HERE, "far_client.py"), str(QUOTA), "lost"],
                                    env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            report.same(lost.stdout.readline(), "ready\n", "a program that watches")
        finally:
            server.terminate()
            server.communicate(timeout=30)
        said = lost.communicate("\n", timeout=60)[0]
        report.same((lost.returncode, said), (0, "done\n"), "its server is gone: the device is lost, and nothing crashes")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
