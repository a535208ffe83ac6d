"""A local user looks at what meted says of others: what he gets is what docs/protection.md says, and nothing more."""
import stat

from ground import *

root_only("what other users see")
with open(os.path.join(HERE, "../../docs/protection.md")) as f:
    section = f.read().split("### What other users of the machine see")[1].split("\n## ")[0]
NAMED = set(re.findall(r"`([a-z_0-9]+)`", section))
# "The words of its share" are those of the table: a new one needs no line there.
with open(os.path.join(HERE, "../../src/model/words.h")) as f:
    NAMED |= set(re.findall(r'\tWORD\(\w+, \w+, \w+(?:\(\w+\))?, "(\w+)"', f.read()))

s = system()
for name, more in (("plain", {}), ("shared", {"devices": [{"device": "0", "mem_bytes": GIB, "policy": "fair"}]}),
                   ("walled", {"wall": True}), ("boxed", {"container": {"files": {"settings": "SECRET=1\n"}}})):
    answer = ask_as(VICTIM, s.dir, {**soft("256M", name, known=True), **more})[0]
    ok(answer["ok"], f"another user's grant: {name}", answer)
client = s.client()
client.hello(s.control().grant("plain")["socket"])
grants = {g["name"]: g for g in ask_as(UID, s.dir, {"op": "grants"})[0]["grants"]}
same(sorted(grants), ["boxed", "plain", "shared", "walled"], "everybody sees all grants")


def unnamed(rows):
    return sorted({key for row in rows for key in row} - NAMED)


same(unnamed(grants.values()), [], "no word of a grant that the document does not name")
shares = [d for g in grants.values() for d in g["devices"]]
same(unnamed(shares), [], "nor of a share")
processes = [p for g in grants.values() for p in g["processes"]]
same((len(processes), unnamed(processes), unnamed(d for p in processes for d in p["devices"])), (1, [], []), "nor of a process")
ok("SECRET" not in json.dumps(grants), "what is in a container's folder is not said")

ops = ["hello", "devices", "policies", "events", "metrics", "device_health"]
answers = ask_as(UID, s.dir, *({"op": op, "device": "0"} for op in ops))
same([a["ok"] for a in answers], [True] * len(ops), "devices, events and metrics are everybody's")
ops = ["audit", "token_show", "token_new", "token_revoke", "upgrade", "stop", "policy_set", "device_cordon", "device_drain"]
answers = ask_as(UID, s.dir, *({"op": op, "device": "0"} for op in ops), {"op": "trace_start", "seconds": 1, "grants": ["plain"]})
same([a.get("code") for a in answers], ["not-yours"] * (len(ops) + 1), "the audit log, the token and traces of others are not")


def readable():
    found = []
    for folder, folders, files in os.walk(s.dir):
        found += [os.path.relpath(os.path.join(folder, name), s.dir) for name in folders + files
                  if os.access(os.path.join(folder, name), os.R_OK)]
    return sorted(found)


same([p for p in as_user(UID, readable) if not p.startswith("soft")], ["control.sock", "grants"], "of the files, names of grants alone")
same(stat.S_IMODE(os.stat(os.path.join(s.dir, "http.sock")).st_mode), 0o660, "the console's socket is root's")
s.close()
finish()
