#!/usr/bin/env python3
"""
What a share adds to a container's creation: overhead.py BUILD [ROUNDS] runs `runc run` of /bin/true by turns as it is, with
a share of its own (`mete oci`), and with one behind a wall, and prints the medians and what is added.
"""
import os
import statistics
import sys
import time
import unittest

import bundle
import containers
from containers import ContainerTest

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2].isdigit() else 20
WAYS = {'plain': None, 'share': [], 'wall': ['--wall']}


class Overhead(ContainerTest):
    def test(self):
        folders, took = {}, {way: [] for way in WAYS}
        for way, words in WAYS.items():
            folders[way] = bundle.make(self.path('bundle-' + way), self.root, '/bin/true')
            if words is not None:
                self.assertEqual(self.mete('oci', folders[way], '--mem', '64M', '--cores', '10', *words).returncode, 0)
        for _ in range(ROUNDS):
            for way, folder in folders.items():
                begin = time.monotonic()
                done = bundle.run(self.path('runc'), folder, 'c-' + way)
                took[way].append(time.monotonic() - begin)
                self.assertEqual((done.returncode, done.stderr), (0, ''))
        middle = {way: statistics.median(times) * 1e3 for way, times in took.items()}
        for way, ms in middle.items():
            print(f'{way:6} {ms:7.1f} ms   added {ms - middle["plain"]:6.1f} ms')


if __name__ == '__main__':
    containers.begin()
    unittest.main(argv=[sys.argv[0]])
