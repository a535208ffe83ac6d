"""`mete serve` and `mete run --remote` together: who gets what, who is refused and how, and who notices whose end."""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../cli'))
sys.dont_write_bytecode = True
import place  # noqa: E402
from place import BUILD, CLIENT, MIB, alive, wait_for  # noqa: E402

UNAVAILABLE = 46  # CUDA_ERROR_DEVICE_UNAVAILABLE
IMAGE_CLIENT = os.path.join(BUILD, 'tests/remote/image_client')
HOSTILE_CLIENT = os.path.join(BUILD, 'tests/remote/hostile_client')
DELAY_LINE = os.path.join(BUILD, 'tests/remote/delay_line')


def children(folder):
    """Processes that have this test's folder in their command line or environment, but for us."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                words = file.read()
        except OSError:
            continue
        if folder.encode() in words and int(pid) != os.getpid() and b'meted' not in words and alive(int(pid)):
            found.append(int(pid))
    return found


def own_children(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
        return [int(word) for word in file.read().split()]


class Server:
    """A `mete serve` with a runtime directory and software devices of its own."""

    def __init__(self, test, *words, name='server', devices='2'):
        self.test = test
        self.folder = test.path(name)
        os.mkdir(self.folder)
        os.mkdir(os.path.join(self.folder, 'soft'))
        self.runtime = os.path.join(self.folder, 'run')
        self.env = dict(test.env, METE_RUNTIME_DIR=self.runtime, METE_SOFT_DIR=os.path.join(self.folder, 'soft'),
                        METE_SOFT_DEVICES=devices)
        self.events = []
        self.process = test.start('serve', '--json', '--listen', '127.0.0.1:0', *words, env=self.env)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.stderr.read())
        self.address = json.loads(line)['listen'][0]
        test.runtimes.append(self.runtime)

    def json(self, *words):
        done = self.test.mete(*words, '--json', env=self.env)
        self.test.assertEqual((done.returncode, done.stderr), (0, ''), words)
        return json.loads(done.stdout)

    def grants(self):
        return {g['name']: g for g in self.json('ps')['grants']}

    def sessions(self):
        return [s for server in self.json('remote')['servers'] for s in server['sessions']]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.test.assertEqual(self.process.wait(20), 0)


class RemoteTest(place.MeteTest):
    SETTINGS = place.MeteTest.SETTINGS + 'workers:\n  idle: 0\n'  # none that no client takes

    def setUp(self):
        super().setUp()
        self.keys = self.path('keys')
        self.runtimes = []
        self.helpers = []
        # What a client has: no device of its own.
        self.client_env = {n: v for n, v in self.env.items() if not n.startswith('METE_')}
        self.client_env['XDG_RUNTIME_DIR'] = self.path('sockets')
        os.mkdir(self.path('sockets'), 0o700)

    def tearDown(self):
        for helper in self.helpers:
            helper.kill()
            helper.communicate()
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    pass
        for runtime in self.runtimes:
            self.end_meted_in(runtime)
        super().tearDown()

    def key(self, name):
        path = os.path.join(self.keys, f'{name}.key')
        if not os.path.exists(path):
            done = self.mete('key', 'new', name, '--keys', self.keys)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
        return path

    def serve(self, *words, **keywords):
        self.key('alice')
        return Server(self, '--soft', '--keys', self.keys, *words, **keywords)

    def words(self, server, name, *program, more=(), client=CLIENT):
        address = server if isinstance(server, str) else server.address
        return ['run', '--remote', address, '--key', self.key(name), *more, '--', client, *program]

    def client(self, server, name, *program, more=()):
        """A client's program to its end: its lines."""
        done = subprocess.run([place.METE, *self.words(server, name, *program, more=more)], env=self.client_env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        return done

    def lines(self, *arguments, **keywords):
        done = self.client(*arguments, **keywords)
        self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
        return done.stdout.splitlines()

    def background(self, server, name, *program, more=()):
        process = subprocess.Popen([place.METE, *self.words(server, name, *program, more=more)], env=self.client_env,
                                   text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        self.started.append(process)
        return process

    def refused_there(self, server, name, *parts, more=()):
        """The program is not started, or its first call fails; one line says why."""
        done = self.client(server, name, 'count', more=more)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assert_line(done.stderr, *parts)
        return done

    def line(self, server, microseconds=0):
        host, port = server.address.rsplit(':', 1)
        helper = subprocess.Popen([DELAY_LINE, host, port, str(microseconds)], stdout=subprocess.PIPE, text=True)
        self.helpers.append(helper)
        return helper, f'127.0.0.1:{int(helper.stdout.readline())}'


class Shares(RemoteTest):
    def test_grant_of_its_own(self):
        server = self.serve('--mem', '64M')
        size = 64 * MIB
        self.assertEqual(self.lines(server, 'alice', 'count', 'info', 'alloc', str(size), 'alloc', '4096'),
                         ['count 1', f'info {size} {size}', f'alloc {size} 0', 'alloc 4096 2'])
        program = self.background(server, 'alice', 'alloc', str(16 * MIB), 'mark', self.path('held'), 'hold',
                                  self.path('go'), 'info')
        wait_for(lambda: os.path.exists(self.path('held')), 'the program has its memory')
        grant = server.grants()['alice']
        self.assertEqual(grant['devices'][0]['held_bytes'], 16 * MIB)
        self.assertEqual(len(grant['processes']), 1)
        done = self.mete('set', 'alice', '--mem', '128M', env=server.env)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.mark('go')
        out, err = program.communicate(timeout=60)
        self.assertEqual((out.splitlines()[-1], err), (f'info {112 * MIB} {128 * MIB}', ''))
        wait_for(lambda: not server.grants(), 'the grant ends after the last program')
        server.end()

    def test_remote_tells(self):
        server = self.serve('--mem', '64M')
        self.assertEqual(server.sessions(), [])
        program = self.background(server, 'alice', 'copy', '2', 'mark', self.path('here'), 'hold', self.path('go'))
        wait_for(lambda: os.path.exists(self.path('here')), 'the program has copied')
        session, = server.sessions()
        self.assertEqual((session['client'], session['grant'], session['trust']), ('alice', 'alice', 'key'))
        self.assertEqual(session['command'], 'mete_client')
        self.assertGreater(session['bytes_in'], 8 * MIB)
        self.assertGreater(session['bytes_out'], 8 * MIB)
        table = self.mete('remote', '--wide', env=server.env).stdout
        self.assertIn('mete_client', table)
        self.mark('go')
        program.communicate(timeout=60)
        there = json.loads(subprocess.run([place.METE, 'remote', server.address, '--key', self.key('alice'), '--json'],
                                          env=self.client_env, stdout=subprocess.PIPE, timeout=60).stdout)['servers'][0]
        self.assertEqual(there['about']['client'], 'alice')
        self.assertEqual(there['about']['offers'][0]['devices'][0]['mem_bytes'], 64 * MIB)
        self.assertGreater(there['round_trip_ns'], 0)
        self.assertGreater(min(there['up_bytes_s'], there['down_bytes_s']), MIB)
        server.end()

    def image(self, server, name):
        """A program with an image of 1 MB, from its start to the end of its grant: the bytes that the client sent."""
        words = self.words(server, name, 'one', str(1000000), client=IMAGE_CLIENT)
        done = subprocess.run([place.METE, *words], env=self.client_env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        event = {}
        while event.get('event') != 'closed':
            event = json.loads(server.process.stdout.readline())
        wait_for(lambda: not server.grants(), 'the grant ends after its program')
        return event['bytes_in']

    def test_images_are_kept(self):
        server = self.serve('--mem', '64M')
        self.key('bob')
        self.assertGreater(self.image(server, 'alice'), 1000000)
        self.assertLess(self.image(server, 'alice'), 200000)  # beyond the end of its grant
        self.assertGreater(self.image(server, 'bob'), 1000000)  # it is alice's
        os.unlink(os.path.join(self.keys, 'alice.key'))
        wait_for(lambda: not server.grants(), 'the first alice has gone')
        self.assertGreater(self.image(server, 'alice'), 1000000)  # another alice
        program = subprocess.Popen([place.METE, *self.words(server, 'bob', 'one', str(1000000), 'wait', client=IMAGE_CLIENT)],
                                   env=self.client_env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        self.started.append(program)
        program.stdout.readline()
        wait_for(lambda: server.sessions()[0].get('images', {}).get('hits') == 1, 'mete remote tells of it')
        self.assertGreater(server.sessions()[0]['images']['saved_bytes'], 1000000)
        table = self.mete('remote', '--wide', env=server.env).stdout
        self.assertIn('SAVED', table)
        program.communicate('', timeout=60)
        self.assertEqual(program.returncode, 0)
        server.end()

    def test_two_servers_in_one_program(self):
        one = self.serve('--mem', '64M', name='one')
        two = self.serve('--mem', '32M', '--device', '0', '--device', '1', name='two')
        both = f'{one.address},{two.address}'
        self.assertEqual(self.lines(both, 'alice', 'count', 'device', '0', 'info', 'device', '1', 'info', 'device', '2', 'info',
                                    'copy', '1'),
                         ['count 3', f'info {64 * MIB} {64 * MIB}', f'info {32 * MIB} {32 * MIB}',
                          f'info {32 * MIB} {32 * MIB}', 'copying', 'copy 0'])
        self.assertEqual(self.lines(f'{two.address},{one.address}', 'alice', 'device', '2', 'info'),
                         [f'info {64 * MIB} {64 * MIB}'])

    def test_offers(self):
        path = self.path('serve.json')
        with open(path, 'w') as file:
            json.dump({'offers': [{'name': 'team', 'soft': True, 'mem': '64M', 'clients': ['alice', 'bob']},
                                  {'name': 'guest', 'soft': True, 'mem': '16M', 'max-clients': 1, 'max-programs': 2},
                                  {'name': 'all', 'soft': True, 'device': 1, 'mem': '1G', 'clients': 'alice,carol'}]}, file)
        self.key('alice')
        server = Server(self, '--keys', self.keys, '--config', path)

        def held(name, mark, *more):
            process = self.background(server, name, 'count', 'mark', self.path(mark), 'hold', self.path('go'), more=more)
            wait_for(lambda: os.path.exists(self.path(mark)), f'{name} is there')
            return process
        self.assertEqual(self.lines(server, 'bob', 'info'), [f'info {64 * MIB} {64 * MIB}'])
        self.assertEqual(self.lines(server, 'eve', 'info'), [f'info {16 * MIB} {16 * MIB}'])
        self.assertEqual(self.lines(server, 'bob', 'info', more=('--offer', 'guest')), [f'info {16 * MIB} {16 * MIB}'])
        self.refused_there(server, 'eve', 'no offer team for eve', 'guest', more=('--offer', 'team'))
        self.refused_there(server, 'eve', 'no offer more', more=('--offer', 'more'))
        first, second = held('eve', 'a'), held('eve', 'b')
        self.assertEqual(sorted(server.grants())[-1], 'eve.guest')
        self.refused_there(server, 'eve', 'offer guest', '2 programs')
        self.refused_there(server, 'dora', 'offer guest', '1 clients use it')
        third = held('carol', 'c', '--offer', 'all')
        self.refused_there(server, 'alice', 'promised', more=('--offer', 'all'))
        self.mark('go')
        for process in first, second, third:
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err), (0, ''))
        server.end()

    def test_grants_that_exist(self):
        server = self.serve('--mem', '16M')
        for words in (['create', 'alice', '--wall', '--soft', '--mem', '32M'], ['create', 'bob', '--soft', '--mem', '32M']):
            self.assertEqual(self.mete(*words, env=server.env).returncode, 0)
        self.assertEqual(self.lines(server, 'alice', 'info'), [f'info {32 * MIB} {32 * MIB}'])
        self.refused_there(server, 'bob', 'bob', '--wall')
        time.sleep(3)
        self.assertEqual(sorted(server.grants()), ['alice', 'bob'])
        server.end()
        self.assertEqual(sorted(server.grants()), ['alice', 'bob'])

    def test_slow_grants(self):
        """While meted takes its time over one client's grant, the others are answered; who goes meanwhile leaves nothing."""
        server = self.serve('--mem', '64M')
        meted = self.daemon_pid(server.runtime)
        os.kill(meted, signal.SIGSTOP)
        try:
            alice, bob = (self.background(server, name, 'info') for name in ('alice', 'bob'))
            wait_for(lambda: len(own_children(server.process.pid)) >= 2, 'both have come')
            self.refused_there(server, 'carol', 'no offer more', more=('--offer', 'more'))
            there = subprocess.run([place.METE, 'remote', server.address, '--key', self.key('carol'), '--json'],
                                   env=self.client_env, stdout=subprocess.PIPE, timeout=60)
            self.assertEqual(json.loads(there.stdout)['servers'][0]['about']['client'], 'carol')
            self.assertIsNone(alice.poll())
            os.killpg(bob.pid, signal.SIGKILL)
            bob.communicate()
        finally:
            os.kill(meted, signal.SIGCONT)
        out, err = alice.communicate(timeout=60)
        self.assertEqual((out, err), (f'info {64 * MIB} {64 * MIB}\n', ''))
        wait_for(lambda: not server.grants(), 'the grants end')
        self.assertEqual(self.lines(server, 'bob', 'info'), [f'info {64 * MIB} {64 * MIB}'])
        server.end()

    def test_meted_that_is_silent(self):
        """Another meted has taken its place, and listens, and says nothing: it is asked again, and nobody else waits."""
        server = self.serve('--mem', '64M')
        self.assertEqual(self.lines(server, 'alice', 'info'), [f'info {64 * MIB} {64 * MIB}'])
        wait_for(lambda: not server.grants(), 'the grant ends')
        path = os.path.join(server.runtime, 'control.sock')
        os.kill(self.daemon_pid(server.runtime), signal.SIGKILL)
        for backlog in (8, 0):  # hears what it is asked; has no place for one more connection
            with socket.socket(socket.AF_UNIX) as silent:
                if os.path.exists(path):
                    os.unlink(path)
                silent.bind(path)
                silent.listen(backlog)
                crowd = [socket.socket(socket.AF_UNIX) for _ in range(0 if backlog else 1)]
                for one in crowd:
                    one.connect(path)
                alice = self.background(server, 'alice', 'info')
                wait_for(lambda: own_children(server.process.pid), 'alice has come')
                since = time.monotonic()
                there = subprocess.run([place.METE, 'remote', server.address, '--key', self.key('carol'), '--json'],
                                       env=self.client_env, stdout=subprocess.PIPE, timeout=60)
                self.assertEqual(json.loads(there.stdout)['servers'][0]['about']['client'], 'carol')
                self.assertLess(time.monotonic() - since, 15)
                self.assertIsNone(alice.poll())
                for one in crowd:
                    one.close()
                os.unlink(path)
            out, err = alice.communicate(timeout=60)
            self.assertEqual((out, err), (f'info {64 * MIB} {64 * MIB}\n', ''))
            wait_for(lambda: not server.grants(), 'the grant ends')
            os.kill(self.daemon_pid(server.runtime), signal.SIGKILL)
        server.end()

    def test_without_keys(self):
        server = Server(self, '--soft', '--plain', '--mem', '16M')
        done = subprocess.run([place.METE, 'run', '--remote', server.address, '--', CLIENT, 'info'], env=self.client_env,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.stdout, done.stderr), (f'info {16 * MIB} {16 * MIB}\n', ''))
        self.assertEqual(list(server.grants()), ['at-127.0.0.1'])
        server.end()


class Proofs(RemoteTest):
    def test_keys(self):
        server = self.serve('--mem', '16M')
        good = self.key('alice')
        wrong = self.path('wrong')
        self.assertEqual(self.mete('key', 'new', 'alice', '--keys', wrong).returncode, 0)
        for key in (os.path.join(wrong, 'alice.key'),):
            done = subprocess.run([place.METE, 'run', '--remote', server.address, '--key', key, '--', 'true'],
                                  env=self.client_env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, 125)
            self.assert_line(done.stderr, '127.0.0.1', 'alice', 'key')
        kept = self.path('kept.key')
        shutil.copy(good, kept)
        self.assertEqual(self.lines(server, 'alice', 'count'), ['count 1'])
        self.assertEqual(self.mete('key', 'remove', 'alice', '--keys', self.keys).returncode, 0)
        done = subprocess.run([place.METE, 'run', '--remote', server.address, '--key', kept, '--', 'true'],
                              env=self.client_env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 125)
        self.assert_line(done.stderr, 'alice')
        self.assertEqual(self.lines(server, 'bob', 'count'), ['count 1'])

    def openssl(self, *words):
        subprocess.run(['openssl', *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       cwd=self.folder)

    def authority(self, name):
        self.openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj',
                     f'/CN={name}', '-keyout', f'{name}.key', '-out', f'{name}.pem')

    def certificate(self, authority, name, days='2', more=''):
        self.openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', f'/CN={name}',
                     '-keyout', f'{authority}-{name}.key', '-out', 'request.pem')
        with open(self.path('more'), 'w') as file:
            file.write(more)
        self.openssl('x509', '-req', '-in', 'request.pem', '-CA', f'{authority}.pem', '-CAkey', f'{authority}.key',
                     '-CAcreateserial', '-days', days, '-extfile', 'more', '-out', f'{authority}-{name}.pem')
        return ['--cert', self.path(f'{authority}-{name}.pem'), '--cert-key', self.path(f'{authority}-{name}.key'), '--ca',
                self.path(f'{authority}.pem')]

    @unittest.skipUnless(shutil.which('openssl'), 'no openssl command')
    def test_certificates(self):
        self.authority('ours')
        self.authority('theirs')
        server = Server(self, '--soft', '--mem', '16M',
                        *self.certificate('ours', 'server', more='subjectAltName=IP:127.0.0.1'))

        def run(proof):
            return subprocess.run([place.METE, 'run', '--remote', server.address, *proof, '--', CLIENT, 'info'],
                                  env=self.client_env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=60)
        done = run(self.certificate('ours', 'alice'))
        self.assertEqual((done.stdout, done.stderr), (f'info {16 * MIB} {16 * MIB}\n', ''))
        self.assertEqual(list(server.grants()), ['alice'])
        for proof in (self.certificate('ours', 'bob', days='-1'), self.certificate('theirs', 'bob'), ['--plain']):
            done = run(proof)
            self.assertEqual((done.returncode, done.stdout), (125, ''), proof)
            self.assert_line(done.stderr, '127.0.0.1')
        self.assertIn('mete: ', run(self.certificate('ours', 'b b')).stderr)
        server.end()

    @unittest.skipUnless(shutil.which('openssl'), 'no openssl command')
    def test_one_name_of_two(self):
        """Whoever comes to the name of another client's grant does not come into it."""
        path = self.path('serve.json')
        with open(path, 'w') as file:
            json.dump({'offers': [{'name': 'b.c', 'soft': True, 'mem': '64M'}, {'name': 'c', 'soft': True, 'mem': '16M'}]}, file)
        self.key('a')
        self.authority('ours')
        server = Server(self, '--keys', self.keys, '--config', path, *self.certificate('ours', 'server', more='subjectAltName=IP:127.0.0.1'))
        held = self.background(server, 'a', 'count', 'mark', self.path('mark'), 'hold', self.path('go'), more=('--offer', 'b.c'))
        wait_for(lambda: os.path.exists(self.path('mark')), 'a is there')
        self.assertEqual(list(server.grants()), ['a.b.c'])
        self.refused_there(server, 'a.b', 'another client', more=('--offer', 'c'))
        done = subprocess.run([place.METE, 'run', '--remote', server.address, *self.certificate('ours', 'a'), '--offer', 'b.c',
                               '--', CLIENT, 'count'], env=self.client_env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assert_line(done.stderr, 'another client')
        self.assertEqual(self.lines(server, 'a', 'info', more=('--offer', 'c')), [f'info {16 * MIB} {16 * MIB}'])
        self.mark('go')
        self.assertEqual(held.wait(60), 0)
        server.end()


class Ends(RemoteTest):
    """Lost lines and killed parts: a documented error in bounded time, and nobody else notices."""

    def copying(self, where, name, seconds='60', rest_ms='0', more=()):
        program = self.background(where, name, 'rest', rest_ms, 'copy', seconds, more=more)
        self.assertEqual(program.stdout.readline(), 'copying\n')
        return program

    def neighbour(self, server, name, more=()):
        """Copies now and then, for four seconds, beside what happens to another one."""
        return self.copying(server, name, '4', '300', more=more)

    def ended(self, program, seconds, *parts):
        began = time.monotonic()
        out, err = program.communicate(timeout=60)
        self.assertEqual((out, program.returncode), (f'copy {UNAVAILABLE}\n', 0))
        self.assertLess(time.monotonic() - began, seconds)
        self.assert_line(err, *parts)

    def test_line_cut(self):
        server = self.serve('--mem', '64M')
        helper, address = self.line(server)
        neighbour = self.neighbour(server, 'bob')
        program = self.copying(address, 'alice')
        helper.send_signal(signal.SIGUSR1)
        self.ended(program, 5)
        wait_for(lambda: 'alice' not in server.grants(), 'what it held is free')
        out, err = neighbour.communicate(timeout=60)
        self.assertEqual((out, err), ('copy 0\n', ''))
        self.assertEqual(self.lines(server, 'alice', 'info'), [f'info {64 * MIB} {64 * MIB}'])

    def test_line_silent(self):
        server = self.serve('--mem', '64M', '--patience', '2')
        helper, address = self.line(server)
        program = self.copying(address, 'alice', more=('--patience', '2'))
        helper.send_signal(signal.SIGUSR2)
        began = time.monotonic()
        self.ended(program, 10)
        self.assertGreater(time.monotonic() - began, 1.4)  # a beat may have been under way
        print(f'# a line that is silent: noticed after {time.monotonic() - began:.2f} s of 2')
        wait_for(lambda: 'alice' not in server.grants(), 'what it held is free')
        self.assertEqual(self.lines(server, 'alice', 'info'), [f'info {64 * MIB} {64 * MIB}'])

    def test_server_killed(self):
        server = self.serve('--mem', '64M')
        program = self.copying(server, 'alice')
        server.process.kill()
        server.process.wait()
        self.ended(program, 10)
        wait_for(lambda: not server.grants(), 'grants end with the server')

    def test_server_told_to_end(self):
        server = self.serve('--mem', '64M')
        program = self.copying(server, 'alice')
        server.end()
        self.ended(program, 10)
        wait_for(lambda: not server.grants(), 'grants end with the server')

    def test_nobody_reads_what_it_says(self):
        server = self.serve('--mem', '512M')
        out = server.process.stdout.fileno()
        filler = os.open(f'/proc/self/fd/{out}', os.O_WRONLY | os.O_NONBLOCK)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(filler, b'\n' * 4096)
        self.assertTrue(self.lines(server, 'alice', 'count'))
        os.set_blocking(out, False)
        with self.assertRaises(BlockingIOError):
            while os.read(out, 65536):
                pass
        self.assertTrue(self.lines(server, 'alice', 'count'))
        os.set_blocking(out, True)
        os.close(filler)
        self.assertGreater(json.loads(server.process.stdout.readline()).get('lost', 0), 0)
        server.end()

    def test_session_killed(self):
        server = self.serve('--mem', '64M')
        neighbour = self.neighbour(server, 'bob')
        program = self.copying(server, 'alice')
        session = next(s for s in server.sessions() if s['client'] == 'alice')
        os.kill(session['relay_pid'], signal.SIGKILL)
        self.ended(program, 10)
        out, err = neighbour.communicate(timeout=60)
        self.assertEqual((out, err), ('copy 0\n', ''))

    def test_worker_killed(self):
        server = self.serve('--mem', '64M')
        neighbour = self.neighbour(server, 'bob')
        program = self.copying(server, 'alice')
        worker = server.grants()['alice']['processes'][0]['pid']
        os.kill(worker, signal.SIGKILL)
        self.ended(program, 10)
        out, err = neighbour.communicate(timeout=60)
        self.assertEqual((out, err), ('copy 0\n', ''))

    def test_device_lost(self):
        """Who uses it is told, and who comes; who uses another one notices nothing."""
        path = self.path('serve.json')
        with open(path, 'w') as file:
            json.dump({'offers': [{'name': 'zero', 'soft': True, 'mem': '64M'},
                                  {'name': 'one', 'soft': True, 'device': 1, 'mem': '64M'}]}, file)
        self.key('alice')
        server = Server(self, '--keys', self.keys, '--config', path)
        neighbour = self.neighbour(server, 'alice', more=('--offer', 'one'))
        program = self.copying(server, 'alice')
        self.assertEqual(self.mete('soft', 'fault', '0', '--lost', env=server.env).returncode, 0)
        self.ended(program, 10, server.address, 'it has lost the device', 'mete devices')
        wait_for(lambda: server.json('devices')['devices'][0]['state'] == 'lost', 'meted knows')
        done = self.refused_there(server, 'bob', server.address, 'device 0', 'is lost')
        self.assertIn(f'failed: {UNAVAILABLE}\n', done.stdout)
        out, err = neighbour.communicate(timeout=60)
        self.assertEqual((out, err), ('copy 0\n', ''))
        self.assertEqual(self.mete('soft', 'fault', '0', '--back', env=server.env).returncode, 0)
        wait_for(lambda: server.json('devices')['devices'][0]['state'] == 'active', 'it is back')
        self.assertEqual(self.lines(server, 'bob', 'info'), [f'info {64 * MIB} {64 * MIB}'])
        server.end()

    def test_client_killed(self):
        server = self.serve('--mem', '64M')
        program = self.copying(server, 'alice')
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
        wait_for(lambda: not server.grants(), 'what it held is free')
        self.assertEqual(self.lines(server, 'alice', 'info'), [f'info {64 * MIB} {64 * MIB}'])

    def test_hostile_client(self):
        """Whoever names others' objects and memory, or says what is no request, harms his own sessions alone."""
        server = self.serve('--mem', '64M')
        meted = self.daemon_pid(server.runtime)
        neighbour = self.neighbour(server, 'alice')
        words = self.words(server, 'eve', str(random.randrange(1000)), '20', client=HOSTILE_CLIENT)
        done = subprocess.run([place.METE, *words], env=self.client_env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        sessions, requests, _, granted = map(int, done.stdout.split())
        self.assertGreater(granted, 0, words)  # they were sessions
        self.assertEqual(sessions, 20, words)
        self.assertGreater(requests, 20, words)
        out, err = neighbour.communicate(timeout=60)
        self.assertEqual((out, err), ('copy 0\n', ''), words)
        wait_for(lambda: not server.grants() and not server.sessions(), 'all that it had is free')
        self.assertEqual(self.daemon_pid(server.runtime), meted, words)
        self.assertEqual(self.lines(server, 'eve', 'info'), [f'info {64 * MIB} {64 * MIB}'])
        server.end()

    def test_nothing_stays(self):
        server = self.serve('--mem', '64M')
        self.lines(server, 'alice', 'copy', '1')
        self.assertEqual(os.listdir(self.path('sockets')), [])
        wait_for(lambda: not server.sessions(), 'the session has ended')
        server.end()
        wait_for(lambda: not children(self.path('')), 'nothing of the server runs')


if __name__ == '__main__':
    place.main(beside=('Shares.test_images_are_kept Shares.test_meted_that_is_silent Ends.test_session_killed',
                       'Ends.test_hostile_client Ends.test_line_cut Ends.test_line_silent Ends.test_worker_killed'))
