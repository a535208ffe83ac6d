"""
Images that nobody would have thought of: without a shell, with nothing but what one program needs, with a libcuda.so.1 of their
own, with links where folders are wanted, imported ones with words in their environment.
"""
import os
import shlex
import shutil
import subprocess

import containers
import rootfs
from containers import BUILD, ContainerTest, wait_for

HUNGRY = os.path.join(BUILD, 'examples/hungry')
LONG = bool(os.environ.get('METE_TEST_LONG'))
MAPPED = 100000
OF_CLIENT = ('libdl.so.2', 'libpthread.so.0')
WAYS = ('soft', 'wall')


class Odd(ContainerTest):
    PROGRAMS = ()

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)  # for users that are mapped
        self.generate({'name': 'soft', 'mem': '64M'}, {'name': 'wall', 'mem': '64M', 'wall': True})

    def bare(self, name, libraries=rootfs.OF_METE):
        """A root with one program and its libraries, and those of the C library that are named."""
        return rootfs.make_bare(self.path(name), HUNGRY, '/app', libraries)

    def works(self, root, *options, program=('/app',), ways=WAYS):
        for way in ways:
            with self.subTest(root=os.path.basename(root), way=way, options=options):
                done = self.run_in(f'mete.io/share={way}', *program, root=root, options=options)
                self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
                self.assertIn('64.0 of 64.0 MiB free', done.stdout)
        wait_for(self.nothing_left, 'nothing is left')

    def test_one_program(self):
        """No shell, no /etc, no /run; nothing stays of what was mounted on."""
        root = self.bare('bare')
        self.works(root, ways=WAYS if LONG else ('soft',))
        self.works(root, '--read-only', '--cap-drop=all', '--user', '1000:1000')
        for name in ('usr/lib/mete', 'run/mete', 'etc/ld.so.preload', rootfs.libdir()[1:] + '/libcuda.so'):
            self.assertFalse(os.path.lexists(os.path.join(root, name)), name)

    def test_other_users(self):
        """The container's root is nobody on this machine."""
        root = self.bare('mapped')
        for folder in ('etc', 'run', 'proc', 'sys', 'dev'):  # podman would make some of them, for its own root
            os.makedirs(os.path.join(root, folder), exist_ok=True)
        subprocess.run(['chown', '-R', f'{MAPPED}:{MAPPED}', root], check=True)
        mapped = ('--uidmap', f'0:{MAPPED}:65536', '--gidmap', f'0:{MAPPED}:65536')
        for more in ((), ('--user', '1000')) if LONG else ():
            self.works(root, *mapped, *more)
        self.works(root, *mapped, '--read-only', '--cap-drop=all', '--security-opt=no-new-privileges')

    def test_links(self):
        """Folders that are links, to the image's own root, and to nothing yet."""
        root = self.bare('links')
        for link, target in (('run', '/var/run'), ('var', 'usr/var')):
            os.symlink(target, os.path.join(root, link))
        self.works(root)

    def test_libcuda_of_its_own(self):
        """CUDA's images bring a stub and an older driver; programs get the shim, whatever the environment says of libraries."""
        root = rootfs.make(self.path('own'), {'hungry': HUNGRY}, tools=('sh', 'env', 'cat', 'sleep'))
        libdir = rootfs.libdir()
        for folder in (libdir, '/usr/local/cuda/lib64/stubs', '/usr/local/cuda/compat'):
            rootfs.put(root, os.path.join(BUILD, 'src/softdev/libcuda.so.1'), folder + '/libcuda.so.535.1')
            os.symlink('libcuda.so.535.1', f'{root}{folder}/libcuda.so.1')
        own = f'{libdir}/libm.so.6\n{libdir}/libcuda.so.1'
        with open(os.path.join(root, 'etc/ld.so.preload'), 'w') as file:
            file.write(own)
        self.works(root, '--env', 'LD_LIBRARY_PATH=/usr/local/cuda/compat:/usr/local/cuda/lib64/stubs', '--env',
                   f'LD_PRELOAD={libdir}/libcuda.so.1', program=('/bin/hungry',))
        with open(os.path.join(root, 'etc/ld.so.preload')) as file:
            self.assertEqual(file.read(), own)
        with open(f'{root}{libdir}/libcuda.so.1', 'rb') as file, open(os.path.join(BUILD, 'src/softdev/libcuda.so.1'), 'rb') as same:
            self.assertEqual(file.read(), same.read())

    def test_ssh(self):
        """Who comes in through sshd, which gives its sessions an environment of their own, has the container's share."""
        sshd, ssh, keygen = (shutil.which(name, path=os.environ['PATH'] + ':/usr/sbin') for name in ('sshd', 'ssh', 'ssh-keygen'))
        if not (sshd and ssh and keygen):
            self.skipTest('sshd, ssh and ssh-keygen are not installed')
        root = rootfs.make(self.path('ssh'), {'hungry': HUNGRY, 'sshd': sshd}, tools=('sh', 'sleep'))
        os.makedirs(os.path.join(root, 'run/sshd'))
        with open(os.path.join(root, 'etc/passwd'), 'a') as file:
            file.write('sshd:x:100:65534::/run/sshd:/bin/sh\n')
        with open(os.path.join(root, 'etc/shadow'), 'w') as file:
            file.write('root:*:1::::::\n')
        open(os.path.join(root, 'etc/sshd_config'), 'w').close()
        subprocess.run([keygen, '-q', '-t', 'ed25519', '-N', '', '-f', self.path('key')], check=True)
        for source, target in (('key', 'etc/host_key'), ('key.pub', 'etc/keys')):
            shutil.copy(self.path(source), os.path.join(root, target))
        self.begin_in('reached', 'mete.io/share=soft', '/bin/sleep', '1000', root=root)
        inside = self.podman_words('exec', '-i', 'reached', '/bin/sshd', '-i', '-f', '/etc/sshd_config', '-h', '/etc/host_key',
                                   '-o', 'UsePAM=no', '-o', 'StrictModes=no', '-o', 'AuthorizedKeysFile=/etc/keys')
        done = subprocess.run([ssh, '-F', 'none', '-i', self.path('key'), '-o', 'ProxyCommand=' + shlex.join(inside), '-o',
                               'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'BatchMode=yes', '-o',
                               'LogLevel=ERROR', 'root@reached', '/bin/hungry'], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
        self.assertIn('64.0 of 64.0 MiB free', done.stdout)

    def test_imported(self):
        """An image of podman's store, with words of its own in the environment, and programs that execute others."""
        root = rootfs.make(self.path('root-of-image'), {'hungry': HUNGRY}, tools=('sh', 'env', 'cat', 'sleep'))
        archive = self.path('image.tar')
        subprocess.run(['tar', '-C', root, '-cf', archive, '.'], check=True)
        changes = [f'ENV LD_PRELOAD={rootfs.libdir()}/libm.so.6', 'ENV METE_SOCKET=/nowhere', 'USER 1000']
        done = self.podman('import', *(word for change in changes for word in ('--change', change)), archive, 'odd:1')
        self.assertEqual(done.returncode, 0, done.stderr)
        for way in WAYS:
            done = self.podman('run', '--rm', *containers.RUN, '--device', f'mete.io/share={way}', 'odd:1', '/bin/sh', '-c',
                               'exec env -i /bin/sh -c "/bin/env /bin/hungry; exit"')
            self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
            self.assertIn('64.0 of 64.0 MiB free', done.stdout)
        wait_for(self.nothing_left, 'nothing is left')

    def test_store(self):
        """Nix's: the C library is where the program's loader is, and that reads another preload file. With a usual one beside it, too."""
        root = self.path('store')
        if not rootfs.put_in_store(root, HUNGRY, '/app'):
            self.skipTest("this machine's loader is not Debian's for x86-64")
        told = self.mete('doctor', '--image', root, '--program', '/app')
        self.assertEqual((told.returncode, told.stderr), (0, ''), told.stdout)
        self.assertIn(rootfs.STORE, told.stdout)
        self.assertIn('has no C library', self.mete('doctor', '--image', root).stdout)
        self.works(root)
        self.works(root, '--read-only', '--env', 'PATH=/nowhere:/', program=('app',), ways=('soft',))
        for name, text in (('one', '#!/usr/bin/env -S two'), ('two', '#!/bin/env three'), ('three', '#! /app')):
            self.put_script(root, name, text)
        for program, good in (('three', True), ('two', True), ('one', False), ('/usr/bin/three', True), ('four', False)):
            self.assertEqual(self.mete('doctor', '--image', root, '--program', program).returncode, 0 if good else 1, program)
        for name in ('usr/lib/mete', 'run/mete', 'etc/ldnix.preload', 'etc/ld.so.preload', rootfs.STORE[1:] + '/libcuda.so'):
            self.assertFalse(os.path.lexists(os.path.join(root, name)), name)
        rootfs.make(root, {'hungry': HUNGRY}, tools=('sh', 'sleep'))
        self.begin_in('both', 'mete.io/share=soft', '/bin/sleep', '1000', root=root)
        self.assertIn('64.0 of 64.0 MiB free', self.podman('exec', 'both', '/bin/hungry').stdout)
        self.podman('rm', '-f', '-t', '0', 'both')
        self.begin_in('both', 'mete.io/share=soft', '/app', '--hold', '1000', root=root)
        wait_for(lambda: [g for g in self.json('ps')['grants'] if g['processes']], 'the program of the store is a process of the grant')
        self.podman('rm', '-f', '-t', '0', 'both')
        wait_for(self.nothing_left, 'nothing is left')

    def put_script(self, root, name, text):
        os.makedirs(root + '/usr/bin', exist_ok=True)
        with open(f'{root}/usr/bin/{name}', 'w') as file:
            file.write(text)

    def test_loader_that_is_not_there(self):
        root = self.bare('lost')
        for folder, _, files in os.walk(root):
            for name in files:
                if name.startswith('libc.so'):
                    os.unlink(os.path.join(folder, name))
        done = self.run_in('mete.io/share=soft', '/app', root=root)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('has no C library (libc.so.6) beside /lib64/ld-linux', done.stderr)

    def test_parts_of_glibc_are_missing(self):
        """The loader would go on without the shim, and the program would have the whole device: such a container does not begin."""
        for missing in rootfs.OF_METE if LONG else ('libdl.so.2', 'libm.so.6'):
            root = self.bare('without-' + missing, [name for name in rootfs.OF_METE if name != missing])
            said = self.mete('doctor', '--image', root).stdout
            ways = {'libm.so.6': ('soft',)}.get(missing, WAYS)
            for way in ways:
                done = self.run_in(f'mete.io/share={way}', '/app', root=root)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f'has no {missing}', done.stderr)
                self.assertIn(f'has no {missing}', said)
            wait_for(self.nothing_left, 'nothing is left')
        # NVIDIA's driver and the software device calculate; the client of a wall does not.
        self.assertIn('ok       wall', self.mete('doctor', '--image', self.bare('no-libm', OF_CLIENT)).stdout)


if __name__ == '__main__':
    containers.main()
