#!/usr/bin/env python3
"""
Installs the frameworks of packages.json: fetch.py FOLDER [NAME...]

Without names: all but the large ones (PyTorch, JAX: 3 to 6 GB each), which want to be named.

Each gets an environment of its own below FOLDER, with the versions that packages.json pins, by this Python's pip and whatever
package index that is set up for. What is there already with the same pins stays. Then METE_FRAMEWORKS=FOLDER makes the test
suite `frameworks` run them; without it the suite is skipped.
"""
import json
import os
import shutil
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))


def main():
    with open(os.path.join(here, "packages.json"), encoding="utf-8") as f:
        known = json.load(f)
    if len(sys.argv) < 2 or set(sys.argv[2:]) - set(known):
        raise SystemExit(f"fetch.py FOLDER [NAME...]; the names are {', '.join(known)}")
    failed = 0
    for name in sys.argv[2:] or [n for n in known if not known[n].get("large")]:
        if not known[name]["packages"]:
            continue  # a source of ours, which the tests build; or no index has it
        folder = os.path.join(sys.argv[1], name)
        stamp, pins = os.path.join(folder, "mete-pins"), "\n".join(known[name]["packages"])
        if os.path.exists(stamp) and open(stamp, encoding="utf-8").read() == pins:
            print(f"{name}: there")
            continue
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        done = subprocess.run([os.path.join(folder, "bin/python"), "-m", "pip", "install", "-q", *known[name]["packages"]])
        if done.returncode:
            print(f"{name}: pip could not install it")
            shutil.rmtree(folder, ignore_errors=True)
            failed = 1
            continue
        with open(stamp, "w", encoding="utf-8") as f:
            f.write(pins)
        print(f"{name}: installed")
    return failed


sys.exit(main())
