#!/usr/bin/env python3
"""
Programs whose server lies: lying_test.py BUILD [ROUNDS [SEED]]

The worker changes some words of its answers, and sends messages that answer nobody. A program may then be told wrong
things, and may lose its server. The client in it breaks no memory: no program dies of a signal by its doing; and none
waits for ever: it has ended soon after its server.

One program asks the same things again and again (swept_program.c), and of each answer each word is wrong once in each way.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
SANITIZED = bool(os.environ.get("METE_TEST_SANITIZED"))
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1 if SANITIZED else 2
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
PROGRAM = os.path.join(BUILD, "tests/remote/client/client_program")
SWEPT = os.path.join(BUILD, "tests/remote/client/swept_program")
WORDS, VALUES, KINDS = 24, 15, 6  # of lying_replies.c and swept_program.c
BEHAVIOUR = os.path.join(BUILD, "tests/behaviour")
CASES = [[PROGRAM, case] for case in ("copies", "handles", "graphs")]
CASES += [[os.path.join(BEHAVIOUR, name)] for name in ("image_test", "launch_test", "module_test", "memory_test", "array_test", "stream_test",
                                                       "pool_test", "context_test", "device_test", "copy_test", "vmm_test", "pointer_test")]
# A sanitizer tells of signals by itself.
PRELOADED = {} if SANITIZED else {"LD_PRELOAD": os.path.join(BUILD, "tests/remote/liblying_catch.so")}
SERVER_S, END_S = (20, 120) if SANITIZED else (6, 60)
SWEEP_S = 60 if SANITIZED else 20
count = failed = 0


def check(good, text):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)


def begin_worker(folder, name, env):
    end, ready = os.pipe()
    worker = subprocess.Popen([os.path.join(BUILD, "tests/remote/lying-worker"), "--listen", os.path.join(folder, name), "--driver",
                               os.path.join(BUILD, "src/softdev/libcuda.so.1"), "--ready-fd", str(ready)], env=env, pass_fds=[ready],
                              stderr=subprocess.DEVNULL)
    os.close(ready)
    os.read(end, 1)
    os.close(end)
    return worker


def is_clients(said):
    """A death in the client, or in a library that it has called."""
    told = [line for line in said.splitlines() if line.startswith("SUMMARY: ")]
    if told:
        return any("/tests/" not in line for line in told)
    lines = said.split("died of signal", 1)
    frames = [os.path.basename(line.split()[-1]) for line in lines[1].splitlines()[1:] if line.strip()] if len(lines) > 1 else []
    inner = next((f for f in frames if not f.startswith(("libc.", "ld-linux", "?"))), "")
    return "libcuda" in inner or "mete" in inner


def one(case, every, after, seed, where=None, old=False):
    """Value: how the program has ended; None: it did not. `old`: the lies are earlier answers."""
    folder = tempfile.mkdtemp(prefix="mete-lie-")
    env = {k: v for k, v in os.environ.items() if not k.startswith("METE_") or k.startswith("METE_TEST_")}
    env.update(METE_SOFT_DIR=os.path.join(folder, "soft"), METE_SOFT_DEVICES="1", METE_SOFT_MEMORY="256M", METE_RUNTIME_DIR=folder,
               METE_TEST_IMAGES=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../behaviour/images"))
    lies = {**env, "LIES_SEED": str(seed), "LIES_EVERY": str(every), "LIES_AFTER": str(after), **({"LIES_OLD": "1"} if old else {})}
    # The next server lies as well: from its first message on, or later.
    servers = [begin_worker(folder, "next", {**lies, "LIES_AFTER": str(seed % 3 * after)})] if where == "next" else []
    servers.append(begin_worker(folder, "s", {**lies, "LIES_NEXT": os.path.join(folder, where)} if where else lies))
    program = subprocess.Popen(case, env={**env, **PRELOADED, "METE_REMOTE": os.path.join(folder, "s"), "LD_LIBRARY_PATH": os.path.join(BUILD, "src/remote/client"),
                                          "METE_LOG": os.path.join(folder, "log")}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, errors="replace")
    try:
        try:
            _, said = program.communicate(timeout=SERVER_S)
        except subprocess.TimeoutExpired:
            for server in servers:
                server.kill()
            try:
                _, said = program.communicate(timeout=END_S)
            except subprocess.TimeoutExpired:
                return None, ""
        return program.returncode, said
    finally:
        for p in (program, *servers):
            if p.poll() is None:
                p.kill()
            p.wait()
        shutil.rmtree(folder, ignore_errors=True)


def swept(words, lies):
    """The status of a program that asks while its server lies, and what it has printed."""
    folder = tempfile.mkdtemp(prefix="mete-lie-")
    env = {k: v for k, v in os.environ.items() if not k.startswith("METE_") or k.startswith("METE_TEST_")}
    env.update(METE_SOFT_DIR=os.path.join(folder, "soft"), METE_SOFT_DEVICES="1", METE_SOFT_MEMORY="1G", METE_RUNTIME_DIR=folder)
    server = begin_worker(folder, "s", {**env, **lies})
    program = subprocess.Popen([SWEPT, *words], env={**env, **PRELOADED, "METE_REMOTE": os.path.join(folder, "s"),
                               "LD_LIBRARY_PATH": os.path.join(BUILD, "src/remote/client"), "METE_LOG": os.path.join(folder, "log")},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    try:
        for wait_s in (SWEEP_S, END_S):
            try:
                said, why = program.communicate(timeout=wait_s)
                return program.returncode, said, why
            except subprocess.TimeoutExpired:
                server.kill()  # it may keep a program waiting, as with gigabytes that it says a variable has
        return "no end", "", ""
    finally:
        for p in (program, server):
            if p.poll() is None:
                p.kill()
            p.wait()
        shutil.rmtree(folder, ignore_errors=True)


def sweep(kind):
    """Where the session is lost, another one goes on behind that."""
    first, sessions, bad = 0, 0, []
    while first < WORDS * VALUES and len(bad) < 3:
        status, said, why = swept([str(kind), str(WORDS * VALUES - first)], {"LIES_SWEEP": str(first)})
        sessions += 1
        if status:
            bad.append(f"behind {first} rounds: {status} {said} {why[-3000:]}")
        first += 1 + (int(said) if not status else 0)
    for b in bad:
        print("#", b.replace("\n", "\n# "))
    check(not bad, f"each word of each answer wrong in each way, kind {kind}: {sessions} sessions")


def long_variable():
    """A managed variable that is said to reach over what another one has, into memory of the program's."""
    for _ in range(5):  # the place behind is taken by chance
        status, said, why = swept(["long"], {"LIES_LONG": "1"})
        if said != "no room behind it\n":
            break
    print("#", status, said.strip(), why[-2000:].replace("\n", "\n# "))
    check(not status and said in ("as it was\n", "no room behind it\n"), "a variable that is said to be longer than its place ends there")


def main():
    long_variable()
    for kind in range(KINDS):
        sweep(kind)
    dice = random.Random(SEED)
    for case in CASES:
        if not os.path.exists(case[0]):
            continue
        name, bad, ends = os.path.basename(case[0]) + " " + " ".join(case[1:]), [], {}
        for _ in range(ROUNDS):
            seed, every, after = dice.randrange(1 << 30), dice.choice((1, 3, 10, 40, 200)), dice.choice((0, 1, 5, 30, 100, 300, 1000))
            where = dice.choice((None, None, "next", "nowhere"))
            old = dice.choice((False, True))
            status, said = one(case, every, after, seed, where, old)
            ends[status] = ends.get(status, 0) + 1
            if status is None or status < 0 or "runtime error" in said or is_clients(said):
                bad.append((seed, every, after, old, where, "no end" if status is None else status, said[-3000:]))
        for b in bad:
            print(f"# {name}: LIES_SEED={b[0]} LIES_EVERY={b[1]} LIES_AFTER={b[2]} LIES_OLD={b[3]} next {b[4]}: {b[5]} {b[6]}")
        check(not bad, f"{name}: {ROUNDS} rounds, ends {ends}")
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
