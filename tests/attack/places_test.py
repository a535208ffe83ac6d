"""Users fill all places among which a device's time is shared out: a grant that comes then must not go unheld, or without its guarantee."""
from ground import *

root_only("grants of several users")
OF_USER, OF_USERS, ALL = 64, 224, 256
s = system()


def small(name, **words):
    return {"op": "grant_create", "name": name, "driver": "soft", "known": True, "devices": [{"device": "0", "mem_bytes": 1 << 20, **words}]}


def made(answers):
    return sum(a["ok"] for a in answers)


# The last of them without a share: it needs a place as well, for time is shared out.
got = [made(ask_as(UID + n, s.dir, *[small(f"u{n}-{i}", policy="fair") for i in range(OF_USER)])) for n in range(3)]
got.append(made(ask_as(UID + 3, s.dir, *[small(f"u3-{i}") for i in range(OF_USER)])))
same(got, [OF_USER] * 3 + [OF_USERS - 3 * OF_USER], "users have so many grants of a device, and no more")
answer, other = ask_as(VICTIM + 9, s.dir, small("late", cores=10), {**small("other", cores=10), "devices": [
    {"device": "1", "mem_bytes": 1 << 20, "cores": 10}]})
same((answer["ok"], answer.get("code")), (False, "over-limit"), "one more is refused, not promised what it would not get")
ok("224" in answer["error"] and "another device" in answer["error"], "the refusal names the figure and the remedy", answer["error"])
ok(other["ok"], "another device has places", other)
c = s.control()
answer = c.ask(**small("roots", cores=50))
ok(answer["ok"] and answer["grant"]["devices"][0]["tier"] != "none", "root's grant is made, and held to its share", answer)
answers = [c.ask(**small(f"roots-{i}")) for i in range(ALL - OF_USERS)]
same((made(answers), answers[-1].get("code")), (ALL - OF_USERS - 1, "over-limit"), "root has the rest, and no more either")
ok("not held to" not in s.log(), "no grant goes unheld")
s.close()
finish()
