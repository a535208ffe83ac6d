#!/usr/bin/env python3
"""
Every link in the documents leads somewhere, to a heading if it names one; and every file of the sources that they name
in code is there: links.py SOURCE_ROOT

What is made at build time (build/...) and what stands for many (src/*.c, NAME.c) is looked up as a pattern, or left out.
"""
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


def documents():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if listed.returncode == 0:
        return [p for p in listed.stdout.decode().split() if os.path.exists(os.path.join(ROOT, p))]
    found = glob.glob("**/*.md", root_dir=ROOT, recursive=True)
    return [p for p in found if not p.startswith(("build", "."))]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def anchors(text):
    """The names by which headings can be led to, as the usual hosts make them."""
    found = set()
    for line in FENCE.sub("", text).splitlines():
        if re.match(r"#+ ", line):
            name = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            found.add(name if name not in found else f"{name}-1")
    return found


def dead_links(path, text):
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(os.path.join(ROOT, place)):
            yield f"{path}: {target} is not there"
        elif anchor and place.endswith(".md") and anchor not in anchors(read(place)):
            yield f"{path}: {target}: there is no such heading"


def missing_files(path, text):
    folders = sorted(f for f in os.listdir(ROOT) if os.path.isdir(os.path.join(ROOT, f)) and not f.startswith((".", "build")))
    named = re.compile(r"^(?:\./)?((?:" + "|".join(map(re.escape, folders)) + r")/[\w./*<>{},+-]*)$")
    for code in CODE.findall(FENCE.sub("", text)):
        word = code.split()[0] if code.split() else ""
        match = named.match(word.rstrip(".,:;"))
        if not match or re.search(r"[A-Z]{3,}|[<>{]|\.\.\.", match[1]):
            continue
        if not glob.glob(os.path.join(ROOT, match[1])) and not glob.glob(os.path.join(ROOT, match[1] + ".*")):
            yield f"{path}: {match[1]} is not there"


count = failed = 0
for what, look in (("links", dead_links), ("files", missing_files)):
    for document in documents():
        faults = list(look(document, read(document)))
        count += 1
        failed += bool(faults)
        for fault in faults:
            print("#", fault)
        print(f"{'not ' if faults else ''}ok {count} - {what} of {document}")
print(f"1..{count}")
sys.exit(1 if failed else 0)
