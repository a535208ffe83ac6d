"""
A program behind a wall has its worker wait for a function of the program's own that never returns. It harms itself alone: others
compute, its grant is asked to leave and is left where it is, and nothing of it stays when it is killed or its grant is ended.
"""
from ground import *

root_only("a system's meted")
sys.path.insert(0, os.path.join(HERE, "..", "memory"))
from memory import MIB, Resider  # noqa: E402

# A stream that waits for ever for a function, memory, and two threads in the driver that wait for the stream and the context.
HANGS = """
import ctypes, sys, threading, time
P = ctypes.c_void_p
cu = ctypes.CDLL("libcuda.so.1")
never = ctypes.CFUNCTYPE(None, P)(lambda _: time.sleep(1e6))
context, stream, memory = P(), P(), P()
def good(status):
    if status:
        print("status", status, flush=True)
        sys.exit(1)
good(cu.cuInit(0))
good(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
good(cu.cuCtxSetCurrent(context))
good(cu.cuStreamCreate(ctypes.byref(stream), 1))
good(cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(8 << 20)))
good(cu.cuLaunchHostFunc(stream, never, None))
def wait(call, *given):
    cu.cuCtxSetCurrent(context)
    call(*given)
for call in ((cu.cuStreamSynchronize, stream), (cu.cuCtxSynchronize,), (cu.cuDevicePrimaryCtxReset_v2, 0)):
    threading.Thread(target=wait, args=call, daemon=True).start()
print("hangs", flush=True)
sys.stdin.read()
"""
s = system(env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "256M"})
c = s.control()
count = judge(s)


def hangs(name):
    ok(c.ask(**soft("64M", name, wall=True))["ok"], f"{name}: a grant behind a wall")
    r = Resider(s, name, "-c", HANGS, None, wall=True, spill=False, program=sys.executable)
    ok(r.has("hangs") and until(lambda: c.share(name)["held_bytes"] >= 8 * MIB), f"{name}: its worker waits for a function that never returns", r.lines)
    return r, [p["pid"] for p in c.grant(name)["processes"]]


def gone(workers):
    return not [pid for pid in workers if os.path.exists(f"/proc/{pid}")]


killed, workers = hangs("killed")
ok(c.ask(**soft("64M", "other"))["ok"], "another grant")
other = Resider(s, "other", 16 * MIB, 3, 0, spill=False)
same(other.end(), 0, "whose program computes beside it, and every word is what it has to be")
before = time.monotonic()
ok(c.ask("grant_suspend", name="killed", drain_s=1)["ok"], "it is asked to leave")
ok(until(lambda: c.grant("killed")["suspension"]["state"] == "refused", 20) and not c.grant("killed")["suspended"],
   f"and is left where it is after {time.monotonic() - before:.1f} s", c.grant("killed")["suspension"])
os.killpg(killed.process.pid, signal.SIGKILL)
killed.process.wait()
ok(until(lambda: gone(workers) and not c.grant("killed")["processes"] and not c.share("killed")["held_bytes"], 20),
   "its program is killed: its worker ends, and nothing is left", workers, c.share("killed"))
ended, workers = hangs("ended")
ok(c.ask("grant_end", name="ended")["ok"], "a grant is ended while its worker waits so")
ok(until(lambda: gone(workers) and not [g for g in c.ask("grants")["grants"] if g["name"] == "ended"], 30), "its worker ends, and nothing is left",
   workers, c.ask("grants"))
os.killpg(ended.process.pid, signal.SIGKILL)
ended.process.wait()
for name in ("killed", "other"):
    c.ask("grant_delete", name=name)
ok(until(lambda: count.used() <= 2 * 3 * MIB, 20), "the device's own count has what waiting workers have, and no more", count.used())
count.close()
c.close()
s.close()
finish()
