"""ps, devices, show, set, create, delete: what they print, their JSON, and what they change in running programs."""
import json
import os
import pwd
import re
import subprocess

import place
from place import CLIENT, GIB, METE, MIB, OUT_OF_MEMORY, wait_for
from terminal import Terminal


class Schema:
    """Exactly these fields at least, each of its type; a type in a tuple may be missing or null."""
    DEVICE = {'driver': str, 'index': int, 'uuid': str, 'name': str, 'total_bytes': int, 'promised_bytes': int,
              'held_bytes': int, 'used_bytes': (int, None), 'granule_bytes': int, 'policy': str,
              'promised_cores': float, 'state': str, 'reason': str, 'since': (int, None), 'faults': int, 'drained': bool}
    SHARE = {'index': int, 'uuid': str, 'quota_bytes': int, 'target_bytes': (int, None), 'held_bytes': int,
             'peak_bytes': int, 'refused': int, 'policy': str, 'cores': (float, None), 'cores_limit': float,
             'weight': (int, None), 'class': str, 'turn_ms': (float, None), 'frozen': bool, 'tier': str,
             'tier_note': str, 'share_1s': (float, None), 'share_10s': (float, None), 'share_60s': (float, None)}
    HELD = {'index': int, 'held_bytes': int, 'credit_bytes': int, 'peak_bytes': int}
    PROCESS = {'pid': int, 'command': str, 'attached': bool, 'devices': [HELD]}
    GRANT = {'name': str, 'id': int, 'driver': object, 'state': str, 'socket': str, 'runner_pid': (int, None),
             'devices': [SHARE], 'processes': [PROCESS], 'events': list, 'faults': int, 'quarantined': bool,
             'quarantined_for_s': (int, None)}


def check(test, schema, value, at='$'):
    for name, kind in schema.items():
        if isinstance(kind, tuple):
            test.assertIsInstance(value.get(name), tuple(type(None) if k is None else k for k in kind), f'{at}.{name}')
            continue
        test.assertIn(name, value, at)
        if isinstance(kind, list):
            test.assertIsInstance(value[name], list, f'{at}.{name}')
            for i, item in enumerate(value[name]):
                check(test, kind[0], item, f'{at}.{name}[{i}]')
        else:
            test.assertIsInstance(value[name], kind, f'{at}.{name}')


class Lists(place.MeteTest):
    def run_client(self, *words, name='job', mem='64M'):
        process = self.start('run', '-n', name, '-m', mem, CLIENT, *words, 'mark', self.path(f'{name}-at'), 'hold',
                             self.path(f'{name}-go'))
        wait_for(lambda: os.path.exists(self.path(f'{name}-at')), 'the program is there')
        return process

    def finish(self, process, name='job'):
        self.mark(f'{name}-go')
        out, error = process.communicate(timeout=place.WAIT_S)
        self.assertEqual((process.returncode, error), (0, ''), out)
        return out.splitlines()

    def test_empty(self):
        self.assertEqual(self.json('ps'), {'grants': []})
        done = self.mete('ps', '--wide')
        self.assertEqual((done.returncode, done.stdout.split()),
                         (0, ['NAME', 'USER', 'PID', 'DEV', 'HELD', 'QUOTA', 'PEAK', 'REQUESTED', 'MEASURED', 'WAIT', 'CLASS',
                              'POLICY', 'TIER', 'CONTAINER', 'COMMAND']))
        self.assertFalse(os.path.exists(self.runtime), 'ps starts no daemon where there is nothing')

    def test_devices(self):
        devices = self.json('devices')['devices']
        self.assertEqual([device['index'] for device in devices if device['driver'] == 'soft'], [0, 1])
        for device in devices:
            check(self, Schema.DEVICE, device)
        soft = [device for device in devices if device['driver'] == 'soft']
        self.assertEqual([(d['total_bytes'], d['promised_bytes'], d['held_bytes']) for d in soft], [(GIB, 0, 0)] * 2)
        lines = self.mete('devices', '-W').stdout.splitlines()
        self.assertEqual(lines[0].split(), ['DEVICE', 'DRIVER', 'TOTAL', 'PROMISED', 'HELD', 'USED', 'UTIL', 'STATE', 'UUID', 'NAME'])
        self.assertEqual(len(lines), 1 + len(devices))
        self.assertIn('1 GiB', lines[1])
        self.assertIn('mete software device', self.mete('devices').stdout)

    def test_ps_and_show(self):
        process = self.run_client('alloc', str(20 * MIB), 'alloc', str(10 * MIB), 'free', 'alloc', str(GIB))
        grants = self.json('ps')['grants']
        self.assertEqual([grant['name'] for grant in grants], ['job'])
        grant = self.grant('job')
        for one in (grant, grants[0]):
            check(self, Schema.GRANT, one)
        share = grant['devices'][0]
        self.assertEqual((share['quota_bytes'], share['held_bytes'], share['peak_bytes'], share['refused']),
                         (64 * MIB, 20 * MIB, 30 * MIB, 1))
        self.assertEqual(grant['runner_pid'], process.pid)
        self.assertEqual([(one['command'], one['attached'], one['devices'][0]['held_bytes'])
                          for one in grant['processes']], [('mete_client', True, 20 * MIB)])
        devices = self.json('devices')['devices']
        self.assertEqual((devices[0]['promised_bytes'], devices[0]['held_bytes']), (64 * MIB, 20 * MIB))
        lines = self.mete('ps', '--wide').stdout.splitlines()
        pid = str(grant['processes'][0]['pid'])
        user = pwd.getpwuid(os.getuid()).pw_name
        container = lines[1].split()[-2]  # a test may run in one
        self.assertRegex(container, '^(-|[0-9a-f]{12})$')
        self.assertEqual(lines[1].split(),
                         ['job', user, pid, '0', '20', 'MiB', '64', 'MiB', '30', 'MiB', '-', '-', '-', 'normal', 'native',
                          'none', container, 'mete_client'])
        # Aligned: the end of every right-aligned head is the end of its cells.
        for head in ('HELD', 'QUOTA', 'PEAK'):
            self.assertEqual(lines[1][:lines[0].index(head) + len(head)][-3:], 'MiB')
        self.assertEqual(self.mete('ps', '-q').stdout, 'job\n')
        shown = self.mete('show', 'job').stdout
        for part in ('job', '64 MiB', '20 MiB', '30 MiB', 'mete_client', f'ends     with process {process.pid}'):
            self.assertIn(part.lower(), shown.lower())
        self.finish(process)

    def test_tables_fit(self):
        """80 columns, or as many as the terminal or COLUMNS say: columns are left out by rank, the rest is cut; --wide has all."""
        name = 'a-tenant-with-a-name-that-is-longer-than-it-should-be-0123456'
        process = self.run_client('alloc', str(20 * MIB), name=name)
        self.assertEqual(self.mete('create', 'b', '-m', '1M', '--cores', '12.5', '--cores-limit', '60').returncode, 0)
        for verb in (['ps'], ['devices'], ['soft', 'devices'], ['top'], ['show', name], ['policy']):
            for columns in (60, 80, 100, 250):
                lines = self.mete(*verb, env={'COLUMNS': str(columns)}).stdout.splitlines()
                self.assertGreater(len(lines), 1)
                for line in lines:
                    if not re.match('DRIVER|SOCKET|NAME +a-tenant|ENDS', line):  # a word that is longer is not cut there
                        self.assertLessEqual(len(line), columns, (verb, line))
            done = self.mete(*verb)
            self.assertLessEqual(max(len(line) for line in done.stdout.splitlines() if not re.match('DRIVER|SOCKET', line)),
                                 80, verb)
        self.assertLessEqual(max(len(line) for line in self.mete('limits').stdout.splitlines()), 80)
        usual = self.mete('ps').stdout.splitlines()
        self.assertEqual(usual[0].split()[:1] + usual[0].split()[-1:], ['NAME', 'COMMAND'])
        for head in ('PID', 'DEV', 'HELD', 'QUOTA', 'REQUESTED', 'MEASURED'):
            self.assertIn(head, usual[0])
        for head in ('TIER', 'CONTAINER', 'PEAK'):
            self.assertNotIn(head, usual[0])
        self.assertRegex(usual[1], r'^a-tenant-with-[\w-]*\+ ')
        self.assertIn(' 20 MiB ', usual[1])
        self.assertIn('12.5-60 %', usual[2])
        wide = self.mete('ps', '--wide', env={'COLUMNS': '40'}).stdout
        for part in (name, 'TIER', 'CONTAINER', 'USER', 'mete_client'):
            self.assertIn(part, wide)
        self.assertNotIn('GPU-', self.mete('devices').stdout)
        self.assertIn('GPU-', self.mete('devices', '--wide').stdout)
        terminal = Terminal([METE, 'ps'], self.env, 24, 200)
        self.assertEqual(terminal.wait(), 0)
        terminal.close()
        self.assertIn(name, terminal.screen.text())
        self.assertIn('CONTAINER', terminal.screen.text())
        self.finish(process, name)

    def test_container(self):
        """The container that the control group's name tells; a grant of a container without a process says yes."""
        self.assertEqual(self.mete('create', 'team', '-m', '64M').returncode, 0)
        group, folder = 'f0' * 32, self.control_group()
        if not folder:
            self.skipTest('no control group can be made here')
        folder = os.path.join(folder, f'mete-test-{os.getpid()}-{group}.scope')
        os.mkdir(folder)
        self.addCleanup(os.rmdir, folder)
        process = self.start('run', '-g', 'team', CLIENT, 'info', 'mark', self.path('at'), 'hold', self.path('go'))
        wait_for(lambda: os.path.exists(self.path('at')), 'it runs')
        pid = self.grant('team')['processes'][0]['pid']
        with open(os.path.join(folder, 'cgroup.procs'), 'w') as file:
            file.write(str(pid))
        self.assertIn(f' {group[:12]} ', self.mete('ps', '--wide').stdout)
        self.assertIn(f'container {group[:12]}', self.mete('show', 'team').stdout)
        self.mark('go')
        self.assertEqual(process.wait(place.WAIT_S), 0)

    @staticmethod
    def control_group():
        """A folder in which this user can make a control group that a process can be moved to; '': none."""
        if os.geteuid():
            return ''
        for folder in ('/sys/fs/cgroup', '/sys/fs/cgroup/pids', '/sys/fs/cgroup/memory'):
            trial = os.path.join(folder, f'mete-trial-{os.getpid()}')
            try:
                os.mkdir(trial)
                usable = os.path.exists(os.path.join(trial, 'cgroup.procs'))
                os.rmdir(trial)
            except OSError:
                continue
            if usable:
                return folder
        return ''

    def test_refusals_are_folded(self):
        """A program that is refused again and again is a line in `show` and in `events`, and hides nothing else."""
        words = [word for n in range(1, 81) for word in ('alloc', str((100 + n) * MIB))]
        process = self.run_client(*words)
        pid = self.grant('job')['processes'][0]['pid']
        other = self.start('run', '-g', 'job', CLIENT, *words, 'mark', self.path('other-at'), 'hold', self.path('job-go'))
        wait_for(lambda: os.path.exists(self.path('other-at')), 'the other one is there')
        self.assertEqual(self.mete('set', 'job', '-m', '65M').returncode, 0)
        for verb in (['show', 'job'], ['events']):
            lines = [line for line in self.mete(*verb, env={'COLUMNS': '300'}).stdout.splitlines() if 'was refused' in line]
            self.assertIn(len(lines), (1, 2), lines)  # meted's own journal joins what comes within ten seconds
            self.assertRegex(lines[0], r'\((80|160) times')
        shown = self.mete('show', 'job', env={'COLUMNS': '300'}).stdout
        refused = [line for line in shown.splitlines() if 'was refused' in line]
        self.assertEqual(len(refused), 2, shown)
        self.assertIn(f'pid {pid} ', ' '.join(refused))
        self.assertEqual(sum('80 times' in line for line in refused), 2)
        self.assertIn('made by uid', shown)
        self.finish(process)
        self.assertEqual(other.wait(place.WAIT_S), 0)

    def test_no_colours_in_a_pipe(self):
        self.assertNotIn('\033', self.mete('devices', env={'TERM': 'xterm'}).stdout)

    def test_grow_and_shrink(self):
        process = self.start('run', '-n', 'job', '-m', '64M', CLIENT, 'alloc', str(40 * MIB), 'alloc', str(60 * MIB),
                             'mark', self.path('first'), 'hold', self.path('grown'), 'alloc', str(60 * MIB), 'info',
                             'mark', self.path('second'), 'hold', self.path('shrunk'), 'alloc', '512', 'free',
                             'mark', self.path('third'), 'hold', self.path('end'), 'alloc', str(20 * MIB),
                             'alloc', str(10 * MIB), 'info')
        wait_for(lambda: os.path.exists(self.path('first')), 'the program holds 40 MiB')
        done = self.mete('set', 'job', '--mem', '128M')
        self.assertEqual((done.returncode, done.stdout), (0, 'job: device 0: 128 MiB\n'), done.stderr)
        self.mark('grown')
        wait_for(lambda: os.path.exists(self.path('second')), 'the program holds 100 MiB')
        done = self.mete('set', 'job', '--mem', '64M')
        self.assertEqual(done.returncode, 1)
        self.assert_line(done.stderr, 'job', '100 MiB', '--soon')
        self.assertEqual(self.grant('job')['devices'][0]['quota_bytes'], 128 * MIB)
        done = self.mete('set', 'job', '--mem', '64M', '--soon')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('64 MiB as memory is freed', done.stdout)
        share = self.grant('job')['devices'][0]
        self.assertEqual((share['target_bytes'], share['held_bytes']), (64 * MIB, 100 * MIB))
        self.mark('shrunk')
        wait_for(lambda: os.path.exists(self.path('third')), 'the program has freed 60 MiB')
        wait_for(lambda: self.grant('job')['devices'][0]['quota_bytes'] == 64 * MIB, 'the quota is down')
        share = self.grant('job')['devices'][0]
        self.assertEqual((share.get('target_bytes'), share['held_bytes']), (None, 40 * MIB))
        self.mark('end')
        out, error = process.communicate(timeout=place.WAIT_S)
        self.assertEqual((process.returncode, error), (0, ''))
        self.assertEqual(out.splitlines(),
                         [f'alloc {40 * MIB} 0', f'alloc {60 * MIB} {OUT_OF_MEMORY}', f'alloc {60 * MIB} 0',
                          f'info {28 * MIB} {128 * MIB}', f'alloc 512 {OUT_OF_MEMORY}', 'free 0',
                          f'alloc {20 * MIB} 0', f'alloc {10 * MIB} {OUT_OF_MEMORY}', f'info {4 * MIB} {64 * MIB}'])

    def test_unknown_calls(self):
        """Calls that a program asks for and this release does not know are counted once for each name, and named."""
        process = self.run_client('ask', 'cuNothingOfTomorrow', 'alloc', '1048576', 'ask', 'cuMemAlloc', 'ask',
                                  'cuNothingAtAll', 'ask', 'cuNothingOfTomorrow', 'ask', 'cuMemcpyWithAttributesAsync')
        wait_for(lambda: self.grant('job')['unknown_calls'] == 2, 'both are counted')
        shown = self.mete('show', 'job', env={'COLUMNS': '300'}).stdout
        self.assertRegex(shown, r'UNKNOWN +2 calls that this release does not know')
        self.assertIn('cuNothingOfTomorrow: this release does not know the call, nor does the driver', shown)
        self.assertIn('cuNothingAtAll: ', shown)
        self.assertIn('mete_tenant_unknown_calls_total{tenant="job"} 2\n', self.mete('metrics').stdout)
        checks = [c for c in self.json_of_doctor() if c['name'] == 'unknown calls']
        self.assertEqual([c['status'] for c in checks], ['warning'], checks)
        self.assertIn('2 calls', checks[0]['detail'])
        out = self.finish(process)
        self.assertIn('ask cuMemAlloc 1', out)
        self.assertIn('ask cuMemcpyWithAttributesAsync 1', out)
        self.assertIn('ask cuNothingAtAll 0', out)

    def json_of_doctor(self):
        return json.loads(self.mete('doctor', '--json').stdout)['checks']

    def test_set_refuses(self):
        self.assertEqual(self.mete('create', 'two', '-d', '0:64M,1:64M').returncode, 0)
        self.refused(1, ['set', 'two', '-m', '1M'], 'two', '--device')
        self.refused(1, ['set', 'two', '-m', '1M', '-d', '5'], '--device 5', '0, 1')
        self.refused(2, ['set', 'two', '-d', '1'], '--mem')
        self.refused(1, ['set', 'two', '-m', '2G', '-d', '1'], '1 GiB')
        self.assertEqual(self.mete('set', 'two', '-m', '32M', '-d', '1').returncode, 0)
        self.assertEqual([s['quota_bytes'] for s in self.grant('two')['devices']], [64 * MIB, 32 * MIB])
        self.assertEqual(self.mete('set', 'two', '-d', '0:50%').returncode, 0)
        self.assertEqual([s['quota_bytes'] for s in self.grant('two')['devices']], [512 * MIB, 32 * MIB])
        self.assertEqual(self.mete('delete', 'two').returncode, 0)

    def test_lasting_grant(self):
        done = self.mete('create', 'team', '--mem', '64M')
        self.assertEqual((done.returncode, done.stdout), (0, 'team: device 0: 64 MiB\n'), done.stderr)
        self.assertIsNone(self.grant('team').get('runner_pid') or None)
        first = self.start('run', '-g', 'team', CLIENT, 'alloc', str(40 * MIB), 'mark', self.path('at'), 'hold',
                           self.path('go'))
        wait_for(lambda: os.path.exists(self.path('at')), 'the first program holds 40 MiB')
        done = self.mete('run', '--grant', 'team', CLIENT, 'info', 'alloc', str(30 * MIB), 'alloc', str(24 * MIB))
        self.assertEqual(done.stdout.splitlines(), [f'info {24 * MIB} {64 * MIB}', f'alloc {30 * MIB} {OUT_OF_MEMORY}',
                                                    f'alloc {24 * MIB} 0'])
        self.refused(1, ['delete', 'team'], 'team')
        self.mark('go')
        self.assertEqual(first.wait(place.WAIT_S), 0)
        self.assertEqual([g['name'] for g in self.json('ps')['grants']], ['team'])
        self.assertEqual(wait_for(lambda: self.mete('delete', 'team'), 'deleted').returncode, 0)
        self.assertEqual(self.json('ps')['grants'], [])

    def test_grant_ends_with_its_run(self):
        self.assertEqual(self.mete('run', '-n', 'brief', '-m', '1M', CLIENT, 'info').returncode, 0)
        wait_for(lambda: self.json('ps')['grants'] == [], 'the grant is gone')
        self.assertEqual(os.listdir(os.path.join(self.runtime, 'grants')) if os.path.isdir(self.runtime) else [], [])

    def test_name_clash(self):
        process = self.run_client('info')
        self.refused(125, ['run', '-n', 'job', '-m', '1M', 'true'], 'job')
        self.finish(process)
        wait_for(lambda: self.json('ps')['grants'] == [], 'the grant is gone')
        self.assertEqual(self.mete('run', '-n', 'job', '-m', '1M', 'true').returncode, 0)


class Words(place.MeteTest):
    def test_version(self):
        done = self.mete('version')
        self.assertRegex(done.stdout, r'^mete \d+\.\d+\.\d+\n')
        self.assertEqual(self.mete('--version').stdout, done.stdout)
        words = self.json('version')
        self.assertEqual(set(words), {'mete', 'meted'})
        self.assertIsNone(words['meted'])

    def verbs(self):
        return re.findall(r'^  (\w+(?: \w+)?)  +\S', self.mete('help').stdout.split('Verbs:')[1].split('\n\n')[0], re.M)

    def test_help(self):
        self.assertEqual(self.mete('--help').stdout, self.mete('help').stdout)
        verbs = self.verbs()
        self.assertGreater(len(verbs), 8)
        for verb in verbs:
            done = self.mete(*verb.split(), '--help')
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            self.assertEqual(done.stdout, self.mete('help', *verb.split()).stdout)
            self.assertIn(f'Usage: mete {verb}', done.stdout)
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line), 80, (verb, line))

    def test_help_fits(self):
        for program in ('cli/mete', 'daemon/meted', 'remote/relay/mete-relay', 'remote/worker/mete-worker'):
            done = subprocess.run([os.path.join(place.BUILD, 'src', program), '--help'], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ''), program)
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line), 80, (program, line))

    def test_manual_and_completion_say_the_same(self):
        """Every option of every verb's help stands in its manual page and in the completion."""
        completion = self.mete('help', '--completion').stdout
        overview = self.mete('help', '--man').stdout
        for verb in self.verbs():
            page = self.mete('help', '--man', *verb.split()).stdout
            listing = self.mete(*verb.split(), '--help').stdout.split('Options:')[1].split('\n\n')[0]
            options = set(re.findall(r'^ {2,6}(?:-\w, )?--([a-z-]+)', listing, re.M))
            self.assertIn('help', options)
            listed = re.search(rf'\n\t"{verb}"\)\n\t\toptions="([^"]*)"', completion).group(1).split()
            self.assertEqual({f'--{option}' for option in options}, set(listed), verb)
            for option in options:
                self.assertIn(f'\\-{option}', page, (verb, option))
            self.assertIn(f'.Xr mete-{verb.replace(" ", "-")} 1', overview)

    def complete(self, *words):
        """What bash offers after these words."""
        path = self.path('mete.bash')
        with open(path, 'w') as file:
            file.write(self.mete('help', '--completion').stdout)
        quoted = ' '.join(f"'{word}'" for word in words)
        script = (f'. {path}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _mete;'
                  ' printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(['bash', '--norc', '-c', script], capture_output=True, text=True, cwd=self.folder,
                              env={**self.env, 'PATH': f'{os.path.dirname(place.METE)}:{os.environ["PATH"]}'})
        self.assertEqual(done.stderr, '')
        return done.stdout.split()

    def test_completion(self):
        self.assertEqual(self.complete('mete', 'de'), ['devices', 'delete'])
        self.assertEqual(self.complete('mete', 'run', '--ov'), ['--overcommit'])
        self.assertEqual(self.complete('mete', 'run', '--device', 'a'), ['all'])
        self.assertIn('bash', self.complete('mete', 'run', '--mem', '1G', 'bas'))
        self.assertIn('bash', self.complete('mete', 'run', '--', 'bas'))
        self.assertEqual(self.complete('mete', 'so'), ['soft'])
        self.assertEqual(self.complete('mete', 'soft', ''), ['run', 'cc', 'devices', 'fault'])
        self.assertEqual(self.complete('mete', 'soft', 'run', '--err'), ['--error-exitcode'])
        self.assertEqual(self.complete('mete', 'soft', 'run', '--check', 'st'), ['strict'])
        self.assertIn('bash', self.complete('mete', 'soft', 'run', '-D', '1', '--cc', '8.0', 'bas'))
        self.mark('some-file')
        self.assertEqual(self.complete('mete', 'run', '-m', '1G', 'cat', 'some'), ['some-file'])
        self.assertEqual(self.mete('create', 'team', '--mem', '1M').returncode, 0)
        self.assertEqual(self.complete('mete', 'show', 't'), ['team'])
        self.assertEqual(self.complete('mete', 'run', '--grant', ''), ['team'])
        self.assertEqual(self.mete('delete', 'team').returncode, 0)


class Doctor(place.MeteTest):
    def test_healthy(self):
        words = self.json('doctor')
        self.assertTrue(words['ok'])
        for one in words['checks']:
            self.assertEqual(set(one), {'name', 'status', 'detail', 'remedy'})
            self.assertIn(one['status'], ('ok', 'note', 'warning', 'failed'))
        status = {}
        for one in words['checks']:
            status.setdefault(one['name'], set()).add(one['status'])
        for name in ('shim', 'software device', 'daemon', 'runtime directory'):
            self.assertEqual(status[name], {'ok'}, name)
        done = self.mete('doctor')
        self.assertEqual(done.returncode, 0)
        self.assertIn('mete run works here', done.stdout)
        self.assertIn('to bypass the shim', done.stdout)

    def test_lines_fit(self):
        """On a terminal no word is cut in two: details and remedies go on below where they begin."""
        terminal = Terminal([METE, 'doctor'], self.env, 500, 60)
        self.assertEqual(terminal.wait(), 0)
        terminal.close()
        shown = {word for line in terminal.screen.lines() for word in line.split()}
        for one in self.json('doctor')['checks']:
            if one['name'] not in ('daemon', 'runtime directory', 'clock'):  # which say a number or a time
                for word in one['detail'].split() + (one['remedy'] or '').split():
                    self.assertTrue(word in shown or len(word) > 48 or word[0].isdigit(), (word, one))  # room changes

    def test_tier(self):
        tier = [one for one in self.json('doctor')['checks'] if one['name'] == 'tier']
        self.assertEqual([one['status'] for one in tier], ['note'])
        self.assertIn('T2', tier[0]['detail'])
        # Where T3 cannot be, it is said, and the program runs as ever.
        shows = ['sh', '-c', 'echo "$LD_PRELOAD" "$METE_TIER"']
        for words, env in ((['--tier', 'T3'], {}), (['--tier=t3'], {}), ([], {'METE_TIER': 'T3'})):
            done = self.mete('run', *words, '--mem', '1M', '--', *shows, env=env)
            self.assertEqual(done.returncode, 0)
            self.assertIn('tier T3 was asked for, T2 stays in force', done.stderr)
            self.assertNotIn('mete-rm', done.stdout)
            self.assertNotIn('T3', done.stdout)
        done = self.mete('run', '--tier', 'T2', '--mem', '1M', '--', *shows, env={'METE_TIER': 'T3'})
        self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_broken(self):
        os.mkdir(self.path('shim'))
        with open(self.path('shim/libcuda.so.1'), 'w') as file:
            file.write('no library')
        done = self.mete('doctor', '--json', env={'METE_LIBDIR': self.folder})
        self.assertEqual(done.returncode, 1)
        words = json.loads(done.stdout)
        self.assertFalse(words['ok'])
        failed = [one for one in words['checks'] if one['status'] == 'failed']
        self.assertIn('shim', [one['name'] for one in failed])
        for one in failed:
            self.assertTrue(one['remedy'])
        done = self.mete('doctor', env={'METE_DRIVER': '/no/such/libcuda.so.1'})
        self.assertEqual(done.returncode, 1)
        self.assertIn('/no/such/libcuda.so.1', done.stdout)


if __name__ == '__main__':
    place.main()
