"""docs/control.md says what the control protocol is: no more and no less than the tables of meted and its answers."""
import re

from harness import *

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENT = os.path.join(ROOT, "docs/control.md")
TABLES = json.loads(subprocess.run([os.path.join(BUILD, "tests/daemon/control_tables")], stdout=subprocess.PIPE, check=True).stdout)
SELDOM = "Only "  # begins the meaning of a field that an answer need not have


def cells(line):
    return [c.strip() for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def read_tables(text):
    """heading -> its tables, each a list of rows without head and rule; a heading is without backquotes"""
    found, heading, table = {}, "", None
    for line in text.splitlines():
        if line.startswith("#"):
            heading, table = line.lstrip("#").strip().strip("`"), None
        elif line.startswith("|"):
            if table is None:
                table = []
                found.setdefault(heading, []).append(table)
            table.append(cells(line))
        else:
            table = None
    return {h: [(t[0], t[2:]) for t in ts] for h, ts in found.items()}


def word(cell):
    return cell.strip("`")


def flat(fields, before=""):
    """path -> (type, unit, needed) of a table of meted's"""
    found = {}
    for f in fields:
        path = before + f["name"]
        found[path] = (f["type"], f["unit"], f["needed"])
        if "of" in f:
            found.update(flat(f["of"], path + ("[]." if f["type"] == "list" else ".")))
    return found


def documented(tables, heading, kind):
    """path -> row, of the table of a request's section that begins with `kind`"""
    rows = {}
    for head, body in tables.get(heading, []):
        if head[0] != kind:
            continue
        for row in body:
            path = word(row[0])
            shared = re.fullmatch(r"\[(a \w+)\]\(#[-\w]+\) at `(.*)", path)
            if shared:
                title, at = shared.group(1).capitalize(), shared.group(2)
                rows.update({at + word(r[0]): r for _, b in tables[title] for r in b})
            else:
                rows[path] = row
    return rows


TYPE = {str: "text", bool: "true or false", int: "whole number", float: "number", dict: "object", list: "list", type(None): "null"}


def shape(value, path, found):
    """path -> types of an answer"""
    if isinstance(value, dict):
        for key, inner in value.items():
            at = f"{path}.{key}" if path else key
            found.setdefault(at, set()).add(TYPE[type(inner)])
            shape(inner, at, found)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict):
                shape(inner, path + "[]", found)


def fits(types, said):
    """"whole number or null" allows both; a number may be whole."""
    allowed = set(re.split(r",? or (?!false)|, ", said))
    return all(t in allowed or (t == "whole number" and "number" in allowed) for t in types)


class Asker:
    """Asks, and remembers what answers had in them."""
    def __init__(self, m):
        self.c, self.answers = m.control(), {}

    def ask(self, op, **fields):
        a = self.c.ask(op, **fields)
        if not a["ok"]:
            print("#", op, fields, a)
        else:
            shape({k: v for k, v in a.items() if k != "ok"}, "", self.answers.setdefault(op, {}))
        return a


def life(m):
    """All requests, with a tenant that holds something, and devices that are in and out of service."""
    a = Asker(m)
    a.ask("hello")
    a.ask("devices")
    a.ask("policies")
    a.ask("grant_create", name="one", driver="soft", devices=[{"device": "0", "mem_bytes": GIB, "cores": 20, "class": "high"}],
          labels={"pod": "p", "container": "c"}, expires_s=600)
    c = m.client()
    c.hello(a.ask("grants", name="one")["grants"][0]["socket"])
    c.hold(0, 100)
    a.ask("grant_create", name="box", driver="soft", devices=[{"device": "1", "mem_pct": 5}], container={"keep": True})
    a.ask("grant_bind", name="box")
    a.ask("grant_label", name="box", labels={"pod": "p", "container": "c"})
    a.ask("grant_create", name="wall", driver="soft", wall=True, devices=[{"device": "1", "mem_bytes": GIB, "policy": "exclusive"}])
    a.ask("grant_create", name="moves", driver="soft", devices=[{"device": "1", "mem_bytes": GIB}], spill=True)
    a.ask("grant_suspend", name="moves")
    a.ask("grant_resume", name="moves")
    a.ask("grant_delete", name="moves")
    a.ask("grant_create", name="goes", driver="soft", wall=True, devices=[{"device": "1", "mem_bytes": GIB}])
    a.ask("grant_move", name="goes", device="0")
    a.ask("grant_delete", name="goes")
    a.ask("grant_set", name="one", devices=[{"mem_bytes": GIB // 2}], soon=True)
    a.ask("grant_set", name="one", devices=[{"mem_bytes": UNIT * 50}], soon=True)
    waiter = m.control()
    waiter.ask("grant_create", driver="soft", devices=[{"device": "0", "mem_bytes": 16 * GIB}], wait=True)
    a.ask("grants")
    a.ask("grant_release", name="one")
    a.ask("policy_set", device="1", policy="fair")
    a.ask("device_cordon", device="1", reason="a test")
    a.ask("device_drain", device="1", reason="a test", grace_s=1000)
    a.ask("device_health", device="1")
    a.ask("device_health", device="0")
    a.ask("devices", known=True)
    a.ask("device_uncordon", device="1")
    a.ask("limits")
    a.ask("events", limit=50)
    a.ask("changes")
    a.ask("metrics")
    a.ask("token_new", read=True)
    a.ask("token_show", read=True)
    a.ask("token_revoke", read=True)
    a.ask("audit")
    trace = a.ask("trace_start", grants=[], seconds=5)["trace"]
    a.ask("trace_stop", trace=trace)
    a.ask("trace_read", trace=trace)
    a.ask("upgrade", check=True)
    a.ask("grant_end", name="box")
    c.close()
    m.clients.remove(c)
    until(lambda: not m.control().grant("one")["processes"], 10)
    a.ask("grant_delete", name="one")
    a.ask("grant_delete", name="wall")
    until(lambda: not m.control().ask("grants")["grants"], 10)
    a.ask("stop")
    return a.answers


def test_requests(tables):
    ops = {h for h in tables if any(head[0] in ("Field", "Answer") for head, _ in tables[h])} & set(TABLES["requests"])
    listed = {word(row[0]) for head, body in tables.get("Requests", []) for row in body}
    same(listed, set(TABLES["requests"]), "every request is listed, and none that there is not")
    with open(DOCUMENT, encoding="utf-8") as f:
        headings = {line.lstrip("#").strip().strip("`") for line in f if line.startswith("### ")}
    same(set(TABLES["requests"]) - headings, set(), "every request has a section")
    for op, fields in TABLES["requests"].items():
        there = {p: row for p, row in documented(tables, op, "Field").items()}
        meant = flat(fields)
        same({p: (row[1], word(row[2]), row[3] == "yes") for p, row in there.items()}, meant, f"{op}: its fields")
    return ops


def test_answers(tables, answers):
    for op in TABLES["requests"]:
        there, seen = documented(tables, op, "Answer"), answers.get(op)
        if not ok(seen is not None, f"{op}: was answered"):
            continue
        seen = {path: types for path, types in seen.items() if not path.startswith("actions[].request.")}  # another request's
        same(sorted(set(seen) - set(there)), [], f"{op}: all of its answer is documented")
        same(sorted(p for p, row in there.items() if p not in seen and not row[3].startswith(SELDOM)), [],
             f"{op}: all that is documented was in an answer")
        wrong = [f"{p}: {sorted(seen[p])}, documented as {there[p][1]}" for p in sorted(set(seen) & set(there))
                 if not fits(seen[p], there[p][1])]
        same(wrong, [], f"{op}: with these types")


def test_codes(tables):
    rows = {word(row[0]): int(row[1]) for _, body in tables["Refusals"] for row in body}
    same(rows, TABLES["codes"], "every code is documented, with its status by HTTP, and none that there is not")
    ok(all(row[2] and row[3] for _, body in tables["Refusals"] for row in body), "each with its meaning and its remedy")


def test_limits(tables):
    rows = {row[0]: int(row[1].replace(" ", "")) for _, body in tables["Limits"] for row in body}
    same(rows, TABLES["limits"], "the limits are the code's")


def test_sifted(m):
    c = m.control()
    same(c.ask("grants", unheard=1, op2="x")["ok"], True, "a field that is not known is ignored")
    a = c.ask("devices", known="yes")
    ok(not a["ok"] and a["code"] == "malformed" and '"known" must be true or false' in a["error"], "a switch is true or false", a)
    a = c.ask("grant_create", driver="soft", devices=[{"device": "0", "mem_bytes": GIB, "unheard": 1}], overcommit=1)
    ok(not a["ok"] and a["code"] == "malformed", "in every request", a)
    a = c.ask("grant_set", name="nobody", devices=[{"frozen": "yes"}])
    ok(not a["ok"] and a["code"] == "malformed" and '"frozen"' in a["error"], "and in every entry", a)
    c.close()


def test_wrong_types(m):
    """A field of another type than the table's is refused, whatever else is said."""
    other = {"text": 5, "whole number": "x", "number": "x", "true or false": "x", "object": 5, "list": 5}
    c = m.control()
    for op, fields in TABLES["requests"].items():
        for f in fields:
            a = c.ask(op, **{"name": "nobody", "device": "0", "seconds": 1, "trace": 1, f["name"]: other[f["type"]]})
            if a["ok"]:
                ok(False, f"{op}: {f['name']} of another type is refused", a)
    ok(True, "every field is refused where its type is another")
    c.close()


if os.environ.get("METE_TEST_SHOW"):  # what there is to be written
    m = Meted()
    for op, seen in life(m).items():
        print("###", op)
        for path, types in seen.items():
            print("|", path, "|", " or ".join(sorted(types)), "|")
    m.close()
    sys.exit(0)
with open(DOCUMENT, encoding="utf-8") as f:
    tables = read_tables(f.read())
m = Meted()
test_sifted(m)
test_wrong_types(m)
m.close()
m = Meted()
test_requests(tables)
test_codes(tables)
test_limits(tables)
test_answers(tables, life(m))
m.close()
finish()
