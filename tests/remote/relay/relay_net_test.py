#!/usr/bin/env python3
"""The relay between two network namespaces with delay and loss; a line that is cut. relay_net_test.py BUILD"""
import os
import re
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
sys.dont_write_bytecode = True
import net as nets  # noqa: E402
from net import SERVER  # noqa: E402
from relay_place import BUILD, Place, Relay, wait_for  # noqa: E402

LONG = bool(os.environ.get('METE_TEST_LONG'))
DONE = 0
MISSING = nets.missing(BUILD)


def net_of(delay, loss=0, reorder=0):
    return nets.Net(BUILD, delay, loss, reorder)


@unittest.skipIf(MISSING, MISSING)
class Nets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def relay(self, net, *connect):
        key = self.place.key('alice')
        return Relay(self.place, serve=['--key', key], connect=['--key', key, *connect], host=SERVER,
                     listen=f'{SERVER}:7433', serve_inside=net.far, connect_inside=net.near)

    def play(self, relay, scene, number):
        status, out = relay.play(scene, number)
        self.assertEqual(status, DONE, f'{scene}: {out}')
        return out

    def scenes(self, net, delay, factor):
        with self.relay(net) as relay:
            ping = self.play(relay, 'ping', 10 * factor)
            self.assertGreater(float(re.search(r'least ([\d.]+) us', ping)[1]), delay * 2e6)
            self.play(relay, 'quiet', 5000 * factor)
            self.play(relay, 'copies', factor)
            self.play(relay, 'mirror', factor)
            self.play(relay, 'pass', 1)

    def test_delay_of_50_us(self):
        with net_of(50e-6) as net:
            self.scenes(net, 50e-6, 4)

    def test_delay_of_1_ms(self):
        with net_of(1e-3) as net:
            self.scenes(net, 1e-3, 4)

    def test_delay_of_30_ms(self):
        with net_of(30e-3) as net:
            self.scenes(net, 30e-3, 1)

    def test_attach_takes_few_round_trips(self):
        """TCP, TLS, hello; the same for all lanes at once; then it is ready."""
        with net_of(50e-3) as net, self.relay(net) as relay:
            out = self.play(relay, 'none', 0)
            ms = float(re.match(r'attached in ([\d.]+) ms', out)[1])
            self.assertLess(ms, 7.5 * 100 + (3000 if LONG else 500))

    def test_loss(self):
        with net_of(1e-3, 0.01, 0.02) as net, self.relay(net) as relay:
            self.play(relay, 'ping', 50)
            self.play(relay, 'copies', 2)
            self.play(relay, 'mirror', 1)

    def test_no_waiting_without_need(self):
        """Requests that nobody waits for cost no round trips, whatever the delay."""
        with net_of(30e-3) as net, self.relay(net) as relay:
            since = time.monotonic()
            self.play(relay, 'quiet', 20000)
            self.assertLess(time.monotonic() - since, 5)

    def cut_line(self, connect, mend_after):
        with net_of(1e-3) as net, self.relay(net, *connect) as relay:
            program = relay.start('lost', 20000)
            self.assertEqual(program.stdout.readline(), 'begins\n')
            time.sleep(0.3)
            net.cut()
            if mend_after:
                time.sleep(mend_after)
                net.mend()
                time.sleep(1)
                self.assertIsNone(program.poll(), 'a short gap is no end')
                program.kill()
                program.communicate()
                return
            out = program.communicate(timeout=60)[0]
            self.assertEqual(program.returncode, DONE, out)
            self.assertRegex(out, r'line to 10.77.0.2:7433 is lost: nothing has come for 1.5 s; the program must be')
            self.assertLess(float(re.match(r'after ([\d.]+) s', out)[1]), 4)
            wait_for(lambda: not relay.workers() and not relay.sessions(), 'the server ends it too')
            net.mend()
            self.play(relay, 'ping', 3)

    def test_line_cut_in_a_copy(self):
        self.cut_line(['--patience', '1.5'], None)

    def test_short_gap(self):
        self.cut_line(['--patience', '8'], 0.5)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
