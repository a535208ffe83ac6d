"""A reload beside a disk that does not answer (memory.disk): meted serves on, says in the end that the settings stay, and takes them
when the disk answers. reload_test.py BUILD"""
from harness import *

DISK = disk_folder()
if not DISK:
    skip("a reload beside a disk that does not answer", "no folder here has direct writes to files without a name")
    finish()
LONGEST = 2  # a look at the disk is given up after 3 s
folder = tempfile.mkdtemp(prefix="mete-reload-", dir="/tmp")
atexit.register(shutil.rmtree, folder, True)
HELD, SETTINGS = os.path.join(folder, "held"), os.path.join(folder, "meted.yaml")
held = {"LD_PRELOAD": os.path.join(BUILD, "tests/daemon/libheld_disk.so"), "METE_TEST_DISK_HELD": HELD}
if os.environ.get("ASAN_OPTIONS") is not None or PATIENCE > 1:
    held["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"


def write(text):
    with open(SETTINGS, "w") as f:
        f.write(text)


def hold():
    open(HELD, "w").close()


def reload():
    os.kill(m.process.pid, signal.SIGHUP)


def longest(seconds):
    """The longest that one of many requests waits, in a time of so many seconds."""
    end, most = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        begun = time.monotonic()
        c.ask("hello")
        most = max(most, time.monotonic() - begun)
        time.sleep(0.02)
    return most


def says(text):
    return until(lambda: text in m.log(), 10)


def disk():
    return (c.ask("devices").get("disk") or {}).get("most_bytes")


write(f"memory: {{disk: {DISK}, disk_size: 64M}}\n")
m = Meted("--config", SETTINGS, env=held)
c = m.control()
c.socket.settimeout(20 * PATIENCE)
m.make("here", 64 << 20)
program = m.client()
program.hello(os.path.join(m.dir, "grants", "here.sock"))
same(disk(), 64 << 20, "the disk serves")

hold()
write(f"memory: {{disk: {DISK}, disk_size: 96M}}\n")
reload()
waited = longest(1)
begun = time.monotonic()
ok(program.hold(0, 8), "while the disk does not answer a program gets memory")
waited = max(waited, time.monotonic() - begun, longest(3.5))
ok(waited < LONGEST, "and no request waits for it", waited)
ok(says("its disk does not answer") and "settings stay as they were" in m.log(), "the log says what is wrong", m.log())
same(disk(), 64 << 20, "and the settings are what they were")

checked = subprocess.run([METED, "--config", SETTINGS, "--check-config"], env={**os.environ, **held}, capture_output=True, text=True)
ok(checked.returncode == 1 and "its disk does not answer" in checked.stderr, "--check-config says the same", checked)

reload()
time.sleep(0.3)
write("memory: {disk_size: 80M}\n")
reload()
ok(longest(0.5) < LONGEST and says("memory.disk is as by default now"), "a second reload meanwhile takes what the file says by then", m.log())
ok("disk_size is 96M" not in m.log(), "and not what it said at the first", m.log())

os.unlink(HELD)
write(f"memory: {{disk: {DISK}, disk_size: 96M}}\n")
reload()
ok(says("memory.disk_size is 96M now") and until(lambda: disk() == 96 << 20), "the disk answers: it serves anew", m.log())

write(f"memory: {{disk: {folder}/nowhere}}\n")
reload()
ok(says(f"{SETTINGS}:1: memory.disk {folder}/nowhere: No such file"), "a folder that is not there is named with its line", m.log())

hold()
write(f"memory: {{disk: {DISK}, disk_size: 32M}}\n")
reload()
time.sleep(0.3)
begun = time.monotonic()
m.kill(signal.SIGTERM)
m.wait()
ok(time.monotonic() - begun < LONGEST * PATIENCE, "meted leaves at once in the middle of it", time.monotonic() - begun)
os.unlink(HELD)
c.close()
program.close()
m.close()
finish()
