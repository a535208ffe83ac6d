"""Two containers on one software device: the behaviour tests run in both at once, and the time is shared as promised."""
import os
import struct
import subprocess
import time

import containers
import rootfs
from containers import BUILD, ContainerTest, wait_for

# What runs by the defaults of tests/behaviour: 512 MiB of device 0 and 256 MiB of device 1 each.
BEHAVIOUR = ('device', 'memory', 'copy', 'memset', 'stream', 'module', 'launch', 'error', 'vmm', 'pool', 'pointer', 'array',
             'context', 'fork', 'thread', 'race')
MEM = ('512M', '256M')
ALL = 'for t in ' + ' '.join(BEHAVIOUR) + '; do /bin/${t}_test >/tmp/$t.out 2>&1 && echo "ok $t" || cat /tmp/$t.out; done'


class Together(ContainerTest):
    PROGRAMS = ()
    SETTINGS = 'faults:\n  count: 0\n'  # the tests provoke many; none is to be quarantined for it

    def setUp(self):
        super().setUp()
        for name in BEHAVIOUR:
            rootfs.put_program(self.root, os.path.join(BUILD, f'tests/behaviour/{name}_test'), f'/bin/{name}_test')
        rootfs.put_program(self.root, os.path.join(BUILD, 'bench/share_load'), '/bin/share_load')

    def device_env(self):
        """What the tests are told of the machine and of the grant, as tests/way.py does."""
        devices = [d for d in self.json('devices')['devices'] if d['driver'] == 'soft']
        uuids = [d['uuid'] for d in devices]
        return {'METE_TEST_WAY': 'shim', 'METE_TEST_QUOTA': str(512 << 20),
                'METE_TEST_MACHINE': ' '.join(f'{d["uuid"]}={d["total_bytes"]}' for d in devices),
                'METE_TEST_GRANT': f'{uuids[0]}={512 << 20} {uuids[1]}={256 << 20}'}

    def test_behaviour(self):
        options = [word for name, value in self.device_env().items() for word in ('--env', f'{name}={value}')]
        running = []
        for i in range(2):
            device = self.create('--device', '0', '--mem', MEM[0], '--device', '1', '--mem', MEM[1], '--name', f'b{i}')
            command = self.podman_words('run', '--rm', *containers.RUN, *options, '--tmpfs', '/tmp', '--device', device,
                                        '--rootfs', self.root, '/bin/sh', '-c', ALL)
            running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        for process in running:
            out = process.communicate(timeout=250)[0]
            self.assertEqual(out.split('\n')[:-1], [f'ok {name}' for name in BEHAVIOUR])
        wait_for(self.nothing_left, 'nothing is left')
        self.assertEqual([d['held_bytes'] for d in self.json('devices')['devices']], [0, 0])

    def test_time(self):
        """30 and 60 % of the device, of programs that would have all of it."""
        wanted = {'three': 30.0, 'six': 60.0}
        with open(os.path.join(self.root, 'times'), 'wb') as file:  # when the programs begin, and end
            file.write(struct.pack('<QQ', time.monotonic_ns(), time.monotonic_ns() + 3600 * 10**9))
        for name, part in wanted.items():
            device = self.create('--mem', '16M', '--cores', str(part), '--name', name)
            self.begin_in(name, device, '/bin/share_load', '/tmp/report', '/times', 'kernel=1ms', 'window=4',
                          options=('--env', 'METE_SOFT_DURATION=spin_1000us=1000us', '--tmpfs', '/tmp'))

        def got():
            shares = {name: self.grant(name)['devices'][0]['share_10s'] for name in wanted}
            return all(value is not None and abs(value - wanted[name]) < 3 for name, value in shares.items())

        wait_for(got, 'each gets what it was promised', 60)


if __name__ == '__main__':
    containers.main()
