"""Behind the filter of system calls a worker has no files either: its root is a folder without anything."""
from ground import *

root_only("a worker's fence")
s = system()
c = s.control()
wall = ask_as(UID, s.dir, soft("512M", "mine", wall=True))[0]["grant"]["wall"]
client = Program(wall)
same(client.status(), 0, "a program has a worker")
worker = c.grant("mine")["processes"][0]["pid"]
for task in os.listdir(f"/proc/{worker}/task"):
    root = f"/proc/{worker}/task/{task}/root"
    if os.listdir(root) or os.stat(root).st_nlink:
        ok(False, f"thread {task} has no files", os.listdir(root))
same(os.listdir(f"/proc/{worker}/root"), [], "which sees no files")
same(os.stat(f"/proc/{worker}/root").st_nlink, 0, "and can make none: its root has been removed")
same(os.listdir(f"/proc/{worker}/cwd"), [], "nor does it stand anywhere else")
ok(until(lambda: not [n for n in os.listdir("/tmp") if n.startswith("mete-worker-")]), "no folder is left behind")
client.end()
c.close()
s.close()
finish()
