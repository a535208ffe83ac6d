"""
Pods of Kubernetes: containerd's CRI plugin, spoken to as kubelet does, with CDI devices in the container's list (as of device
plugins and of dynamic resource allocation) and in its annotations.

METE_TEST_CONTAINERD names the folder of a containerd of 1.7 or later, with its shim and ctr; without it, what is installed.
"""
import os
import shutil
import signal
import subprocess

import containers
import rootfs
from containers import ContainerTest, wait_for

FOLDER = os.environ.get('METE_TEST_CONTAINERD')
CONFIG = '''version = 2
root = "{root}"
state = "{state}"
[grpc]
  address = "{state}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/run/cdi"]
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.internal.v1.opt"]
  path = "{root}/opt"
'''


class Cri(ContainerTest):
    def setUp(self):
        super().setUp()
        self.state = self.path('state')
        config = self.program('containerd.toml', CONFIG.format(root=self.path('containerd'), state=self.state), 0o644)
        self.tools = {**self.env, 'PATH': f'{FOLDER}:{os.environ["PATH"]}:/usr/sbin'}
        with open(self.path('containerd.log'), 'w') as log:
            self.started.append(subprocess.Popen(['containerd', '-c', config], env=self.tools, start_new_session=True,
                                                 stdout=subprocess.DEVNULL, stderr=log))
        wait_for(lambda: self.ctr('version').returncode == 0, 'containerd serves')
        self.cri = cri.Runtime(self.state + '/containerd.sock')
        self.bring('pause', rootfs.make(self.path('pause'), {}, tools=('sleep',)))
        self.bring('app', self.root)
        self.pod = self.cri.pod('one')

    def tearDown(self):
        self.cri.remove_pod(self.pod[0])
        self.cri.close()
        super().tearDown()

    def ctr(self, *words):
        return subprocess.run(['ctr', '-a', self.state + '/containerd.sock', '-n', 'k8s.io', *words], env=self.tools,
                              capture_output=True, text=True)

    def bring(self, name, root):
        """An image of a root file system, in containerd's store."""
        archive, image = self.path(name + '.root.tar'), self.path(name + '.tar')
        subprocess.run(['tar', '-C', root, '-cf', archive, '.'], check=True)
        for done in (self.podman('import', '--change', 'CMD ["/bin/sleep", "100000"]', archive, f'localhost/{name}:1'),
                     self.podman('save', '-o', image, f'localhost/{name}:1'), self.ctr('images', 'import', image)):
            self.assertEqual(done.returncode, 0, done.stderr)

    def begin_pod(self, name, *devices, **annotations):
        container = self.cri.create(self.pod, name, 'localhost/app:1', ['/bin/sleep', '100000'], devices,
                                                  annotations.get('annotations'))
        self.cri.start(container)
        return container

    def assert_share(self, container, mib):
        status, out, complaints = self.cri.execute(container, '/bin/hungry')
        self.assertEqual((status, complaints), (0, ''), out)
        self.assertIn(f'{mib}.0 of {mib}.0 MiB free', out)

    def test_shares(self):
        self.generate({'name': 'small', 'mem': '64M'}, {'name': 'walled', 'mem': '32M', 'wall': True})
        ran = {'listed': (self.begin_pod('listed', 'mete.io/share=small'), 64),
               'annotated': (self.begin_pod('annotated', annotations={'cdi.k8s.io/mete': 'mete.io/share=small'}), 64),
               'walled': (self.begin_pod('walled', 'mete.io/share=walled'), 32),
               'granted': (self.begin_pod('granted', self.create('--mem', '16M')), 16)}
        self.assertEqual(len(self.grants()), len(ran))
        for container, mib in ran.values():
            self.assert_share(container, mib)
        for container, _ in ran.values():
            self.cri.stop(container)
            self.cri.remove(container)
        wait_for(self.nothing_left, 'the grants end with their containers')

    def test_killed(self):
        """The first process is killed, and kubelet begins the container again: a new share, the old one gone."""
        self.generate({'name': 'large', 'mem': '75%'})
        for i in range(3):
            container = self.begin_pod(f'try-{i}', 'mete.io/share=large')
            os.kill(self.cri.pid(container), signal.SIGKILL)
            wait_for(self.nothing_left, 'the grant ends with the container')
            self.cri.remove(container)

    def test_claim(self):
        """One grant for all containers of a pod, as that of a claim is (docs/kubernetes.md): one quota, and it outlives each of them."""
        device = self.create('--mem', '64M', '--name', 'claim', '--keep')
        first = self.begin_pod('init', device)
        self.assert_share(first, 64)
        self.cri.stop(first)
        self.cri.remove(first)
        one = self.cri.create(self.pod, 'one', 'localhost/app:1', ['/bin/hungry', '--hold', '100000'], [device], None)
        self.cri.start(one)
        held = lambda: self.json('ps')['grants'][0]['devices'][0]['held_bytes'] == 64 << 20  # noqa: E731
        wait_for(held, 'the first container has taken all')
        two = self.begin_pod('two', device)
        _, out, complaints = self.cri.execute(two, '/bin/hungry')
        self.assertIn('0.0 of 64.0 MiB free', out + complaints)
        self.assertEqual(self.grants(), ['claim'])
        os.kill(self.cri.pid(one), signal.SIGKILL)
        wait_for(lambda: not held(), 'what it had is free')
        self.assert_share(two, 64)
        for container in (one, two):
            self.cri.stop(container)
            self.cri.remove(container)
        self.assertEqual(self.grants(), ['claim'])
        self.assertEqual(self.mete('cdi', 'remove', 'claim').returncode, 0)
        self.assertTrue(self.nothing_left())

    def test_refused(self):
        """The container does not begin, and the message in the pod's events is mete's."""
        self.generate({'name': 'large', 'mem': '75%'})
        self.begin_pod('first', 'mete.io/share=large')
        with self.assertRaises(cri.grpc.RpcError) as why:
            self.begin_pod('second', 'mete.io/share=large')
        self.assertIn('not promised to others', why.exception.details())
        self.assertEqual(len(self.grants()), 1)


def main():
    global cri
    try:
        import cri
    except ImportError:
        containers.skip('python3-grpcio is not installed')
    program = shutil.which('containerd', path=FOLDER)
    version = subprocess.run([program, '--version'], capture_output=True, text=True).stdout.split() if program else []
    if len(version) < 3 or tuple(int(n) for n in version[2].lstrip('v').split('~')[0].split('+')[0].split('.')[:2]) < (1, 7):
        containers.skip('needs containerd 1.7 or later (METE_TEST_CONTAINERD)')
    containers.main()


if __name__ == '__main__':
    main()
