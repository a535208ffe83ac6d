"""Unpacked images of distributions, made by debootstrap from where this machine has its packages."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'packaging'))
import fresh_root  # noqa: E402

SUITES = {'debian': ('bullseye', 'bookworm', 'trixie'), 'ubuntu': ('focal', 'noble')}


def images(folder):
    """Those that can be had; made once."""
    made = []
    try:
        fresh_root.possible()
        source = fresh_root.mirror()[1]
    except fresh_root.Impossible:
        return made
    for suite in SUITES['ubuntu' if source.rstrip('/').endswith('ubuntu') else 'debian']:
        root = os.path.join(folder, suite)
        if not os.path.exists(root + '.made'):
            shutil.rmtree(root, ignore_errors=True)
            os.makedirs(folder, exist_ok=True)
            done = subprocess.run(['debootstrap', '--variant=minbase', suite, root, source], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode:
                continue
            open(root + '.made', 'w').close()
        made.append(root)
    return made
