#!/usr/bin/env python3
"""
The manual page of a program from its frame and what its --help prints: options_man.py FRAME HELP > PAGE

@SYNOPSIS@ and @OPTIONS@ become the options; of meted the settings of the table in src/daemon/settings/settings.c alone,
its other options have their words in the frame.
"""
import re
import sys

HEADING = "Settings, each a key of the file as well:\n"


def settings(text):
    """(option, operand, words) of each, in the order of the table."""
    found = []
    listing = text.split(HEADING)[1] if HEADING in text else text[text.index("\n  --") + 1:]
    for line in listing.splitlines():
        head = re.fullmatch(r"  --(\S+)(?: ([A-Z:]+))?  +(.*)", line)
        if head:
            found.append([head[1], head[2] or "", head[3]])
        elif line.startswith(" " * 22):
            found[-1][2] += " " + line.strip()
        else:
            sys.exit(f"options_man.py: what is this line of --help: {line!r}")
    return found


def roff(text):
    text = text if text.endswith(".") else text + "."
    text = re.sub(r"(?<=[.!?]) (?=[A-Z])", "\n", text).replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def flag(option, operand):
    return "Fl \\-" + option.replace("-", "\\-") + (f" Ar {operand}" if operand else "")


frame, said = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])
rows = settings(said)
print(frame.replace("@SYNOPSIS@", "\n".join(f".Op {flag(o, operand)}" for o, operand, _ in rows))
      .replace("@OPTIONS@", "\n".join(f".It {flag(o, operand)}\n{roff(words)}" for o, operand, words in rows)), end="")
