#!/usr/bin/env python3
"""The manual page meted.yaml(5) from its frame and the sample that meted prints: config_man.py FRAME SAMPLE > PAGE"""
import re
import sys

frame, sample = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])
keys, group, words = [".Bl -tag -width Ds"], "", []
for line in sample.splitlines()[2:]:
    comment = re.fullmatch(r" *# (.*)", line)
    key = re.fullmatch(r"( *)#?(\w+):( .*)?", line)
    if comment:
        words.append(comment.group(1))
    elif key and key.group(3):
        name = (group + "." if key.group(1) else "") + key.group(2)
        text = re.sub(r"(?<=[.!?]) (?=[A-Z])", "\n", " ".join(words)).replace("\\", "\\e").replace("-", "\\-")
        keys += [f".It Cm {name}", re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)]
        words = []
    elif key:
        group, words = key.group(2), []
print(frame.replace("@KEYS@", "\n".join(keys + [".El"])), end="")
