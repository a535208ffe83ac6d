"""Keys, offers, and what is wrong with them: what `mete key`, `mete serve` and `mete run --remote` refuse, and how."""
import json
import os
import signal
import socket
import stat

import place


class Keys(place.MeteTest):
    def setUp(self):
        super().setUp()
        self.keys = self.path('keys')
        self.env['HOME'] = self.folder
        self.env['XDG_CONFIG_HOME'] = self.path('settings')

    def key(self, name, keys=None):
        done = self.mete('key', 'new', name, '--keys', keys or self.keys)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return os.path.join(keys or self.keys, f'{name}.key')

    def test_new(self):
        path = self.key('alice')
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(self.keys).st_mode), 0o700)
        with open(path) as file:
            version, name, secret = file.read().split()[1:]
        self.assertEqual((version, name, len(secret)), ('1', 'alice', 64))
        self.refused(1, ['key', 'new', 'alice', '--keys', self.keys], path, 'already')
        self.assertEqual(self.json('key', 'new', 'bob', '--keys', self.keys)['key']['name'], 'bob')
        self.assertEqual(sorted(os.listdir(self.keys)), ['alice.key', 'bob.key'])

    def test_new_says_how_to_carry_it(self):
        done = self.mete('key', 'new', 'alice', '--keys', self.keys)
        for part in ('scp -p', self.keys + '/alice.key', 'mete run --remote', '0600'):
            self.assertIn(part, done.stdout)

    def test_names(self):
        for name in ('', '../x', 'a/b', '.x', 'a b', 'ä', 'a@b', 'x' * 41):
            self.refused(2, ['key', 'new', '--keys', self.keys, '--', name], 'a key\'s name')
            self.refused(2, ['key', 'remove', '--keys', self.keys, '--', name], 'a key\'s name')

    def test_list_and_remove(self):
        self.refused(1, ['key', 'list', '--keys', self.keys], self.keys, 'mete key new')
        alice, bob = self.key('alice'), self.key('bob')
        os.chmod(bob, 0o644)
        os.link(alice, os.path.join(self.keys, 'carol.key'))
        listed = {k['name']: k for k in self.json('key', 'list', '--keys', self.keys)['keys']}
        self.assertEqual([listed[n]['good'] for n in ('alice', 'bob', 'carol')], [True, False, False])
        self.assertIn('chmod 600', listed['bob']['trouble'])
        self.assertIn('alice', listed['carol']['trouble'])
        self.assertIn('good', self.mete('key', 'list', '--keys', self.keys).stdout)
        self.assertEqual(self.mete('key', 'remove', 'alice', '--keys', self.keys).returncode, 0)
        self.assertFalse(os.path.exists(alice))
        self.refused(1, ['key', 'remove', 'alice', '--keys', self.keys], 'alice', 'mete key list')

    def test_folder_of_others(self):
        self.key('alice')
        os.chmod(self.keys, 0o777)
        self.refused(1, ['key', 'new', 'bob', '--keys', self.keys], self.keys, 'chmod 700')
        self.refused(1, ['serve', '--soft', '--keys', self.keys, '--listen', '127.0.0.1:0'], self.keys, 'chmod 700')
        self.refused(1, ['key', 'new', 'bob', '--keys', '/dev/null'], '/dev/null')


class Offers(place.MeteTest):
    """What cannot be offered is refused before anything listens."""

    def setUp(self):
        super().setUp()
        self.keys = self.path('keys')
        self.env['HOME'] = self.folder
        self.env['XDG_CONFIG_HOME'] = self.path('settings')
        self.assertEqual(self.mete('key', 'new', 'alice', '--keys', self.keys).returncode, 0)

    def config(self, text):
        path = self.path('serve.json')
        with open(path, 'w') as file:
            file.write(text if isinstance(text, str) else json.dumps(text))
        return path

    def refuses(self, text, *parts, status=2):
        path = self.config(text)
        self.refused(status, ['serve', '--config', path, '--keys', self.keys], path, *parts)

    def test_file(self):
        self.refused(1, ['serve', '--config', self.path('none.json')], 'none.json', 'No such file')
        self.refuses('{', 'line 1')
        self.refuses('[]', 'not an object')
        self.refuses('{}', 'offers nothing')
        self.refuses({'offers': []}, 'offers nothing')
        self.refuses({'offers': [5]}, 'offer 1', 'not an object')
        self.refuses({'offers': [{}], 'lisen': ':1'}, '"lisen"', 'did you mean "listen"')
        self.refuses({'offers': [{}], 'mem': '1G'}, '"mem"')
        self.refuses({'offers': [{'memory': '1G'}]}, 'offer 1', '"memory"', 'did you mean "mem"')
        self.refuses({'offers': [{'verbose': True}]}, '"verbose"')
        self.refuses({'offers': [{'mem': {}}]}, '"mem"', 'a text or a number')
        self.refuses({'offers': [{'soft': 'yes'}]}, '"soft"', 'true or false')
        self.refuses({'offers': [{'name': ['a', 'b']}]}, '"name"', 'one value')
        self.refuses({'offers': [{'mem': '1G'}, {'mem': '2G'}]}, 'offer 1', '"name"')
        self.refuses({'offers': [{'name': 'a'}, {'name': 'a'}]}, 'offer 2', 'already')
        self.refuses({'offers': [{'name': 'a' * 21}]}, 'offer 1', '--name')
        self.refuses({'offers': [{'clients': ['alice', 'b b']}]}, '"b b"')
        self.refuses({'offers': [{'name': f'o{i}'} for i in range(33)]}, 'more than 32')
        self.refuses('{"offers": [{"mem": "1G", "mem": "2G"}]}', 'line 1')
        self.assertFalse(os.path.exists(self.runtime))

    def test_words_are_those_of_run(self):
        for offer, parts in (({'mem': '0'}, ('--mem 0', 'at least one byte')), ({'cores': 101}, ('--cores 101',)),
                             ({'policy': 'fare'}, ('--policy fare', 'fair')), ({'class': 'top'}, ('--class top',)),
                             ({'max-clients': 0}, ('--max-clients 0',)), ({'max-programs': '-1'}, ('--max-programs -1',)),
                             ({'clients': ''}, ('--clients',))):
            self.refuses({'offers': [offer]}, 'offer 1', *parts)
            word, value = next(iter(offer.items()))
            self.refused(2, ['serve', f'--{word}={value}', '--keys', self.keys], *parts)

    def test_against_the_machine(self):
        self.refuses({'offers': [{'soft': True, 'device': 7}]}, 'offer 1', '--device 7', status=1)
        self.refuses({'offers': [{'soft': True, 'mem': '2G'}]}, 'offer 1', '--mem 2G', '1 GiB')

    def test_options_beside_the_file(self):
        path = self.config({'offers': [{}]})
        self.refused(2, ['serve', '--config', path, '--mem', '1G'], '--mem', '--config')

    def test_nobody_could_come(self):
        empty = self.path('empty')
        os.mkdir(empty, 0o700)
        self.env['XDG_CONFIG_HOME'] = empty
        if os.geteuid():
            self.refused(1, ['serve', '--soft'], 'mete key new', '--plain')
        self.refused(2, ['serve', '--soft', '--cert', '/dev/null'], '--cert-key')
        self.refused(1, ['serve', '--soft', '--cert', self.path('c.pem'), '--cert-key', 'k', '--ca', 'a'], 'c.pem')

    def test_no_such_address(self):
        self.refused(1, ['serve', '--soft', '--keys', self.keys, '--listen', '192.0.2.1:7433'], '192.0.2.1', '`ip address`')
        for port in ('99999', '65536', '4294967376', '00000000000000000080'):  # which getaddrinfo() takes for another one
            self.refused(1, ['serve', '--soft', '--keys', self.keys, '--listen', f'127.0.0.1:{port}'], port, '1 to 65535')
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
            self.refused(1, ['serve', '--soft', '--keys', self.keys, '--listen', f'127.0.0.1:{port}'], str(port))

    def test_says_what_it_offers(self):
        server = self.start('serve', '--soft', '--keys', self.keys, '--listen', '127.0.0.1:0', '--mem', '256M', '--cores',
                            '30', '--clients', 'alice,bob', '--json')
        said = json.loads(server.stdout.readline())
        self.assertEqual(said['event'], 'listening')
        self.assertEqual(len(said['listen']), 1)
        self.assertEqual(said['offers'][0]['clients'], ['alice', 'bob'])
        self.assertEqual(said['offers'][0]['devices'][0]['mem_bytes'], 256 << 20)
        here = self.json('remote')['servers']
        self.assertEqual([s['pid'] for s in here], [server.pid])
        self.assertEqual(here[0]['sessions'], [])
        self.assertIn('CLIENT', self.mete('remote').stdout)
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(20), 0)
        self.refused(1, ['remote'], 'mete serve')
        self.assertEqual([n for n in os.listdir(self.runtime) if n.startswith('serve-')], [])


class Run(place.MeteTest):
    """What `mete run --remote` refuses before it asks anybody, and what it says when nobody answers."""

    def setUp(self):
        super().setUp()
        self.keys = self.path('keys')
        self.env['HOME'] = self.folder
        self.assertEqual(self.mete('key', 'new', 'alice', '--keys', self.keys).returncode, 0)
        self.key = os.path.join(self.keys, 'alice.key')

    def test_words(self):
        for word in (['--mem', '1G'], ['--device', '0'], ['--soft'], ['--grant', 'x'], ['--cores', '5'], ['--tier', 'T3']):
            self.refused(125, ['run', '--remote', 'h', *word, 'true'], word[0], '--remote')
        for word in (['--offer', 'x'], ['--key', 'x'], ['--cert', 'x'], ['--ca', 'x'], ['--plain']):
            self.refused(125, ['run', *word, 'true'], word[0], '--remote HOST')
        for name in ('', ',', 'h,', ':1', 'h:0', 'h:x', 'h:65536', '[::1]x', 'x' * 300):
            self.refused(125, ['run', f'--remote={name}', '--plain', 'true'], '--remote')
        self.refused(125, ['run', '--remote=' + ','.join('h' * 17), '--plain', 'true'], 'more than 16')

    def test_proofs(self):
        self.refused(125, ['run', '--remote', '192.0.2.1', 'true'], '192.0.2.1', '--key', '--plain')
        self.refused(2, ['remote', '192.0.2.1'], '192.0.2.1', '--key', '--plain')
        self.refused(125, ['run', '--remote', 'h', '--key', self.key, '--plain', 'true'], 'one of them')
        self.refused(125, ['run', '--remote', 'h', '--cert', self.key, 'true'], '--cert-key')
        self.refused(125, ['run', '--remote', 'h', '--key', self.path('none'), 'true'], 'none', 'mete key new')
        self.refused(125, ['run', '--remote', 'h', '--key', '/etc/passwd', 'true'], '/etc/passwd')
        self.refused(125, ['run', '--remote', 'h', 'true'], 'none', env={'METE_KEY': self.path('none')})
        os.chmod(self.key, 0o644)
        self.refused(125, ['run', '--remote', 'h', '--key', self.key, 'true'], self.key, 'chmod 600')

    def test_program(self):
        self.refused(127, ['run', '--remote', 'h', '--key', self.key, self.path('none')], 'none')

    def test_nobody_there(self):
        with socket.create_server(('127.0.0.1', 0)) as gone:
            port = gone.getsockname()[1]
        for words in (['run', '--remote', f'127.0.0.1:{port}', '--key', self.key, 'true'],
                      ['run', '--remote', f'127.0.0.1:{port}', 'true']):
            self.refused(125, words, '127.0.0.1', str(port), 'mete serve')
        self.refused(1, ['remote', f'127.0.0.1:{port}', '--key', self.key], '127.0.0.1', str(port))
        self.refused(125, ['run', '--remote', 'no-such-host.invalid', '--key', self.key, 'true'], 'no-such-host.invalid')
        for port in ('99999', '0'):
            self.refused(125, ['run', '--remote', f'127.0.0.1:{port}', '--key', self.key, 'true'], port, '1 to 65535')

    def test_somebody_else_there(self):
        """A server that accepts and says nothing is given up within a bounded time."""
        with socket.create_server(('127.0.0.1', 0)) as mute:
            name = f'127.0.0.1:{mute.getsockname()[1]}'
            self.refused(125, ['run', '--remote', name, '--key', self.key, 'true'], '127.0.0.1', 'mete server')


if __name__ == '__main__':
    place.main(beside=('Run.test_somebody_else_there',))
