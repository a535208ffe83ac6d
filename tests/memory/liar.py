"""A process of a tenant that speaks to meted itself, and says of its memory what a test has it say."""
import mmap
import os
import socket
import struct

from memory import MIB

UNIT = 512
WORD, WISH, PLACE = 64, 64 + 48, 64 + 52  # in the page, of the first device: the account's word, meted's wish, and place, away_units, movable_units
LEAVING, AWAY, RETURNING, MOVES, WAITED, USED = 1, 2, 3, 1 << 2, 1 << 3, 1 << 4
HELLO, RESERVE = 1, 3


def units(mib):
    return mib * MIB // UNIT


class Liar:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)
        self.socket.send(struct.pack("4I2I32s16IQ", HELLO, 16 + 8 + 32 + 64 + 8, 1, 0, 3, 1, b"liar", *[0] * 16, 1))
        _, fds, _, _ = socket.recv_fds(self.socket, 4096, 4)
        self.page = mmap.mmap(fds[0], os.fstat(fds[0]).st_size)
        self.serial = 1
        for fd in fds:
            os.close(fd)

    def says(self, place, away=0, movable=0):
        struct.pack_into("3I", self.page, PLACE, place, away, movable)

    def holds(self, n):
        """Of what it was granted it has taken so many units."""
        word, = struct.unpack_from("Q", self.page, WORD)
        struct.pack_into("Q", self.page, WORD, word >> 32 << 32 | n)

    def must_leave(self):
        return struct.unpack_from("I", self.page, WISH)[0] & 1

    def ask(self, n):
        self.serial += 1
        self.socket.send(struct.pack("8I", RESERVE, 32, self.serial, 0, 0, 0, n, n))

    def answer(self, seconds):
        """Value: the status, and whether it is to ask again; None: no answer came."""
        self.socket.settimeout(seconds)
        try:
            _, _, serial, status, _, again = struct.unpack("6I", self.socket.recv(4096)[:24])
        except TimeoutError:
            return None
        return (status, again) if serial == self.serial else None

    def close(self):
        self.page.close()
        self.socket.close()
