"""runc alone: `mete oci` edits a bundle; images that cannot have a share are told so; what was mounted on is cleared."""
import os
import shutil
import subprocess

import bundle
import containers
import rootfs
from containers import ContainerTest, wait_for


class Runc(ContainerTest):
    def bundle(self, *program, root=None, **keywords):
        return bundle.make(self.path(f'bundle-{len(os.listdir(self.folder))}'), root or self.root, *program, **keywords)

    def run_bundle(self, folder, name='test'):
        return bundle.run(self.path('runc'), folder, name)

    def oci(self, *words):
        done = self.mete('oci', *words)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''), words)

    def test_bundle(self):
        folder = self.bundle('/bin/hungry', user=1000)
        before = bundle.read(folder)
        for _ in range(2):  # the second time replaces the first
            self.oci(folder, '--mem', '48M', '--cores', '30')
        self.assertEqual(len(bundle.read(folder)['hooks']['createRuntime']), 1)
        for _ in range(2):
            done = self.run_bundle(folder)
            self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
            self.assertIn('48.0 of 48.0 MiB free', done.stdout)
        self.assertTrue(self.nothing_left())
        for name in ('etc/ld.so.preload', 'run/mete', 'usr/lib/mete'):
            self.assertFalse(os.path.exists(os.path.join(self.root, name)), name)
        self.oci(folder, '--remove')
        after = bundle.read(folder)
        self.assertEqual(after['mounts'], before['mounts'])
        self.assertFalse(any(after['hooks'].values()))

    def test_memory_leaves(self):
        """--spill reaches the container's programs: their memory leaves the device, and returns."""
        folder = self.bundle('/bin/hungry', '--hold', '600')
        self.oci(folder, '--mem', '48M', '--spill')
        process = subprocess.Popen(['runc', '--root', self.path('runc'), 'run', '-b', folder, 'spills'],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: [g for g in self.json('ps')['grants'] if g['devices'][0]['held_bytes'] > 40 << 20], 'the program holds memory')
        name = self.json('ps')['grants'][0]['name']
        share = lambda: self.json('ps')['grants'][0]['devices'][0]
        done = self.mete('set', name, '--suspend')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((share()['residence'], share()['held_bytes']), ('away', 0))
        done = self.mete('set', name, '--resume')
        self.assertEqual((done.returncode, share()['residence']), (0, 'resident'), done.stderr)
        subprocess.run(['runc', '--root', self.path('runc'), 'kill', 'spills', 'KILL'], check=True)
        process.wait()
        wait_for(self.nothing_left, 'everything of it is gone')
        self.refused(1, ['oci', folder, '--mem', '48M', '--resident', '1M'], '--resident 1M', '--spill')

    def test_named_share(self):
        shares = self.write_shares({'name': 'tiny', 'mem': '16M', 'policy': 'fair'})
        folder = self.bundle('/bin/hungry')
        self.oci(folder, '--shares', shares, '--share', 'tiny')
        self.assertIn('16.0 of 16.0 MiB free', self.run_bundle(folder).stdout)
        self.refused(1, ['oci', folder, '--shares', shares, '--share', 'huge'], '--share huge', 'mete cdi list')

    def test_old_name(self):
        """A program that opens libcuda.so, without a number, gets the shim as well."""
        folder = self.bundle('/bin/sh', '-c', 'cat /proc/self/mountinfo')
        self.oci(folder, '--mem', '16M')
        self.assertIn('/libcuda.so ', self.run_bundle(folder).stdout)

    def test_not_while_promised(self):
        folder = self.bundle('/bin/hungry')
        self.oci(folder, '--mem', '800M')
        self.assertEqual(self.mete('create', 'other', '--mem', '512M').returncode, 0)
        done = self.run_bundle(folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('512 MiB of 1 GiB are not promised', done.stderr)
        self.assertEqual(self.grants(), ['other'])

    def refusal(self, root, *parts):
        """Such an image is refused by the hook and by the doctor, with the same line."""
        folder = self.bundle('/bin/sh', root=root)
        self.oci(folder, '--mem', '16M')
        done = self.run_bundle(folder)
        said = self.mete('doctor', '--image', root)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(said.returncode, 1)
        for part in parts:
            self.assertIn(part, done.stderr)
            self.assertIn(part, said.stdout)
        self.assertTrue(self.nothing_left())

    def test_static_image(self):
        root = rootfs.make_static(self.path('static'))
        if not root:
            self.skipTest('busybox-static is not installed')
        self.refusal(root, 'has no C library', 'use an image with glibc')

    def test_musl_image(self):
        root = self.path('musl')
        os.makedirs(os.path.join(root, 'lib'))
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        for folder, _, files in os.walk(root):
            for name in files:
                if name.startswith('libc.so'):
                    os.rename(os.path.join(folder, name), os.path.join(root, 'lib/ld-musl-x86_64.so.1'))
        self.refusal(root, 'uses musl', 'Alpine')

    def test_doctor_of_a_good_image(self):
        done = self.mete('doctor', '--image', self.root)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertIn('C library: glibc', done.stdout)
        self.refused(1, ['doctor', '--image', '/nowhere'], '/nowhere', 'root file system')

    def test_killed_with_runc(self):
        """The container's process and runc are killed: no hook runs, and nothing is left but empty places."""
        folder = self.bundle('/bin/hungry', '--hold', '600')
        self.oci(folder, '--mem', '48M')
        process = subprocess.Popen(['runc', '--root', self.path('runc'), 'run', '-b', folder, 'victim'],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: [g for g in self.json('ps')['grants'] if g['processes']], 'the program holds memory')
        grant = self.json('ps')['grants'][0]
        process.kill()
        os.kill(grant['runner_pid'], 9)
        process.wait()
        wait_for(self.nothing_left, 'everything of it is gone')
        subprocess.run(['runc', '--root', self.path('runc'), 'delete', '-f', 'victim'], stderr=subprocess.DEVNULL)

    def test_cgroup_names(self):
        """
        Whose a grant is and when it ends is known whatever the container's cgroup is called and of which version it is: kubelet's two drivers
        name them differently. runc takes the names as paths; on version 2 it sees a hierarchy of nothing else.
        """
        names = {'cgroupfs': '/kubepods/burstable/pod3b1e7c52-0d8e-4a55-9d0c-5f1f7e6a1f00/{id}',
                 'systemd': '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3b1e7c52_0d8e_4a55_9d0c_5f1f7e6a1f00.slice/'
                            'cri-containerd-{id}.scope'}
        for version, before in (('v1', []), ('v2', ['unshare', '-m', 'sh', '-c', 'mount -t cgroup2 none /sys/fs/cgroup && exec "$0" "$@"'])):
            if before and subprocess.run([*before, 'true'], stderr=subprocess.DEVNULL).returncode:
                print('# no cgroup of version 2 can be mounted here')
                continue
            for driver, path in names.items():
                with self.subTest(version=version, driver=driver):
                    self.cgroup_named(f'{version}-{driver}', path, before)

    def cgroup_named(self, name, path, before):
        folder = self.bundle('/bin/hungry', '--hold', '600')
        config = bundle.read(folder)
        config['linux']['cgroupsPath'] = path.format(id=name)
        config['annotations'] = {'io.kubernetes.cri.sandbox-name': 'train-7', 'io.kubernetes.cri.sandbox-namespace': 'lab',
                                 'io.kubernetes.cri.container-name': name}
        bundle.write(folder, config)
        self.oci(folder, '--mem', '48M')
        process = subprocess.Popen([*before, 'runc', '--root', self.path('runc'), 'run', '-b', folder, name], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        held = lambda: [g for g in self.json('ps')['grants'] if g['devices'][0]['held_bytes'] > 40 << 20]  # noqa: E731
        wait_for(held, 'the program holds its memory')
        grant = held()[0]
        with open(f'/proc/{grant["runner_pid"]}/cgroup') as file:
            self.assertIn(path.format(id=name), file.read(), 'its cgroup has that name')
        self.assertEqual(grant['labels'], {'container': name, 'pod': 'train-7', 'namespace': 'lab'})
        os.kill(grant['runner_pid'], 9)
        process.wait()
        wait_for(self.nothing_left, 'the grant ends with its container')
        subprocess.run([*before, 'runc', '--root', self.path('runc'), 'delete', '-f', name], stderr=subprocess.DEVNULL)

    def test_no_meted(self):
        folder = self.bundle('/bin/hungry')
        self.oci(folder, '--mem', '16M')
        self.end_meted_in(self.runtime)
        done = self.run_bundle(folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('mete: ', done.stderr)
        self.assertIn(self.runtime, done.stderr)


if __name__ == '__main__':
    containers.main()
