"""
nccl_death_test.py BUILD [COLLECTIVE...]: a rank of three is killed before, during and after each collective of NCCL, by shared memory and by
sockets. The others have ncclRemoteError within the limit of docs/libraries.md, or the right numbers first; nobody hangs, and
nothing stays charged: neither by the communicator in a rank that lives on, nor on the device when all have ended.
METE_TEST_LONG: all of the 90 deaths; else one of each way and each collective, which the seed chooses.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import checks
from checks import check

build = sys.argv[1]
DEATH = os.path.join(build, "tests/libs/nccl_death")
RANKS = 3
LIMIT_S = 10  # "within seconds"
HANGS_S = 60
REMOTE_ERROR = "6"
ROOTED = ("Broadcast", "Bcast", "Reduce", "Gather", "Scatter")
COLLECTIVES = ("AllReduce", "AllGather", "ReduceScatter", "AlltoAll", "SendRecv") + ROOTED
folder = tempfile.mkdtemp(prefix="mete-nccl-death-")


env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "NCCL_")) and k not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
env.update(METE_SOFT_DIR=os.path.join(folder, "soft"), METE_SOFT_DEVICES=str(RANKS),
           LD_LIBRARY_PATH=":".join(os.path.join(build, d) for d in ("src/softdev", "src/libs/nccl")))
WAYS = {"shared memory": {}, "sockets": {"NCCL_SHM_DISABLE": "1"}}


def end(process):
    try:
        out, err = process.communicate(timeout=HANGS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        out += "hangs"
    return out.split(), err


def kill_one(way, collective, when, victim, root):
    """What the others said, and why that is not as it must be."""
    path = os.path.join(folder, f"id-{checks.count}")
    ranks = [subprocess.Popen([DEATH, str(r), str(RANKS), path, collective, when, str(victim), str(root)], text=True,
                              env={**env, **WAYS[way], "CUDA_VISIBLE_DEVICES": str(r)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
             for r in range(RANKS)]
    said = [end(p) for p in ranks]
    why = []
    words = said[victim][0]
    if ranks[victim].returncode != -9 or "dies" not in words:
        return ["the victim did not die by itself: " + repr((ranks[victim].returncode, said))]
    died = float(words[words.index("dies") + 1])
    for r in set(range(RANKS)) - {victim}:
        words = said[r][0]
        if ranks[r].returncode or len(words) != 7:
            why.append(f"rank {r} ended by {ranks[r].returncode}: {said[r]}")
        elif words[1] != REMOTE_ERROR or float(words[2]) - died > LIMIT_S or words[5] != "0":
            why.append(f"rank {r}: {words}, {float(words[2]) - died:.1f} s after the death")
        elif words[6] != free.setdefault(r, words[6]):
            why.append(f"device {r} has {words[6]} free bytes, and had {free[r]}: a rank before left something")
        elif words[3] != "same":
            why.append(f"rank {r} heard of it only with the next call: {words}")
    return why


def deaths():
    """When, who, and the root: of each collective by each way."""
    everything = [(when, victim, root) for when in ("before", "middle", "after") for victim, root in ((1, 0), (2, 0), (0, 0))]
    for way in WAYS:
        for collective in sys.argv[2:] or COLLECTIVES:
            mine = [d for d in everything if (d[1] != 1) == (collective in ROOTED)]
            few = len(mine) if sys.argv[2:] or os.environ.get("METE_TEST_LONG") else 1
            for when, victim, root in dice.sample(mine, few):
                yield way, collective, when, victim, root


seed = int(os.environ.get("METE_TEST_SEED", time.time()))
dice = random.Random(seed)
print(f"# seed {seed}", flush=True)
free = {}  # bytes of each rank's device, before the first death
for way, collective, when, victim, root in deaths():
    begin = time.monotonic()
    why = kill_one(way, collective, when, victim, root)
    who = " of the root" if collective in ROOTED and victim == root else ""
    check(not why, f"{collective} by {way}: death{who} {when} ({time.monotonic() - begin:.1f} s)", "\n".join(why))
shutil.rmtree(folder, ignore_errors=True)
checks.end()
