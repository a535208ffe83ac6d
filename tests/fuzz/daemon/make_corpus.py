#!/usr/bin/env python3
"""
Writes the corpora of daemon_fuzz, page_fuzz and taken_fuzz, corpus/, page_corpus/ and taken_corpus/ beside this file: one input a situation, in the
form that daemon_fuzz.c describes. After a change of the protocol's version it is run again.
"""
import json
import os
import re
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "../../../src/wire/message.h"), encoding="utf-8") as header:
    VERSION = int(re.search(r"#define WIRE_VERSION (\d+)u", header.read())[1])

HELLO, WELCOME, RESERVE, RESERVED, INFO, INFO_IS, SHARE, IMPORT, DROP, SHARED, EVENT, PROCESSES, PROCESSES_ARE, ERROR, PEER, PEER_IS, STORE = range(1, 18)
PACKET, TAKE, GIVE, MEASURE, RECONNECT, TURN, REQUEST, STEPS = range(8)


def step(what, data=b"", peer=0):
    return struct.pack("<BH", what + peer * STEPS, len(data)) + data


def packet(kind, body, peer=0):
    return step(PACKET, struct.pack("4I", kind, 16 + len(body), 1, 0) + body, peer)


def hello(peer=0, image=0):
    return packet(HELLO, struct.pack("2I32s64sQ", VERSION, 1, b"fuzz", bytes(64), image), peer)


def reserve(need, want=0, flags=0, device=0, peer=0):
    return packet(RESERVE, struct.pack("4I", device, flags, need, want), peer)


def thing(kind, key, units=0, device=0, peer=0):
    return packet(kind, struct.pack("32s2I", key, device, units), peer)


def take(units, peer=0, device=0):
    return step(TAKE, bytes([device, units]), peer)


def give(units, peer=0, device=0):
    return step(GIVE, bytes([device, units]), peer)


def request(**fields):
    return step(REQUEST, json.dumps(fields).encode())


both = hello() + hello(1)
inputs = {
    "hello": both + step(TURN),
    "reserve": both + reserve(100, 300) + take(100) + reserve(900, peer=1) + reserve(1001) + reserve(5, device=1),
    "all": both + step(MEASURE, b"\0\1") + reserve(0, flags=1) + take(200) + reserve(1, peer=1) + step(MEASURE, b"\0\0")
           + give(200) + step(TURN),
    "objects": both + reserve(500) + take(200) + thing(SHARE, b"k", 100) + thing(IMPORT, b"k", peer=1) + thing(DROP, b"k")
               + thing(DROP, b"k", peer=1) + thing(SHARE, b"k2", 50) + step(RECONNECT) + hello(),
    "exec": both + reserve(500) + take(200) + thing(SHARE, b"k", 100) + step(RECONNECT) + hello(image=5) + step(RECONNECT)
            + hello(image=6) + reserve(1000),
    "info": both + packet(INFO, struct.pack("2I", 0, 0)) + packet(PROCESSES, struct.pack("2I", 1, 0))
            + packet(EVENT, struct.pack("2I200s", 0, 0, b"something")),
    "bad": both + packet(RESERVE, b"") + packet(99, bytes(16)) + step(PACKET, b"abc") + packet(WELCOME, bytes(400)),
    "set": both + reserve(500) + take(200)
           + request(op="grant_set", name="fuzz", devices=[{"device": "0", "mem_bytes": 512 * 300}])
           + request(op="grant_set", name="fuzz", soon=True, devices=[{"device": "0", "mem_bytes": 512 * 100}])
           + give(150) + step(TURN) + request(op="grants"),
    "create": request(op="grant_create", name="other", driver="soft", devices=[{"device": "0", "mem_pct": 12.5}])
              + request(op="grant_create", name="more", driver="auto", devices=[{"device": "GPU-00"}, {"device": "1"}])
              + request(op="grants") + request(op="grant_delete", name="other") + request(op="devices")
              + request(op="hello") + request(op="stop"),
}

# What a client writes into its page: where, offset in words of 4 bytes, 8 bytes (daemon_fuzz.c, HOSTILE_PAGE).
WRITE, RUN, LOOK, KILL, HOSTILE = range(5)
ACCOUNT, TURN_COMPUTE, TURN_COPY, NEAR = 1, 4, 12, 128
WORD, PLACE, AWAY = 0, 52, 56
CHARGED, LAG, ARREARS, BUSY_SINCE, DONE_BY, WAITING, FLAGS, SINCE, NEEDS, HEAD, EDGE = 40, 48, 80, 128, 136, 144, 148, 152, 160, 224, 320


def hostile(what, data=b"", peer=0):
    return struct.pack("<BH", 128 + what + peer * HOSTILE, len(data)) + data


def write(part, offset, value, peer=0):
    return hostile(WRITE, struct.pack("<BHQ", part, offset // 4, value & (1 << 64) - 1), peer)


def place(state, away, movable):
    return words(ACCOUNT, (PLACE, state | away << 32), (AWAY, away | movable << 32))


def run(ns=255, shift=12):
    return hostile(RUN, bytes([ns, shift]))


def words(part, *values, peer=0):
    return b"".join(write(part, offset, value, peer) for offset, value in values)


wants = words(TURN_COMPUTE | NEAR, (BUSY_SINCE, -1000), (DONE_BY, 1000000), (SINCE, -5000)) + words(TURN_COMPUTE, (WAITING, 1), (NEEDS, 1000000))
edges = b"".join(write(TURN_COMPUTE | NEAR, EDGE + 8 * i, -100000 + 1000 * i + i % 2) for i in range(8)) + write(TURN_COMPUTE, HEAD, 8)
moves = reserve(500, 600) + take(200) + place(4 | 16, 0, 200)
pages = {
    "word": both + reserve(500) + words(ACCOUNT, (WORD, 900 << 32 | 950)) + hostile(LOOK) + reserve(100, peer=1) + step(TURN),
    "less": both + reserve(500) + words(ACCOUNT, (WORD, 5 << 32 | 2)) + reserve(800, peer=1) + reserve(10) + step(RECONNECT) + hello(),
    "turns": both + wants + edges + run() + run(255, 20) + words(TURN_COMPUTE, (WAITING, 0), (BUSY_SINCE, 0)) + run(255, 24),
    "copies": both + write(TURN_COPY | NEAR, BUSY_SINCE, 10000) + write(TURN_COPY, FLAGS, 4) + run() + write(TURN_COPY, HEAD, 2**32 - 1) + run(9, 28),
    "kill": both + reserve(500) + take(100) + thing(SHARE, b"k", 50) + wants + edges + run() + hostile(KILL) + hello() + reserve(1) + run(),
    "kill_lied": both + reserve(500) + take(100) + words(ACCOUNT, (WORD, 2**63 | 700 << 32 | 9)) + write(TURN_COMPUTE, CHARGED, -1)
                 + words(TURN_COMPUTE, (LAG, 2**63 - 1), (ARREARS, -(2**63))) + hostile(KILL) + hello() + run() + run(255, 29),
    "leaves": both + moves + request(op="grant_suspend", name="fuzz", drain_s=1) + hostile(LOOK) + place(4 | 1 | 65536, 0, 200)
              + packet(STORE, struct.pack("2I", 0, 200)) + hostile(LOOK) + place(4 | 2 | 65536, 200, 0)
              + hostile(LOOK) + step(TURN) + request(op="grant_resume", name="fuzz") + hostile(LOOK) + step(TURN),
    "held": packet(HELLO, struct.pack("2I32s64sQ", VERSION, 1, b"fuzz", struct.pack("I", 2**31 - 1) + bytes(60), 0)) + hello(1)
            + reserve(100, peer=1) + hostile(LOOK) + step(TURN),
}

# What a worker says that was taken over (daemon_fuzz.c, HOSTILE_WORKER).
SAY, IMAGE, MEMORY, COUNTS, TEXT, BY_GRANT, AGAIN = range(7)
READY, WORKER_TAKE, CONNECT = range(1, 4)
ROOM, KEEP, USED = 4, 2, 3


def taken(what, *parts):
    data = b"".join(bytes([p]) if isinstance(p, int) else p for p in parts)
    return struct.pack("<BH", 128 + what, len(data)) + data


def say(kind, how=1, more=b""):
    return taken(SAY, how, struct.pack("2I", kind, 1) + more)


def by_grant(packed):
    return taken(BY_GRANT, packed[3:])


image = [taken(IMAGE, 1, kind, 2, name) for kind in (ROOM, KEEP, USED) for name in (0, 1)]
workers = {
    "connect": say(CONNECT) + by_grant(hello()) + by_grant(reserve(100, 300)) + say(CONNECT) + by_grant(hello()) + by_grant(reserve(800)),
    "many": hello() + say(CONNECT) * 9 + by_grant(hello()) + step(TURN),
    "images": hello() + b"".join(image) + taken(MEMORY, 2, b"kernel") + taken(IMAGE, 1, ROOM, 7, 2) + taken(MEMORY, 3, b"x" * 200)
              + taken(IMAGE, 1, KEEP, 7, 2) + taken(MEMORY, 2, b"too late"),
    "rooms": hello() + b"".join(taken(IMAGE, 1, ROOM, size, name) + taken(MEMORY, size, b"12345678") for size in range(10) for name in range(4)),
    "words": hello() + say(READY) + taken(AGAIN) + say(WORKER_TAKE) + taken(AGAIN) + say(CONNECT, 0x13) + taken(AGAIN) + say(CONNECT, 0) + taken(AGAIN)
             + taken(IMAGE, 0x18, ROOM, 2, 0) + taken(TEXT, b"grant mine: all is well\n\x1b[2J\xff" + b"x" * 900 + b"\n"),
    "counts": hello() + b"".join(taken(COUNTS, struct.pack("<H", at), b"\xff" * 8) for at in range(0, 120, 8))
              + taken(COUNTS, struct.pack("<H", 300), b"\x1b]0;mine\7" * 40) + step(TURN),
}
for folder, inputs in (("corpus", inputs), ("page_corpus", pages), ("taken_corpus", workers)):
    os.makedirs(os.path.join(HERE, folder), exist_ok=True)
    for name, data in inputs.items():
        with open(os.path.join(HERE, folder, name), "wb") as f:
            f.write(data)
