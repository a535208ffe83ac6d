#!/usr/bin/env python3
"""
Writes the fat binaries that image_test loads: images/make.py, with the commands zstd and lz4 at hand.

Each holds the PTX of kernels/basic.cu in one of the ways in which compilers store it (as it is, as an LZ4 block, as a
zstd frame), in the container that drivers read: a header of 16 bytes {u32 magic, u16 version, u16 own size, u64 size
of the rest}, then entries, each with a header of 80 bytes and a payload padded to 8. The fields that matter stand in
entry(). The results are committed: loading them must not depend on what is installed.
"""
import os
import struct
import subprocess

MAGIC = 0xBA55ED50
PTX, ELF = 1, 2
LINUX_64 = 0x11
LZ4, ZSTD = 0x2000, 0x8000

here = os.path.dirname(os.path.abspath(__file__))


def lz4_block(data):
    """One raw LZ4 block: the lz4 command writes a frame, of which the first block is taken."""
    frame = subprocess.run(["lz4", "-9", "-B4", "--no-frame-crc", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    size = struct.unpack_from("<I", frame, 7)[0]
    if size & 0x80000000:
        raise SystemExit("lz4 left the block uncompressed")
    if frame[11 + size:] != b"\0\0\0\0":
        raise SystemExit("the text does not fit in one LZ4 block")
    return frame[11:11 + size]


def zstd_frame(data):
    return subprocess.run(["zstd", "-19", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def entry(kind, arch, payload, flags=0, plain_size=0):
    padded = payload + b"\0" * (-len(payload) % 8)
    head = bytearray(80)
    struct.pack_into("<HHIQ", head, 0, kind, 0x101, len(head), len(padded))
    struct.pack_into("<I", head, 16, len(payload) if plain_size else 0)
    # Where the place of the assembler's options stands, and there the place: an empty text. Without them NVIDIA's driver 580
    # reads at a wild address.
    struct.pack_into("<I", head, 20, 64)
    struct.pack_into("<QQ", head, 64, 72, 0)
    struct.pack_into("<HHI", head, 24, 0, 8, arch)
    struct.pack_into("<Q", head, 40, LINUX_64 | flags)
    struct.pack_into("<Q", head, 56, plain_size)
    return bytes(head) + padded


def container(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", MAGIC, 1, 16, len(body)) + body


def write(name, data):
    with open(os.path.join(here, name), "wb") as f:
        f.write(data)
    print(name, len(data))


with open(os.path.join(here, "..", "kernels", "basic.ptx"), "rb") as f:
    text = f.read() + b"\0"
other = text.replace(b"fill", b"well").replace(b".target sm_75", b".target sm_999")

write("raw.fatbin", container(entry(PTX, 75, text)))
write("lz4.fatbin", container(entry(PTX, 75, lz4_block(text), LZ4, len(text))))
write("zstd.fatbin", container(entry(PTX, 75, zstd_frame(text), ZSTD, len(text))))
# A member for a target above every device stands first: it must be passed over.
write("several.fatbin", container(entry(PTX, 999, other), entry(PTX, 75, zstd_frame(text), ZSTD, len(text))))
# Nothing in it suits any device.
write("too_new.fatbin", container(entry(PTX, 999, other)))
