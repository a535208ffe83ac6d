#!/usr/bin/env python3
"""Installs the completion under the command's own name, which the executable has already taken in the build folder."""
import os
import shutil
import sys

source, target = sys.argv[1:]
target = os.path.join(os.environ['MESON_INSTALL_DESTDIR_PREFIX'], target)
os.makedirs(os.path.dirname(target), exist_ok=True)
shutil.copyfile(source, target)
