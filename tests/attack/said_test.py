"""A local user says, in HELLO or on its page, that its programs hold all of a device: others still get what they were promised."""
from ground import *

root_only("programs of another user")
HALF = (512 << 20) // 512  # units of the account
WHOLE = 2 * HALF
QUARTER = HALF // 2
ABSURD = 1 << 30


def joined(s, name, claim=0):
    client = s.client()
    if claim:
        client.ask("claim", 0, claim)
    client.hello(os.path.join(s.dir, "grants", name + ".sock"))
    return client


def claims(s, name, units):
    return joined(s, name, units)


def forges(s, name, units):
    """As one that has written into its page, and asks for more; nothing when it only writes."""
    liar = joined(s, name)
    liar.ask("forge", 0, units, units)
    liar.reserve(0, 1)
    return liar


def writes(s, name, units):
    liar = joined(s, name)
    liar.ask("forge", 0, units, units)
    return liar


def shares(s, name, units):
    liar = forges(s, name, units)
    liar.ask("share", "k", 0, units)
    return liar


def launders(s, name, units):
    """As one that shares twice what it was lent, so that what it has but said comes to be shared memory."""
    liar = joined(s, name)
    lent = QUARTER if liar.hold(0, QUARTER) else 0
    liar.ask("forge", 0, lent + units, lent + units)
    liar.reserve(0, 1)
    for key in "abcd":
        liar.ask("share", key, 0, QUARTER)
    return liar


def bequeaths(s, name, units):
    """As one whose shared memory another program of the grant keeps, when the one who has but said that it is there has ended."""
    liar, heir = launders(s, name, units), joined(s, name)
    for key in "abcd":
        heir.ask("import", key)
    liar.kill()
    until(lambda: len(s.control().grant(name)["processes"]) == 1, 10)
    return heir


def plants(s, name, units):
    """As one that writes on its page that it shares memory; a meted that comes reads it there."""
    liar = joined(s, name)
    liar.ask("plant", 0, units)
    return liar


def attack(lie, spill, units, again):
    """What others get beside a liar: (the memory that they were promised, new promises), before and after a restart of meted."""
    s = system(env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "1G"})
    answers = ask_as(VICTIM, s.dir, soft("512M", "promised"))
    answers += ask_as(UID, s.dir, soft("1G" if spill else "1M", "liar", spill=spill), soft("1M", "mover", spill=True))
    ok(all(a["ok"] for a in answers), "the grants", answers)
    mover, liar = joined(s, "mover"), lie(s, "liar", units)
    if again:
        s.kill(signal.SIGKILL)
        s.start()
        liar.hello(os.path.join(s.dir, "grants/liar.sock"))
    victim = joined(s, "promised")
    got = victim.hold(0, HALF)
    new = ask_as(VICTIM, s.dir, soft("128M", "new"))[0]["ok"]
    held = s.control().ask("devices")["devices"][0]["held_bytes"]
    for program in (victim, liar, mover):
        program.kill()
    s.close()
    return got, new, held <= 1 << 30


for lie in (claims, forges, writes, shares, launders, bequeaths, plants):
    for spill, units in ((False, ABSURD), (True, WHOLE)):
        for again in ((True,) if lie is plants else (False, True)):
            same(attack(lie, spill, units, again), (True, True, True),
                 f"{lie.__name__} {units} units, {'with' if spill else 'without'} --spill{', and meted is killed' if again else ''}: others "
                 "get what they were promised, new promises are made")

# What a program only says is not counted against others. It gives that back, and is lent memory in its place: that is counted.
s = system(env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "1G"})
answers = ask_as(VICTIM, s.dir, soft("512M", "promised")) + ask_as(UID, s.dir, soft("1G", "liar", spill=True), soft("1G", "second", spill=True))
ok(all(a["ok"] for a in answers), "a promise, and two grants of a user's with --spill", answers)
liar, second, victim = joined(s, "liar", WHOLE), joined(s, "second"), joined(s, "promised")
liar.ask("give", 0, WHOLE)
liar.reserve(0, 0)
same(liar.word(), (0, 0), "a program that said that it holds the device gives that back")
ok(liar.hold(0, HALF), "it is lent what is promised to nobody")
ok(not second.hold(0, QUARTER), "which counts: another one of the user's is lent nothing of what is promised")
ok(victim.hold(0, HALF), "and who was promised it has it")
same(s.control().ask("devices")["devices"][0]["held_bytes"], 1 << 30, "the device is full, and no fuller")
s.close()
finish()
