#!/usr/bin/env python3
"""cudartgen.py SPEC LIST DIR: writes what the runtime libraries and their programs need, for each major version, from cudart.toml.

LIST is a TOML file: `implemented` names the calls that src/runtime has; one that is not there in some version is just not
in that version's library. A name that no version knows is an error.
"""

import os
import sys
import tomllib

from apigen import write_if_changed
from gen.cudart import Spec, outputs, symbols


def main(argv):
    spec = Spec(argv[0])
    with open(argv[1], "rb") as f:
        listed = tomllib.load(f)["implemented"]
    known = {n for m in spec.majors for n, _, _ in symbols(spec.view(m))}
    faults = [f'{argv[1]}: "{n}" is no call of {argv[0]}' for n in listed if n not in known]
    faults += [f'{argv[1]}: "{n}" is listed twice' for n in sorted(set(listed)) if listed.count(n) > 1]
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    for major in spec.majors:
        for name, text in outputs(spec, major, set(listed)).items():
            write_if_changed(os.path.join(argv[2], name), text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
