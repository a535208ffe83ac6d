"""
mete-extender: which nodes have room, and which is best, by what agents have published; and mete-webhook's authority in a
secret. extender_test.py BUILD_ROOT [PART...]

The API server is a stand-in (apiserver.py); meted, agent, extender and webhook are real.
"""
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))
sys.path.insert(0, HERE)
import harness  # noqa: E402
from apiserver import ApiServer  # noqa: E402
from harness import GIB, Meted, finish, ok, same, until  # noqa: E402
from review import SHARES, Program, applied, connect, patch_of, pod, post, review  # noqa: E402

BIN = os.path.join(harness.BUILD, "src/cli")
TRAILER = 30

if not os.path.exists(os.path.join(BIN, "mete-extender")):
    print("1..0 # SKIP mete-extender is not built: libcurl or libmicrohttpd is not there")
    sys.exit(0)

home = tempfile.mkdtemp(prefix="mete-x-", dir="/tmp")
config = os.path.join(home, "kubeconfig")


def kubeconfig(url):
    with open(config, "w") as file:
        json.dump({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                   "clusters": [{"name": "k", "cluster": {"server": url}}], "users": [{"name": "u", "user": {"token": "t"}}]}, file)


def extender(*options, known=True):
    e = Program(os.path.join(BIN, "mete-extender"), "--kubeconfig", config, *options)
    if not until(e.port, TRAILER):
        raise SystemExit(f"Bail out! {e.said()}")
    e.connection = connect(e.port(), None)
    if known and not until(lambda: " nodes" in e.said(), 120):
        raise SystemExit(f"Bail out! {e.said()}")
    return e


def end(program):
    program.stop()
    shutil.rmtree(program.folder, ignore_errors=True)


def card(left, time_left=100, total=16, state="active", name="Card", tenants=0):
    return {"index": 0, "uuid": f"GPU-{left}", "name": name, "total": total * GIB, "left": int(left * GIB), "time": time_left * 10000,
            "tenants": tenants, "state": state, "native": False}


FOUR = [{"card": -1, "bytes": 4 * GIB, "time": 250000}]


def node(name, cards=None, shares=None, **spec):
    metadata = {"name": name}
    if cards is not None:
        metadata["annotations"] = {"mete.io/devices": json.dumps({"cards": cards, "shares": {"small": FOUR} if shares is None else shares})}
    return {"kind": "Node", "metadata": metadata, "spec": spec}


def filtered(e, thing, names):
    status, answer = post(e.connection, "/filter", {"Pod": thing, "Nodes": None, "NodeNames": names})
    if status != 200:
        raise SystemExit(f"Bail out! {status} {answer}")
    return answer["NodeNames"], answer["FailedNodes"]


def scores(e, thing, names):
    status, answer = post(e.connection, "/prioritize", {"Pod": thing, "Nodes": None, "NodeNames": names})
    return {row["Host"]: row["Score"] for row in answer} if status == 200 else status


SMALL = pod({"mete.io/small": "1"})


def rests(count, seconds):
    """Within one of a few pauses of so many seconds nothing more is counted: what came before may still be under way."""
    for _ in range(3):
        before = count()
        time.sleep(seconds)
        if count() == before:
            return True
    return False


def test_verdicts():
    api = ApiServer()
    kubeconfig(api.url)
    nodes = {
        "room": node("room", [card(8)]), "tight": node("tight", [card(4, 25, tenants=3)]), "empty": node("empty", [card(16)]),
        "full": node("full", [card(2)]), "slow": node("slow", [card(16, 10)]), "sick": node("sick", [card(16, state="cordoned")]),
        "other": node("other", [card(16)], shares={"large": FOUR}), "silent": node("silent"), "closed": node("closed", [card(16)], unschedulable=True),
        "broken": {"metadata": {"name": "broken", "annotations": {"mete.io/devices": "{"}}},
        "named": node("named", [card(1), card(16)], shares={"small": [{"card": 1, "bytes": 4 * GIB, "time": 0}]}),
        "two": node("two", [card(5), card(1)])}
    for thing in nodes.values():
        api.put("nodes", thing)
    e = extender()
    names = sorted(nodes) + ["unknown"]
    fits, failed = filtered(e, SMALL, names)
    same(fits, ["empty", "named", "room", "tight", "two"], "those with room, in the scheduler's order")
    why = {
        "full": "share small: card 0 (Card) has 2 GiB not promised, asked were 4 GiB",
        "slow": "share small: card 0 (Card) has 10 % of its time not promised, asked were 25 %",
        "sick": "share small: card 0 (Card) is cordoned", "other": "the node has no share small", "closed": "the node is cordoned",
        **{n: "no mete-agent has said what the node has (annotation mete.io/devices)" for n in ("silent", "broken", "unknown")}}
    same(failed, why, "of each other one the figure")
    s = scores(e, SMALL, fits)
    ok(s["tight"] == 10 and s["empty"] < s["tight"], "least is broken where it is tight", s)
    ok(set(s) == set(fits), "a score each", s)
    spread = extender("--place", "spread")
    s = scores(spread, SMALL, ["empty", "tight", "room"])
    same((s["empty"], s["tight"]), (10, 0), "spread: the other way round")
    end(spread)
    best = extender("--most", "1")
    same(filtered(best, SMALL, names)[0], ["tight"], "only the best is named")
    end(best)
    both = pod({"mete.io/small": "1"})
    both["spec"]["containers"].append({"name": "b", "resources": {"limits": {"mete.io/small": "1"}}})
    same(filtered(e, both, ["room", "two", "empty"])[0], ["room", "empty"], "two containers need two shares")
    first = pod({"mete.io/small": "1"})
    first["spec"]["initContainers"] = [{"name": "i", "resources": {"limits": {"mete.io/small": "1"}}}]
    same(filtered(e, first, ["tight", "two"])[0], ["tight", "two"], "an init container is gone before the others come")
    first["spec"]["initContainers"] *= 3
    same(filtered(e, first, ["tight", "two"])[0], ["tight", "two"], "and so is each before the next")
    first["spec"]["initContainers"] = [{"name": "i", "restartPolicy": "Always", "resources": {"limits": {"mete.io/small": "1"}}}]
    same(filtered(e, first, ["tight", "room", "empty"])[0], ["room", "empty"], "a sidecar stays: two shares at once")
    first["spec"]["initContainers"].append({"name": "j", "resources": {"limits": {"mete.io/small": "1"}}})
    same(filtered(e, first, ["tight", "room", "empty"])[0], ["room", "empty"], "an init container after it is beside the sidecar alone")
    first["spec"]["initContainers"].append({"name": "k", "restartPolicy": "Always", "resources": {"limits": {"mete.io/small": "1"}}})
    same(filtered(e, first, ["room", "empty"])[0], ["empty"], "two sidecars are beside each other too")
    lent = {"small": [{**FOUR[0], "time": 0, "stays": 0}]}, {"small": [{**FOUR[0], "time": 0, "stays": 2 * GIB}]}, {"small": [{**FOUR[0], "overcommit": True}]}
    for name, shares in zip(("lent", "kept", "over"), lent):
        api.put("nodes", node(name, [card(1, 10)], shares=shares))
        until(lambda name=name: "no mete-agent" not in filtered(e, SMALL, [name])[1].get(name, ""), TRAILER)
    fits, failed = filtered(e, SMALL, ["lent", "kept", "over"])
    same((fits, failed), (["lent", "over"], {"kept": "share small: card 0 (Card) has 1 GiB not promised, asked were 2 GiB"}),
         "of memory that may leave what stays counts, and promises do not where the share is overcommitted")
    same(filtered(e, pod({"cpu": "1"}), names)[0], names, "who asks for no share may go anywhere")
    wish = pod({"mete.io/small": "1"}, {"mete.io/avoid-model": "Card"})
    ok("not of a wanted model" in filtered(e, wish, ["empty"])[1]["empty"], "a model that is not wanted")
    same(filtered(e, pod({"mete.io/small": "1"}, {"mete.io/use-model": "h100, CARD"}), ["empty"])[0], ["empty"], "one that is, case aside")
    whole = {"kind": "NodeList", "items": [nodes["room"], nodes["full"]]}
    status, answer = post(e.connection, "/filter", {"Pod": SMALL, "Nodes": whole, "NodeNames": None})
    same(([n["metadata"]["name"] for n in answer["Nodes"]["items"]], list(answer["FailedNodes"])), (["room"], ["full"]),
         "a scheduler that sends whole nodes gets them back")
    api.put("nodes", node("full", [card(16)]))
    ok(until(lambda: filtered(e, SMALL, ["full"])[0] == ["full"], TRAILER), "a change is seen")
    api.delete("nodes", "full")
    ok(until(lambda: filtered(e, SMALL, ["full"])[0] == [], TRAILER), "and the end of a node")
    api.compact()
    api.put("nodes", node("late", [card(16)]))
    ok(until(lambda: filtered(e, SMALL, ["late"])[0] == ["late"], TRAILER), "also when what it knew is too old")
    for name, path, body, status in [("no JSON", "/filter", b"{", 400), ("no pod", "/filter", {"NodeNames": ["a"]}, 400),
                                     ("no nodes", "/filter", {"Pod": {}}, 400), ("names that are none", "/filter", {"Pod": {}, "NodeNames": [1]}, 400),
                                     ("no bind", "/bind", {}, 404), ("shares that are none", "/filter", {"Pod": {"spec": 7}, "NodeNames": ["a"]}, 200)]:
        same(post(e.connection, path, body)[0], status, f"{name}: {status}")
    begin = time.monotonic()
    status, text = post(e.connection, "/filter", {"Pod": both, "NodeNames": ["room"] * 400000})
    same((status, "more nodes than there are" in text), (413, True), f"a question that names one node 400 000 times: {time.monotonic() - begin:.1f} s")
    names = ['q"uote', "back\\slash", "\u00fcml"]
    same(sorted(filtered(e, SMALL, names)[1]), ["\u00fcml"], "names that could break the answer are left out")
    api.down()
    time.sleep(0.2)
    same(filtered(e, SMALL, ["late"])[0], ["late"], "without the API server it answers by what it knows")
    away = extender(known=False)
    same(post(away.connection, "/filter", {"Pod": SMALL, "NodeNames": ["late"]})[0], 503, "one that knows nothing yet says so")
    ok(until(lambda: "API server" in away.said(), TRAILER), "and why", away.said())
    end(away)
    end(e)


ESCAPE = "\x1b]0;owned\x07\x1b[2J"


def test_hostile_node():
    """A node that was taken over writes what it likes into its own annotations."""
    api = ApiServer()
    kubeconfig(api.url)
    good, evil = node("good", [card(16)]), node("evil", [card(2, name=ESCAPE + "\u00e4" * 60)])
    evil["metadata"]["annotations"]["note"] = "a\0b"
    api.put("nodes", good)
    api.put("nodes", evil)
    e = extender(known=False)
    known = until(lambda: " nodes" in e.said(), TRAILER)
    ok(known, "a text with a zero byte in one node's annotation keeps no others from being known", e.said())
    if known:
        why = filtered(e, SMALL, ["good", "evil"])[1]["evil"]
        ok("2 GiB not promised" in why and all(c >= " " for c in why), "what it calls its card cannot write to a terminal, nor break the answer where it is cut", repr(why))
        evil["metadata"]["annotations"]["note"] = "c\0d"
        api.put("nodes", evil)
        api.put("nodes", node("late", [card(16)]))
        ok(until(lambda: filtered(e, SMALL, ["late"])[0] == ["late"], TRAILER), "nor do changes of it", e.said())
    end(e)
    api.down()


def test_terminal():
    """kubectl mete prints what others have written: a kubelet's report, a tenant's event."""
    mete = os.path.join(BIN, "kubectl-mete")
    event = {"reason": ESCAPE, "message": ESCAPE + "two\nlines", "involvedObject": {"name": "p"}}
    answers = {"pods/p": {**SMALL, "status": {"phase": ESCAPE}}, "nodes": {"items": [node("evil", [card(2, name=ESCAPE)])]},
               "events": {"items": [event]}}
    answers["nodes/evil"] = {**answers["nodes"]["items"][0], "status": {"allocatable": {"mete.io/small": ESCAPE, "mete.io/odd": 7}}}
    answers["v1/pods"] = {"items": [{**SMALL, "spec": {**SMALL["spec"], "nodeName": "evil"}, "status": {"phase": ESCAPE}}]}
    answers["agents/pods"] = {"items": [{"metadata": {"name": "agent"}, "spec": {"nodeName": ESCAPE}, "status": {"phase": "Running"}}]}
    stand_in = os.path.join(home, "kubectl")
    with open(stand_in, "w") as file:
        file.write(f"""#!{sys.executable}
import json, sys
words = sys.argv[1:]
if words[0] == "exec":
    sys.stdout.write({ESCAPE!r} + "\\nrow\\n")
else:
    path = words[-1].split("?")[0]
    found = {answers!r}
    print(json.dumps(next(a for end, a in found.items() if path.endswith("/" + end))))
""")
    os.chmod(stand_in, 0o755)
    for words in (["why", "p"], ["describe", "evil"], ["list"], ["top", "--agents", "agents"]):
        done = subprocess.run([mete, *words], env={**os.environ, "METE_KUBECTL": stand_in}, capture_output=True, text=True, timeout=60)
        ok(done.returncode == 0 and done.stdout and "\x1b" not in done.stdout and "\x07" not in done.stdout,
           f"kubectl mete {words[0]}: no escape code reaches the terminal", done.returncode, repr(done.stdout), done.stderr)


def test_scale():
    """5 000 nodes, and one call with all of their names."""
    api = ApiServer()
    kubeconfig(api.url)
    for i in range(5000):
        api.put("nodes", node(f"node-{i:04}", [card((i * 7 + c) % (17 if i % 2 else 4), (i * 13 + c * 29) % 101) for c in range(8)]))
    e = extender()
    names = [f"node-{i:04}" for i in range(5000)]
    body = json.dumps({"Pod": SMALL, "Nodes": None, "NodeNames": names}).encode()

    def ran():
        """Milliseconds that the extender has had a processor."""
        total = 0
        for thread in os.listdir(f"/proc/{e.process.pid}/task"):
            with open(f"/proc/{e.process.pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total / 1e6

    def took(path, times=30, asked=body):
        """Milliseconds of a call: its median, and the least that the extender has computed for one."""
        spent, computed = [], []
        for _ in range(times):
            began, before = time.monotonic(), ran()
            e.connection.request("POST", path, asked)
            e.connection.getresponse().read()
            computed.append(ran() - before)
            spent.append(time.monotonic() - began)
        return sorted(spent)[times // 2] * 1000, min(computed)
    fits, failed = filtered(e, SMALL, names)
    ok(fits and failed and len(fits) + len(failed) == 5000, f"every name is decided: {len(fits)} fit")
    median, best = took("/filter")
    print(f"# filter of 5000 names, {len(body)} bytes: median {median:.1f} ms, {best:.1f} ms of processor time a call")
    most = 5 if os.environ.get("METE_TEST_LONG") else 20  # where others have the processor, it is slower itself
    ok(best <= most * harness.PATIENCE, f"a filter call costs at most {most} ms: {best:.1f} ms of processor time")
    few = took("/filter", asked=json.dumps({"Pod": SMALL, "Nodes": None, "NodeNames": names[::4]}).encode())[1]
    ok(best <= 4 * few * 1.5 * harness.PATIENCE, f"a call grows with its names, and no faster: {few:.2f} ms for 1250, {best:.2f} ms for 5000")
    median, best = took("/prioritize", 10)
    print(f"# prioritize of 5000 names: median {median:.1f} ms, {best:.1f} ms of processor time")
    with open(f"/proc/{e.process.pid}/status") as file:
        print("#", next(line for line in file if line.startswith("VmRSS")).strip(), "of the extender with 5000 nodes of 8 cards")
    end(e)
    api.down()


def test_published():
    """A real meted and agent: what the node has is on the node, and at rest nothing is written."""
    agent_path = os.path.join(BIN, "mete-agent")
    if not os.path.exists(agent_path):
        return
    api = ApiServer()
    kubeconfig(api.url)
    api.put("nodes", node("n1"))
    m = Meted()
    shares = os.path.join(home, "shares.json")
    with open(shares, "w") as file:
        json.dump({"shares": [{"name": "small", "mem": "4G", "cores": 25}, {"name": "huge", "mem": "99G"}, {"name": "pair", "mem": "25%", "device": "0,1"},
                              {"name": "lent", "mem": "12G", "spill": True, "resident": "2G"}, {"name": "over", "mem": "12G", "overcommit": True}]}, file)
    for folder in ("plugins", "cdi"):
        os.mkdir(os.path.join(home, folder))
    agent = subprocess.Popen([agent_path, "--publish", "--node", "n1", "--kubeconfig", config, "--shares", shares, "--runtime-dir", m.dir,
                              "--kubelet-dir", os.path.join(home, "plugins"), "--cdi-dir", os.path.join(home, "cdi")],
                             env=m.env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def told():
        text = api.all("nodes")[0]["metadata"].get("annotations", {}).get("mete.io/devices")
        return json.loads(text) if text else None
    try:
        first = until(told, TRAILER)
        same([(c["total"], c["left"], c["time"], c["tenants"], c["state"]) for c in first["cards"]], [(16 * GIB, 16 * GIB, 1000000, 0, "active")] * 2,
             "the cards")
        same(first["shares"], {"small": [{"card": -1, "time": 250000, "bytes": 4 * GIB}],
                               "pair": [{"card": 0, "time": 0, "ppm": 250000}, {"card": 1, "time": 0, "ppm": 250000}],
                               "lent": [{"card": -1, "time": 0, "bytes": 12 * GIB, "stays": 2 * GIB}],
                               "over": [{"card": -1, "time": 0, "bytes": 12 * GIB, "overcommit": True}]},
             "the shares, without the one that fits no card")
        m.make("somebody", devices=[{"device": "0", "mem_bytes": 14 * GIB, "cores": 50}])
        m.make("other", devices=[{"device": "1", "mem_bytes": 15 * GIB}])
        now = until(lambda: told()["cards"][0]["left"] == 2 * GIB and told(), TRAILER)
        ok(now and now["cards"][0]["tenants"] == 1 and now["cards"][0]["time"] == 500000, "a grant that somebody made is told", told())
        c = m.control()
        c.ask("device_cordon", device="1", reason="fan")
        ok(until(lambda: told()["cards"][1]["state"] == "cordoned", TRAILER), "and a device that is cordoned")
        e = extender()
        same(filtered(e, SMALL, ["n1"]), ([], {"n1": f"share small: card 0 ({first['cards'][0]['name']}) has 2 GiB not promised, asked were 4 GiB"}),
             "the extender says what the node's ledger says")
        c.ask("grant_delete", name="somebody")
        ok(until(lambda: filtered(e, SMALL, ["n1"])[0] == ["n1"], TRAILER), "and when there is room again")
        c.close()
        end(e)
        def events():
            return [(e["type"], e["reason"], e["message"]) for e in api.all("default/events")]
        ok(until(lambda: any(r == "DeviceCordoned" and "GPU 1 (" in t and "takes no new shares: fan" in t for _, r, t in events()), TRAILER),
           "a device that is taken out of service is an event of the node", events())
        same(len(events()), 1, "once, and nothing else is")
        event = api.all("default/events")[0]
        same((event["involvedObject"]["kind"], event["involvedObject"]["name"], event["source"]["component"]), ("Node", "n1", "mete-agent"),
             "which kubectl describe shows")
        m.control().ask("device_uncordon", device="1")
        ok(until(lambda: ("Normal", "DeviceActive") in [e[:2] for e in events()], TRAILER), "and so is its return", events())
        with open(shares + ".new", "w") as file:
            file.write("{")
        os.rename(shares, shares + ".good")
        os.rename(shares + ".new", shares)
        ok(until(lambda: any(r == "SharesBroken" and "line 1" in t for _, r, t in events()), TRAILER), "a broken shares.json is one", events())
        os.rename(shares + ".good", shares)
        ok(until(lambda: ("Normal", "SharesBroken") in [e[:2] for e in events()], TRAILER), "and that it is mended", events())
        time.sleep(3)  # the annotation has its pause
        ok(rests(lambda: len(api.asked("PATCH")), 5), "at rest nothing is written")
        api.fail["PATCH", "nodes/n1"] = (500, 2)
        m.make("again", devices=[{"device": "0", "mem_bytes": 8 * GIB}])
        ok(until(lambda: told()["cards"][0]["left"] == 8 * GIB, 60), "a server in trouble is told later")
    finally:
        agent.kill()
        agent.wait()
    api.down()


def test_sweep():
    """Templates that no pod uses are deleted; one that a pod gets in the same moment is not."""
    api = ApiServer()
    kubeconfig(api.url)
    file_name, pki = os.path.join(home, "s.json"), os.path.join(home, "s-pki")
    with open(file_name, "w") as file:
        json.dump({"shares": SHARES[:3]}, file)
    w = Program(os.path.join(BIN, "mete-webhook"), "--claims", "--kubeconfig", config, "--shares", file_name, "--cert-dir", pki, "--sweep", "2s")
    ok(until(w.port, 60), "it serves", w.said())

    def ask(mib, space):
        c = connect(w.port(), os.path.join(pki, "ca.crt"))
        asked = review(pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": str(mib)}))
        asked["request"]["namespace"] = space
        answer = post(c, "/mutate", asked)[1]["response"]
        c.close()
        return applied(asked["request"]["object"], patch_of(answer))

    def runs(thing, space, name, phase="Running"):
        thing["metadata"].update({"name": name, "namespace": space})
        thing["status"] = {"phase": phase}
        api.put(f"{space}/pods", thing)

    def there(space):
        return sorted(n for kind, n in list(api.objects) if kind == f"{space}/resourceclaimtemplates")

    def template(thing):
        return thing["spec"]["resourceClaims"][0]["resourceClaimTemplateName"]
    used, over, unused = ask(1000, "a"), ask(2000, "a"), ask(3000, "b")
    runs(used, "a", "stays")
    runs(over, "a", "over", "Succeeded")
    own = {"name": "mete-own", "namespace": "b", "labels": {}}
    api.put("b/resourceclaimtemplates", {"metadata": own, "spec": {}})
    other = {"name": "theirs", "namespace": "b", "labels": {"app.kubernetes.io/managed-by": "mete-webhook"}}
    api.put("b/resourceclaimtemplates", {"metadata": other, "spec": {}})
    api.page = 1  # lists come in parts
    ok(until(lambda: there("a") == [template(used)], 60), "what finished pods alone name is deleted, what a pod names is not", there("a"), w.said())
    ok(until(lambda: there("b") == ["mete-own", "theirs"], 60), "what no pod names, too; without our label, or by another name, it is not ours",
       there("b"), w.said())
    api.page = None
    ok(until(lambda: "claim templates that no pod used are deleted" in w.said(), 30), "it is told", w.said())
    same(template(ask(3000, "b")), template(unused), "who asks alike later has it again")
    ok(template(unused) in there("b"), "made anew", there("b"))
    # Marked, and then asked for again before a sweep deletes it: the sweep's own view is of before.
    key = ("c/resourceclaimtemplates", template(ask(4000, "c")))
    old = str(int(time.time()) - 100)

    def mark():
        return api.objects[key]["metadata"].get("annotations", {}).get("mete.io/unused-since")
    api.put(key[0], {**api.objects[key], "metadata": {**api.objects[key]["metadata"], "annotations": {"mete.io/unused-since": old}}})
    # The pass that finds it unused is held between its list of templates and its delete request.
    version, deletes = api.objects[key]["metadata"]["resourceVersion"], []
    serve = api.serve

    def between(h):
        if h.command == "DELETE" and key[1] in h.path and not deletes:
            deletes.append(h.path)
            time.sleep(1)  # longer than the webhook believes that it is there
            runs(ask(4000, "c"), "c", "new")
        serve(h)
    api.serve = between
    ok(until(lambda: deletes and api.asked("DELETE", key[1]), 60), "a pass is about to delete one", w.said())
    ok(until(lambda: mark() is None and api.objects[key]["metadata"]["resourceVersion"] != version, 30), "a pod that gets it takes the mark away",
       api.objects.get(key))
    ok(key in api.objects, "and the pass that saw it before is refused")
    passes = len(api.asked("GET", "/api/v1/namespaces/c/pods"))
    ok(until(lambda: len(api.asked("GET", "/api/v1/namespaces/c/pods")) > passes + 2, 60), "later passes see the pod")
    ok(key in api.objects, "and leave it there")
    api.fail["GET", "/api/v1/namespaces/c/pods"] = (403, 1)
    ok(until(lambda: "claim templates that no pod uses are not deleted" in w.said() and "403" in w.said(), 60), "a right that is missing is named", w.said())
    ok(until(lambda: w.said().rstrip().endswith("well again"), 60), "and that it is there again", w.said())
    end(w)
    # Without sweeps nothing is listed or deleted.
    w = Program(os.path.join(BIN, "mete-webhook"), "--claims", "--kubeconfig", config, "--shares", file_name, "--cert-dir", pki, "--sweep", "0")
    ok(until(w.port, 60), "with --sweep 0 it serves", w.said())
    before = len(api.requests)
    ask(4000, "c")
    same([r[1] for r in api.requests[before:]], ["POST"], "and asks the API server for the template alone")
    w.stop()
    shutil.rmtree(w.folder, ignore_errors=True)
    api.down()


def test_claims():
    """Where there is DRA: words and named shares become claims, by templates that the webhook makes."""
    api = ApiServer()
    kubeconfig(api.url)
    file_name, pki = os.path.join(home, "c.json"), os.path.join(home, "c-pki")
    shares = [*SHARES[:3], {"name": "walled", "mem": "25%", "policy": "burst", "weight": 200, "wall": True}, SHARES[5]]
    with open(file_name, "w") as file:
        json.dump({"shares": shares}, file)
    w = Program(os.path.join(BIN, "mete-webhook"), "--claims", "--kubeconfig", config, "--shares", file_name, "--cert-dir", pki, "--card-memory", "16G")
    ok(until(w.port, 60), "it serves", w.said())

    def ask(thing, **fields):
        c = connect(w.port(), os.path.join(pki, "ca.crt"))
        asked = review(thing)
        asked["request"].update(fields)
        answer = post(c, "/mutate", asked)[1]["response"]
        c.close()
        return answer

    def devices(name, space="default"):
        return api.objects[f"{space}/resourceclaimtemplates", name]["spec"]["spec"]["devices"]
    thing = pod({"nvidia.com/gpu": "2", "nvidia.com/gpumem": "3000", "nvidia.com/gpucores": "30", "nvidia.com/priority": "1", "cpu": "1"})
    thing["spec"]["resourceClaims"] = [{"name": "own", "resourceClaimName": "x"}]
    thing["spec"]["containers"][0]["resources"]["claims"] = [{"name": "own"}]
    answer = ask(thing)
    got = applied(thing, patch_of(answer))["spec"]
    same(got["containers"][0]["resources"], {"limits": {"cpu": "1"}, "claims": [{"name": "own"}, {"name": "mete-1"}]},
         "the words go, a claim comes beside the pod's own")
    name = got["resourceClaims"][1]["resourceClaimTemplateName"]
    same(got["resourceClaims"], [{"name": "own", "resourceClaimName": "x"}, {"name": "mete-1", "resourceClaimTemplateName": name}], "and in the pod")
    same(devices(name), {
        "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.mete.io", "count": 2,
                                                 "capacity": {"requests": {"memory": "3000Mi", "cores": "30"}}}}],
        "config": [{"opaque": {"driver": "gpu.mete.io", "parameters": {"apiVersion": "gpu.mete.io/v1", "kind": "Share", "class": "low"}}}]},
        "the template has exactly what was asked for, and is there before the pod")
    ok(name in json.dumps(answer["warnings"]), "kubectl says which", answer)
    asked = len(api.requests)
    same(applied(thing, patch_of(ask(thing)))["spec"]["resourceClaims"][1]["resourceClaimTemplateName"], name, "who asks alike has the same template")
    same(len(api.requests), asked, "which costs no request")
    ask(thing, namespace="other")
    ok(("other/resourceclaimtemplates", name) in api.objects, "each namespace has its own")
    thing = pod({"mete.io/walled": "1"})
    got = applied(thing, patch_of(ask(thing)))["spec"]
    same(devices(got["resourceClaims"][0]["resourceClaimTemplateName"]), {
        "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.mete.io", "capacity": {"requests": {"memory": "4096Mi"}}}}],
        "config": [{"opaque": {"driver": "gpu.mete.io", "parameters": {"apiVersion": "gpu.mete.io/v1", "kind": "Share", "policy": "burst",
                                                                       "wall": True, "weight": 200}}}]}, "a named share, with its words")
    same(got["containers"][0]["resources"], {"limits": {}, "claims": [{"name": "mete-0"}]}, "is a claim, too")
    same("patch" in ask(pod({"mete.io/pair": "1"})), False, "one of certain devices stays for the device plugin")
    thing = pod(annotations={"gpu-fraction": "0.3"})
    thing["spec"]["containers"].append({"name": "two", "image": "x", "resources": {"limits": {"mete.io/tiny": "1"}}})
    got = applied(thing, patch_of(ask(thing)))["spec"]
    same(sorted(json.dumps(devices(c["resourceClaimTemplateName"])["requests"][0]["exactly"]["capacity"], sort_keys=True) for c in got["resourceClaims"]),
         ['{"requests": {"cores": "10", "memory": "1024Mi"}}', '{"requests": {"cores": "30", "memory": "4916Mi"}}'],
         "each container has its own claim; a part is rounded up")
    ok({c["resources"]["claims"][0]["name"] for c in got["containers"]} == {"mete-0", "mete-1"}, "by a name of its own", got)
    for words, said in (({"mete.io/small": "2"}, "a container gets one share"), ({"nvidia.com/gpumem": "5"}, "nvidia.com/gpu: 1")):
        answer = ask(pod(words))
        ok(not answer["allowed"] and said in answer["status"]["message"], f"{words} is refused", answer)
    answer = ask(pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "76"}, {"nvidia.com/use-gputype": "A100"}))
    ok(not answer["allowed"] and "chooses no model" in answer["status"]["message"], "a model cannot be asked for by a claim of these words", answer)
    asked = len(api.requests)
    ok(ask(pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "77"}), dryRun=True).get("patch"), "a dry run is answered")
    same(len(api.requests), asked, "and makes nothing")
    api.fail["POST", "resourceclaimtemplates"] = (403, 1)
    answer = ask(pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "78"}))
    ok(not answer["allowed"] and "template cannot be made" in answer["status"]["message"] and "403" in answer["status"]["message"],
       "a pod whose template cannot be made is refused, and told why", answer)
    ok(not ask(pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "79"}), namespace="../x")["allowed"], "a namespace is a word")

    def many(mib, count=40, space="many"):
        thing = pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": str(mib)})
        more = [{"name": f"c{i}", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": str(mib + i)}}} for i in range(1, count)]
        thing["spec"]["containers"] += more
        return ask(thing, namespace=space)

    def there(space="many"):
        return len([kind for kind, _ in api.objects if kind == f"{space}/resourceclaimtemplates"])
    ok(many(100)["allowed"], "a pod of forty different shares", there())
    answer = many(200)
    ok(not answer["allowed"] and "64 new claim templates" in answer["status"]["message"], "one who asks for ever new ones is refused", answer.get("status"))
    same([there(), many(300)["allowed"], there()], [64, False, 64], "so the cluster's store is not filled")
    ok(many(100)["allowed"] and many(210, 1)["allowed"], "what is there can be asked for")
    ok(many(400, 1, "quiet")["allowed"], "and another namespace has its own")
    end(w)
    api.down()


def test_authority():
    """Two webhooks, one authority in a secret, and the API server is told whom to believe."""
    webhook = os.path.join(BIN, "mete-webhook")
    api = ApiServer()
    kubeconfig(api.url)
    configurations = "mutatingwebhookconfigurations"
    api.put(configurations, {"metadata": {"name": "mete"}, "webhooks": [{"name": "pods.mete.io", "clientConfig": {"service": {"name": "w"}}, "sideEffects": "None"}]})
    with open(os.path.join(home, "w.json"), "w") as file:
        json.dump({"shares": SHARES}, file)
    options = ["--kubeconfig", config, "--secret", "mete-webhook", "--namespace", "mete-system", "--configuration", "mete", "--shares",
               os.path.join(home, "w.json")]

    def bundle():
        return api.all(configurations)[0]["webhooks"][0]["clientConfig"].get("caBundle", "")

    def serves(w):
        ca = os.path.join(home, "bundle.crt")
        with open(ca, "wb") as file:
            file.write(base64.b64decode(bundle()))
        c = connect(w.port(), ca)
        status, answer = post(c, "/mutate", review(pod({"aliyun.com/gpu-mem": "4"})))
        c.close()
        return status == 200 and "mete.io~1small" not in json.dumps(answer) and "mete.io/small" in json.dumps(patch_of(answer["response"]))
    both = [Program(webhook, *options) for _ in range(2)]
    ok(all(until(w.port, 60) for w in both), "both serve", *(w.said() for w in both))
    ok(until(bundle, TRAILER), "the configuration has the authority's certificate")
    same(len(api.all("mete-system/secrets") or api.all("secrets")) or len([k for k in api.objects if "secrets" in k[0]]), 1, "one secret")
    ok(all(until(lambda w=w: serves(w), TRAILER) for w in both), "both are believed")
    hook = api.all(configurations)[0]["webhooks"][0]
    same((hook["sideEffects"], hook["clientConfig"]["service"]), ("None", {"name": "w"}), "the rest of it is as it was")
    kept = bundle()
    both[0].stop(signal.SIGKILL)
    os.unlink(both[0].log)
    both[0].start()
    ok(until(both[0].port, 60) and serves(both[0]), "a new one takes the authority that there is")
    same(bundle(), kept, "and changes nothing")
    ok(rests(lambda: len(api.requests), 4), "at rest the API server is not asked")
    api.down()
    late = Program(webhook, *options)
    ok(until(lambda: "API server" in late.said(), TRAILER), "without an API server it waits, and says so", late.said())
    api.up()
    kubeconfig(api.url)
    end(late)
    for w in both:
        end(w)
    api.down()


def elsewhere(*parts):
    """In a process of its own, whose home and configuration are others."""
    global home, config
    home = tempfile.mkdtemp(prefix="mete-x-", dir="/tmp")
    config = os.path.join(home, "kubeconfig")
    for part in parts:
        part()
    shutil.rmtree(home)


def published():
    elsewhere(test_published)


def claims():
    elsewhere(test_claims, test_sweep)


def authority():
    elsewhere(test_authority)


if sys.argv[2:]:
    for word in sys.argv[2:]:
        globals()[f"test_{word}"]()
else:
    beside = harness.Beside(published, claims, authority)
    for part in (test_verdicts, test_hostile_node, test_terminal):
        part()
    beside.end()
    test_scale()
shutil.rmtree(home)
finish()
