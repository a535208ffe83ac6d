"""A local user begins as many traces as there can be: the operator's, and other users', find a place all the same."""
from ground import *

root_only("places of traces")
s = system()


def begin(count):
    """Who holds them goes on reading; value: the answers' codes."""
    c = harness.Control(s.dir)
    return [c.ask("trace_start", seconds=600).get("code") for _ in range(count)]


codes = as_user(UID, begin, 9)
same(codes[:2], [None, None], "a user may trace")
same(set(codes[2:]), {"busy"}, "but not take all the places")
same(as_user(VICTIM, begin, 1), [None], "another user has one")
for uid in range(UID + 10, UID + 20):
    as_user(uid, begin, 2)
same(s.control().ask("trace_start", seconds=5).get("code"), None, "and root, whatever users hold")
s.close()
finish()
