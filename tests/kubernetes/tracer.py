"""A program that is killed at its n-th call of the kernel, by strace; METE_TEST_LONG=1 takes each of them, else each ninth."""
import os
import shutil
import subprocess

from harness import until

STEP = 1 if os.environ.get("METE_TEST_LONG") else 9
CALLS = "openat,open,creat,write,writev,pwrite64,sendto,sendmsg,recvfrom,recvmsg,read,rename,renameat,renameat2,unlink,unlinkat,mkdir,fsync,fdatasync,close"


class Tracer:
    """Kills a process with SIGKILL at its n-th call from now on; the call itself is not made."""

    def __init__(self, pid, n):
        self.process = subprocess.Popen(["strace", "-qq", "-f", "-o", "/dev/null", "-p", str(pid), "-e", f"trace={CALLS}", "-e",
                                         f"inject={CALLS}:error=EINTR:signal=SIGKILL:when={n}"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(f"/proc/{pid}/status") as file:
            self.there = until(lambda: file.seek(0) == 0 and "TracerPid:\t0" not in file.read(), 30)

    def killed(self, traced):
        """Whether it was, or is within a moment; then it is traced no more."""
        until(lambda: traced.poll() is not None, 0.3)
        self.process.terminate()
        self.process.wait()
        return traced.poll() is not None


def may_trace():
    if shutil.which("strace") and not subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode:
        return True
    print("# strace is not there, or may not trace: nothing is killed at its calls")
    return False
