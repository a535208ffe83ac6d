"""The software device's own count of its memory, by judge.c."""
import mmap
import os
import struct
import subprocess

from harness import BUILD, until

ASKED, ANSWERED, USED, MOST, LOOKS = range(5)
END = (1 << 64) - 1


class Device:
    """One of the software devices in a folder. The judge may be the first to come: `env` says what the devices are like."""

    def __init__(self, soft_dir, path, env=os.environ, index=0):
        with open(path, "wb") as f:
            f.write(b"\0" * 4096)
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 4096)
        self.judge = subprocess.Popen([os.path.join(BUILD, "tests/kill/judge"), os.path.join(BUILD, "src/softdev/libnvidia-ml.so.1"), path, str(index)],
                                      env={**env, "METE_SOFT_DIR": soft_dir})
        self.used()

    def word(self, i):
        return struct.unpack_from("<Q", self.map, 8 * i)[0]

    def used(self):
        """Now."""
        asked = self.word(ASKED) + 1
        struct.pack_into("<Q", self.map, 8 * ASKED, asked)
        if not until(lambda: self.word(ANSWERED) == asked or self.judge.poll() is not None, 30) or self.judge.poll() is not None:
            raise SystemExit(f"Bail out! the judge does not answer: {self.judge.poll()}")
        return self.word(USED)

    @property
    def most(self):
        return self.word(MOST)

    @property
    def looks(self):
        return self.word(LOOKS)

    def close(self):
        struct.pack_into("<Q", self.map, 8 * ASKED, END)
        self.judge.wait()
