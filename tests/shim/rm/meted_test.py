"""Tier T3 under meted itself, over the model of the resource manager: shares become slices, and the tier is shown."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../cli'))

import place  # noqa: E402

CASES = os.path.join(place.BUILD, 'tests/shim/rm/rm_cases')


class Meted(place.MeteTest):
    def serve(self, grant, **env):
        device = self.grant(grant)['devices'][0]
        process = subprocess.Popen(
            [CASES, 'serve'], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
            env={**self.env, 'METE_SOCKET': self.grant(grant)['socket'], 'METE_TIER': 'T3', 'METE_LOG': self.path('log'),
                 'TEST_RM_FILE': self.path('rm'), 'TEST_RM_UUID': device['uuid'][4:].replace('-', ''), **env})
        self.started.append(process)
        return process

    def slice(self, process):
        process.stdin.write('\n')
        process.stdin.flush()
        return int(process.stdout.readline())

    def test_shares_are_slices(self):
        self.assertEqual(self.mete('create', 'one', '--soft', '--mem', '1M', '--cores', '30').returncode, 0)
        process = self.serve('one')
        place.wait_for(lambda: self.slice(process) == 3000, 'the guarantee is the slice')
        device = place.wait_for(lambda: [d for d in self.grant('one')['devices'] if d['tier'] == 'T3'], 'T3 is shown')[0]
        self.assertIn('docs/tiers.md', device['tier_note'])
        self.assertTrue([e for e in self.grant('one')['events'] if 'tier T3 in force' in e['text']])
        self.assertIn('tier T3 in force', self.mete('doctor').stdout)
        self.assertEqual(self.mete('set', 'one', '--cores', '60').returncode, 0)
        place.wait_for(lambda: self.slice(process) == 6000, 'and follows it')
        self.assertEqual(self.mete('set', 'one', '--class', 'low').returncode, 0)
        place.wait_for(lambda: self.slice(process) == 200, 'low class')
        self.assertEqual(self.mete('set', 'one', '--policy', 'native').returncode, 0)
        place.wait_for(lambda: self.slice(process) == 1024, 'nothing is limited: the driver\'s own')
        process.stdin.close()
        self.assertEqual(process.wait(20), 0)


if __name__ == '__main__':
    place.main()
