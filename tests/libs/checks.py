"""checks.py: what a test of the libraries has found, as TAP."""
import sys

count = failed = 0


def check(good, what, why=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)
    for line in str(why).splitlines() if not good else ():
        print("#", line)


def skip(what, why):
    global count
    count += 1
    print(f"ok {count} - {what} # SKIP {why}", flush=True)


def end():
    print(f"1..{count}")
    sys.exit(failed > 0)
