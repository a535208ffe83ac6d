"""What LD_PRELOAD names: the driver's names stay a program's own, and a program that is linked with a driver gets mete's."""
import os
import shutil
import subprocess

import place
from place import BUILD, MIB

LIBRARY = os.path.join(BUILD, 'tests/cli/libnames.so')
LINKED = os.path.join(BUILD, 'tests/cli/names_linked')
OPENED = os.path.join(BUILD, 'tests/cli/names_opened')
RUN = ['run', '--soft', '--mem', '8M']
WALL = [*RUN, '--wall']

# A driver that answers 77, and a program that prints who answered and how it was started.
DRIVER = 'int cuInit(unsigned int flags) { (void)flags; return 77; }\n'
PROGRAM = r'''
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int cuInit(unsigned int flags);

int main(int argc, char **argv)
{
	char comm[64] = "";
	FILE *file = fopen("/proc/self/comm", "r");
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned int) = (int (*)(unsigned int))dlsym(library, "cuInit");

	if (!file || !fgets(comm, sizeof(comm), file))
		return 1;
	printf("%d %d %d %s", cuInit(0), init(0), (int)getpid(), comm);
	for (int i = 1; i < argc; i++)
		printf("<%s>\n", argv[i]);
	return 0;
}
'''


class Variables(place.MeteTest):
    """A library that exports variables such as cuInit writes to its own, not to mete's functions."""

    def used(self, way, *program):
        done = self.mete(*way, *program)
        self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
        return done.stdout

    def check(self, way):
        for program, more in ((LINKED, ()), (OPENED, (LIBRARY,))):
            self.assertEqual(self.used(way, program, str(4 * MIB), *more),
                             'init 0 retain 0 set 0 alloc 0 nvml 0 count 0 of 1\n')
            self.assertEqual(self.used(way, program, str(16 * MIB), *more),
                             'init 0 retain 0 set 0 alloc 2 nvml 0 count 0 of 1\n')

    def test_quota(self):
        self.check(RUN)

    def test_wall(self):
        self.check(WALL)


class Broken(place.MeteTest):
    def test_library_that_cannot_be_loaded(self):
        """The program runs, and the log names the library."""
        if place.SANITIZED:
            self.skipTest("a sanitizer's runtime would have to be in the program")
        shutil.copy(os.path.join(BUILD, 'src/shim/libmete-preload.so'), self.folder)
        self.program('libcuda.so.1', 'no library\n')
        done = subprocess.run(['true'], env={'LD_PRELOAD': self.path('libmete-preload.so'), 'METE_LOG': 'stderr', 'PATH': os.environ['PATH']},
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ''))
        self.assertRegex(done.stderr, r'^mete: .*preload: .*/libcuda\.so\.1: .*; the program runs without it: install mete anew\n$')


class Linked(place.MeteTest):
    """A program whose linker finds another driver first gets mete's all the same."""

    def setUp(self):
        super().setUp()
        if place.SANITIZED:
            self.skipTest("a sanitizer's runtime would have to be in the program")
        self.other = self.path('other')
        os.mkdir(self.other)
        source = self.program('driver.c', DRIVER)
        subprocess.run(['cc', '-shared', '-fPIC', '-Wl,-soname,libcuda.so.1', '-o', f'{self.other}/libcuda.so.1', source],
                       check=True)
        self.source = self.program('program.c', PROGRAM)

    def linked(self, name, *options):
        program = self.path(name)
        subprocess.run(['cc', '-o', program, self.source, f'{self.other}/libcuda.so.1', '-ldl', *options], check=True)
        return program

    def check(self, program, *before):
        for way in (RUN, WALL):
            done = self.mete(*way, 'sh', '-c', 'echo $$; exec "$@"', 'sh', *before, program, 'a b', '', '*')
            self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
            pid, answer = done.stdout.split('\n', 1)
            self.assertEqual(answer, f'0 0 {pid} {os.path.basename(program)}\n<a b>\n<>\n<*>\n')

    def test_rpath(self):
        program = self.linked('rpath', f'-Wl,--disable-new-dtags,-rpath,{self.other}')
        self.assertEqual(subprocess.run([program], capture_output=True, text=True).stdout.split()[:2], ['77', '77'])
        self.check(program)

    def test_library_path(self):
        """A script sets LD_LIBRARY_PATH anew; the program's calls are bound when it starts, or later."""
        for name, bound in (('now', '-Wl,-z,now'), ('lazy', '-Wl,-z,lazy')):
            self.check(self.linked(name, bound), 'env', f'LD_LIBRARY_PATH={self.other}')

    def test_long_words(self):
        program = self.linked('long', f'-Wl,--disable-new-dtags,-rpath,{self.other}')
        words = ['x' * length for length in (1, 4094, 4095, 4096, 100000)]
        done = self.mete(*RUN, program, *words)
        self.assertEqual(done.stdout.splitlines()[1:], [f'<{word}>' for word in words], done.stderr)

    def test_file_is_gone(self):
        """A program that was removed when it began is started again from its open file."""
        program = self.linked('gone', f'-Wl,--disable-new-dtags,-rpath,{self.other}')
        done = self.mete(*RUN, 'python3', '-c', 'import os, sys\nfile = os.open(sys.argv[1], os.O_PATH)\nos.unlink(sys.argv[1])\n'
                         'os.execve(file, ["gone", "word"], os.environ)', program)
        self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
        self.assertEqual((done.stdout.split()[:2], done.stdout.splitlines()[1:]), (['0', '0'], ['<word>']))

    def test_set_user_id(self):
        """The system's list names the library: the linker ignores LD_PRELOAD, and the program is not started for ever."""
        alone = ['unshare', '--mount', '--propagation', 'private']
        if os.getuid() or subprocess.run([*alone, 'mount', '-t', 'tmpfs', 'none', '/mnt'], capture_output=True).returncode:
            self.skipTest('needs root and a mount namespace')
        if os.path.exists('/etc/ld.so.preload'):
            self.skipTest('the system has a list of its own')
        program = self.linked('secure', f'-Wl,--disable-new-dtags,-rpath,{self.other}')
        folder = self.path('alone')
        os.mkdir(folder)
        for name in ('libmete-preload.so', 'libcuda.so.1', 'libmete-core.so'):
            shutil.copy(os.path.join(BUILD, 'src/shim', name), folder)
        for at in (self.folder, folder, self.other):
            os.chmod(at, 0o755)
        script = self.program('alone.sh', 'mkdir "$1/etc" "$1/bin" && cp -a /etc/. "$1/etc" && mount -t tmpfs none "$1/bin" &&\n'
                              'echo "$1/libmete-preload.so" > "$1/etc/ld.so.preload" && cp "$2" "$1/bin/program" &&\n'
                              'chmod 4755 "$1/bin/program" && mount --bind "$1/etc" /etc &&\n'
                              'exec setpriv --reuid 65534 --clear-groups "$1/bin/program" word\n')
        done = subprocess.run([*alone, 'sh', script, folder, program], capture_output=True, text=True, timeout=20)
        self.assertEqual((done.returncode, done.stderr, done.stdout.splitlines()[1:]), (0, '', ['<word>']))


if __name__ == '__main__':
    place.main()
