#!/usr/bin/env python3
"""The relay over loopback: messages, payloads, who is let in, what ends a session. relay_test.py BUILD"""
import concurrent.futures
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

from relay_place import CERT_MISSING, PATIENCE, RELAY, WAIT_S, Late, Place, Relay, wait_for

DONE = 0
REFUSED = 3


class Scenes(unittest.TestCase):
    """The same scenes over each way of proving."""

    @classmethod
    def setUpClass(cls):
        cls.place = Place()

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def play(self, relay, scene, number=None, env=None):
        status, out = relay.play(scene, number, env)
        self.assertEqual(status, DONE, f'{scene}: {out}')
        return out

    def all_scenes(self, relay):
        self.play(relay, 'ping', 200)
        self.play(relay, 'quiet', 20000)
        self.play(relay, 'copies', 5)
        self.play(relay, 'mirror', 5)
        self.play(relay, 'pass', 5)
        self.play(relay, 'speed', 100)

    def test_plain(self):
        with Relay(self.place) as relay:
            self.all_scenes(relay)

    def test_key(self):
        key = self.place.key('alice')
        with Relay(self.place, serve=['--key', key], connect=['--key', key]) as relay:
            self.all_scenes(relay)

    @unittest.skipIf(CERT_MISSING, CERT_MISSING)
    def test_certificates(self):
        c = self.place.certificates()
        with Relay(self.place, serve=c.auth('server'), connect=c.auth('alice')) as relay:
            self.all_scenes(relay)

    def test_several_lanes(self):
        key = self.place.key('lanes')
        with Relay(self.place, serve=['--key', key], connect=['--key', key, '--lanes', '4']) as relay:
            self.play(relay, 'copies', 10)
            self.play(relay, 'mirror', 5)
            self.play(relay, 'speed', 100)

    def test_server_sleeps(self):
        """What a session carries is its own process's affair: the server's process is not woken by it."""
        def worked_s(pid):
            with open(f'/proc/{pid}/schedstat', encoding='ascii') as f:
                return int(f.read().split()[0]) / 1e9

        key = self.place.key('sleeps')
        with Relay(self.place, serve=['--key', key], connect=['--key', key]) as relay:
            self.play(relay, 'speed', 16)
            before = worked_s(relay.server.pid)
            for _ in range(3):
                self.play(relay, 'speed', 200)
            worked = worked_s(relay.server.pid) - before
            self.assertLess(worked, 0.1)

    def test_many_programs_at_once(self):
        with Relay(self.place) as relay:
            programs = [relay.start('copies', 3) for _ in range(12)]
            for p in programs:
                out = p.communicate(timeout=60)[0]
                self.assertEqual(p.returncode, DONE, out)

    def test_offers(self):
        with Relay(self.place, walls=['small={}']) as relay:
            status, out = relay.play('none')
            self.assertEqual((status, out.split()[0]), (REFUSED, '4'))
            self.assertIn('no offer ""', out)
            self.play(relay, 'ping', 3, {'ECHO_OFFER': 'small'})


class Ucx(unittest.TestCase):
    """The same over UCX's transports that need no fabric."""

    def over(self, transports, serve=(), connect=()):
        place = Place(nobody=True)  # UCX's shared memory is its owner's alone
        try:
            if not place.has_ucx():
                self.skipTest('built without UCX, or its library is missing')
            with Relay(place, serve=['--ucx', '--plain', *serve(place)], connect=['--ucx', '--plain', *connect(place)],
                       env={'UCX_TLS': transports}) as relay:
                for scene, number in (('ping', 50), ('quiet', 5000), ('copies', 3), ('mirror', 3), ('speed', 32)):
                    status, out = relay.play(scene, number)
                    self.assertEqual(status, DONE, f'{scene}: {out}')
                status, out = relay.play('die')
                self.assertEqual(status, DONE, out)
                self.assertIn('worker of this program on the server has ended', out)
                program = relay.start('lost', 5000)
                self.assertEqual(program.stdout.readline(), 'begins\n')
                if not place.sanitized:
                    self.closed_in(wait_for(relay.session_pids, 'a session') | relay.host_pids())
                relay.kill_server()
                out = program.communicate(timeout=60)[0]
                self.assertEqual(program.returncode, DONE, out)
        finally:
            place.close()

    def closed_in(self, pids):
        """Both relays: all threads, UCX's own among them, are behind a filter, and nobody of this user looks in."""
        def closed(pid, thread):
            with open(f'/proc/{pid}/task/{thread}/status', encoding='ascii') as f:
                status = f.read()
            return 'NoNewPrivs:\t1' in status and 'Seccomp:\t2' in status

        for pid in pids:  # a session is there a moment before it closes itself in
            wait_for(lambda: all(closed(pid, thread) for thread in os.listdir(f'/proc/{pid}/task')), 'it is closed in')
            # What is not to be attached to belongs to root in /proc.
            self.assertEqual(os.stat(f'/proc/{pid}/environ').st_uid, 0)

    def test_tcp(self):
        self.over('tcp', lambda place: [], lambda place: [])

    def test_shared_memory(self):
        self.over('sysv,self', lambda place: [], lambda place: [])

    def test_after_a_key(self):
        """Who it is was proved; what follows is not hidden."""
        self.over('tcp', lambda place: ['--key', place.key('alice')], lambda place: ['--key', place.key('alice')])

    def test_asked_for_by_name(self):
        p = subprocess.run([RELAY, 'probe', '127.0.0.1:1', '--ucx'], stderr=subprocess.PIPE, timeout=30, check=False)
        self.assertEqual(p.returncode, 1)
        self.assertRegex(p.stderr.decode(), r'encrypts nothing|refuses')


class Refusals(unittest.TestCase):
    """Each is one line with its remedy and its status, at the program and in the relay's log."""

    @classmethod
    def setUpClass(cls):
        cls.place = Place()

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def refused(self, status, text, serve=(), connect=(), env=None, **more):
        with Relay(self.place, serve=list(serve), connect=['--no-probe'] + list(connect), **more) as relay:
            since = time.monotonic()
            got, out = relay.play('none', None, env)
            self.assertLess(time.monotonic() - since, 15)
            self.assertEqual(got, REFUSED, out)
            self.assertRegex(out, rf'^{status} [^\n]*{text}[^\n]*\n$')

    def test_key_that_is_wrong(self):
        self.refused(4, 'does not accept the key alice.*ask for the right file',
                     ['--key', self.place.key('alice')], ['--key', self.place.key('alice', 'other')])

    def test_key_in_the_log(self):
        with Relay(self.place, serve=['--key', self.place.key('alice')],
                   connect=['--no-probe', '--key', self.place.key('bob')]) as relay:
            self.assertEqual(relay.play('none')[0], REFUSED)
            wait_for(lambda: 'calls itself bob has another key' in relay.server_log(), 'the log says who')

    def test_key_that_nobody_knows(self):
        self.refused(4, 'does not accept the key bob',
                     ['--key', self.place.key('alice')], ['--key', self.place.key('bob')])

    def test_no_key(self):
        self.refused(4, 'give a key', ['--key', self.place.key('alice')])

    def test_key_where_there_are_none(self):
        self.refused(4, 'has no keys', [], ['--key', self.place.key('alice')])

    @unittest.skipIf(CERT_MISSING, CERT_MISSING)
    def test_certificates(self):
        c = self.place.certificates()
        good = c.auth('server')
        for text, serve, connect in (
                ('does not trust our certificate', good, c.auth('stranger')),
                ('our certificate has expired', good, c.auth('alice', 'alice-old')),
                ('certificate of 127.0.0.1 has expired; renew', c.auth('server', 'server-old'), c.auth('alice')),
                ('our certificate is not valid yet.*clock', good, c.auth('alice', 'alice-early')),
                ('certificate of 127.0.0.1 is not valid yet; check the clocks', c.auth('server', 'server-early'),
                 c.auth('alice')),
                ('our certificate is not for clients', good, c.auth('usage')),
                ('is not for elsewhere.example but for localhost, 127.0.0.1, 10.77.0.2', good, c.auth('alice') + ['--server-name', 'elsewhere.example']),
                ('is not trusted', good, c.auth('alice', authority='other')),
                ('takes no keys: give a certificate', good, ['--key', self.place.key('alice')]),
                ('takes no certificates: give a key', ['--key', self.place.key('alice')], c.auth('alice')),
                ('common name', good, c.auth('nameless'))):
            with self.subTest(text):
                self.refused(4, text, serve, connect)

    def test_version_of_the_program(self):
        self.refused(1, 'same mete', env={'ECHO_VERSION': '9'})

    def test_nobody_listens(self):
        with Relay(self.place, connect=['--no-probe'], port=1) as relay:
            status, out = relay.play('none')
            self.assertEqual(status, REFUSED)
            self.assertRegex(out, r'^5 [^\n]*refuses connections[^\n]*mete serve[^\n]*\n$')

    def test_no_such_host(self):
        with Relay(self.place, connect=['--no-probe'], host='no.such.host.invalid') as relay:
            status, out = relay.play('none')
            self.assertEqual(status, REFUSED)
            self.assertRegex(out, r'^5 [^\n]*no host no.such.host.invalid[^\n]*check[^\n]*\n$')

    def test_nobody_answers(self):
        """A server that takes the connection and says nothing."""
        with socket.create_server(('127.0.0.1', 0)) as dead:
            with Relay(self.place, connect=['--no-probe', '--connect-timeout', '0.5'],
                       port=dead.getsockname()[1]) as relay:
                since = time.monotonic()
                status, out = relay.play('none')
                self.assertEqual(status, REFUSED)
                self.assertRegex(out, r'^5 [^\n]*does not answer[^\n]*\n$')
                self.assertLess(time.monotonic() - since, 5)

    def test_another_protocol(self):
        """A web server where a mete server should be."""
        with socket.create_server(('127.0.0.1', 0)) as web:
            def serve():
                for _ in range(2):
                    s = web.accept()[0]
                    s.recv(100)
                    s.sendall(b'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n' + b' ' * 2000)
                    s.close()
            threading.Thread(target=serve, daemon=True).start()
            for auth in ([], ['--key', self.place.key('web')]):
                with Relay(self.place, connect=['--no-probe'] + auth, port=web.getsockname()[1]) as relay:
                    status, out = relay.play('none')
                    self.assertEqual(status, REFUSED, out)
                    self.assertEqual(out.count('\n'), 1)

    def test_worker_that_refuses(self):
        self.refused(3, 'all workers are taken', env={'ECHO_OFFER': 'full'}, walls=['full={}'])

    def test_no_worker(self):
        self.refused(6, 'no worker listens', walls=['/nonexistent/wall'])

    def test_too_many(self):
        with Relay(self.place, serve=['--sessions', '4']) as relay:  # one client may have half
            wait_for(lambda: not relay.sessions(), 'the probe ends')
            programs = [relay.start('sleep', 3000) for _ in range(2)]
            wait_for(lambda: relay.workers() == 2, 'two sessions')
            status, out = relay.play('none')
            self.assertEqual(status, REFUSED, out)
            self.assertRegex(out, r'^3 [^\n]*2 sessions[^\n]*try again[^\n]*\n$')
            for p in programs:
                p.kill()
                p.communicate()
            wait_for(lambda: relay.play('none')[0] == DONE, 'room again')

    def test_probes_take_no_sessions(self):
        """One who only asks what there is, over and over, and stays: others get their sessions."""
        preface = struct.pack('<IHBB16sQ', 0x6c72746d, 1, 1, 0, b'', 0)
        hello = struct.pack('<IHHIIII', 0x6c72746d, 1, 1, 24 + 116, 1, 1000, 0)
        hello += struct.pack('<IIIIi32s64s', 0x6d657465, 1, 7, 0, 1, b'prober', b'')
        with Relay(self.place, serve=['--sessions', '8']) as relay:
            wait_for(lambda: not relay.sessions(), 'the probe ends')
            probes, answered = [], 0
            for i in range(40):
                s = socket.create_connection(('127.0.0.1', relay.port), timeout=10, source_address=('127.0.0.9', 0))
                probes.append(s)
                s.sendall(preface + hello)
                answered += struct.unpack('<IHHII', s.recv(16))[4] == 0
            self.assertGreater(answered, 0, 'some probes are answered')
            # Who is sent away has a process for a moment, and no place.
            self.assertEqual(relay.play('none')[0], DONE, 'another client is served meanwhile')
            wait_for(lambda: relay.sessions() <= 8, 'no more processes than sessions')
            for s in probes:
                s.close()
            wait_for(lambda: not relay.sessions(), 'all end')

    def test_probe_says_it_at_the_start(self):
        p = subprocess.run([self.place.relay, 'connect', '127.0.0.1:1', '--socket', self.place.path('x.sock')],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30, check=False)
        self.assertEqual((p.returncode, p.stdout), (1, b''))
        self.assertRegex(p.stderr.decode(), r'^mete-relay: [^\n]*refuses connections[^\n]*\n$')

    def test_command_line(self):
        for args, status in (([], 2), (['fly'], 2), (['connect'], 2), (['connect', 'h', 'x'], 2), (['serve'], 2),
                             (['connect', 'h', '--lanes', '0'], 2), (['connect', 'h', '--patience', 'x'], 2),
                             (['connect', 'h', '--cert', 'x'], 2), (['--help'], 0)):
            p = subprocess.run([self.place.relay] + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30,
                               check=False)
            self.assertEqual(p.returncode, status, args)


class Ends(unittest.TestCase):
    """However a session ends: the program is told, and nothing is left."""

    @classmethod
    def setUpClass(cls):
        cls.place = Place()

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def lost(self, relay, cut, text, within):
        """A program copies; `cut` does something; it must be told this text in this time."""
        program = relay.start('lost', int(within * 10000))
        self.assertEqual(program.stdout.readline(), 'begins\n')
        time.sleep(0.3)
        with Late() as late:
            cut()
            out = program.communicate(timeout=within * 10 + 20)[0]
        self.assertEqual(program.returncode, DONE, out)
        self.assertRegex(out, rf'^after [^\n]*{text}[^\n]*\n$')
        # Both relays and the program are late one after the other.
        self.assertLess(float(re.match(r'after ([\d.]+) s', out)[1]), within + 3 * late.sum, f'{late.sum:.2f} s late')

    def test_server_killed(self):
        with Relay(self.place) as relay:
            self.lost(relay, relay.kill_server, 'ended the connection; the program must be started again|'
                      'the server was ended', 2)
            wait_for(lambda: not relay.workers(), 'the worker ends')

    def test_server_ended(self):
        with Relay(self.place) as relay:
            self.lost(relay, relay.server.terminate, 'the server was ended', 2)
            wait_for(lambda: not relay.workers(), 'the worker ends')

    def test_session_of_the_server_killed(self):
        with Relay(self.place) as relay:
            wait_for(lambda: not relay.sessions(), 'the probe ends')
            bystander = relay.start('sleep', 2500)
            wait_for(lambda: relay.sessions() == 1, 'a session')
            others = relay.session_pids()
            self.lost(relay, lambda: [os.kill(p, signal.SIGKILL) for p in relay.session_pids() - others],
                      'ended the connection', 2)
            out = bystander.communicate(timeout=30)[0]
            self.assertEqual(bystander.returncode, DONE, out)

    def test_client_relay_killed(self):
        """Then there is nobody to tell: the ring ends."""
        with Relay(self.place) as relay:
            program = relay.start('lost', 5000)
            self.assertEqual(program.stdout.readline(), 'begins\n')
            time.sleep(0.2)
            for p in relay.host_pids():
                os.kill(p, signal.SIGKILL)
            program.communicate(timeout=30)
            wait_for(lambda: not relay.workers() and not relay.sessions(), 'the other side ends')

    def test_program_killed(self):
        with Relay(self.place) as relay:
            program = relay.start('lost', 5000)
            self.assertEqual(program.stdout.readline(), 'begins\n')
            time.sleep(0.2)
            program.kill()
            program.communicate()
            wait_for(lambda: not relay.workers() and not relay.sessions() and not relay.host_pids(), 'all ends')

    def test_worker_ends(self):
        with Relay(self.place) as relay:
            status, out = relay.play('die')
            self.assertEqual(status, DONE, out)
            self.assertIn('worker of this program on the server has ended', out)
            wait_for(lambda: not relay.sessions() and not relay.host_pids(), 'all ends')

    def test_silent_line(self):
        """The other machine is gone without a word: its relay is stopped instead."""
        with Relay(self.place, connect=['--patience', '1']) as relay:
            def stop():
                for p in relay.session_pids():
                    os.kill(p, signal.SIGSTOP)
            self.lost(relay, stop, 'is lost: nothing has come for 1.0 s', 4)

    def test_silent_client(self):
        """The server notices as well, and ends the worker."""
        with Relay(self.place, connect=['--patience', '1']) as relay:
            program = relay.start('lost', 5000)
            self.assertEqual(program.stdout.readline(), 'begins\n')
            pids = relay.host_pids()
            for p in pids:
                os.kill(p, signal.SIGSTOP)
            try:
                wait_for(lambda: not relay.workers(), 'the worker ends', 6)
                wait_for(lambda: 'nothing has come for' in relay.server_log(), 'the log says why')
            finally:
                program.kill()
                for p in pids:
                    os.kill(p, signal.SIGCONT)
                program.communicate()

    def test_idle_line_lives(self):
        """Nothing to say for longer than the patience, and a program that does not read for as long."""
        with Relay(self.place, connect=['--patience', '1']) as relay:
            for scene, number in (('sleep', 2500), ('stall', 2500)):
                status, out = relay.play(scene, number)
                self.assertEqual(status, DONE, out)

    def test_program_that_breaks_the_rules(self):
        with Relay(self.place) as relay:
            for number in (0, 1):
                status, out = relay.play('bad', number)
                self.assertEqual(status, DONE, out)
                self.assertIn('no message', out)
            status, out = relay.play('ping', 3)
            self.assertEqual(status, DONE, out)

    def test_worker_that_breaks_the_rules(self):
        with Relay(self.place) as relay:
            status, out = relay.play('grow')
            self.assertEqual(status, DONE, out)
            self.assertIn('the worker sent what is no message', out)

    def test_kill_storm(self):
        """Programs come, work and are killed; afterwards nobody is left, and the server serves."""
        with Relay(self.place) as relay:
            wait_for(lambda: not relay.sessions(), 'the probe ends')
            time.sleep(0.1)
            fds = relay.server_fds()
            for i in range(15 if self.place.sanitized else 30):
                p = relay.start('copies', 100)
                time.sleep(0.01 * (i % 7))
                p.kill()
                p.communicate()
            wait_for(lambda: not relay.sessions() and not relay.workers() and not relay.host_pids(), 'all end', 30)
            wait_for(lambda: relay.server_fds() == fds, 'no descriptor is left')
            self.assertEqual(relay.play('ping', 3)[0], DONE)


class Flood:
    """Connects again and again, from several addresses, says something and waits to be thrown out."""

    def __init__(self, port, words, sources=8, rate=100, most=800):
        self.port, self.words, self.rate = port, words, rate
        self.sources = [f'127.0.0.{2 + n}' for n in range(sources)]
        self.open, self.most = [], most
        self.made, self.ended = 0, False
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended:
            try:
                s = socket.create_connection(('127.0.0.1', self.port), timeout=2,
                                             source_address=(self.sources[self.made % len(self.sources)], 0))
                s.sendall(self.words)
                self.open.append(s)
            except OSError:
                pass
            self.made += 1
            if len(self.open) > self.most:
                self.open.pop(0).close()
            time.sleep(1 / self.rate)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()
        for s in self.open:
            s.close()


class Strangers(unittest.TestCase):
    """Whoever connects and says anything harms himself alone."""

    @classmethod
    def setUpClass(cls):
        cls.place = Place()

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def say(self, port, data, wait=2):
        with socket.create_connection(('127.0.0.1', port), timeout=wait) as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                out = b''
                while True:
                    more = s.recv(4096)
                    if not more:
                        return out
                    out += more
            except OSError:
                return out

    def test_other_versions_and_protocols(self):
        preface = struct.pack('<IHBB16sQ', 0x6c72746d, 1, 1, 0, b'', 0)
        with Relay(self.place) as relay:
            out = self.say(relay.port, struct.pack('<IHBB16sQ', 0x6c72746d, 7, 1, 0, b'', 0))
            self.assertIn(b'speaks version 7', out)
            self.assertIn(b'not its protocol', self.say(relay.port, b'GET / HTTP/1.1\r\n\r\n'))
            lane = struct.pack('<IHBB16sQ', 0x6c72746d, 1, 2, 0, b'x', 0)
            self.assertIn(b'no such session', self.say(relay.port, lane))
            self.assertIn(b'not its protocol', self.say(relay.port, preface + b'\xff' * 400))
            self.assertEqual(relay.play('ping', 3)[0], DONE)

    def test_random_words(self):
        """Bytes that are nearly right, in the clear, into processes that listen: the server serves on."""
        preface = struct.pack('<IHBB16sQ', 0x6c72746d, 1, 1, 0, b'', 0)
        hello = struct.pack('<IHHIIII', 0x6c72746d, 1, 0, 24 + 116, 1, 1000, 0)
        hello += struct.pack('<IIIIi', 0x6d657465, 1, 7, 0, 1)
        whole = bytearray(preface + hello.ljust(24 + 116, b'\0'))
        dice = random.Random(4711)
        words = []
        for _ in range(150):
            said = bytearray(whole)
            for _ in range(dice.randrange(4)):
                said[dice.randrange(len(said))] = dice.choice((0, 1, 0x7f, 0x80, 0xff, dice.randrange(256)))
            words.append(bytes(said[:dice.choice((len(said), len(said), dice.randrange(len(said))))]))
        # A process for each, which costs ten times as much with a sanitizer; fuzz-relay and fuzz-serve try thousands in one process.
        words = words[::3 if self.place.sanitized else 1]
        with Relay(self.place) as relay:
            with concurrent.futures.ThreadPoolExecutor(8) as strangers:  # each waits a moment for an answer
                for done in [strangers.submit(self.say, relay.port, said, 0.05) for said in words]:
                    done.result()
            self.assertEqual(relay.play('ping', 3)[0], DONE)
            wait_for(lambda: not relay.sessions() and not relay.workers(), 'all of them end')

    def test_many_that_say_nothing(self):
        with Relay(self.place) as relay:
            quiet = [socket.create_connection(('127.0.0.1', relay.port)) for _ in range(150)]
            self.assertEqual(relay.play('ping', 3)[0], DONE)
            for s in quiet:
                s.close()

    def test_flood(self):
        """Connections of several addresses that say the least that is believed, and stay: programs begin beside them."""
        key = ['--key', self.place.key('flood')]
        silence, record, hello = b'', b'\x16\x03\x01\x02\x00', b'mtrl\1\0'
        # A sanitized server takes ten times as long for each, and a handshake has seconds of the clock.
        rate, most, many = (20, 40, 4) if self.place.sanitized else (100, 200, 12)
        # With a key the address is known from before; without, all are strangers.
        for trust, options, words in ((1, key, silence), (1, key, record), (0, [], silence), (0, [], hello)):
            preface = struct.pack('<IHBB16sQ', 0x6c72746d, 1, 1, trust, b'', 0)
            with Relay(self.place, serve=options, connect=options) as relay:
                with Flood(relay.port, preface + words, rate=rate) as flood:
                    wait_for(lambda: flood.made > most, 'a flood')
                    # On a busy machine a handshake may miss them once: programs begin at one of three tries.
                    for _ in range(3):
                        programs = [relay.start('ping', 3) for _ in range(many)]
                        results = [(p.communicate(timeout=60 * PATIENCE)[0], p.returncode) for p in programs]
                        if all(r == DONE for _, r in results):
                            break
                self.assertEqual([r for _, r in results], [DONE] * many, results)
                wait_for(lambda: not relay.sessions() and not relay.workers(), 'all of them end')

    def test_flood_slow(self):
        """Twelve of one address that need time, as on a busy machine, keep their places beside a flood from eight others."""
        preface = struct.pack('<IHBB16sQ', 0x6c72746d, 1, 1, 0, b'', 0)
        with Relay(self.place) as relay:
            with Flood(relay.port, preface + b'mtrl\1\0') as flood:
                wait_for(lambda: flood.made > 200, 'a flood')
                slow = [socket.create_connection(('127.0.0.1', relay.port)) for _ in range(12)]
                for s in slow:
                    s.sendall(preface + b'mtrl\1\0')
                made = flood.made
                wait_for(lambda: flood.made > made + 150, 'more of it')
                ended = 0
                for s in slow:
                    s.setblocking(False)
                    try:
                        ended += s.recv(1) == b''
                    except BlockingIOError:
                        pass
                    except OSError:
                        ended += 1
                    s.close()
            self.assertEqual(ended, 0)
            self.assertEqual(relay.play('ping', 3)[0], DONE)

    def test_wordy(self):
        """Whoever speaks another protocol and goes on sending is cut off: the server does not read for as long as he sends."""
        with Relay(self.place) as relay:
            os.kill(relay.server.pid, signal.SIGSTOP)
            with socket.create_connection(('127.0.0.1', relay.port)) as s:
                s.setblocking(False)
                sent = 0
                try:
                    while sent < 64 << 20:
                        sent += s.send(b'GET / HTTP/1.1' * 4096)
                except BlockingIOError:
                    pass
                self.assertGreater(sent, 1 << 20)
                before = self.taken(s)
                os.kill(relay.server.pid, signal.SIGCONT)
                s.settimeout(WAIT_S * PATIENCE)
                while s.recv(4096):
                    pass
                self.assertLess(self.taken(s) - before, 1 << 18)
            self.assertEqual(relay.play('ping', 3)[0], DONE)

    @staticmethod
    def taken(connection):
        """The bytes that the other end's kernel has taken (tcpi_bytes_acked): a buffer, and then what is read from it."""
        return struct.unpack_from('<Q', connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 120)[0]

    def test_lines(self):
        """Whoever comes again and again has some lines of the log, and no more."""
        key = ['--key', self.place.key('lines')]
        record = b'\x16\x03\x01\x02\x00' + b'\xff' * 40
        with Relay(self.place, serve=key, connect=key) as relay:
            for _ in range(60):
                self.say(relay.port, b'GET / HTTP/1.1\r\n\r\n')
                self.say(relay.port, struct.pack('<IHBB16sQ', 0x6c72746d, 1, 1, 1, b'', 0) + record, 0.2)
            self.assertEqual(relay.play('ping', 3)[0], DONE)
            lines = [line for line in relay.server_log().splitlines() if '127.0.0.1:' in line]
            self.assertGreaterEqual(len(lines), 5)
            self.assertLess(len(lines), 12, lines)

    def test_sandbox(self):
        """The process that listens to a stranger: nobody, no new privileges, a filter, no files."""
        with Relay(self.place) as relay:
            wait_for(lambda: not relay.sessions(), 'the probe ends')
            program = relay.start('sleep', 3000)
            wait_for(lambda: relay.workers() == 1, 'a session')
            (pid,) = relay.session_pids()
            with open(f'/proc/{pid}/status', encoding='ascii') as f:
                status = f.read()
            self.assertIn('NoNewPrivs:\t1', status)
            if not self.place.sanitized:
                self.assertIn('Seccomp:\t2', status)
            if os.geteuid() == 0:
                self.assertIn('Uid:\t65534\t65534\t65534\t65534', status)
                self.assertRegex(status, r'CapEff:\t0+\n')
            program.kill()
            program.communicate()


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
