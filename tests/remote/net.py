"""Two network namespaces with a cable between them that is long, and loses and reorders packets."""
import os
import shutil
import signal
import subprocess

CLIENT, SERVER = '10.77.0.1', '10.77.0.2'


def ip(*args):
    subprocess.run(['ip', *args], check=True, timeout=30, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


class Net:
    """
    delay: one way, in seconds; loss, reorder: of all packets, which fraction. near, far: what to put before a command to
    run it at either end, where the addresses are CLIENT and SERVER.
    """
    count = 0

    def __init__(self, build, delay, loss=0, reorder=0):
        Net.count += 1
        self.names = [f'mete-{os.getpid()}-{Net.count}-{side}' for side in 'ab']
        self.near, self.far = ([['ip', 'netns', 'exec', n] for n in self.names])
        self.wire = None
        try:
            for name in self.names:
                ip('netns', 'add', name)
            self.wire = subprocess.Popen([os.path.join(build, 'tests/remote/relay/wire'), *self.names,
                                          *(str(int(share * 1e6)) for share in (delay, loss, reorder))],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if self.wire.stdout.readline() != 'ready\n':
                raise OSError(self.wire.stderr.read())
            for name, address in zip(self.names, (CLIENT, SERVER)):
                ip('-n', name, 'address', 'add', f'{address}/24', 'dev', 'wire')
                ip('-n', name, 'link', 'set', 'wire', 'up', 'mtu', '1500')
                ip('-n', name, 'link', 'set', 'lo', 'up')
        except BaseException:
            self.close()
            raise

    def cut(self):
        self.wire.send_signal(signal.SIGUSR1)

    def mend(self):
        self.wire.send_signal(signal.SIGUSR2)

    def close(self):
        if self.wire:
            self.wire.kill()
            self.wire.communicate()
        for name in self.names:
            subprocess.run(['ip', 'netns', 'delete', name], timeout=30, stderr=subprocess.DEVNULL, check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def missing(build):
    """Why there can be no such net here; '' when there can."""
    if os.geteuid() != 0 or not shutil.which('ip'):
        return 'namespaces need root and the ip command'
    try:
        with Net(build, 0):
            return ''
    except (OSError, subprocess.SubprocessError) as e:
        return f'no namespaces with tun devices: {e}'
