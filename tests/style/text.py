#!/usr/bin/env python3
"""What must not stand in any text of the tree: text.py SOURCE_ROOT. Every rule below prints the places that break it."""
import os
import re
import sys

root = sys.argv[1]
SKIP = re.compile(r"^(\.git|build[^/]*|bundle|__pycache__|subprojects|third_party)$")
BINARY = (".fatbin", ".png", ".gz", ".bin", ".pyc", ".db")

# Spelled in pieces, so that this file obeys its own rules.
NOTES = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
PLACES = re.compile(r"(?<![\w.])/(ho" r"me/\w+|ro" r"ot/\.|Us" r"ers/\w+|wo" r"rk/)")

files = []
for folder, folders, names in os.walk(root):
    folders[:] = sorted(d for d in folders if not SKIP.match(d))
    for name in sorted(names):
        relative = os.path.relpath(os.path.join(folder, name), root)
        # Corpora hold whatever breaks a parser.
        if not relative.endswith(BINARY) and "corpus" not in relative and not name.startswith(".git"):
            files.append(relative)


def text(relative):
    with open(os.path.join(root, relative), "rb") as f:
        return f.read()


def each_line(only=None, but=()):
    for relative in files:
        if (only and not relative.endswith(only)) or relative in but:
            continue
        try:
            lines = text(relative).decode("utf-8").split("\n")
        except UnicodeDecodeError:
            yield relative, 1, None
            continue
        for number, line in enumerate(lines, 1):
            yield relative, number, line


CODE = (".c", ".h", ".S")


def rule(name, places):
    global count, failed
    places = list(places)
    for relative, number in places[:20]:
        print(f"# {relative}:{number}")
    count += 1
    failed += bool(places)
    # What is printed besides results is not shown by every runner.
    where = ": " + ", ".join(f"{r} line {n}" for r, n in places[:5]) if places else ""
    print(f"{'not ' if places else ''}ok {count} - {name}{where}")


count = failed = 0
print(f"# {len(files)} files")
rule("texts are UTF-8", ((r, n) for r, n, line in each_line() if line is None))
rule("no notes to oneself", ((r, n) for r, n, line in each_line() if line and NOTES.search(line)))
rule("no folders of somebody's machine", ((r, n) for r, n, line in each_line() if line and PLACES.search(line)))
rule("no blanks at the end of a line",
     ((r, n) for r, n, line in each_line(but=("LICENSE",)) if line and line != line.rstrip(" \t") and not r.endswith(".ptx")))
rule("no carriage returns", ((r, n) for r, n, line in each_line() if line and "\r" in line))
rule("files end with a newline", ((r, 1) for r in files if text(r) and not text(r).endswith(b"\n")))
rule("lines of code have 120 columns at most, but for the texts in tests",
     ((r, n) for r, n, line in each_line(CODE)
      if line and len(line.expandtabs(8)) > 120 and not (r.startswith("tests/") and (chr(34) in line or "/ptx/" in r))))
rule("C is indented by tabs", ((r, n) for r, n, line in each_line(CODE) if line and re.match(r"\t* {8}", line)
                               and not re.match(r"\t+ *", line)))
rule("sources begin with a comment that says what they are",
     ((r, 1) for r in files if r.endswith(CODE) and not text(r).lstrip().startswith((b"/*", b"//"))))


def named(relative):
    """The file that the head of a source names, if it names one."""
    match = re.match(rb"/\*\s*(?:\* )?([\w.-]+\.[ch])\b", text(relative))
    return match[1].decode() if match else os.path.basename(relative)


rule("a head that names a file names its own",
     ((r, 1) for r in files if r.endswith((".c", ".h")) and named(r) != os.path.basename(r)))


def prose():
    """The lines of documents outside of code, each with the one before and the one behind it."""
    for relative in (r for r in files if r.endswith(".md")):
        lines, fenced = text(relative).decode("utf-8", "replace").split("\n"), False
        for i, line in enumerate(lines):
            fenced ^= line.lstrip().startswith("```")
            if not fenced:
                yield relative, i + 1, lines[i - 1] if i else "", line, lines[i + 1] if i + 1 < len(lines) else ""


rule("no line of a document begins with one stray blank", ((r, n) for r, n, _, line, _ in prose() if re.match(r" \S", line)))
rule("rows of a table follow one another, below a head",
     ((r, n) for r, n, before, line, behind in prose() if line.startswith("|") and not before.strip() and not behind.startswith("|--")))
print(f"1..{count}")
sys.exit(1 if failed else 0)
