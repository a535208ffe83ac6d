"""
A test that waits for ever ends by itself, says where it waited, and leaves no meted behind: hangs_test.py BUILD. What is tried is a
test of two lines, which reads what nobody writes.
"""
from harness import *

HANGS = """
import sys
sys.path.insert(0, sys.argv[2])
from harness import *
m = Meted("--soft-only")
ok(True, m.process.pid)
read, write = os.pipe()
print(os.fdopen(read).readline())
"""


def tried():
    began = time.monotonic()
    with open(f"{folder}/test.py", "w", encoding="ascii") as f:
        f.write(HANGS)
    done = subprocess.run([sys.executable, "-BS", f.name, BUILD, os.path.dirname(os.path.abspath(__file__))], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, env={**os.environ, "METE_TEST_SILENT": "2"})
    return done, time.monotonic() - began


folder = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
atexit.register(shutil.rmtree, folder, True)
done, took = tried()
ok(done.returncode == 1 and took >= 2, f"a test that hangs ends, after {took:.1f} s", done)
ok("nothing for 2 s" in done.stdout and "readline()" in done.stdout, "and says where it waited", done.stdout)
ok("Bail out! the test hangs" in done.stderr, "as a failure", done.stderr)
meted = int(done.stdout.split()[3])
ok(not alive(meted), "and its meted has ended", meted)
finish()
