"""Credit, recall, waiting, shared objects and live changes of a quota."""
import threading
import time

from harness import *


def test_exact_fit(m):
    path = m.make("exact", 100 * UNIT)
    a = m.client()
    same(a.hello(path), OK, "HELLO")
    same(a.reserve(0, 100), [OK, 100], "a request of exactly the quota is granted")
    same(a.ask("take", 0, 100), [1], "and can be taken")
    same(a.reserve(0, 1), [NO_ROOM, 0], "one unit more is refused")
    same(a.word(), (100, 100), "and changes nothing")
    same(a.ask("info", 0), [OK, 100 * UNIT, 100 * UNIT], "INFO says quota and held")
    share = m.control().share("exact")
    same((share["held_bytes"], share["peak_bytes"], share["refused"]), (100 * UNIT, 100 * UNIT, 1),
         "the operator sees held, peak and refused")
    same(a.reserve(0, 0xffffffff), [NO_ROOM, 0], "an absurd size is refused")
    same(a.reserve(0, 0, 0xffffffff), [OK, 0], "an absurd wish is no error")


def test_recall(m):
    path = m.make("recall", 1000 * UNIT)
    a, b, c = m.client(), m.client(), m.client()
    for x in (a, b, c):
        same(x.hello(path), OK, "HELLO")
    same(a.reserve(0, 10, 600), [OK, 600], "comfort credit where there is room")
    same(b.reserve(0, 10, 5000), [OK, 400], "and no more than there is")
    same(a.ask("take", 0, 100), [1], "one of them holds some of it")
    same(c.reserve(0, 700), [OK, 700], "another's need recalls unused credit")
    same(a.word()[0] + b.word()[0], 300, "what was recalled is gone")
    same(a.word()[1], 100, "what was held is not")
    same(c.reserve(0, 901), [NO_ROOM, 700], "held memory is not recalled")
    same(c.reserve(0, 900), [OK, 900], "all but what is held can be had")


def test_devices(m):
    path = m.make("two", devices=[{"device": "1", "mem_bytes": 10 * UNIT}, {"device": "0", "mem_bytes": 20 * UNIT}])
    a = m.client()
    same(a.ask("hello", path), [OK, 0, a.pid, 2], "WELCOME names the pid and two devices")
    same(a.reserve(0, 11), [NO_ROOM, 0], "each device has its own quota")
    same(a.reserve(1, 20), [OK, 20], "in the order of the grant")


def test_all(m):
    path = m.make("all", 1000 * UNIT)
    a, b, c = m.client(), m.client(), m.client()
    for x in (a, b, c):
        x.hello(path)
    same(b.reserve(0, 300), [OK, 300], "a neighbour has credit")
    a.ask("measuring", 0, 1)
    same(a.reserve(0, 0, 0, ALL), [OK, 1000], "everything that is left, with the neighbours' credit")
    same(a.ask("take", 0, 1000), [1], "it is held while the size is unknown")
    b.tell("reserve", 0, 500)
    time.sleep(0.1)
    same(m.control().share("all")["refused"], 0, "others wait meanwhile")
    a.ask("give", 0, 600)
    a.ask("measuring", 0, 0)
    same(b.answer(), [OK, 500], "and have what they asked for when it is settled")
    same(b.ask("take", 0, 500), [1], "they can take it")
    b.ask("measuring", 0, 1)
    c.ask("measuring", 0, 1)
    c.tell("reserve", 0, 0, 0, ALL)
    time.sleep(0.1)
    b.ask("measuring", 0, 0)
    same(c.answer(), [OK, 100], "also those wait who want all that is left")
    same(a.word(), (400, 400), "the credit that was left is recalled")
    c.ask("measuring", 0, 0)


def test_wait_ends_with_death(m):
    path = m.make("death", 1000 * UNIT)
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    a.ask("measuring", 0, 1)
    a.reserve(0, 0, 0, ALL)
    a.ask("take", 0, 1000)
    b.tell("reserve", 0, 1000)
    time.sleep(0.05)
    start = time.monotonic()
    a.kill()
    same(b.answer(), [OK, 1000], "the memory of a process that dies while it measures goes to who waits")
    ok(time.monotonic() - start < 0.5, "at once", time.monotonic() - start)


def test_wait_ends(m):
    path = m.make("wait", 1000 * UNIT)
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    a.ask("measuring", 0, 1)
    a.reserve(0, 0, 0, ALL)
    a.ask("take", 0, 1000)
    start = time.monotonic()
    same(b.reserve(0, 1), [NO_ROOM, 0], "nobody waits for ever for one who does not settle")
    ok(9 < time.monotonic() - start < 12, "but ten seconds", time.monotonic() - start)
    a.ask("measuring", 0, 0)


def test_death(m):
    path = m.make("dead", 1000 * UNIT)
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    ok(a.hold(0, 1000), "one process holds everything")
    same(b.reserve(0, 1)[0], NO_ROOM, "another has no room")
    a.kill()
    same(b.reserve(0, 1000), [OK, 1000], "the memory of the dead is there at once")
    same(len(m.control().grant("dead")["processes"]), 1, "its process is no longer listed")
    same(len([p for p in m.pages() if f"-{a.pid}-" in p]), 0, "its page is gone")


def test_close_is_not_death(m):
    path = m.make("closed", 1000 * UNIT)
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    ok(a.hold(0, 600), "a process holds memory")
    a.ask("close")
    time.sleep(1.1)
    process = [p for p in m.control().grant("closed")["processes"] if p["pid"] == a.pid][0]
    same((process["attached"], process["devices"][0]["held_bytes"]), (False, 600 * UNIT),
         "a closed socket does not return what a living process holds")
    same(b.reserve(0, 401)[0], NO_ROOM, "it stays charged")
    same(a.ask("hello", path)[:2], [OK, 1], "it comes back and finds its account")
    same(a.word(), (600, 600), "as it was")


def test_objects(m):
    path = m.make("objects", 1000 * UNIT)
    a, b, c = m.client(), m.client(), m.client()
    for x in (a, b, c):
        x.hello(path)
    ok(a.hold(0, 700), "an allocation")
    same(b.ask("import", "k1", 0), [UNKNOWN_OBJECT, 0, 0], "nothing to import yet")
    same(a.ask("share", "k1", 0, 600), [OK, 600, 0], "SHARE")
    same(a.word(), (100, 100), "its charge has left the account")
    same(a.ask("share", "k1", 0, 600), [OK, 600, 0], "SHARE again changes nothing")
    same(a.word(), (100, 100), "really nothing")
    same(a.ask("share", "k1", 0, 500)[0], BAD, "the same key with another size is senseless")
    same(a.ask("share", "k2", 0, 101)[0], BAD, "one cannot share more than one holds")
    same(b.ask("info", 0), [OK, 1000 * UNIT, 700 * UNIT], "the tenant still holds it")
    same(b.reserve(0, 301)[0], NO_ROOM, "it leaves no room")
    same(b.ask("import", "k1", 0), [OK, 600, 0], "IMPORT")
    same(b.word(), (0, 0), "charges nobody")
    same(b.ask("import", "k1", 0), [OK, 600, 0], "IMPORT again")
    same(m.control().share("objects")["shared_bytes"], 600 * UNIT, "charged once")
    same(a.ask("drop", "k1", 0), [OK, 600, 0], "DROP by the exporter")
    same(a.ask("drop", "k1", 0), [OK, 0, 0], "DROP again")
    same(c.reserve(0, 301)[0], NO_ROOM, "it stays charged while it is imported")
    b.kill()
    same(c.reserve(0, 900), [OK, 900], "the last reference ends with its process, and the charge with it")
    same(c.ask("drop", "k1", 0), [OK, 0, 1], "DROP of what is not there")
    same(c.ask("import", "k1", 0)[0], UNKNOWN_OBJECT, "nothing is left of it")


def test_object_outlives_exporter(m):
    path = m.make("outlive", 1000 * UNIT)
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    a.hold(0, 1000)
    same(a.ask("share", "k", 0, 1000)[0], OK, "an allocation that fills the quota can be shared")
    same(b.ask("import", "k", 0)[0], OK, "and imported")
    a.kill()
    until(lambda: len(m.control().grant("outlive")["processes"]) == 1)
    same(m.control().share("outlive")["held_bytes"], 1000 * UNIT, "it outlives its exporter")
    same(b.reserve(0, 1)[0], NO_ROOM, "charged to the grant")
    same(b.ask("drop", "k", 0), [OK, 1000, 1], "the last DROP says so")
    same(b.reserve(0, 1000), [OK, 1000], "and makes room")


def test_many_objects(m):
    path = m.make("many", 2000 * UNIT)
    a = m.client()
    a.hello(path)
    a.hold(0, 2000)
    same([a.ask("share", f"k{i}", 0, 1)[0] for i in range(1024)], [OK] * 1024, "1024 shared allocations")
    same(a.ask("share", "more", 0, 1)[0], FULL, "and no more")
    same(a.word(), (976, 976), "the one refused stays in the account")
    same(a.ask("drop", "k7", 0), [OK, 1, 1], "a place becomes free")
    same(a.ask("share", "more", 0, 1)[0], OK, "and is used")


def set_quota(m, name, units, **more):
    return m.control().ask("grant_set", name=name, devices=[{"device": "0", "mem_bytes": units * UNIT}], **more)


def test_resize(m):
    path = m.make("live", 1000 * UNIT)
    a = m.client()
    a.hello(path)
    ok(a.hold(0, 1000), "everything is held")
    ok(set_quota(m, "live", 1500)["ok"], "growing")
    same(a.ask("word", 0)[2], 1500 * UNIT, "the page says so at once")
    same(a.reserve(0, 500), [OK, 500], "and it can be used")
    answer = set_quota(m, "live", 999)
    same((answer["ok"], answer.get("code")), (False, "busy"), "shrinking below what is held is refused")
    ok("500 KiB" in answer["error"] and "499" in answer["error"], "with the figures", answer)
    same(m.control().share("live")["quota_bytes"], 1500 * UNIT, "and changes nothing")
    ok(set_quota(m, "live", 1000)["ok"], "shrinking to what is held recalls credit")
    same(a.word(), (1000, 1000), "all of it")
    ok(set_quota(m, "live", 400, soon=True)["ok"], "--soon")
    same(m.control().share("live").get("target_bytes"), 400 * UNIT, "is remembered")
    same(a.ask("word", 0)[2:], [400 * UNIT, 1], "the page has the new quota and is tight")
    same(a.reserve(0, 1)[0], NO_ROOM, "nothing more is granted")
    a.ask("give", 0, 500)
    same(a.reserve(0, 1)[0], NO_ROOM, "not even what was just freed")
    ok(until(lambda: a.word() == (500, 500)), "what is freed is taken back within a moment", a.word())
    same(a.reserve(0, 1)[0], NO_ROOM, "still above")
    a.ask("give", 0, 200)
    ok(until(lambda: "target_bytes" not in m.control().share("live")), "it is done when held is at the target")
    same(m.control().share("live")["quota_bytes"], 400 * UNIT, "the quota is the target now")
    same(a.ask("word", 0)[3], 0, "no longer tight")
    same(a.reserve(0, 100), [OK, 100], "and the rest can be had")
    same(a.reserve(0, 101)[0], NO_ROOM, "not more")
    texts = [e["text"] for e in m.control().grant("live")["events"]]
    ok(any("goes down" in t for t in texts) and any("refused" in t for t in texts), "events tell of it", texts)


def test_soon_cancelled(m):
    path = m.make("cancel", 1000 * UNIT)
    a = m.client()
    a.hello(path)
    a.hold(0, 1000)
    set_quota(m, "cancel", 10, soon=True)
    ok(set_quota(m, "cancel", 2000)["ok"], "a pending shrink is overruled by growing")
    same(a.ask("word", 0)[2:], [2000 * UNIT, 0], "the page says so")
    same(a.reserve(0, 1000), [OK, 1000], "and it holds")


def test_resize_waits_for_settling(m):
    path = m.make("settle", 1000 * UNIT)
    a = m.client()
    a.hello(path)
    a.ask("measuring", 0, 1)
    a.reserve(0, 0, 0, ALL)
    a.ask("take", 0, 1000)
    answers = []
    t = threading.Thread(target=lambda: answers.append(set_quota(m, "settle", 500)))
    t.start()
    time.sleep(0.2)
    same(answers, [], "a change waits while a reservation is being settled")
    a.ask("give", 0, 600)
    a.ask("measuring", 0, 0)
    t.join()
    ok(answers[0]["ok"], "and is made then", answers)


def test_forged(m):
    path = m.make("forged", 1000 * UNIT)
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    same(b.reserve(0, 300), [OK, 300], "an honest neighbour")
    b.ask("take", 0, 300)
    a.ask("forge", 0, 900, 900)
    same(a.reserve(0, 1)[0], NO_ROOM, "a client that raised its own grant gets no more")
    ok("has written into its account" in m.log(), "and is reported")
    same(m.control().share("forged")["granted_bytes"], 1200 * UNIT, "its charge is what it took")
    a.kill()
    same(b.reserve(0, 700), [OK, 700], "its end puts everything right")


def test_cut_page(m):
    path = m.make("cut", 1000 * UNIT)
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    a.hold(0, 400)
    page = [p for p in m.pages() if f"-{a.pid}-" in p][0]
    same(a.ask("cut", f"{m.dir}/pages/{page}"), [0], "a client cuts its page short")
    same(b.reserve(0, 601)[0], NO_ROOM, "meted goes on with its own figures")
    same(b.reserve(0, 600), [OK, 600], "exactly")
    same(a.reserve(0, 1)[0], NO_ROOM, "the client gets nothing more")
    ok(m.process.poll() is None, "meted lives")
    ok("cut short" in m.log(), "and reports it")
    a.kill()
    same(b.reserve(0, 1000), [OK, 1000], "its end puts everything right")


def test_peak_and_events(m):
    path = m.make("events", 1000 * UNIT)
    a = m.client()
    a.hello(path)
    a.hold(0, 700)
    a.ask("peak", 0, 700)
    a.ask("give", 0, 700)
    for _ in range(3):
        a.ask("event", 0, "the driver holds more than we know \x07\xff")
    a.ask("info", 0)
    grant = m.control().grant("events")
    same(grant["devices"][0]["peak_bytes"], 700 * UNIT, "the peak stays")
    same(grant["attached_total"], 1, "processes that ever attached are counted")
    last = grant["events"][-1]
    ok("the driver holds more" in last["text"] and last["count"] == 3, "an event that repeats is counted", last)
    same(a.ask("processes", 0), [OK, 0], "who holds nothing is not in the device's process list")
    a.hold(0, 5)
    same(a.ask("processes", 0), [OK, 1, f"{a.pid}:5"], "who holds something is")


m = Meted()
for test in [test_exact_fit, test_recall, test_devices, test_all, test_wait_ends_with_death, test_wait_ends, test_death,
             test_close_is_not_death, test_objects, test_object_outlives_exporter, test_many_objects, test_resize,
             test_soon_cancelled, test_resize_waits_for_settling, test_forged, test_cut_page, test_peak_and_events]:
    print(f"# {test.__name__}", flush=True)
    test(m)
m.close()
finish()
