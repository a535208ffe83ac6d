"""mete top: the full screen on a terminal of its own, as users see it and by the keys that they press; the table; JSON."""
import json
import os
import re
import signal
import subprocess
import time
import termios

import place
from place import CLIENT, METE, MIB, wait_for
from terminal import Terminal

TURN_CLIENT = os.path.join(place.BUILD, 'tests/daemon/turn_client')
HUNGRY = os.path.join(place.BUILD, 'examples/hungry')
HINTS = 'q quit'


class Top(place.MeteTest):
    def setUp(self):
        super().setUp()
        self.terminals = []
        for name in ('LINES', 'COLUMNS', 'NO_COLOR'):
            self.env.pop(name, None)

    def tearDown(self):
        for terminal in self.terminals:
            terminal.close()
        super().tearDown()

    def top(self, *words, rows=24, columns=80, term='xterm', env=None):
        terminal = Terminal([METE, 'top', *words], {**self.env, **(env or {})}, rows, columns, term)
        self.terminals.append(terminal)
        return terminal

    def quit(self, terminal, keys='q'):
        """Ends it; the terminal must be as it was, and every sequence known."""
        terminal.press(keys)
        self.assertEqual(terminal.wait(), 0)
        self.restored(terminal)

    def restored(self, terminal):
        self.assertEqual(termios.tcgetattr(terminal.fd), terminal.before)
        self.assertEqual((terminal.screen.alternate, terminal.screen.cursor), (False, True))
        self.assertEqual(terminal.screen.unknown, [])

    def grants(self, *names):
        for name in names:
            self.assertEqual(self.mete('create', name, '-m', '64M').returncode, 0)

    def hold(self, grant):
        """A program that holds 40 MiB of a grant until the file `go` is there."""
        path = self.path(f'{grant}-at')
        process = self.start('run', '-g', grant, CLIENT, 'alloc', str(40 * MIB), 'mark', path, 'hold', self.path('go'))
        wait_for(lambda: os.path.exists(path), 'the program holds its memory')
        return process

    def row(self, terminal, name):
        """The line of a tenant, as words."""
        lines = [line.split() for line in terminal.screen.lines() if line.startswith(name + ' ')]
        return lines[0] if lines else []

    def test_sizes(self):
        """Everything fits, at every size, and nothing is drawn beyond it; a resize is drawn at once."""
        self.grants('team')
        process = self.hold('team')
        for rows, columns in ((24, 80), (50, 200), (10, 60), (3, 20), (1, 1)):
            terminal = self.top(rows=rows, columns=columns)
            if rows >= 10:
                terminal.shows('mete top', 'NAME', 'MEMORY', 'team', '40M/64M', HINTS)
                lines = terminal.screen.lines()
                self.assertIn('1 tenant, 1 process', lines[0])
                self.assertTrue(lines[-1].startswith(HINTS), lines)
                self.assertIn('mete_client'[:7], terminal.screen.text())
            else:
                terminal.until(lambda text: text.strip(), 'something is drawn')
            if columns >= 80:
                terminal.shows('REQUESTED', '10S', 'HISTORY', 'WAIT', 'COMMAND', 'software device')
            if columns >= 200:
                terminal.shows('mete_client', '60S', 'TIER', 'GUARANTEED')
            terminal.resize(30, 100)
            terminal.until(lambda text: HINTS in text.split('\n')[-1] and '40M/64M' in text, 'drawn anew')
            terminal.resize(12, 50)
            terminal.until(lambda text: HINTS in text.split('\n')[-1] and '40M/64M' in text, 'and once more')
            self.assertNotIn('60S', terminal.screen.text(), 'what does not fit is left out')
            self.quit(terminal)
        self.mark('go')
        self.assertEqual(process.wait(place.WAIT_S), 0)

    def test_figures_move(self):
        self.grants('team')
        terminal = self.top('-d', '0.2')
        terminal.shows('0B/64M', '0 processes')
        process = self.hold('team')
        terminal.shows('40M/64M', '1 process ', 'mete_cl')
        self.assertRegex(terminal.screen.text(), r'0 mete software device +40M/1G .* team')
        self.mark('go')
        self.assertEqual(process.wait(place.WAIT_S), 0)
        terminal.shows('0B/64M', '0 processes')
        self.quit(terminal)

    def order(self, terminal):
        return [line.split()[0] for line in terminal.screen.lines() if re.match(r'(one|two|three) ', line)]

    def test_sort_and_filter(self):
        self.grants('one', 'two', 'three')
        process = self.hold('two')
        terminal = self.top('-d', '0.3')
        terminal.until(lambda _: self.order(terminal) == ['one', 'three', 'two'], 'by name')
        terminal.press('>>')  # from 10S to MEMORY
        terminal.until(lambda _: self.order(terminal) == ['two', 'one', 'three'], 'by memory')
        terminal.press('r')
        terminal.until(lambda _: self.order(terminal) == ['one', 'three', 'two'], 'the other way round')
        terminal.press('/')
        terminal.shows('show only what contains:')
        terminal.press('THREX\x7fE\r')
        terminal.until(lambda _: self.order(terminal) == ['three'], 'the filter, in any case')
        terminal.shows('filter "THREE"')
        terminal.press('/nothing\r')
        terminal.shows('nothing fits the filter')
        terminal.press('/\r')
        terminal.until(lambda _: len(self.order(terminal)) == 3, 'all again')
        terminal.press(f'/{process.pid}abc\x1b')
        terminal.until(lambda text: 'contains' not in text and HINTS in text and len(self.order(terminal)) == 3,
                       'escape leaves all as it is')
        terminal.press('\x1b[D\x1b[D\x1b[D')
        self.quit(terminal)
        self.mark('go')
        self.assertEqual(process.wait(place.WAIT_S), 0)

    def test_processes_and_help(self):
        self.grants('one', 'two')
        process = self.hold('two')
        pid = str(self.grant('two')['processes'][0]['pid'])
        terminal = self.top('-d', '0.3')
        terminal.shows('one', 'two')
        self.assertNotIn(pid, terminal.screen.text())
        terminal.press('j\r')
        terminal.until(lambda text: re.search(rf'\n  {pid} .* 40M .* mete_client', text), 'the process and what it holds')
        terminal.press('\r')
        terminal.until(lambda text: pid not in text, 'folded')
        terminal.press('p')
        terminal.shows(pid)
        terminal.press('jjjjk')
        terminal.press('?')
        terminal.shows('mete top: keys', 'freeze the tenant', 'another key goes back')
        terminal.press(' ')
        terminal.shows(HINTS, pid)
        self.mark('go')
        self.assertEqual(process.wait(place.WAIT_S), 0)
        terminal.until(lambda text: pid not in text, 'who has ended is gone')
        self.quit(terminal)

    def test_shares(self):
        """What a tenant gets is shown and changed: its guarantee, its limit, and no turns at all while it is frozen."""
        self.assertEqual(self.mete('create', 'team', '-m', '64M', '--cores', '40', '--cores-limit', '60').returncode, 0)
        self.assertEqual(self.mete('create', 'other', '-m', '64M', '--cores', '50').returncode, 0)
        worker = subprocess.Popen([TURN_CLIENT, self.grant('team')['socket'], '0', '1000', '0', '30'], env=self.env,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        worker.stdout.readline()
        terminal = self.top('-d', '0.2', columns=120)
        terminal.shows('team', '40-60', 'T2', 'turn_client')
        self.assertRegex(terminal.screen.text(), r'0 mete software device +0B/1G +90\.0 ')
        terminal.until(lambda _: self.percent(terminal, 5) > 10, 'it gets something')
        terminal.shows('team ')
        terminal.until(lambda text: re.search(r' team [0-9]+\n', text), 'and uses the device')
        terminal.press('c45\r')
        terminal.shows('team: cores is now 45', '45-60')
        terminal.press('l80%\r')
        terminal.shows('team: cores_limit is now 80', '45-80', ' 95.0 ')
        terminal.press('c70\r')  # others have 50
        terminal.shows('50 % of its time is not guaranteed', 'overcommit')
        terminal.press('lx\r')
        terminal.shows('x: not a number; nothing was changed')
        terminal.press('c101\r')
        terminal.until(lambda text: '101' in text.split('\n')[-1], 'what is refused is said')
        share = self.grant('team')['devices'][0]
        self.assertEqual((share['cores'], share['cores_limit']), (45, 80))
        terminal.press('f')
        terminal.shows('team: frozen')
        terminal.until(lambda _: self.row(terminal, 'team')[3] == 'frozen', 'it is marked')
        terminal.until(lambda _: self.percent(terminal, 5) == 0, 'it gets nothing')
        self.assertTrue(self.grant('team')['devices'][0]['frozen'])
        terminal.press('f')
        terminal.shows('team: thawed')
        terminal.until(lambda _: self.percent(terminal, 5) > 10, 'it gets something again')
        self.assertFalse(self.grant('team')['devices'][0]['frozen'])
        terminal.press('\r')
        terminal.until(lambda text: re.search(rf'\n  {worker.pid} .* turn_client', text), 'its process')
        self.quit(terminal)
        worker.kill()
        worker.wait()
        worker.stdin.close()
        worker.stdout.close()

    def test_help_on_a_small_terminal(self):
        """60 x 20: every word of the help can be read by scrolling, none is cut, and a resize is wrapped anew."""
        terminal = self.top(rows=20, columns=60)
        terminal.shows(HINTS)
        terminal.press('h')
        terminal.shows('mete top: keys', '1-19 of ', 'scroll')
        seen = []
        for _ in range(60):
            lines = terminal.screen.lines()
            seen += [line for line in lines[:-1] if line not in seen]
            first, last, count = map(int, re.match(r'(\d+)-(\d+) of (\d+)', lines[-1]).groups())
            if last == count:
                break
            terminal.press('j')
            terminal.until(lambda text: f'{first + 1}-{last + 1} of' in text, 'one line further')
        text = ' '.join(' '.join(seen).split())
        for words in ('change the tenant\'s guarantee, limit (in percent) or weight', 'asks first', 'GUARANTEED sum of the guarantees',
                      'what runs', 'percent of the last 10 seconds in which it waited at the gate'):
            self.assertIn(words, text)
        terminal.press(b'\x1b[5~\x1b[5~\x1b[5~\x1b[5~')
        terminal.shows('1-19 of ', 'mete top: keys')
        terminal.resize(50, 160)
        terminal.shows('what runs', 'any key goes back', 'change the tenant\'s guarantee, limit (in percent) or weight')
        terminal.press(' ')
        terminal.shows(HINTS)
        self.quit(terminal)

    def test_end(self):
        """e asks whether it is meant; only a yes ends the tenant, and then its programs end."""
        self.grants('one', 'two')
        process = self.hold('two')
        terminal = self.top('-d', '0.2')
        terminal.shows('one', 'two', '40M/64M')
        terminal.press('je')
        terminal.shows('End two (1 process, 40 MiB held)? What they compute is lost. Type yes:')
        for no in ('\r', 'n\r', '\x1b', 'yesterday\r'):
            terminal.press('e' if no != '\r' else '')
            terminal.shows('End two')
            terminal.press(no)
            terminal.until(lambda text: 'End two' not in text, 'the question is gone')
        self.assertIsNone(process.poll())
        self.assertEqual(self.grant('two')['state'], 'active')
        terminal.press('eyes\r')
        terminal.shows('two: is being ended')
        self.assertNotEqual(process.wait(place.WAIT_S), 0)
        terminal.until(lambda text: not re.search('^two ', text, re.M), 'it is gone')
        terminal.shows('one ')
        self.assertIn('one', self.mete('ps', '-q').stdout)
        self.quit(terminal)

    def test_question_is_about_who_was_selected(self):
        """A tenant that ends while a question about it stands is not replaced by the one that takes its row."""
        self.grants('one', 'two')
        terminal = self.top('-d', '0.2')
        terminal.shows('one', 'two')
        terminal.press('e')
        terminal.shows('End one')
        self.assertEqual(self.mete('delete', 'one').returncode, 0)
        terminal.until(lambda text: not re.search('^one ', text, re.M), 'one is gone')
        terminal.press('yes\r')
        terminal.shows('one', 'mete ps')
        self.assertEqual(self.mete('ps', '-q').stdout, 'two\n')
        self.quit(terminal)

    def test_bars_and_history(self):
        """The device's bar and a minute of history rise and fall with what is used, in blocks and in ASCII."""
        self.assertEqual(self.mete('create', 'team', '-m', '64M', '--cores', '100').returncode, 0)
        terminals = [self.top('-d', '0.2', columns=columns, env={'LC_ALL': locale})
                     for columns, locale in ((80, 'C.UTF-8'), (140, 'C.UTF-8'), (80, 'C'))]
        for terminal in terminals:
            terminal.shows('HISTORY', 'team')
            self.assertNotRegex(terminal.screen.text(), '[█#@]')
        worker = subprocess.Popen([TURN_CLIENT, self.grant('team')['socket'], '0', '1000', '0', '60'], env=self.env,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        worker.stdout.readline()
        device = r'^ *0 mete software device .*'
        for terminal, bar, marks in zip(terminals, ('██', '██', '##'), ('[▁-█]', '[▁-█]', '[.:=+*#@-]')):
            terminal.until(lambda text: re.search(device + bar, text, re.M), 'the bar')
            terminal.until(lambda text: re.search(rf'^team .* {marks}+ +0B/64M', text, re.M), 'its history')
        self.assertEqual(self.mete('set', 'team', '--freeze').returncode, 0)
        for terminal, marks in zip(terminals, ('[▁-█]', '[▁-█]', '[.:=+*#@-]')):
            terminal.until(lambda text: not re.search(device + '(██|##)', text, re.M), 'the bar is empty again')
            terminal.until(lambda text: re.search(rf'^team .* {marks}+ +0B/64M', text, re.M), 'history stays')
            self.quit(terminal)
        worker.kill()
        worker.wait()
        worker.stdin.close()
        worker.stdout.close()

    def test_frozen_is_said_on_a_narrow_terminal(self):
        self.assertEqual(self.mete('create', 'team', '-m', '64M', '--cores', '30').returncode, 0)
        self.assertEqual(self.mete('set', 'team', '--freeze').returncode, 0)
        for columns in (50, 80, 160):
            terminal = self.top(columns=columns, term='vt100')
            terminal.shows('team', 'frozen')
            self.quit(terminal)

    def held(self, name):
        done = self.mete('show', name, '--json')
        return 0 if done.returncode else json.loads(done.stdout)['grant']['devices'][0]['held_bytes']

    def test_away_is_said_on_a_narrow_terminal(self):
        self.start('run', '--soft', '--name', 'team', '--mem', '16M', '--spill', '--', HUNGRY, '--hold', '600')
        wait_for(lambda: self.held('team') > 8 * MIB, 'its memory')
        self.assertEqual(self.mete('set', 'team', '--suspend').returncode, 0)
        for columns in (50, 80, 160):
            terminal = self.top(columns=columns, term='vt100')
            terminal.shows('team', 'away')
            self.quit(terminal)

    def percent(self, terminal, column):
        """A figure in the tenant's row; 0 when it is not known."""
        words = self.row(terminal, 'team')
        return float(words[column]) if len(words) > column and words[column] != '-' else 0

    def test_many_rows(self):
        names = [f'g{n:02}' for n in range(30)]
        for name in names:
            self.assertEqual(self.mete('create', name, '-m', '1M').returncode, 0)
        terminal = self.top()
        terminal.shows('g00', '30 tenants')
        self.assertNotIn('g29', terminal.screen.text())
        terminal.press(b'\x1bOF')  # the End key, as xterm sends it to such programs
        terminal.until(lambda text: 'g29' in text and 'g00' not in text, 'the end')
        terminal.press(b'\x1b[5~\x1b[5~\x1b[5~')
        terminal.until(lambda text: 'g00' in text, 'page up')
        self.quit(terminal)

    def test_ends_well(self):
        """However it ends, the terminal is as it was."""
        for end in (lambda t: t.press('\x03'), lambda t: os.kill(t.pid, signal.SIGTERM),
                    lambda t: os.kill(t.pid, signal.SIGHUP)):
            terminal = self.top('-d', '60')
            terminal.shows('mete top', HINTS)
            end(terminal)
            self.assertEqual(terminal.wait(), 0)
            self.restored(terminal)
        terminal = self.top('-d', '0.1', '-n', '3')
        self.assertEqual(terminal.wait(), 0)
        self.restored(terminal)

    def test_colours(self):
        self.grants('team')
        process = self.start('run', '-n', 'full', '-m', '900M', CLIENT, 'alloc', str(890 * MIB), 'mark', self.path('at'),
                             'hold', self.path('go'))
        wait_for(lambda: os.path.exists(self.path('at')), 'the device is nearly full')
        for term, env, coloured in (('xterm', {}, True), ('xterm', {'NO_COLOR': '1'}, False), ('xterm', {'NO_COLOR': ''}, True),
                                    ('vt100', {}, False)):
            terminal = self.top(term=term, env=env)
            terminal.shows('full', HINTS)
            self.assertEqual(terminal.screen.coloured, coloured, (term, env))
            self.quit(terminal)
        self.mark('go')
        self.assertEqual(process.wait(place.WAIT_S), 0)

    def test_meted_goes_away(self):
        self.grants('team')
        terminal = self.top('-d', '0.3')
        terminal.shows('team')
        self.kill_meted()
        self.grants('other')
        terminal.shows('team', 'other', HINTS)
        self.quit(terminal)

    def test_unknown_terminal(self):
        terminal = self.top(term='no-such-terminal')
        terminal.shows('TERM=no-such-terminal', '--once')
        self.assertEqual(terminal.wait(), 1)
        for term in ('dumb', ''):
            terminal = self.top(term=term)
            self.assertEqual(terminal.wait(), 0)
            self.assertIn('NAME', terminal.screen.text())
            self.assertFalse(terminal.screen.alternate)

    def test_table(self):
        self.grants('team')
        process = self.hold('team')
        for words in (('--wide',), ('--once', '--wide'), ('-1W',)):
            done = self.mete('top', *words)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            self.assertNotIn('\033', done.stdout)
            devices, tenants = [block.splitlines() for block in done.stdout.split('\n\n')]
            self.assertEqual(devices[0].split(), ['DEV', 'NAME', 'MEMORY', 'GUARANTEED', 'BUSY', 'WHO'])
            self.assertEqual(len(devices), 3)
            self.assertEqual(tenants[0].split(), ['NAME', 'DEV', 'POLICY', 'CLASS', 'REQUESTED', '1S', '10S', '60S',
                                                  'MEMORY', 'WAIT', 'TIER', 'N', 'COMMAND'])
            self.assertEqual(tenants[1].split()[0], 'team')
            self.assertIn('40M/64M', tenants[1])
            self.assertTrue(tenants[1].endswith('mete_client'), tenants)
        for line in self.mete('top').stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        done = self.mete('top', '-n', '2', '-d', '0.1')
        self.assertEqual(done.stdout.count('COMMAND'), 2)
        terminal = self.top('--once')
        self.assertEqual(terminal.wait(), 0)
        self.assertFalse(terminal.screen.alternate)
        self.assertIn('team', terminal.screen.text())
        self.mark('go')
        self.assertEqual(process.wait(place.WAIT_S), 0)

    def test_json(self):
        self.grants('team')
        begun = time.monotonic()
        done = self.mete('top', '--json', '-d', '0.2', '-n', '3')
        self.assertGreater(time.monotonic() - begun, 0.39)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        documents = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(documents), 3)
        for document in documents:
            self.assertEqual(set(document), {'time', 'devices', 'grants'})
            self.assertEqual([grant['name'] for grant in document['grants']], ['team'])
            self.assertEqual(len(document['devices']), 2)
        times = [document['time'] for document in documents]
        self.assertEqual(times, sorted(times))
        process = self.start('top', '--json', '-d', '0.1')
        for _ in range(3):
            json.loads(process.stdout.readline())
        process.stdout.close()  # who reads it goes away
        self.assertEqual((process.wait(place.WAIT_S), process.stderr.read()), (-signal.SIGPIPE, ''))

    def test_bad_words(self):
        for words in (('-d', '0'), ('-d', 'x'), ('-d', '1s'), ('-d', '1e9'), ('-d', 'nan')):
            self.refused(2, ['top', *words], '--delay', '0.1 to 3600')
        self.refused(2, ['top', '-n', '0'], '--count')
        self.refused(2, ['top', 'team'], 'team')


if __name__ == '__main__':
    place.main()
