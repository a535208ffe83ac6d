"""A local user asks for what is not his: grants, settings, ends."""
from ground import *

root_only("a local user")
s = system()
s.make("roots", GIB)
ask_as(VICTIM, s.dir, soft("64M", "theirs", container={"files": {"settings": "A=1\n"}}))
for name in ("roots", "theirs"):
    asked = [{"op": "grant_set", "devices": [{"device": "0", "mem_bytes": 1 << 20}]}, {"op": "grant_bind", "runner_pid": os.getpid()},
             {"op": "grant_suspend"}, {"op": "grant_resume"}, {"op": "grant_move", "device": "1"},
             {"op": "grant_move", "remote": "127.0.0.1:9", "socket": "/tmp/mine"}, {"op": "grant_release"}, {"op": "grant_label", "labels": {"pod": "mine"}}, {"op": "grant_delete"}, {"op": "grant_end"}]
    answers = ask_as(UID, s.dir, *[{**a, "name": name} for a in asked])
    same([a.get("code") for a in answers], ["not-yours"] * len(asked), f"a user changes nothing of {name}")
answers = ask_as(UID, s.dir, soft("1G", "mine"), {"op": "grant_delete", "name": "roots"},
                 {"op": "grant_end", "name": "roots"}, {"op": "stop"}, {"op": "grant_delete", "name": "mine"})
ok(answers[0]["ok"], "a user may make a grant", answers[0])
same([a["code"] for a in answers[1:4]], ["not-yours"] * 3, "ends nobody else's, and not meted")
ok(answers[4]["ok"], "and may end the own one", answers[4])
ok(ask_as(VICTIM, s.dir, {"op": "hello"})[0]["ok"], "others are served")
s.close()
finish()
