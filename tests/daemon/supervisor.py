"""What systemd does with meted.service and meted.socket, as far as starts go: it holds the control socket and starts meted
when somebody waits there, starts it again after it has ended, not after the exit status that the unit excepts, and gives
up where the unit's limit is reached. The words are read from the unit."""
import os
import re
import select
import socket
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
UNIT = os.path.join(HERE, "../../packaging/systemd/meted.service.in")


def unit(word):
    with open(UNIT, encoding="utf-8") as f:
        return re.search(rf"^{word}=(.*)$", f.read(), re.M).group(1)


class Supervisor:
    def __init__(self, directory, command, env):
        self.directory, self.command, self.env = directory, command, env
        self.prevented = [int(n) for n in unit("RestartPreventExitStatus").split()]
        self.pause = float(unit("RestartSec").replace("ms", "")) / 1000
        self.burst, self.interval = int(unit("StartLimitBurst")), float(unit("StartLimitIntervalSec"))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(directory, "control.sock"))
        self.listener.listen(64)
        self.starts, self.statuses, self.process = [], [], None
        self.over = False
        self.errors = ""
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def start(self):
        now = time.monotonic()
        if sum(now - t < self.interval for t in self.starts) >= self.burst:
            self.over = True
            return
        self.starts.append(now)
        fd = self.listener.fileno()
        self.process = subprocess.Popen(["/bin/sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"', "sh", *self.command],
                                        env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, pass_fds=(3,), preexec_fn=lambda: os.dup2(fd, 3))

    def run(self):
        self.start()
        while not self.over:
            self.errors += self.process.communicate()[1].decode(errors="replace")
            self.statuses.append(self.process.returncode)
            if self.over:
                return
            if self.process.returncode in self.prevented:
                while not self.over and not select.select([self.listener], [], [], 0.05)[0]:
                    pass
            else:
                time.sleep(self.pause)
            if not self.over:
                self.start()

    def end(self):
        self.over = True
        while self.thread.is_alive():
            if self.process and self.process.poll() is None:
                self.process.terminate()
            self.thread.join(0.1)
        self.listener.close()
        os.unlink(os.path.join(self.directory, "control.sock"))
