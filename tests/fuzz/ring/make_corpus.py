"""Makes the corpus of ring_fuzz: python3 make_corpus.py FOLDER. Steps as ring_fuzz.c reads them."""
import os
import struct
import sys


def step(kind, which=0, word=0):
    return struct.pack("<BBQ", kind, which, word)


def says(message):
    return step(1, len(message)) + message


def reply(ticket, call, body=b"", payload=None, size=None):
    flags = 2 if payload else 0
    extra = struct.pack("<QQQ", *payload) if payload else b""
    total = 24 + len(extra) + len(body) if size is None else size
    return struct.pack("<IHHIiiI", total, call, flags, ticket, 0, 0, 0) + extra + body


ASK, LOOK, HEAR, STAGE = 3, 4, 6, 7
NOTICE = 0xff00
corpus = {
    "answers": b"".join(step(ASK, i, 8) + says(reply(i + 1, 1, bytes(16))) + step(LOOK, i) for i in range(4)),
    "notices": step(STAGE, 4) + step(STAGE, 7) + says(reply(0, NOTICE, struct.pack("<Q", 5)))
    + says(reply(0, NOTICE + 1, b"", (4096, 64, 1))) + says(reply(0, NOTICE + 2, bytes(8))) + step(LOOK, 3),
    "lost": step(ASK, 0, 1) + says(reply(0, NOTICE + 3, b"cut off\0")) + step(LOOK, 0) + step(LOOK, 1),
    "lies": says(reply(9, 1)) + step(HEAR) + says(reply(1, 1, b"", None, 4000)) + step(ASK, 0, 1) + step(LOOK, 0),
    "round": b"".join(says(bytes(200)) + step(HEAR) for _ in range(30)),
    "positions": step(0x30, 0, 4096) + step(HEAR) + step(0x30, 0, 1 << 63) + step(HEAR) + step(0x20, 8, 8) + step(ASK, 0, 9),
    "heads": says(bytes(64)) + step(0x10, 0, (1 << 32) | 56) + step(HEAR) + step(0x10, 0, 0xffffffff) + step(HEAR),
}
for name, data in corpus.items():
    with open(os.path.join(sys.argv[1], name), "wb") as f:
        f.write(data)
