"""mete run --wall, mete create --wall: programs that get neither the driver nor the device."""
import os

import place
from place import BUILD, CLIENT, METE, MIB, OUT_OF_MEMORY, wait_for


class Wall(place.MeteTest):
    def test_programs_run_and_end_as_ever(self):
        done = self.mete('run', '--wall', '-m', '8M', CLIENT, 'alloc', str(4 * MIB), 'alloc', str(16 * MIB))
        self.assertEqual(done.stdout.split('\n'), [f'alloc {4 * MIB} 0', f'alloc {16 * MIB} {OUT_OF_MEMORY}', ''], done.stderr)
        self.assertEqual(self.mete('run', '--wall', '-m', '8M', 'sh', '-c', 'exit 42').returncode, 42)
        self.assertLess(self.mete('run', '--wall', '-m', '8M', CLIENT, 'alloc', '4096', 'die').returncode, 0)

    def test_environment(self):
        shown = self.mete('run', '--wall', '-m', '8M', 'env').stdout.splitlines()
        names = {line.split('=', 1)[0]: line.split('=', 1)[1] for line in shown if '=' in line}
        self.assertTrue(names['METE_REMOTE'].endswith('@wall.sock'), names)
        self.assertTrue(names['LD_PRELOAD'].split(':')[0].endswith('/remote/client/libmete-preload.so'), names)
        for name in ('METE_SOCKET', 'METE_DRIVER', 'METE_NVML'):
            self.assertNotIn(name, names)

    def test_inner_run_is_the_inner_ones(self):
        done = self.mete('run', '--wall', '-m', '8M', METE, 'run', '-m', '4M', 'env')
        self.assertIn('/src/shim/libmete-preload.so', done.stdout, done.stderr)
        self.assertNotIn('remote/client', done.stdout)
        self.assertNotIn('METE_REMOTE=', done.stdout)

    def test_grant_and_mark(self):
        self.assertEqual(self.mete('create', 'team', '--wall', '--mem', '64M', '--soft').returncode, 0)
        self.assertIn('- (wall)', self.mete('ps', '--wide').stdout)
        self.start('run', '--wall', '--grant', 'team', CLIENT, 'alloc', str(8 * MIB), 'mark', self.path('on'), 'hold',
                   self.path('go'))
        wait_for(lambda: os.path.exists(self.path('on')), 'the program holds memory')
        row = [line for line in self.mete('ps', '--wide').stdout.splitlines() if line.startswith('team')][0]
        self.assertIn('mete_client (wall)', row)
        process = self.grant('team')['processes'][0]
        self.assertTrue(process['worker'])
        self.assertEqual(process['devices'][0]['held_bytes'], 8 * MIB)
        # A program that has the shim is under the same account.
        done = self.mete('run', '--grant', 'team', CLIENT, 'alloc', str(60 * MIB))
        self.assertEqual(done.stdout, f'alloc {60 * MIB} {OUT_OF_MEMORY}\n', done.stderr)
        self.mark('go')
        self.started[-1].wait()
        wait_for(lambda: not self.grant('team')['processes'], 'the worker ends with its client')
        self.assertEqual(self.mete('delete', 'team').returncode, 0)


class Refused(place.MeteTest):
    def refused(self, words, *texts, status=125, env=None):
        done = self.mete(*words, env=env)
        self.assertEqual((done.returncode, done.stdout), (status, ''), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_grant_without_a_wall(self):
        self.mete('create', 'plain', '--mem', '8M', '--soft')
        self.refused(['run', '--wall', '--grant', 'plain', 'true'], 'plain', 'mete create --wall')
        self.mete('delete', 'plain')

    def test_options_that_contradict(self):
        self.refused(['run', '--wall', '--tier', 'T3', 'true'], '--wall', '--tier')
        self.refused(['run', '--wall', 'true'], 'METE_DRIVER', 'unset', env={'METE_DRIVER': '/x/libcuda.so.1'})

    def test_parts_are_missing(self):
        libdir = self.path('lib')
        os.makedirs(libdir)
        for name, source in (('shim', 'shim'), ('soft', 'softdev')):
            os.symlink(os.path.join(BUILD, 'src', source), os.path.join(libdir, name))
        self.refused(['run', '--wall', 'true'], 'remote', 'install all of mete', env={'METE_LIBDIR': libdir})

    def test_doctor(self):
        checks = {c['name']: c for c in self.json('doctor')['checks']}
        self.assertEqual(checks['wall']['status'], 'ok', checks['wall'])


if __name__ == '__main__':
    place.main()
