"""A local user holds memory that may leave the device (`--spill`), and never lets it leave: what others were promised is not lent to him."""
import tempfile

from ground import *

root_only("a grant with --spill")
settings = tempfile.NamedTemporaryFile("w", suffix=".yaml")
settings.write("memory: {pool: 6G}\n")
settings.flush()
s = system("--config", settings.name, env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "1G"})
HALF = (512 << 20) // 512  # units of the account


def joined(name):
    client = s.client()
    client.hello(os.path.join(s.dir, "grants", name + ".sock"))
    return client


answer = ask_as(VICTIM, s.dir, soft("512M", "promised"))[0]
ok(answer["ok"], "a user is promised half of the device, and has taken nothing yet", answer)
answer = ask_as(UID, s.dir, soft("1G", "taker", spill=True))[0]
ok(answer["ok"], "another makes a grant with --spill of the whole device", answer)
taker, victim = joined("taker"), joined("promised")
ok(not taker.hold(0, HALF + 1), "which is not lent what was promised")
ok(taker.hold(0, HALF), "but holds the rest")
ok(not taker.hold(0, 1), "and nothing more")
ok(victim.hold(0, HALF), "the other user has what he was promised, at once")

victim.kill()
same(ask_as(VICTIM, s.dir, {"op": "grant_delete", "name": "promised"})[0].get("ok"), True, "his grant ends")
ok(until(lambda: taker.hold(0, HALF), 10), "then the device is the first one's")
answer = ask_as(VICTIM, s.dir, soft("512M", "late"))[0]
same((answer["ok"], answer.get("code")), (False, "over-promised"), "nothing of it is promised while he holds it")
taker.kill()
ok(until(lambda: ask_as(VICTIM, s.dir, soft("512M", "late"))[0]["ok"], 10), "and it is when his program is gone")

c = s.control()
answer = c.ask(**soft("1G", "roots", spill=True))
ok(answer["ok"], "root makes a grant with --spill", answer)
roots = joined("roots")
ok(not roots.hold(0, 2 * HALF), "whose program is not lent what others do not use while it cannot leave")
roots.ask("place", 0, 0, 0, 0)
ok(roots.hold(0, 2 * HALF), "and is when it can")
roots.ask("place", 0, 0, 0, 2 * HALF)
answers = ask_as(UID, s.dir, *[soft("1G", f"liar{i}", spill=True) for i in range(8)])
ok(all(a["ok"] for a in answers), "a user makes many grants with --spill")
for i in range(8):
    joined(f"liar{i}").ask("place", 0, 2, 2 * HALF, 0)
late = joined("late")
ok(not late.hold(0, HALF), "whose programs say that all of their memory is in the host's, which has no room for so much")
ok(until(lambda: late.hold(0, 1) or roots.ask("wish", 0)[0], 10), "root's program is asked to leave for whom the memory is promised to")
c.close()
s.close()

s = system(env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "1G"})
answer = ask_as(VICTIM, s.dir, soft("512M", "sure"))[0]
ok(answer["ok"], "a user is promised half of the device", answer)
answers = ask_as(UID, s.dir, soft("64M", "moves", spill=True), soft("1M", "claims"), soft("1M", "forges"))
ok(all(a["ok"] for a in answers), "another has a few small grants, one of them with --spill", answers)
claims, forges = s.client(), joined("forges")
claims.ask("claim", 0, 0x7fffffff)
claims.hello(os.path.join(s.dir, "grants", "claims.sock"))
forges.ask("forge", 0, 0x7fffffff, 0x7fffffff)
forges.reserve(0, 1)
sure = joined("sure")
ok(sure.hold(0, HALF), "whose programs say that they hold a terabyte: who was promised memory has it all the same")
sure.kill()
mover = joined("moves")
mover.ask("place", 0, 0, 0, 0x7fffffff)
mover.ask("forge", 0, 0x7fffffff, 0x7fffffff)
mover.reserve(0, 1)
answer = ask_as(VICTIM, s.dir, soft("384M", "more"))[0]
ok(answer["ok"], "nor does one whose memory may leave keep new promises from being made", answer)
s.close()

# A user's part of the host's memory: of all of his grants together.
settings.seek(0)
settings.write("{memory: {pool: 400M}, limits: {mem: 25}}\n")
settings.flush()
s = system("--config", settings.name, env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "1G"})
answers = [*ask_as(UID, s.dir, soft("64M", "first", spill=True), soft("64M", "second", spill=True)),
           *ask_as(VICTIM, s.dir, soft("64M", "others", spill=True))]
ok(all(a["ok"] for a in answers), "two users make grants with --spill", answers)
UNITS = (64 << 20) // 512
for name in ("first", "second", "others"):
    client = joined(name)
    client.ask("place", 0, 0, 0, 0)
    ok(client.hold(0, UNITS), f"{name}: 64 MiB are on the device")
    client.ask("place", 0, 0, 0, UNITS)
answer = ask_as(UID, s.dir, {"op": "grant_suspend", "name": "first"})[0]
ok(answer["ok"], "a user has one of his suspended", answer)
answer = ask_as(UID, s.dir, {"op": "grant_suspend", "name": "second"})[0]
ok(not answer["ok"] and "limits.mem" in answer["error"] and "36" in answer["error"], "the next finds no room in his part of the host's memory", answer)
answer = ask_as(VICTIM, s.dir, {"op": "grant_suspend", "name": "others"})[0]
ok(answer["ok"], "and another user does in his own", answer)
s.close()
settings.seek(0)
settings.truncate()
settings.write("memory: {pool: 6G}\n")
settings.flush()

# As many programs of one user as meted looks at.
if SANITIZED:
    skip("hundreds of programs", "they are too large with a sanitizer")
    finish()
MANY, OF_ONE = 512, 64
s = system("--config", settings.name, env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "1G"})
answers = [s.control().ask(**soft("1G", "roots", spill=True)), *ask_as(VICTIM, s.dir, soft("512M", "promised")),
           *ask_as(UID, s.dir, *[soft("1M", f"crowd{i}", spill=True) for i in range(MANY // OF_ONE + 1)])]
ok(all(a["ok"] for a in answers), "grants of root's, of a user, and many of another's", answers)
roots = joined("roots")
roots.ask("place", 0, 0, 0, 0)
ok(roots.hold(0, 2 * HALF), "root's program is lent the whole device, for it can leave")
roots.ask("place", 0, 0, 0, 2 * HALF)
for i in range(MANY // OF_ONE + 1):
    for _ in range(OF_ONE):
        joined(f"crowd{i}").ask("place", 0, 0, 0, 0)
victim = joined("promised")
ok(until(lambda: victim.hold(0, HALF) or roots.ask("wish", 0)[0], 10), "beside hundreds of programs that could leave it is asked to, as was "
   "promised")
s.close()

sys.path.insert(0, os.path.join(HERE, "..", "memory"))
from memory import MIB, Resider  # noqa: E402


def suspended():
    """What a driver has taken off the device for a while is promised as before."""
    s = system(env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "0", "METE_SOFT_CHECKPOINT": "1"})
    c = s.control()
    ok(all(ask_as(uid, s.dir, request)[0]["ok"] for uid, request in ((VICTIM, soft("40M", "sure")), (UID, soft("60M", "greedy", spill=True)))),
       "a user is promised 40 MiB of 64, and another one has a grant with --spill")
    r = Resider(s, "sure", 24 * MIB, 1, None, spill=False)
    ok(r.has("holds"), "a program of the first holds 24 MiB", r.lines)
    c.ask("grant_suspend", name="sure")
    ok(until(lambda: c.share("sure").get("away_bytes", 0) >= 24 * MIB, 30), "the driver takes it off the device", c.share("sure"))
    greedy = s.client()
    greedy.hello(os.path.join(s.dir, "grants", "greedy.sock"))
    greedy.ask("place", 0, 0, 0, 0)
    ok(not greedy.hold(0, 30 * MIB // 512), "the other user's program gets nothing of it, for it may never leave again")
    ok(greedy.hold(0, 20 * MIB // 512), "and what nobody is promised it gets")
    c.ask("grant_resume", name="sure")
    ok(until(lambda: not c.grant("sure")["suspended"], 30), "the first one's program returns", c.share("sure"))
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    c.close()
    s.close()


# As tests/memory/checkpoint_test.py, which is none for all sanitizers.
if not SANITIZED:
    suspended()
finish()
