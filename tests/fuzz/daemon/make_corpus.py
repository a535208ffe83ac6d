#!/usr/bin/env python3
"""Writes the corpus of daemon_fuzz: one input a situation, in the form that daemon_fuzz.c describes. make_corpus.py FOLDER"""
import json
import os
import struct
import sys

HELLO, WELCOME, RESERVE, RESERVED, INFO, INFO_IS, SHARE, IMPORT, DROP, SHARED, EVENT, PROCESSES = range(1, 13)
PACKET, TAKE, GIVE, MEASURE, RECONNECT, TURN, REQUEST, STEPS = range(8)


def step(what, data=b"", peer=0):
    return struct.pack("<BH", what + peer * STEPS, len(data)) + data


def packet(kind, body, peer=0):
    return step(PACKET, struct.pack("4I", kind, 16 + len(body), 1, 0) + body, peer)


def hello(peer=0, image=0):
    return packet(HELLO, struct.pack("2I32s64sQ", 1, 1, b"fuzz", bytes(64), image), peer)


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
for name, data in inputs.items():
    with open(os.path.join(sys.argv[1], name), "wb") as f:
        f.write(data)
