"""mete run --guard, mete cdi create --guard: where the kernel cannot limit a program, nothing is started, and a line says why."""
import json
import os

import place
from place import wait_for


class Guarded(place.MeteTest):
    def refused(self, words, *texts, status=125):
        done = self.mete(*words)
        self.assertEqual((done.returncode, done.stdout), (status, ''), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_nothing_starts_on_the_software_device(self):
        self.refused(['run', '--guard', '--soft', '-m', '8M', 'touch', self.path('started')], '--guard', 'software device')
        self.assertFalse(os.path.exists(self.path('started')))
        wait_for(lambda: not json.loads(self.mete('ps', '--json').stdout)['grants'], 'the grant is gone')

    def test_words_that_contradict(self):
        self.refused(['run', '--guard', '--wall', '-m', '8M', 'true'], '--wall with --guard')
        self.refused(['run', '--guard', '--remote', 'localhost', 'true'], '--guard')

    def test_doctor_says_what_is_missing(self):
        checks = json.loads(self.mete('doctor', '--json').stdout)['checks']
        guard = [check for check in checks if check['name'] == 'guard']
        self.assertEqual(len(guard), 1)
        self.assertTrue(guard[0]['detail'].startswith(('none. bpf: ', 'bpf: ', 'notify: ', 'dmem: ')), guard[0])

    def test_containers_are_told_in_their_hook(self):
        self.assertEqual(self.mete('cdi', 'create', '--soft', '--mem', '8M', '--guard', '--name', 'boxed', '--dir', self.path('cdi')).returncode, 0)
        texts = ''
        for name in os.listdir(self.path('cdi')):
            with open(os.path.join(self.path('cdi'), name)) as file:
                texts += file.read()
        create = [hook for device in json.loads(texts)['devices'] for hook in device['containerEdits']['hooks'] if 'create' in hook['args']]
        self.assertTrue(create)
        for hook in create:
            self.assertIn('--guard', hook['args'])
        self.assertEqual(self.mete('cdi', 'remove', 'boxed', '--dir', self.path('cdi')).returncode, 0)


if __name__ == '__main__':
    place.main()
