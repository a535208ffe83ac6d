"""mete end: tenants are ended as the console ends them: asked for, written down, and with nothing left of them."""
import os
import signal

import place
from place import CLIENT, METE, MIB, alive, wait_for
from terminal import Terminal


class End(place.MeteTest):
    def hold(self, name, *options):
        """A tenant whose program holds 40 MiB until it is ended. Value: its mete, the program's pid."""
        process = self.start('run', '-n', name, '-m', '64M', *options, CLIENT, 'alloc', str(40 * MIB), 'mark', self.path(name),
                             'hold', self.path('never'))
        wait_for(lambda: os.path.exists(self.path(name)) or process.poll() is not None, f'{name} holds its memory')
        self.assertIsNone(process.poll(), name)
        return process, self.grant(name)['processes'][0]['pid']

    def names(self):
        return sorted(self.mete('ps', '-q').stdout.split())

    def test_end(self):
        self.mete('create', 'stays', '-m', '64M')
        first, first_pid = self.hold('first')
        second, second_pid = self.hold('second')
        done = self.mete('end', '--yes', 'first', 'second', 'first')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(done.stdout, 'first (1 process, 40 MiB held): ended\nsecond (1 process, 40 MiB held): ended\n')
        self.assertEqual(self.names(), ['stays'])
        self.assertFalse(alive(first_pid) or alive(second_pid), 'nothing runs when it returns')
        self.assertEqual([p.wait(place.WAIT_S) for p in (first, second)], [-signal.SIGTERM] * 2)
        self.assertEqual(sum(d['held_bytes'] for d in self.json('devices')['devices']), 0)
        actions = [(a['action'], a['target'], a['outcome'], a['who'].split(',')[0]) for a in self.json('audit')['actions']]
        self.assertEqual(actions, [('end', n, 'done', f'uid {os.getuid()}') for n in ('first', 'second')])
        told = [e['text'] for e in self.json('events')['events'] if e['tenant'] == 'first']
        self.assertTrue(any(t.startswith(f'is being ended by uid {os.getuid()}') for t in told), told)
        self.assertTrue(told[-1].startswith(('ended: nothing of it runs', 'ends with its command')), told)

    def test_json_and_idle(self):
        self.mete('create', 'idle', '-m', '64M')
        self.mete('create', 'stays', '-m', '64M')
        self.assertEqual(self.json('end', '--yes', 'idle'), {'ended': [{'name': 'idle', 'processes': 0, 'freed_bytes': 0}]})
        self.assertEqual(self.names(), ['stays'])

    def test_deaf(self):
        """A program that does not hear SIGTERM is killed; until then the tenant is said to be ending."""
        self.mete('create', 'deaf', '-m', '64M')
        shell = self.start('run', '-g', 'deaf', 'sh', '-c', f'trap "" TERM; exec {CLIENT} alloc 4096 mark {self.path("deaf")} '
                           f'hold {self.path("never")}')
        wait_for(lambda: os.path.exists(self.path('deaf')), 'it runs')
        begun = self.mete('end', '--yes', '--no-wait', 'deaf')
        self.assertEqual((begun.returncode, begun.stdout), (0, 'deaf (1 process, 4 KiB held): is being ended\n'))
        self.assertEqual(self.grant('deaf')['state'], 'ending')
        self.assertEqual(self.mete('end', '--yes', 'deaf').returncode, 0)
        self.assertEqual(self.names(), [])
        self.assertEqual(shell.wait(place.WAIT_S), -signal.SIGKILL)

    def test_walled(self):
        process, pid = self.hold('walled', '--wall')
        self.assertEqual(self.mete('end', '--yes', 'walled').returncode, 0)
        self.assertEqual(self.names(), [])
        self.assertFalse(alive(pid), 'its worker has gone')
        self.assertNotEqual(process.wait(place.WAIT_S), 0)

    def test_asked(self):
        self.mete('create', 'a', '-m', '64M')
        self.refused(2, ('end', 'a'), '--yes')
        for answer, status, left in (('n\r', 1, ['a']), ('\r', 1, ['a']), ('\x04', 1, ['a']), ('y\r', 0, [])):
            terminal = Terminal([METE, 'end', 'a'], self.env)
            wait_for(lambda: (terminal.read(), '[y/N]' in terminal.screen.text())[1], 'it asks')
            self.assertIn('End a (0 processes, 0 B held)? What they compute is lost.', terminal.screen.text())
            terminal.press(answer)
            self.assertEqual(terminal.wait(), status, answer)
            terminal.close()
            self.assertEqual(self.names(), left, answer)

    def test_bad(self):
        self.refused(1, ('end', '--yes', 'nobody'), 'nobody')
        self.refused(2, ('end', '--yes', '../x'), '../x')
        self.refused(2, ('end', '--yes'), 'NAME')
        self.mete('create', 'a', '-m', '64M')
        self.refused(1, ('end', '--yes', 'a', 'nobody'), 'nobody')
        self.assertEqual(self.names(), ['a'], 'all of it or nothing is begun')
        audit = os.path.join(self.runtime, 'audit.log')
        os.mkdir(audit)
        self.refused(1, ('end', '--yes', 'a'), 'nothing was done', 'audit.log')
        self.assertEqual(self.names(), ['a'])
        os.rmdir(audit)

    def test_meted_killed(self):
        """The one that is started in its place is asked again."""
        self.mete('create', 'deaf', '-m', '64M')
        self.start('run', '-g', 'deaf', 'sh', '-c', f'trap "" TERM; exec {CLIENT} alloc 4096 mark {self.path("deaf")} '
                   f'hold {self.path("never")}')
        wait_for(lambda: os.path.exists(self.path('deaf')), 'it runs')
        end = self.start('end', '--yes', 'deaf')
        wait_for(lambda: self.grant('deaf')['state'] == 'ending', 'it has begun')
        os.kill(self.daemon_pid(), signal.SIGKILL)
        self.assertEqual(end.wait(3 * place.WAIT_S), 0)
        self.assertEqual(self.names(), [])


if __name__ == '__main__':
    place.main(beside=('End.test_deaf', 'End.test_meted_killed'))
