#!/usr/bin/env python3
"""
Cuts what `libs_fuzz --record` wrote down to a part that is small enough for a corpus: cut_recording.py FROM TO [BYTES]

Of each call of a library the first three requests stay, of each call of the driver the first twenty, and of both none
that is large.
"""
import collections
import struct
import sys

LIBRARY, LARGE = 0xFF80, 2048
most = int(sys.argv[3]) if len(sys.argv) > 3 else 40000
with open(sys.argv[1], "rb") as f:
    data = f.read()
kept, at, count = [b"rec\0"], 4, collections.Counter()
while at + 4 <= len(data):
    size, = struct.unpack_from("<I", data, at)
    message = data[at + 4:at + 4 + size]
    at += 4 + size
    call, = struct.unpack_from("<H", message, 4)
    library = LIBRARY <= call < LIBRARY + 16
    # The number of the library's call is the first word behind the head.
    key = (call, message[24:32]) if library else call
    count[key] += 1
    if size <= LARGE and count[key] <= (3 if library else 20) and sum(map(len, kept)) + 4 + size <= most:
        kept.append(struct.pack("<I", size) + message)
with open(sys.argv[2], "wb") as f:
    f.write(b"".join(kept))
print(f"{len(kept) - 1} requests, {len([k for k in count if isinstance(k, tuple)])} calls of libraries")
