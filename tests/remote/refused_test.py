"""What a refused program sees of `mete run --remote`, by Python, which has no sanitizer in it: serve_test.py has the rest."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../cli'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import place  # noqa: E402
import serve_test  # noqa: E402
from place import wait_for  # noqa: E402


class Refused(serve_test.RemoteTest):
    def test_refused_program_sees(self):
        """The same error from the driver's and the runtime's interface, again and again, and one line."""
        path = self.path('serve.json')
        with open(path, 'w') as file:
            json.dump({'offers': [{'name': 'team', 'soft': True, 'mem': '64M', 'clients': ['alice'],
                                   'max-programs': 1}]}, file)
        self.key('alice')
        server = serve_test.Server(self, '--keys', self.keys, '--config', path)
        held = self.background(server, 'alice', 'count', 'mark', self.path('held'), 'hold', self.path('go'))
        wait_for(lambda: os.path.exists(self.path('held')), 'alice has her program')
        see = ('import ctypes; n = ctypes.byref(ctypes.c_int()); driver = ctypes.CDLL("libcuda.so.1");'
               'runtime = ctypes.CDLL("libcudart.so.12");'
               'print(driver.cuInit(0), runtime.cudaGetDeviceCount(n), runtime.cudaGetDeviceCount(n))')
        for name, error, text in (('eve', 800, 'nothing is offered to eve'), ('alice', 46, 'alice runs 1 programs')):
            words = self.words(server, name, '-c', see, client=sys.executable)
            done = subprocess.run([place.METE, *words], env=self.client_env, text=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
            self.assertEqual(done.stdout, f'{error} {error} {error}\n', done.stderr)
            self.assert_line(done.stderr, f'{server.address}: ', text)
        self.mark('go')
        held.communicate(timeout=60)
        server.end()


if __name__ == '__main__':
    place.main()
