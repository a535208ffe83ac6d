#!/usr/bin/env python3
"""
Images of kernels that outlive the programs that sent them: for whom, how long, how many, and what is left when something ends.

    images_test.py BUILD
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../daemon"))
sys.dont_write_bytecode = True
from harness import *  # noqa: E402,F403
from storm import descriptors, descriptors_at_rest  # noqa: E402

PROGRAM = os.path.join(BUILD, "tests/remote/image_client")
LIBRARY = os.path.join(BUILD, "src/remote/client")
NEXT = os.path.join(BUILD, "tests/daemon/meted_next")
LARGE = 500000
TRIES = 8  # of what a busy machine may hold up
HUGE = 96 << 20
QUOTA = 64 << 20


def grant(c, name, **fields):
    answer = c.ask("grant_create", name=name, driver="soft", devices=[{"device": "0", "mem_bytes": QUOTA}], wall=True, **fields)
    if not answer["ok"]:
        raise SystemExit(f"Bail out! {answer}")
    return answer["grant"]["wall"]


def delete(c, name):
    """When its last worker has ended."""
    ok(until(lambda: c.ask("grant_delete", name=name)["ok"], 10), f"grant {name} ends")


def program(m, wall, *words, **more):
    env = dict(m.env, LD_LIBRARY_PATH=LIBRARY, METE_REMOTE=wall)
    return subprocess.Popen([PROGRAM, *map(str, words)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)


def run(m, wall, image, size=LARGE):
    """A program to its end: its status."""
    p = program(m, wall, image, size)
    p.communicate(timeout=120)
    return p.returncode


def kept(c, name):
    i = c.grant(name)["images"]
    return i["kept"], i["hits"]


def soon(c, name, expected, what):
    """What a worker says of images comes beside its answers."""
    until(lambda: kept(c, name) == expected, 10)
    same(kept(c, name), expected, what)


def keeps(m, c, wall, name, image, expected, what, size=LARGE):
    """
    A program whose image is kept at its end. A worker waits 50 ms for meted's memory (KEEP_WAIT_MS), and goes on without if the
    machine has something else to do: the image is not kept then, which is right, and the next program sends it again.
    """
    for _ in range(TRIES):
        same(run(m, wall, image, size), 0, f"a program with image {image}")
        if until(lambda: kept(c, name) == expected, 1):
            break
    same(kept(c, name), expected, what)


def held(m, c, wall, name, expected, what):
    """A program whose image is kept while it runs, likewise."""
    for left in reversed(range(TRIES)):
        holder = program(m, wall, "one", LARGE, "wait")
        holder.stdout.readline()
        if until(lambda: kept(c, name) == expected, 1) or not left:
            break
        holder.communicate("", timeout=120)
    same(kept(c, name), expected, what)
    return holder


def metrics(c):
    return [line for line in c.ask("metrics")["text"].splitlines() if line.startswith("mete_images_")]


def test_second_start(m, c):
    wall = grant(c, "a")
    same(kept(c, "a"), (0, 0), "of a new grant nothing is kept")
    keeps(m, c, wall, "a", "one", (1, 0), "its image is kept")
    same(run(m, wall, "one"), 0, "it starts again")
    soon(c, "a", (1, 1), "the image was there")
    images = c.grant("a")["images"]
    ok(LARGE < images["kept_bytes"] < LARGE + 1000, "its size is told", images)
    same(images["saved_bytes"], images["kept_bytes"], "and what that has saved")
    keeps(m, c, wall, "a", "other", (2, 1), "another image is kept beside it")
    same(run(m, wall, "small", 0), 0, "a program with a small image")
    same(kept(c, "a"), (2, 1), "which is sent each time")


def test_owners(m, c):
    wall = grant(c, "b")
    keeps(m, c, wall, "b", "one", (1, 0), "another tenant has to send the same image: what the first has is not for it")
    same(kept(c, "a"), (2, 1), "nor is it the first one's")
    delete(c, "b")
    keeps(m, c, grant(c, "b"), "b", "one", (1, 0), "a grant of that name that is made anew begins with nothing")
    delete(c, "b")


def test_words(m, c):
    wall = grant(c, "w", images="theword1")
    keeps(m, c, wall, "w", "one", (1, 0), "under a word of the grant's maker an image is kept")
    delete(c, "w")
    wall = grant(c, "x", images="theword1")
    same(kept(c, "x"), (1, 0), "beyond the grant's end, for the next one of this word")
    run(m, wall, "one")
    soon(c, "x", (1, 1), "where it is found")
    wall = grant(c, "y", images="theword2")
    same(kept(c, "y"), (0, 0), "another word is another owner")
    for word in ("", "a" * 65, "a/b", 7, "grant/1"):
        answer = c.ask("grant_create", name="z", driver="soft", wall=True, images=word,
                       devices=[{"device": "0", "mem_bytes": QUOTA}])
        same(answer.get("code", answer["ok"]), "malformed", f"no word: {word!r}")
    for name in "xy":
        delete(c, name)


def test_bounds(m, c, config):
    """Room for two images and a half: the one that was used longest ago goes."""
    wall = grant(c, "few")
    keeps(m, c, wall, "few", "one", (1, 0), "an image has room")
    keeps(m, c, wall, "few", "two", (2, 0), "and another one")
    for image in ("one", "three", "one"):
        same(run(m, wall, image), 0, f"image {image}")
    soon(c, "few", (2, 2), "two have room, and the one that is used stays")
    with open(config, "w", encoding="ascii") as f:
        f.write("images:\n  keep: 0\n")
    m.process.send_signal(signal.SIGHUP)
    soon(c, "few", (0, 0), "none has, when meted is told so")
    same(run(m, wall, "one"), 0, "programs need none")
    same(kept(c, "few"), (0, 0), "and none is kept")


def has_image(pid):
    try:
        with open(f"/proc/{pid}/maps", encoding="ascii") as f:
            mapped = "memfd:mete-image" in f.read()
        return mapped or any("memfd:mete-image" in os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def workers_with_image(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [child for child in f.read().split() if has_image(child)]


def busy_beside_ns(pid):
    """Processor time of a process's threads, but for the one that runs its loop."""
    spent = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        if int(task) != pid:
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
                spent += int(f.read().split()[0])
    return spent


def test_large(m, c):
    """The kernel frees the pages of an image when it goes, which is not to hold up meted's loop."""
    wall = grant(c, "large")
    keeps(m, c, wall, "large", "large", (1, 0), "a large image is kept", HUGE)
    ok(until(lambda: not workers_with_image(m.process.pid), 20), "by meted alone")
    before = busy_beside_ns(m.process.pid)
    delete(c, "large")
    # 40 ns for a page of 4 KiB; what else these threads do in that time is less
    until(lambda: busy_beside_ns(m.process.pid) - before > HUGE // 100, 10)
    spent = busy_beside_ns(m.process.pid) - before
    ok(spent > HUGE // 100, "its pages are freed beside the loop", spent)


def test_kills(m, c):
    wall = grant(c, "k")
    holder = held(m, c, wall, "k", (1, 0), "an image is kept while its program runs")
    os.kill(c.grant("k")["processes"][0]["pid"], signal.SIGKILL)
    holder.kill()
    holder.communicate()
    same(run(m, wall, "one"), 0, "its worker is killed, and another one")
    soon(c, "k", (1, 1), "has the image")
    holder = program(m, wall, "one", LARGE, "wait")
    holder.stdout.readline()
    soon(c, "k", (1, 2), "a program has it")
    c.close()
    m.kill()
    m.start()
    c = m.control()
    holder.communicate("", timeout=60)
    same(holder.returncode, 0, "meted is killed, and the program goes on to its end")
    keeps(m, c, wall, "k", "one", (1, 0), "the next one is served by another meted, which has got the image anew")
    return c


def test_upgrade(m, c):
    """Images go from one meted to the next, and so do the connections on which they come."""
    wall = grant(c, "u")
    holder = held(m, c, wall, "u", (1, 0), "an image is kept")
    before, figures = c.grant("u")["images"], metrics(c)
    ok(len(figures) == 3, "images are in the metrics", figures)
    ok(c.ask("upgrade")["ok"], "meted is replaced")
    same(c.grant("u")["images"], before, "it is kept by the next one")
    same(metrics(c), figures, "which goes on counting")
    same(run(m, wall, "one"), 0, "the program starts again")
    soon(c, "u", (1, 1), "and has the image")
    ok(c.ask("upgrade", binary=NEXT)["ok"], "meted is replaced by a later one")
    soon(c, "u", (1, 1), "which keeps it")
    holder.communicate("", timeout=60)
    same(holder.returncode, 0, "the first program ends")
    keeps(m, c, wall, "u", "other", (2, 1), "another image is kept beside it")


def main():
    m = Meted("--soft-only", env={"METE_SOFT_CONTEXT_MEMORY": "3M"})
    c = m.control()
    test_second_start(m, c)
    test_words(m, c)
    before = descriptors_at_rest(m.process.pid)
    test_owners(m, c)
    ok(until(lambda: descriptors(m.process.pid) <= before, 10), "what a tenant had is gone with it", before,
       descriptors(m.process.pid))
    test_large(m, c)
    c = test_kills(m, c)
    test_upgrade(m, c)
    c.close()
    m.close()

    config = os.path.join(tempfile.mkdtemp(prefix="mete-images-", dir="/tmp"), "meted.yaml")
    with open(config, "w", encoding="ascii") as f:
        f.write(f"images:\n  keep: {LARGE * 5 // 2}\n")
    m = Meted("--soft-only", "--config", config, env={"METE_SOFT_CONTEXT_MEMORY": "3M"})
    c = m.control()
    test_bounds(m, c, config)
    c.close()
    m.close()
    shutil.rmtree(os.path.dirname(config))
    finish()


if __name__ == "__main__":
    main()
