"""A tenant who starts many programs behind the wall at once: another tenant's program does not wait until all have a worker."""
from ground import *

CROWD = 16

root_only("a crowd at a wall")
s = system(env={"METE_SOFT_CONTEXT_MEMORY": "1M"})
wall = ask_as(UID, s.dir, soft("1G", "crowd", wall=True))[0]["grant"]["wall"]
other = ask_as(VICTIM, s.dir, soft("1G", "other", wall=True))[0]["grant"]["wall"]
c = s.control()
crowd = [Program(wall) for _ in range(CROWD)]
until(lambda: c.grant("crowd")["processes"], 10)
client = Program(other)
same(client.status(), 0, "while many of one grant wait for workers, another grant's program gets one")
got = len(c.grant("crowd")["processes"])
ok(got < CROWD / 2, "before most of them", got, client.ms)
same([p.status() for p in crowd], [0] * CROWD, "and all of them get theirs")
for p in crowd + [client]:
    p.end()
c.close()
s.close()
finish()
