"""What a service manager gives meted, priority and protection when memory is short, its workers do not have."""
from ground import *

root_only("a worker's standing")
s = system(wrap=["sh", "-c", 'echo -500 > /proc/self/oom_score_adj; exec nice -n -5 "$0" "$@"'])


def nice(pid):
    return os.getpriority(os.PRIO_PROCESS, pid)


def oom(pid):
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as f:
        return int(f.read())


c = s.control()
wall = ask_as(UID, s.dir, soft("512M", "mine", wall=True))[0]["grant"]["wall"]
client = Program(wall)
same(client.status(), 0, "a program has a worker")
worker = c.grant("mine")["processes"][0]["pid"]
if nice(s.process.pid) < 0:
    same(nice(worker), 0, "whose priority is everybody's")
    same({nice(int(t)) for t in os.listdir(f"/proc/{worker}/task")}, {0}, "that of all its threads")
else:
    skip("whose priority is everybody's", "meted's cannot be raised here")
if oom(s.process.pid) < 0:
    same(oom(worker), 0, "and it is not spared when memory is short")
else:
    skip("and it is not spared when memory is short", "meted's score cannot be lowered here")
client.end()
c.close()
s.close()
finish()
