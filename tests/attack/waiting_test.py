"""A local user waits for a device's whole memory, of which he holds a part himself, so that it is never free."""
from ground import *

root_only("a queue")
s = system()


def waits(directory):
    """64 connections, of which each asks again and again; the attack ends with the process."""
    ask = {**soft("16G"), "wait": True}
    connections = [harness.Control(directory)]
    held = connections[0].ask(**soft("64M", "part"))
    try:
        while len(connections) < 64:
            connections.append(harness.Control(directory))
    except OSError:
        pass
    while True:
        for c in connections:
            try:
                c.ask(**ask)
            except (OSError, ValueError):
                pass
        time.sleep(0.2)


def waiting():
    c = s.control()
    found = c.ask("grants")["waiting"]
    c.close()
    return found


attacker = Child(UID, waits, s.dir)
ok(until(lambda: waiting(), 30), "a user waits for what he keeps himself")
answer = ask_as(VICTIM, s.dir, soft("1G", "later"))[0]
same((answer["ok"], answer.get("code")), (False, "queued"), "another user's request is told that he came before")
c = s.control()
answer = c.ask(**soft("1G", "roots"))
ok(answer["ok"], "root's is not held up", answer)
ok(waiting(), "while he goes on waiting")
c.close()
attacker.kill()
ok(until(lambda: not waiting(), 30), "his place goes with his connections")
ok(ask_as(VICTIM, s.dir, soft("1G", "later"))[0]["ok"], "and the other user has room")
s.close()
finish()
