#!/usr/bin/env python3
"""
The manual says what the programs say, and the documents say nothing else: manuals.py SOURCE_ROOT BUILD_ROOT

Every option of `meted --help` is in meted(8) and every other way round; every verb of `mete help` has a page with its
options; every command `mete VERB --option` that a document shows is one that there is.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

SOURCE, BUILD = (os.path.abspath(p) for p in sys.argv[1:3])
METE = os.path.join(BUILD, "src/cli/mete")
METED = os.path.join(BUILD, "src/daemon/meted")
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
count = failed = 0


def check(faults, text):
    global count, failed
    count += 1
    failed += bool(faults)
    for fault in list(faults)[:20]:
        print("#", fault)
    print(f"{'not ' if faults else ''}ok {count} - {text}")


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def page(path):
    with open(os.path.join(BUILD, path), encoding="utf-8") as file:
        return file.read()


def flags(text):
    """The options that a page lists, without what it only mentions."""
    return {f.replace("\\-", "-") for line in text.splitlines() if line.startswith(".It Fl")
            for f in re.findall(r"Fl \\-([a-z][a-z\\-]*)", line)}


def listed(text):
    """The options at the beginnings of the lines of a --help."""
    return {o for line in text.splitlines() if re.match(r" {2,6}(-\w, )?--", line)
            for o in OPTION.findall(re.split(r"  +(?=\S)", line.strip(), maxsplit=1)[0])}


def meted():
    help_of, manual = listed(said(METED, "--help")), flags(page("packaging/meted.8"))
    check(sorted(help_of ^ manual), f"meted(8) has the {len(help_of)} options of meted --help, and no other")
    text = page("packaging/meted.8")
    check(re.findall(r"@\w+@", text), "nothing of its frame is left open")


def agent(name):
    program = os.path.join(BUILD, "src/cli", name)
    if not os.path.exists(program):
        check([], f"{name}(8) has its options # SKIP it is not built")
        return
    help_of, text = listed(said(program, "--help")), page(f"packaging/{name}.8")
    check(sorted(help_of ^ flags(text)) + re.findall(r"@\w+@", text), f"{name}(8) has the {len(help_of)} options of its --help")


def verbs():
    """verb -> its options"""
    found = {}
    for name in re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S", said(METE, "help").split("Verbs:")[1].split("\n\n")[0], re.M):
        found[name] = listed(said(METE, *name.split(), "--help")) | {"help"}
    return found


def pages(of):
    faults = []
    there = {os.path.basename(p)[5:-2] for p in glob.glob(os.path.join(BUILD, "src/cli/mete-*.1"))}
    faults += [f"mete-{v.replace(' ', '-')}.1 is not made: src/cli/meson.build" for v in of if v.replace(" ", "-") not in there]
    faults += [f"mete-{p}.1 is of no verb" for p in there - {v.replace(" ", "-") for v in of}]
    for verb, options in of.items():
        name = verb.replace(" ", "-")
        if name in there and flags(page(f"src/cli/mete-{name}.1")) != options:
            faults.append(f"mete-{name}(1): {flags(page(f'src/cli/mete-{name}.1')) ^ options}")
    check(faults, f"each of the {len(of)} verbs has a page with its options")


def renders():
    if not shutil.which("mandoc"):
        check([], "the pages are well formed # SKIP mandoc is not installed")
        return
    faults = []
    for path in ["packaging/meted.8", "packaging/meted.yaml.5", *(os.path.relpath(p, BUILD) for p in glob.glob(os.path.join(BUILD, "packaging/mete-*.8"))), *(os.path.relpath(p, BUILD) for p in glob.glob(os.path.join(BUILD, "src/cli/mete*.1")))]:
        # A page of another section is not looked for: it may be installed later.
        r = subprocess.run(["mandoc", "-T", "lint", "-W", "error", os.path.join(BUILD, path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        faults += r.stdout.decode(errors="replace").splitlines()
    check(faults, "the pages are well formed")


def commands(text):
    """`mete ...` in code: (line of text, words)."""
    code = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.M | re.S) + re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    for piece in code:
        for line in piece.replace("\\\n", " ").splitlines():
            line = line.split("  #")[0]
            for command in re.findall(r"(?:^|[;&|(]\s*|\$\(|^\S+=\S+ )mete ([a-z][^;|&)]*)", line.strip()):
                yield command.strip().split()


def unknown(of, words):
    two = " ".join(words[:2])
    verb = two if two in of else words[0]
    if verb not in of:
        return None if any(v.startswith(verb + " ") for v in of) and len(words) == 1 else f"there is no verb {verb}"
    for word in words[len(verb.split()):]:
        if word == "--" or (verb in ("run", "soft run") and word[0] in "./~"):
            break
        option = re.match(r"\[?--([a-z][a-z-]*)", word)
        if option and option[1] not in of[verb]:
            return f"mete {verb} has no --{option[1]}"
    return None


def documents(of):
    for path in sorted(glob.glob(os.path.join(SOURCE, "*.md")) + glob.glob(os.path.join(SOURCE, "docs/*.md"))):
        with open(path, encoding="utf-8") as file:
            all_of_it = list(commands(file.read()))
        faults = [f"{fault}: mete {' '.join(words)}" for words in all_of_it if (fault := unknown(of, words))]
        if all_of_it:
            check(faults, f"the {len(all_of_it)} commands of {os.path.relpath(path, SOURCE)} are there")


meted()
for one in ("mete-agent", "mete-webhook", "mete-extender"):
    agent(one)
table = verbs()
pages(table)
renders()
documents(table)
print(f"1..{count}")
sys.exit(1 if failed else 0)
