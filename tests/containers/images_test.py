"""
Containers of whole distributions, old and new: every way to a device, users other than root, roots that cannot be written.

METE_TEST_IMAGES names unpacked root file systems, with colons between; without it METE_TEST_LONG has debootstrap make some,
once per build folder.
"""
import os

import containers
import fresh
from containers import BUILD, ContainerTest, wait_for

IMAGES = []
LIVES = (('as it is', ()), ('another user', ('--user', '1234:1234')), ('read-only', ('--read-only',)),
         ('little memory', ('--memory', '256m')), ("the machine's processes", ('--pid=host',)),
         ('no capabilities', ('--cap-drop=all', '--security-opt=no-new-privileges')))
PROGRAM = ('-v', os.path.join(BUILD, 'examples') + ':/examples:ro')


class Images(ContainerTest):
    PROGRAMS = ()

    def works_in(self, image, device, options, what):
        done = self.run_in(device, '/examples/hungry', root=image, options=(*PROGRAM, *options))
        self.assertEqual((done.returncode, done.stderr), (0, ''), f'{what}: {done.stdout}')
        self.assertIn('64.0 of 64.0 MiB free', done.stdout, what)

    def test_images(self):
        """The whole quota, by every way, in every life."""
        self.generate({'name': 'soft', 'mem': '64M'}, {'name': 'wall', 'mem': '64M', 'wall': True})
        for image in IMAGES:
            said = self.mete('doctor', '--image', image)
            self.assertEqual((said.returncode, 'failed' in said.stdout), (0, False), said.stdout)
            for life, options in LIVES:
                for way in ('soft', 'wall'):
                    with self.subTest(image=os.path.basename(image), life=life, way=way):
                        self.works_in(image, f'mete.io/share={way}', options, f'{image} {life} {way}')
        self.assertTrue(self.nothing_left())

    def test_entered(self):
        """Whoever comes in later has the same share; a restarted container has it again."""
        self.generate({'name': 'soft', 'mem': '64M'})
        for i, image in enumerate(IMAGES):
            self.begin_in(f'c{i}', 'mete.io/share=soft', '/bin/sleep', '1000', root=image, options=PROGRAM)
            for _ in range(2):
                for words in (('/examples/hungry',), ('env', '-i', '/examples/hungry'),
                              ('/bin/sh', '-c', 'unset LD_PRELOAD; cd /; exec /examples/hungry')):
                    done = self.podman('exec', f'c{i}', *words)
                    self.assertIn('64.0 of 64.0 MiB free', done.stdout, (image, words, done.stderr))
                self.assertEqual(len(self.grants()), 1)
                self.assertEqual(self.podman('restart', '-t', '0', f'c{i}').returncode, 0)
                wait_for(lambda: len(self.grants()) == 1, 'the grant of before is gone, and there is a new one')
            self.podman('rm', '-f', '-t', '0', f'c{i}')
            wait_for(self.nothing_left, 'it ends with the container')


def main():
    named = os.environ.get('METE_TEST_IMAGES')
    if not named and not os.environ.get('METE_TEST_LONG'):
        containers.skip('set METE_TEST_LONG to make images, or name some in METE_TEST_IMAGES')
    IMAGES.extend(named.split(':') if named else fresh.images(os.path.join(BUILD, 'images')))
    if not IMAGES:
        containers.skip('debootstrap makes no image here')
    containers.main()


if __name__ == '__main__':
    main()
