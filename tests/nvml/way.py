#!/usr/bin/env python3
"""
Runs nvml_test one way:

  direct   on the software device's library itself
  pass     through the shim, outside a grant: the same answers
  grant    under a grant of two of three devices
  second   under a grant of the second device alone
  order    under a grant that names its devices backwards: the driver's order stays
  wall     as grant, behind a wall: the remote client's own library
"""
import argparse
import subprocess
import sys

from place import Place

M = 1 << 20
MEMORY = [1024 * M, 512 * M, 256 * M]
GRANTS = {"wall": {0: 256 * M, 1: 128 * M}, "grant": {0: 256 * M, 1: 128 * M}, "second": {1: 64 * M}, "order": {2: 32 * M, 0: 512 * M}}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("way", choices=["direct", "pass", *GRANTS])
    p.add_argument("--build", required=True)
    p.add_argument("--client", required=True)
    p.add_argument("--holder", required=True)
    a = p.parse_args()
    with Place(a.build, MEMORY) as place:
        listed = subprocess.run([a.client, place.soft + "/libnvidia-ml.so.1", "list"], env=place.env, stdout=subprocess.PIPE,
                                text=True, check=True).stdout.split()
        uuids, totals = zip(*(line.split("=") for line in listed))
        if [int(t) for t in totals] != MEMORY:
            print(f"Bail out! the software device has {totals} and was configured with {MEMORY}")
            return 1
        grant = GRANTS.get(a.way)
        seen = sorted(grant) if grant else range(len(uuids))
        env = dict(place.env)
        env["METE_TEST_DEVICES"] = " ".join(f"{uuids[i]}={grant[i] if grant else totals[i]}" for i in seen)
        if grant:
            env["METE_TEST_OTHER"] = next(uuids[i] for i in range(len(uuids)) if i not in grant)
            command = [place.mete_path, "run", "--soft", *(["--wall"] if a.way == "wall" else [])]
            if a.way == "wall":
                env["METE_TEST_FAR"] = "1"
            for device, quota in grant.items():
                command += ["--device", str(device), "--mem", str(quota)]
            command += ["--", a.client, "libnvidia-ml.so.1"]
        elif a.way == "pass":
            env["METE_NVML"] = place.soft + "/libnvidia-ml.so.1"
            env["LD_LIBRARY_PATH"] = place.shim
            command = [a.client, "libnvidia-ml.so.1"]
        else:
            command = [a.client, place.soft + "/libnvidia-ml.so.1"]
        return subprocess.run(command, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
