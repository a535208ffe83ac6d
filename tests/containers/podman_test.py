"""Shares in podman's containers: exact, the same from every side, and gone with the container."""
import contextlib
import os
import signal
import subprocess

import containers
import nvidia
import rootfs
from containers import BUILD, ContainerTest, wait_for
from place import MIB

CYCLES = 100 if os.environ.get('METE_TEST_LONG') else 6


class Podman(ContainerTest):
    def assert_hungry(self, done, mib):
        self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
        self.assertIn(f'{mib}.0 of {mib}.0 MiB free', done.stdout)
        self.assertIn('PASS', done.stdout)

    def held(self, name):
        return self.grant(name)['devices'][0]['held_bytes']

    def test_one_off(self):
        device = self.create('--mem', '100M', '--cores', '50', '--name', 'once')
        self.assertEqual(device, 'mete.io/grant=once')
        self.assertIn('mete.io/grant=once', self.mete('cdi', 'list').stdout)
        self.assert_hungry(self.run_in(device, '/bin/hungry'), 100)
        self.assertTrue(self.nothing_left())
        again = self.run_in(device, '/bin/hungry')
        self.assertNotEqual(again.returncode, 0)
        self.assertIn('unresolvable CDI device', again.stderr)

    def test_share_from_every_side(self):
        self.generate({'name': 'small', 'mem': '64M', 'cores': 25})
        user = ('--user', '1000:1000', '--env', 'METE_SOCKET=/nowhere', '--env', 'METE_DRIVER=/nowhere')
        self.begin_in('one', 'mete.io/share=small', '/bin/sleep', '1000', options=user)
        self.begin_in('two', 'mete.io/share=small', '/bin/sleep', '1000')
        self.assertEqual(len(self.grants()), 2)
        self.assert_hungry(self.podman('exec', 'one', '/bin/hungry'), 64)
        self.assert_hungry(self.podman('exec', 'one', '/bin/env', '-i', '/bin/hungry'), 64)
        self.assert_hungry(self.podman('exec', '--user', '0', 'one', '/bin/env', '-i', '/bin/hungry'), 64)
        self.podman('exec', '-d', 'two', '/bin/hungry', '--hold', '60')
        holding = wait_for(lambda: [g for g in self.json('ps')['grants'] if g['processes']], 'a process holds memory')
        process = holding[0]['processes'][0]
        self.assertEqual(process['command'], 'hungry')
        with open(f'/proc/{process["pid"]}/comm') as comm:
            self.assertEqual(comm.read(), 'hungry\n', 'the pid is this machine\'s')
        wait_for(lambda: self.grant(holding[0]['name'])['devices'][0]['held_bytes'] >= 63 * MIB, 'it holds its share')
        self.assert_hungry(self.podman('exec', 'one', '/bin/hungry'), 64)
        self.podman('rm', '-f', '-t', '0', 'one', 'two')
        wait_for(self.nothing_left, 'the grants end with their containers')

    def test_preload_of_the_image_is_kept(self):
        with open(os.path.join(self.root, 'etc/ld.so.preload'), 'w') as file:
            file.write('# mine\n/lib/mine.so')
        device = self.create('--mem', '64M')
        done = self.run_in(device, '/bin/cat', '/etc/ld.so.preload')
        self.assertIn('/lib/mine.so', done.stdout)
        self.assertTrue(done.stdout.startswith('/usr/lib/mete/shim/libmete-core.so\n/usr/lib/mete/shim/libcuda.so.1\n'), done.stdout)
        with open(os.path.join(self.root, 'etc/ld.so.preload')) as file:
            self.assertEqual(file.read(), '# mine\n/lib/mine.so')

    def end_somehow(self, name, way):
        """One of six ways in which a container ends: its own processes and those of podman are killed, podman is asked."""
        pid, conmon = (int(self.inspect(name, f'.State.{field}')) for field in ('Pid', 'ConmonPid'))
        for victim in ((pid,), (conmon, pid), (pid, conmon), (), (conmon,), ())[way]:
            os.kill(victim, signal.SIGKILL)
        words = {3: ('stop', '-t', '0'), 4: ('rm', '-f', '-t', '0'), 5: ('rm', '-f', '-t', '0')}.get(way)
        if words:
            self.podman(*words, name)

    def test_killed(self):
        """Whatever is killed, and by whom: nothing is left."""
        for i in range(CYCLES):
            name = f'victim-{i}'
            self.begin_in(name, self.create('--mem', '64M', '--name', name), '/bin/hungry', '--hold', '600')
            wait_for(lambda: self.json('ps')['grants'][0]['processes'], 'the program holds memory')
            self.end_somehow(name, i % 6)
            wait_for(self.nothing_left, f'everything of it is gone, way {i % 6}')
            self.podman('rm', '-f', '-t', '0', name)
        self.assertEqual(self.json('devices')['devices'][0]['promised_bytes'], 0)

    def test_ended(self):
        """`mete end`: all of the container's programs end, and its grant; behind a wall as well."""
        for words in ((), ('--wall',)):
            with self.subTest(words=words):
                device = self.create('--mem', '64M', '--name', 'ended', *words)
                # The first process of a container is not reached by a signal that it does not catch, but by SIGKILL.
                self.begin_in('ended', device, '/bin/sh', '-c', 'trap exit TERM; sleep 1000 & wait')
                self.assertEqual(self.podman('exec', '-d', 'ended', '/bin/hungry', '--hold', '600').returncode, 0)
                wait_for(lambda: self.held('ended') >= 63 * MIB, 'the program holds memory')
                done = self.mete('end', 'ended', '--yes')
                self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
                wait_for(self.nothing_left, 'everything of it is gone')
                wait_for(lambda: self.inspect('ended', '.State.Running') == 'false', 'the container is over')
                self.assertEqual(self.json('devices')['devices'][0]['held_bytes'], 0)
                self.podman('rm', '-f', '-t', '0', 'ended')

    def test_lives(self):
        """Stopped in mid-life, renamed, looked after by a health check and begun again by a policy: the same share."""
        self.generate({'name': 'small', 'mem': '700M'})
        checked = ('--health-cmd', '/bin/hungry', '--health-interval', 'disable')
        self.begin_in('old', 'mete.io/share=small', '/bin/sleep', '1000', options=checked)
        grant = self.grants()
        for words in (('pause', 'old'), ('unpause', 'old'), ('rename', 'old', 'new'), ('healthcheck', 'run', 'new')):
            done = self.podman(*words)
            self.assertEqual((done.returncode, done.stderr, self.grants()), (0, '', grant), words)
        self.containers.append('new')
        self.podman('rm', '-f', '-t', '0', 'new')
        wait_for(self.nothing_left, 'the grant ends with its container')
        # Each try wants more than half of the device: that of the one before has to be gone.
        self.begin_in('tries', 'mete.io/share=small', '/bin/sh', '-c', '/bin/hungry >/dev/null && exit 3',
                      options=('--restart=on-failure:3',))
        wait_for(lambda: self.inspect('tries', '.State.Status') == 'exited', 'it was begun three times more')
        self.assertEqual((self.inspect('tries', '.RestartCount'), self.inspect('tries', '.State.ExitCode')), ('3', '3'))
        wait_for(self.nothing_left, 'nothing is left')

    def test_ended_under_a_container(self):
        """Where the container outlives its grant, programs have no device from then on, neither a share nor all of it."""
        for way in ((), ('--wall',)):
            device = self.create('--mem', '64M', '--name', 'team', '--keep', *way)
            self.begin_in('left', device, '/bin/sleep', '1000')
            self.assert_hungry(self.podman('exec', 'left', '/bin/hungry'), 64)
            self.assertEqual(self.mete('end', 'team', '--yes').returncode, 0)
            done = self.podman('exec', 'left', '/bin/hungry')
            self.assertNotEqual(done.returncode, 0)
            self.assertIn('cuInit(0)', done.stdout + done.stderr)
            self.podman('rm', '-f', '-t', '0', 'left')
            wait_for(self.nothing_left, 'nothing is left')

    def test_full_disk(self):
        """No room for a CDI file: no grant without one, what was there before is whole, and nothing half-written stays."""
        self.generate({'name': 'small', 'mem': '64M'})
        with open('/etc/cdi/mete.io-share.json') as file:
            before = file.read()
        shares = self.write_shares(*({'name': f's{i}', 'mem': '64M'} for i in range(40)))
        for folder, words in (('/run/cdi', ('create', '--mem', '64M', '--name', 'one')), ('/etc/cdi', ('generate', '--shares', shares))):
            subprocess.run(['mount', '-o', 'remount,size=64k', folder], check=True)
            with open(folder + '/fill', 'wb', buffering=0) as file, contextlib.suppress(OSError):
                while file.write(bytes(1024)):
                    pass
            was = sorted(os.listdir(folder))
            done = self.mete('cdi', *words)
            self.assertEqual(done.returncode, 1)
            self.assert_line(done.stderr, folder, 'No space left', 'make room')
            self.assertEqual((self.grants(), sorted(os.listdir(folder))), ([], was))
            os.unlink(folder + '/fill')
            subprocess.run(['mount', '-o', 'remount,size=50%', folder], check=True)
        with open('/etc/cdi/mete.io-share.json') as file:
            self.assertEqual(file.read(), before)
        self.assert_hungry(self.run_in('mete.io/share=small', '/bin/hungry'), 64)

    def test_container_that_does_not_begin(self):
        """Its grant goes with it; one that another container uses, or that is kept, does not."""
        root = os.path.join(self.folder, 'empty')
        os.mkdir(root)
        for words, left in (((), []), (('--keep',), ['one'])):
            device = self.create('--mem', '64M', '--name', 'one', *words)
            done = self.run_in(device, '/bin/true', root=root)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn('has no C library', done.stderr)
            self.assertEqual(self.grants(), left)
        self.mete('cdi', 'remove', 'one')
        device = self.create('--mem', '64M', '--name', 'two')
        self.begin_in('first', device, '/bin/sleep', '1000')
        done = self.run_in(device, '/bin/true')
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('in use by the container', done.stderr)
        self.assertEqual(self.grants(), ['two'])

    def test_kept_grant(self):
        device = self.create('--mem', '64M', '--name', 'team', '--keep')
        for _ in range(2):
            self.assert_hungry(self.run_in(device, '/bin/hungry'), 64)
        self.assertEqual(self.grants(), ['team'])
        self.assertEqual(self.mete('cdi', 'remove', 'team').returncode, 0)
        self.assertTrue(self.nothing_left())

    def test_meted_is_started_again(self):
        device = self.create('--mem', '64M')
        self.begin_in('long', device, '/bin/sleep', '1000')
        self.assert_hungry(self.podman('exec', 'long', '/bin/hungry'), 64)
        self.kill_meted()
        self.start_meted()
        self.assert_hungry(self.podman('exec', 'long', '/bin/hungry'), 64)

    def test_merged_with_nvidia(self):
        """A GPU, that is the software device as NVIDIA's driver, by a file of NVIDIA's form: driver, nodes and hooks go in."""
        soft = nvidia.folder(BUILD)
        self.end_meted_in(self.runtime)
        self.start_meted('--libcuda', f'{soft}/libcuda.so.1', '--libnvml', f'{soft}/libnvidia-ml.so.1')
        env = [f'{name}={self.env[name]}' for name in ('METE_SOFT_DIR', 'METE_SOFT_MEMORY', 'METE_SOFT_DEVICES')]
        spec = nvidia.spec(soft, [('0', 0), ('1', 1)], env=['NVIDIA_VISIBLE_DEVICES=void', *env])
        spec['containerEdits']['mounts'].append({**nvidia.mount(self.env['METE_SOFT_DIR']), 'options': ['rw', 'bind']})
        nvidia.write('/etc/cdi/nvidia.yaml', spec)
        device = self.create('--mem', '64M', '--cores', '50')
        self.begin_in('gpu', device, '/bin/sleep', '1000')
        self.assertEqual(self.grant(self.grants()[0])['driver']['kind'], 'nvidia')
        self.assert_hungry(self.podman('exec', 'gpu', '/bin/hungry'), 64)
        said = self.podman('exec', 'gpu', '/bin/sh', '-c', 'for n in /dev/nvidia*; do [ -c $n ] && : > $n && echo $n; done; '
                           'cat /proc/self/mountinfo').stdout
        self.assertEqual(said.splitlines()[:4], ['/dev/nvidia-uvm', '/dev/nvidia-uvm-tools', '/dev/nvidia0', '/dev/nvidiactl'])
        self.assertIn(f'/libcuda.so.{nvidia.VERSION} ', said)
        self.podman('rm', '-f', '-t', '0', 'gpu')
        wait_for(self.nothing_left, 'the grant ends with its container')

    def test_wall(self):
        device = self.create('--mem', '64M', '--wall')
        self.begin_in('walled', device, '/bin/sleep', '1000')
        done = self.podman('exec', 'walled', '/bin/hungry')
        self.assert_hungry(done, 64)
        inside = self.podman('exec', 'walled', '/bin/sh', '-c', 'cat /proc/self/mountinfo').stdout
        self.assertIn('/usr/lib/mete/remote', inside)
        self.assertNotIn('/usr/lib/mete/soft', inside)
        self.assertNotIn('/usr/lib/mete/shim', inside)
        preload = self.podman('exec', 'walled', '/bin/cat', '/etc/ld.so.preload').stdout
        for name in ('remote/libnvidia-ml.so.1', 'runtime/libcudart.so.13', 'fronts/libnvrtc.so.13', 'fronts/libnvJitLink.so.13'):
            self.assertIn(f'/usr/lib/mete/{name}\n', preload, 'NVML, and on the software device what gives PTX')

    def test_soft_has_the_fronts(self):
        device = self.create('--mem', '64M', '--soft')
        self.begin_in('soft', device, '/bin/sleep', '1000')
        self.assert_hungry(self.podman('exec', 'soft', '/bin/hungry'), 64)
        preload = self.podman('exec', 'soft', '/bin/cat', '/etc/ld.so.preload').stdout
        self.assertIn('/usr/lib/mete/fronts/libnvrtc.so.13\n', preload)
        built = os.path.exists(os.path.join(BUILD, 'src/shim/libmete-opencl.so'))
        self.assertEqual('/usr/lib/mete/shim/libmete-opencl.so\n' in preload, built, 'in front of loaders without layers')

    def test_fronts_work(self):
        """NVRTC of the image, nvJitLink and ptxas give what runs, on the container's own device and behind a wall."""
        rootfs.put_program(self.root, os.path.join(BUILD, 'tests/containers/fronts-program'), '/bin/fronts')
        rootfs.put(self.root, os.path.join(BUILD, 'tests/fronts/libreal-nvrtc.so'), '/usr/local/cuda/lib64/libnvrtc.so.13')
        with open(os.path.join(self.root, 'tmp/twice.ptx'), 'w') as file:
            file.write('.version 8.0\n.target sm_75\n.address_size 64\n.visible .entry twice(.param .u64 p)\n{\n.reg .b64 %a; .reg .f32 %f;\n'
                       'ld.param.u64 %a, [p]; ld.global.f32 %f, [%a];\nadd.f32 %f, %f, %f; st.global.f32 [%a], %f; ret;\n}\n')
        stand_in = ('--env', 'REAL_LOG=/tmp/log', '--env', 'REAL_PTX=/tmp/twice.ptx')
        for words in (('--soft',), ('--soft', '--wall')):
            device = self.create('--mem', '64M', *words)
            done = self.run_in(device, '/bin/fronts', options=stand_in)
            self.assertEqual((done.stdout, done.stderr, done.returncode), ('PASS\n', '', 0), words)
            with open(os.path.join(self.root, 'tmp/log')) as log:
                self.assertEqual(log.read(), '--gpu-architecture=compute_90\n', 'the image\'s own NVRTC is asked for PTX')
            os.unlink(os.path.join(self.root, 'tmp/log'))
            device = self.create('--mem', '64M', *words)
            done = self.run_in(device, '/bin/sh', '-c', '$TRITON_PTXAS_PATH --gpu-name=sm_90 /tmp/twice.ptx -o /tmp/twice.cubin && '
                               'cat /tmp/twice.cubin && $TRITON_PTXAS_BLACKWELL_PATH --version')
            self.assertEqual((done.returncode, done.stderr), (0, ''), words)
            self.assertIn('.visible .entry twice', done.stdout)
            self.assertIn('mete', done.stdout)


if __name__ == '__main__':
    containers.main()
