"""mete run and its daemon: started when absent, replaced when killed, and nothing stays behind."""
import os
import signal
import socket
import subprocess

import place
from place import CLIENT, GIB, METE, MIB, OUT_OF_MEMORY, alive, wait_for


class Daemon(place.MeteTest):
    def leftovers(self):
        """What is in the runtime directory that belongs to a grant or a client."""
        found = []
        for folder in ('grants', 'pages'):
            path = os.path.join(self.runtime, folder)
            if os.path.isdir(path):
                found += [f'{folder}/{name}' for name in os.listdir(path)]
        return found

    def logs(self):
        """The logs of programs, which mete removes."""
        return [name for name in os.listdir(self.runtime) if name.startswith('mete-run-')]

    def test_log_is_removed(self):
        process = self.holding()
        other = self.holding(name='other')
        self.assertEqual(len(self.logs()), 2, 'each has its own, and the second did not take that of the first away')
        self.mark('go')
        self.assertEqual((process.wait(place.WAIT_S), other.wait(place.WAIT_S)), (0, 0))
        self.assertEqual(self.mete('run', '-m', '1M', 'sh', '-c', 'kill -KILL $$').returncode, -signal.SIGKILL)
        self.assertEqual(self.logs(), [])

    def holding(self, *words, name='job'):
        """A run that holds 40 of 64 MiB and waits for the marker `go`; then it does the words."""
        process = self.start('run', '-v', '-n', name, '-m', '64M', CLIENT, 'alloc', str(40 * MIB), 'mark',
                             self.path(f'{name}-at'), 'hold', self.path('go'), *words)
        wait_for(lambda: os.path.exists(self.path(f'{name}-at')), 'the program holds 40 MiB')
        return process

    def test_started_and_ends_by_itself(self):
        self.assertIsNone(self.daemon_pid())
        self.assertEqual(self.mete('run', '-m', '1M', 'true').returncode, 0)
        pid = self.daemon_pid()
        if pid:
            wait_for(lambda: not alive(pid), 'meted ends when it is idle')
        self.assertEqual(self.leftovers(), [])

    def test_says_nothing_to_a_service_manager(self):
        """Whoever waits there waits for the program: a meted that is started on the way is not the service."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.bind(self.path('notify'))
            self.env['NOTIFY_SOCKET'] = self.path('notify')
            r = self.mete('run', '-m', '1M', 'printenv', 'NOTIFY_SOCKET')
            self.assertEqual(r.stdout.strip(), self.path('notify'), 'the program may use it')
            self.assertRaises(BlockingIOError, told.recv, 100, socket.MSG_DONTWAIT)

    def test_is_nobodys_child_and_holds_nothing(self):
        process = self.holding()
        pid = self.daemon_pid()
        with open(f'/proc/{pid}/stat') as file:
            fields = file.read().rsplit(')', 1)[1].split()
        self.assertNotEqual(int(fields[1]), process.pid)
        self.assertNotEqual(int(fields[3]), os.getsid(0), 'a session of its own')
        self.assertEqual(fields[4], '0', 'no terminal')
        for fd in (0, 1):
            self.assertEqual(os.readlink(f'/proc/{pid}/fd/{fd}'), '/dev/null')
        ours = {os.readlink(f'/proc/{process.pid}/fd/{fd}') for fd in (1, 2)}
        for fd in os.listdir(f'/proc/{pid}/fd'):
            self.assertNotIn(os.readlink(f'/proc/{pid}/fd/{fd}'), ours, 'a stream of the command')
        self.assertEqual(os.readlink(f'/proc/{pid}/cwd'), '/')
        self.mark('go')
        self.assertEqual(process.wait(place.WAIT_S), 0)

    def replaced(self, sig):
        process = self.holding('info', 'alloc', str(24 * MIB), 'alloc', '1')
        pid = self.daemon_pid()
        os.kill(pid, sig)
        wait_for(lambda: not alive(pid), 'the daemon is gone')
        after = wait_for(self.daemon_pid, 'another daemon')
        self.assertNotEqual(pid, after)
        wait_for(lambda: self.grant('job')['devices'][0]['held_bytes'] == 40 * MIB, 'the account is there again')
        self.assertEqual(self.grant('job')['devices'][0]['quota_bytes'], 64 * MIB)
        self.mark('go')
        out, error = process.communicate(timeout=place.WAIT_S)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(out.splitlines(), [f'alloc {40 * MIB} 0', f'info {24 * MIB} {64 * MIB}', f'alloc {24 * MIB} 0',
                                            f'alloc 1 {OUT_OF_MEMORY}'])
        self.assertIn(f'mete: meted (process {pid}) went away\n', error)
        self.assertIn(f'mete: meted is there again (process {after})\n', error)
        wait_for(lambda: self.json('ps')['grants'] == [], 'the grant ends with its command')

    def test_killed_daemon_is_replaced(self):
        self.replaced(signal.SIGKILL)

    def test_ended_daemon_is_replaced(self):
        self.replaced(signal.SIGTERM)

    def test_two_runs_replace_it_once(self):
        runs = [self.holding('alloc', str(24 * MIB), 'alloc', '1', name=f'job-{i}') for i in range(2)]
        for _ in range(3):
            pid = self.daemon_pid()
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not alive(pid), 'the daemon is gone')
            wait_for(self.daemon_pid, 'another daemon')
            wait_for(lambda: sorted(g['name'] for g in self.json('ps')['grants']) == ['job-0', 'job-1'], 'both grants')
        self.mark('go')
        for run in runs:
            out, _ = run.communicate(timeout=place.WAIT_S)
            self.assertEqual((run.returncode, out.splitlines()[1:]),
                             (0, [f'alloc {24 * MIB} 0', f'alloc 1 {OUT_OF_MEMORY}']))

    def test_mete_killed(self):
        process = self.holding('alloc', str(24 * MIB), 'alloc', '1', 'mark', self.path('last'), 'hold',
                               self.path('end'))
        daemon = self.daemon_pid()
        program = self.grant('job')['processes'][0]['pid']
        process.kill()
        process.wait()
        # The program goes on under its quota.
        self.mark('go')
        wait_for(lambda: os.path.exists(self.path('last')), 'the program goes on')
        self.assertEqual(self.grant('job')['devices'][0]['held_bytes'], 64 * MIB)
        self.refused(125, ['run', '-m', '1G', 'true'], '960 MiB')
        self.mark('end')
        wait_for(lambda: not alive(program), 'the program ends')
        wait_for(lambda: self.json('ps')['grants'] == [], 'its grant is gone')
        self.assertEqual(self.leftovers(), [])
        wait_for(lambda: not alive(daemon), 'meted ends')
        # What a killed mete could not remove, its log, the next one does.
        self.assertEqual(self.mete('run', CLIENT, 'info').stdout, f'info {GIB} {GIB}\n')
        self.assertEqual(self.logs(), [])

    def test_lasting_grant_survives(self):
        self.assertEqual(self.mete('create', 'team', '--mem', '64M').returncode, 0)
        pid = self.daemon_pid()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not alive(pid), 'the daemon is gone')
        self.assertEqual([(g['name'], g['devices'][0]['quota_bytes']) for g in self.json('ps')['grants']],
                         [('team', 64 * MIB)])
        self.assertEqual(self.mete('run', '-g', 'team', CLIENT, 'info').stdout, f'info {64 * MIB} {64 * MIB}\n')
        self.assertEqual(self.mete('delete', 'team').returncode, 0)

    def test_grandchild_outlives(self):
        """A program that leaves a process behind: the grant stays until that has ended too."""
        done = self.mete('run', '-n', 'job', '-m', '64M', 'sh', '-c',
                         f'{CLIENT} alloc {8 * MIB} mark {self.path("at")} hold {self.path("go")} >/dev/null 2>&1 &'
                         f'while ! [ -e {self.path("at")} ]; do sleep 0.02; done; exit 6')
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertEqual(self.grant('job')['devices'][0]['held_bytes'], 8 * MIB)
        self.mark('go')
        wait_for(lambda: self.json('ps')['grants'] == [], 'the grant is gone')

    def test_by_hand(self):
        """A meted that was started by hand is used, and not ended."""
        meted = os.path.join(os.path.dirname(METE), '../daemon/meted')
        process = subprocess.Popen([meted, '--runtime-dir', self.runtime], env=self.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.started.append(process)
        wait_for(lambda: os.path.exists(os.path.join(self.runtime, 'control.sock')), 'meted listens')
        done = self.mete('run', '-v', '-m', '1M', CLIENT, 'info')
        self.assertIn(f'meted (process {process.pid})', done.stderr)
        self.assertIn('mete', self.mete('version').stdout)
        self.assertEqual(self.json('version')['mete'], self.json('version')['meted'])
        self.assertIsNone(process.poll())


if __name__ == '__main__':
    place.main()
