#!/usr/bin/env python3
"""
Records the picture of `mete top` in README.md: top.py BUILD [SECONDS] > docs/pictures/top.svg

Runs a node of its own with two software devices, four tenants on them and the real `mete top` on a terminal of its own, and
draws what stands there after SECONDS (70). Nothing in the picture is made up; but what is measured is a software device.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 70
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '../../tests/cli')]

import glass  # noqa: E402
from terminal import Terminal  # noqa: E402

METE = os.path.join(BUILD, 'src/cli/mete')
# name, what it is granted, what it runs (again and again), pause between in seconds
TENANTS = [
    ('train', ('--device', '0', '--mem', '8G', '--cores', '50'), ('matmul', '384', '--seconds', '600'), 0),
    ('infer', ('--device', '0', '--mem', '2G', '--cores', '20', '--cores-limit', '60', '--policy', 'elastic'),
     ('matmul', '192', '--seconds', '5'), 6),
    ('notebook', ('--device', '1', '--mem', '25%', '--policy', 'weighted', '--weight', '200'),
     ('matmul', '256', '--seconds', '9'), 9),
    ('nightly', ('--device', '1', '--mem', '4G', '--policy', 'besteffort'), ('saxpy', '64M', '--seconds', '600'), 0),
]


def surroundings(folder):
    env = {name: value for name, value in os.environ.items() if not name.startswith(('METE_', 'CUDA_'))}
    env.update(METE_RUNTIME_DIR=os.path.join(folder, 'run'), METE_SOFT_DIR=os.path.join(folder, 'soft'), METE_SOFT_DEVICES='2',
               METE_SOFT_MEMORY='16G', METE_SOFT_DURATION='*=4ms', LC_ALL='C.UTF-8')
    os.mkdir(env['METE_SOFT_DIR'])
    return env


def start(env, name, words, pause):
    """The tenant's programs, one after the other, until the shell is ended."""
    program = [METE, 'run', '--grant', name, '--', os.path.join(BUILD, 'examples', words[0]), *words[1:]]
    return subprocess.Popen(['sh', '-c', f'while "$@"; do sleep {pause}; done', 'sh', *program], env=env, start_new_session=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def record(env):
    terminal = Terminal([METE, 'top'], env, 13, 120, 'xterm-256color')
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and terminal.read(0.2):
            pass
        terminal.shows('HISTORY', *(name for name, *_ in TENANTS))
        picture = glass.svg(terminal.screen, 'mete top: two software devices and their tenants')
        terminal.press('q')
        terminal.wait()
    finally:
        terminal.close()
    return picture


def main():
    folder = tempfile.mkdtemp(prefix='mete-picture-')
    env = surroundings(folder)
    shells = []
    try:
        for name, terms, words, pause in TENANTS:
            subprocess.run([METE, 'create', name, '--soft', *terms], env=env, check=True, stdout=subprocess.DEVNULL)
            shells.append(start(env, name, words, pause))
        picture = record(env)
    finally:
        for shell in shells:
            os.killpg(shell.pid, 15)
            shell.wait()
        subprocess.run([METE, 'end', '--yes', *(name for name, *_ in TENANTS)], env=env, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(picture)


main()
