"""What tests of containers stand on: podman and runc in folders of their own, and a view of /etc/cdi of their own."""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'cli'))
import place  # noqa: E402
import rootfs  # noqa: E402
from place import BUILD, METE, METED, alive, wait_for  # noqa: E402,F401

# What the environment of a share's programs says, where mete has the layers for OpenCL and Vulkan.
LAYERS = {
    'libmete-opencl.so': ['OPENCL_LAYERS=/usr/lib/mete/shim/libmete-opencl.so'],
    'libmete-vulkan.so': ['METE_VULKAN=1', 'XDG_DATA_DIRS=/usr/lib/mete/shim/data:/usr/local/share:/usr/share'],
}
LAYER = [word for name, words in LAYERS.items() if os.path.exists(os.path.join(BUILD, 'src/shim', name)) for word in words]
SKIP = 77
INSIDE = 'METE_TEST_INSIDE'
CDI = ('/etc/cdi', '/run/cdi')
APART = ['unshare', '-m', '--propagation', 'private']
PODMAN = ['--runtime', 'runc', '--cgroup-manager=cgroupfs', '--storage-driver=vfs', '--events-backend=file']
RUN = ['--network=none', '--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096', '--log-driver=none']


def skip(why):
    print(f'skipped: {why}')
    sys.exit(SKIP)


def apart():
    """Goes on in a mount namespace of its own, in which nobody else's CDI files are."""
    if os.geteuid():
        skip('needs root: a view of /etc/cdi of its own')
    if INSIDE not in os.environ:
        tried = subprocess.run([*APART, 'true'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if tried.returncode:  # in a chroot, say
            skip('no mounts of our own here: ' + tried.stdout.strip())
        os.execvpe(APART[0], [*APART, sys.executable, '-B', *sys.argv],
                   {**os.environ, INSIDE: '1'})
    for folder in CDI:
        os.makedirs(folder, exist_ok=True)
        subprocess.run(['mount', '-t', 'tmpfs', 'none', folder], check=True)


def empty_cdi():
    for folder in CDI:
        for entry in os.listdir(folder):
            os.unlink(os.path.join(folder, entry))


def begin():
    """Where podman and runc work, apart from the rest of the machine."""
    if os.geteuid():
        skip('needs root: podman and runc of root')
    for program in ('podman', 'runc', 'conmon', 'unshare'):
        if not shutil.which(program):
            skip(f'{program} is not installed')
    if place.SANITIZED:
        skip('the libraries of a sanitizer cannot be preloaded by a file')
    apart()
    tried = subprocess.run(['podman', *PODMAN, 'info'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if tried.returncode:
        skip('podman does not work here: ' + tried.stdout.strip().splitlines()[-1])


class ContainerTest(place.MeteTest):
    """A meted that serves, a root file system, podman."""
    PROGRAMS = ('hungry', 'saxpy')
    SETTINGS = ''  # of meted, as in meted.yaml

    def setUp(self):
        super().setUp()
        self.root = rootfs.make(self.path('root'), {name: os.path.join(BUILD, 'examples', name)
                                                    for name in self.PROGRAMS})
        self.containers = []
        self.start_meted()

    def tearDown(self):
        for name in self.containers:
            self.podman('rm', '-f', '-t', '0', name)
        self.podman('rm', '-f', '-a', '-t', '0')
        empty_cdi()
        super().tearDown()

    def start_meted(self, *driver):
        config = self.program('meted.yaml', self.SETTINGS, 0o644)
        return self.serve_by(*(driver or ['--soft-only']), '--config', config)

    def podman_words(self, *words):
        storage = ['--root', self.path('storage'), '--runroot', self.path('runroot'), '--tmpdir', self.path('podman')]
        return ['podman', *PODMAN, *storage, *words]

    def podman(self, *words, **keywords):
        return subprocess.run(self.podman_words(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, timeout=120, **keywords)

    def run_in(self, device, *program, root=None, options=()):
        """Runs a container to its end."""
        return self.podman('run', '--rm', *RUN, *options, '--device', device, '--rootfs', root or self.root, *program)

    def begin_in(self, name, device, *program, root=None, options=()):
        """Begins a container in the background; it is removed with the test."""
        self.containers.append(name)
        done = self.podman('run', '-d', '--name', name, *RUN, *options, '--device', device, '--rootfs',
                           root or self.root, *program)
        self.assertEqual(done.returncode, 0, done.stderr)

    def inspect(self, name, field):
        return self.podman('inspect', '--format', '{{' + field + '}}', name).stdout.strip()

    def create(self, *words):
        done = self.mete('cdi', 'create', *words)
        self.assertEqual((done.returncode, done.stderr), (0, ''), words)
        return done.stdout.strip()

    def grants(self):
        return [grant['name'] for grant in self.json('ps')['grants']]

    def nothing_left(self):
        """No grant, no folder, no CDI file of a grant."""
        folder = os.path.join(self.runtime, 'containers/0')
        return (not self.grants() and not (os.path.isdir(folder) and os.listdir(folder)) and
                not [name for name in os.listdir('/run/cdi') if '-grant-' in name])

    def write_shares(self, *shares):
        path = self.path('shares.json')
        with open(path, 'w') as file:
            json.dump({'shares': shares}, file)
        return path

    def generate(self, *shares):
        done = self.mete('cdi', 'generate', '--shares', self.write_shares(*shares))
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout


def main():
    begin()
    place.main()
