"""
A terminal to test full-screen programs with: a pseudo terminal, and as much of an xterm as ncurses uses.

The screen is a list of lines, so that a test asks what a user would see; every sequence that is not known here fails the
test rather than being passed over.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

PLAIN = (None, False, False, False)  # colour (0 to 7, None: usual), bold, reverse, underlined
CSI = re.compile(rb'\x1b\[([?>]?)([0-9;]*)([@A-Za-z])')


class Screen:
    """What stands on the glass."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[' '] * columns for _ in range(rows)]
        self.looks = [[PLAIN] * columns for _ in range(rows)]  # of each cell, as far as pictures need it
        self.look = PLAIN
        self.y = self.x = 0
        self.top, self.bottom = 0, rows - 1
        self.alternate = self.coloured = False
        self.cursor = True
        self.unknown = []
        self.rest = b''
        self.last = ' '

    def resize(self, rows, columns):
        for grid, blank in ((self.cells, ' '), (self.looks, PLAIN)):
            grid[:] = [(line + [blank] * columns)[:columns] for line in grid[:rows]]
            grid += [[blank] * columns for _ in range(rows - len(grid))]
        self.rows, self.columns, self.top, self.bottom = rows, columns, 0, rows - 1
        self.y, self.x = min(self.y, rows - 1), min(self.x, columns - 1)

    def text(self):
        return '\n'.join(''.join(line).rstrip() for line in self.cells)

    def lines(self):
        return self.text().split('\n')

    def letter(self, letter):
        if self.x >= self.columns:
            self.x = 0
            self.down()
        self.cells[self.y][self.x] = self.last = letter
        self.looks[self.y][self.x] = self.look
        self.x += 1

    def shift(self, leaves, comes):
        """A line goes, and an empty one comes."""
        for grid, blank in ((self.cells, ' '), (self.looks, PLAIN)):
            del grid[leaves]
            grid.insert(comes, [blank] * self.columns)

    def down(self):
        if self.y == self.bottom:
            self.shift(self.top, self.bottom)
        elif self.y < self.rows - 1:
            self.y += 1

    def up(self):
        if self.y == self.top:
            self.shift(self.bottom, self.top)
        elif self.y:
            self.y -= 1

    def blank(self, y, begin, end):
        for x in range(begin, min(end, self.columns)):
            self.cells[y][x] = ' '
            self.looks[y][x] = self.look if self.look[2] else PLAIN

    def paint(self, numbers):
        """Colours and the like (SGR), as far as they are shown here."""
        colour, bold, reverse, under = self.look
        for n in numbers:
            if n == 0:
                colour, bold, reverse, under = PLAIN
            elif n in (1, 22):
                bold = n == 1
            elif n in (7, 27):
                reverse = n == 7
            elif n in (4, 24):
                under = n == 4
            elif 30 <= n <= 37 or n == 39:
                colour = None if n == 39 else n - 30
        self.look = (colour, bold, reverse, under)

    def feed(self, data):
        data = self.rest + data
        self.rest = b''
        at = 0
        while at < len(data):
            byte = data[at]
            if byte == 0x1b:
                used = self.escape(data, at)
                if not used:
                    self.rest = data[at:]
                    return
                at += used
                continue
            at += 1
            if byte == 13:
                self.x = 0
            elif byte == 10:
                self.down()
            elif byte == 8:
                self.x = max(0, min(self.x, self.columns - 1) - 1)
            elif byte == 9:
                self.x = min(self.columns - 1, (self.x // 8 + 1) * 8)
            elif byte < 0x80 and byte >= 32:
                self.letter(chr(byte))
            elif byte >= 0xc0:  # a letter of UTF-8
                more = 1 if byte < 0xe0 else 2 if byte < 0xf0 else 3
                if len(data) < at + more:
                    self.rest = data[at - 1:]
                    return
                self.letter(data[at - 1:at + more].decode(errors='replace'))
                at += more

    def escape(self, data, at):
        """Treats the sequence at this place; its length, 0 when more of it is to come."""
        if len(data) < at + 2:
            return 0
        if data[at + 1:at + 2] == b'[':
            found = CSI.match(data, at)
            if not found:
                if len(data) - at > 32:
                    self.unknown.append(data[at:at + 16])
                    return 2
                return 0
            self.control(found.group(1), [int(n or 0) for n in found.group(2).split(b';')], found.group(3).decode())
            return found.end() - at
        if data[at + 1:at + 2] in b'()':
            return 3 if len(data) >= at + 3 else 0
        if data[at + 1:at + 2] == b'M':
            self.up()
        elif data[at + 1:at + 2] not in (b'=', b'>', b'7', b'8'):
            self.unknown.append(data[at:at + 2])
        return 2

    def control(self, mark, numbers, letter):
        n = numbers[0] or 1
        if mark:
            for mode in numbers:
                if mode == 1049:
                    self.alternate = letter == 'h'
                elif mode == 25:
                    self.cursor = letter == 'h'
        elif letter == 'H':
            self.y, self.x = n - 1, (numbers[1] or 1) - 1 if len(numbers) > 1 else 0
        elif letter == 'd':
            self.y = n - 1
        elif letter == 'G':
            self.x = n - 1
        elif letter == 'A':
            self.y -= n
        elif letter == 'B':
            self.y += n
        elif letter == 'C':
            self.x += n
        elif letter == 'D':
            self.x -= n
        elif letter == 'J':
            if numbers[0] == 0:
                self.blank(self.y, self.x, self.columns)
            for y in range(self.y + 1 if numbers[0] == 0 else 0, self.rows):
                self.blank(y, 0, self.columns)
        elif letter == 'K':
            self.blank(self.y, 0 if numbers[0] else self.x, self.x + 1 if numbers[0] == 1 else self.columns)
        elif letter == 'X':
            self.blank(self.y, self.x, self.x + n)
        elif letter == 'b':
            for _ in range(n):
                self.letter(self.last)
        elif letter == '@':
            for grid, blank in ((self.cells, ' '), (self.looks, PLAIN)):
                grid[self.y][self.x:] = ([blank] * n + grid[self.y][self.x:])[:self.columns - self.x]
        elif letter == 'P':
            for grid, blank in ((self.cells, ' '), (self.looks, PLAIN)):
                grid[self.y][self.x:] = (grid[self.y][self.x + n:] + [blank] * n)[:self.columns - self.x]
        elif letter in 'LM':
            for _ in range(n):
                self.shift(self.bottom if letter == 'L' else self.y, self.y if letter == 'L' else self.bottom)
        elif letter in 'ST':
            for _ in range(n):
                self.shift(self.top if letter == 'S' else self.bottom, self.bottom if letter == 'S' else self.top)
        elif letter == 'r':
            self.top, self.bottom = n - 1, (numbers[1] if len(numbers) > 1 and numbers[1] else self.rows) - 1
            self.y = self.x = 0
        elif letter == 'Z':
            self.x = max(0, (self.x - 1) // 8 * 8)
        elif letter == 'm':
            self.paint(numbers)
            self.coloured |= any(30 <= c <= 37 or 40 <= c <= 47 or 90 <= c <= 107 for c in numbers)
        elif letter not in 'tl':
            self.unknown.append(f'{numbers}{letter}')


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command, env, rows=24, columns=80, term='xterm'):
        self.screen = Screen(rows, columns)
        self.status = None
        self.pid, self.fd = pty.fork()
        if not self.pid:
            self.set_size(0, rows, columns)
            try:
                os.execve(command[0], command, {**env, 'TERM': term})
            finally:
                os._exit(127)
        self.before = termios.tcgetattr(self.fd)

    @staticmethod
    def set_size(fd, rows, columns):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        self.set_size(self.fd, rows, columns)
        os.kill(self.pid, signal.SIGWINCH)

    def read(self, seconds=0.05):
        """Takes what comes within the time. False: the program has closed the terminal."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.screen.feed(data)
        return bool(data)

    def until(self, condition, what, seconds=30):
        """Waits until the screen is as wanted; the condition gets its text."""
        end = time.monotonic() + seconds
        while not (condition(self.screen.text()) and self.settle() and condition(self.screen.text())):
            if time.monotonic() > end or not self.read():
                raise AssertionError(f'{what}; the screen:\n{self.screen.text()}')
        return self.screen.text()

    def settle(self):
        """Takes the rest of a picture of which a part has come, so that what is seen is not half of it. Always true."""
        end = time.monotonic() + 0.3
        while time.monotonic() < end and select.select([self.fd], [], [], 0.03)[0] and self.read(0):
            pass
        return True

    def shows(self, *parts):
        return self.until(lambda text: all(part in text for part in parts), f'shows {parts}')

    def press(self, keys):
        os.write(self.fd, keys if isinstance(keys, bytes) else keys.encode())

    def wait(self, seconds=30):
        """The exit status, after everything has been read."""
        end = time.monotonic() + seconds
        while self.status is None:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                raise AssertionError(f'the program does not end; the screen:\n{self.screen.text()}')
        while select.select([self.fd], [], [], 0)[0] and self.read(0):
            pass
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
