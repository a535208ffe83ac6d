"""
The child that hears of devices' errors (`meted --watch`): events and lines of the kernel's log become one, on the
software device's NVML with a log of our own, written as NVIDIA's driver writes it.
"""
import select

from harness import *

SOFT = os.path.join(BUILD, "src/softdev")
METE = os.path.join(BUILD, "src/cli/mete")


class Watcher:
    def __init__(self, env, log):
        self.process = subprocess.Popen([METED, "--watch", f"{SOFT}/libnvidia-ml.so.1", log], env=env, stdout=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL)
        self.text = b""

    def line(self, seconds=30):
        """The next one; not what devices say of themselves every few seconds."""
        while True:
            said = self.any_line(seconds)
            if not said or not {"power_mw", "temperature_c", "utilisation_pct"} & set(said):
                return said

    def any_line(self, seconds):
        end = time.monotonic() + seconds
        while b"\n" not in self.text:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                return None
            data = os.read(self.process.stdout.fileno(), 4096)
            if not data:
                return None
            self.text += data
        line, self.text = self.text.split(b"\n", 1)
        return json.loads(line)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def fault(env, *words):
    subprocess.run([METE, "soft", "fault", *words], env=env, check=True)


def main():
    directory = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
    log = os.path.join(directory, "log")
    env = {k: v for k, v in os.environ.items() if not k.startswith("METE_")}
    env.update(METE_SOFT_DIR=os.path.join(directory, "soft"), METE_SOFT_DEVICES="2", METE_SOFT_MEMORY="64M")
    with open(log, "w") as f:
        f.write("NVRM: Xid (PCI:0000:01:00): 13, pid=1, name=old, before we began\n")
    w = Watcher(env, log)
    try:
        same(w.line(), {"watching": 2, "events": 2}, "two devices are watched")
        fault(env, "1", "--xid", "48")
        got = w.line()
        same((got["xid"], got["pid"], got["uuid"][-1]), (48, 0, "1"), "an event without a line: whose it is nobody knows")
        with open(os.path.join(env["METE_SOFT_DIR"], "kernel.log")) as f:
            pci = [line.split("Xid (")[1].split(")")[0] for line in f]
        same(len(pci), 1, "the software device wrote its own log")
        with open(log, "a") as f:
            f.write(f"4,1234,567890,-;NVRM: Xid ({pci[0]}): 31, pid=4242, name=python, Ch 0000001e, intr 00000000. MMU Fault\n")
            f.write("6,1235,567891,-;usb 1-1: new device\n")
        fault(env, "1", "--xid", "31")
        got = w.line()
        same((got["xid"], got["pid"]), (31, 4242), "the line before it says whose it is")
        with open(log, "a") as f:
            f.write(f"4,1236,567892,-;NVRM: Xid ({pci[0]}): 43, pid='<unknown>', name=<unknown>\n")
            f.write(f"4,1237,567893,-;NVRM: Xid ({pci[0]}): 13, pid=77, name=x\n")
            f.write("4,1238,567894,-;NVRM: Xid (PCI:00ff:ff:1f): 13, pid=78, name=y\n")
            f.write("NVRM: Xid (PCI: nonsense\nNVRM: Xid (PCI:0000:01:00)\n" + "x" * 20000 + "\n")
        got = sorted((g["xid"], g["pid"]) for g in (w.line(), w.line()))
        same(got, [(13, 77), (43, 0)], "lines without events stand for themselves, of known devices alone")
        open(log, "w").close()
        with open(log, "a") as f:
            f.write(f"NVRM: Xid ({pci[0]}): 69, pid=5, name=z\n")
        same(w.line()["pid"], 5, "a log that begins anew is read on")
        fault(env, "0", "--lost")
        got = w.line()
        same((got["xid"], got["uuid"][-1]), (79, "0"), "a device is lost")
        same(w.line(), {"lost": True}, "and said to be")
        same(w.line(), {"watching": 1, "events": 1}, "the other one is watched on")
        fault(env, "1", "--xid", "31")
        same(w.line()["xid"], 31, "its errors are heard of")
        w.process.stdout.close()
        w.process.stdout = open("/dev/null", "rb")
        ok(until(lambda: w.process.poll() is not None, 30), "it ends when nobody listens")
    finally:
        w.close()
        shutil.rmtree(directory, ignore_errors=True)
    finish()


main()
