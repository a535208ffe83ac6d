"""Shares of a device's time in words: how they are asked for, changed, shown and refused, and that they are kept."""
import json
import os
import sqlite3

import place
from place import wait_for


# The store's tables in its first version.
FIRST = {'grants': 'id name uid gid kind libcuda libnvml runner_pid runner_start created overcommit'.split(),
         'shares': 'grant_id place device_index uuid name total_bytes granule_bytes quota_units target_units'.split()}


class Words(place.MeteTest):
    def share(self, name, device=0):
        return self.grant(name)['devices'][device]

    def terms(self, name, device=0):
        share = self.share(name, device)
        return tuple(share[key] for key in ('policy', 'cores', 'cores_limit', 'weight', 'class'))

    def make(self, name, *words):
        done = self.mete('create', name, '-m', '1M', *words)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    def test_create(self):
        for words, terms in (((), ('native', None, 100, None, 'normal')),
                             (('--cores', '30'), ('fixed', 30, 30, None, 'normal')),
                             (('--cores', '20', '--cores-limit', '60%'), ('elastic', 20, 60, 100, 'normal')),
                             (('-p', 'burst', '-c', '12.5', '-k', 'low'), ('burst', 12.5, 100, 100, 'low')),
                             (('--policy', 'fair'), ('fair', None, 100, 100, 'normal')),
                             (('--weight', '300'), ('weighted', None, 100, 300, 'normal')),
                             (('--policy', 'besteffort'), ('besteffort', None, 100, 100, 'low')),
                             (('--class', 'high'), ('fair', None, 100, 100, 'high'))):
            self.make('one', *words)
            self.assertEqual(self.terms('one'), terms, words)
            self.assertEqual(self.mete('delete', 'one').returncode, 0)
        self.make('long', '--policy', 'exclusive', '--turn', '500')
        self.assertEqual(self.share('long')['turn_ms'], 500)

    def test_each_device(self):
        self.make('two', '-d', '0,1', '--cores', '30', '--cores', '40', '--policy', 'burst')
        self.assertEqual([self.terms('two', d)[:2] for d in (0, 1)], [('burst', 30), ('burst', 40)])
        self.assertEqual(self.mete('set', 'two', '-d', '1', '--cores', '50').returncode, 0)
        self.assertEqual([self.terms('two', d)[:2] for d in (0, 1)], [('burst', 30), ('burst', 50)])
        self.refused(1, ['set', 'two', '--cores', '50'], 'two', '--device')
        self.refused(2, ['create', 'three', '-d', '0', '--cores', '1', '--cores', '2'], '--cores', 'once for each')

    def test_refusals(self):
        for words, parts in ((('--cores', '0'), ('--cores 0', '1 to 100')), (('--cores', '101'), ('--cores 101',)),
                             (('--cores', 'abc'), ('--cores abc',)), (('--cores', '-3'), ('--cores -3',)),
                             (('--cores', 'nan'), ('--cores nan',)), (('--cores', ''), ('--cores',)),
                             (('--cores-limit', '0'), ('--cores-limit 0',)), (('--weight', '0'), ('--weight 0',)),
                             (('--weight', '10001'), ('--weight 10001',)), (('--turn', '5'), ('--turn 5',)),
                             (('--policy', 'brust'), ('brust', 'burst')), (('--policy', 'x'), ('mete policy',)),
                             (('--class', 'urgent'), ('urgent', 'high, normal and low')),
                             (('--cores', '30', '--cores-limit', '20'), ('--cores-limit 20', '--cores 30'))):
            self.refused(2, ['create', 'bad', '-m', '1M', *words], *parts)
            self.refused(125, ['run', '-m', '1M', *words, 'true'], *parts)
        for words, parts in ((('--policy', 'fixed'), ('needs --cores',)),
                             (('--policy', 'fair', '--cores', '30'), ('no use for --cores',)),
                             (('--policy', 'native', '--class', 'low'), ('no use for --class',)),
                             (('--policy', 'fixed', '--cores', '30', '--cores-limit', '40'), ('no use for',)),
                             (('--policy', 'burst', '--cores', '30', '--turn', '50'), ('no use for --turn',))):
            self.refused(1, ['create', 'bad', '-m', '1M', *words], 'device 0', *parts)
        self.assertEqual(self.json('ps')['grants'], [])

    def test_sums(self):
        self.make('a', '--cores', '60')
        self.refused(1, ['create', 'b', '-m', '1M', '--cores', '50'], '40 %', '50 %', 'overcommit')
        self.make('b', '--cores', '50', '--overcommit')
        self.refused(1, ['set', 'a', '--cores', '70'], '50 %', '70 %')
        self.assertEqual(self.mete('set', 'a', '--cores', '55').returncode, 0)
        self.assertEqual(self.json('devices')['devices'][0]['promised_cores'], 105)
        self.assertEqual(self.mete('set', 'b', '--cores', '95').returncode, 0)  # it may promise too much

    def test_change(self):
        self.make('a', '--cores', '30')
        for words, terms in ((('--policy', 'burst'), ('burst', 30, 100)), (('--cores-limit', '60'), ('burst', 30, 60)),
                             (('--policy', 'fair'), ('fair', None, 60)), (('--policy', 'native'), ('native', None, 100)),
                             (('--cores', '20'), ('fixed', 20, 20)), (('-m', '2M'), ('fixed', 20, 20))):
            self.assertEqual(self.mete('set', 'a', *words).returncode, 0, words)
            self.assertEqual(self.terms('a')[:3], terms, words)
        self.refused(1, ['set', 'a', '--weight', '5'], 'no use for --weight')
        self.refused(2, ['set', 'a'], 'nothing to change')
        self.refused(2, ['set', 'a', '--freeze', '--thaw'], 'contradict')
        self.assertIn('frozen', self.mete('set', 'a', '--freeze').stdout)
        self.assertTrue(self.share('a')['frozen'])
        self.assertIn('frozen', self.mete('ps').stdout)
        self.assertNotIn('frozen', self.mete('set', 'a', '--thaw').stdout)
        self.assertEqual(self.mete('set', 'a', '--policy', 'native').returncode, 0)
        self.refused(1, ['set', 'a', '--freeze'], 'native')

    def test_policy(self):
        done = self.mete('policy')
        for name in ('native', 'fair', 'fixed', 'weighted', 'burst', 'besteffort', 'elastic', 'exclusive'):
            self.assertIn(f'\n{name} ', done.stdout)
        self.assertEqual(self.mete('policy', '0', 'fair').stdout, 'device 0: fair\n')
        self.assertEqual([d['policy'] for d in self.json('policy')['devices']], ['fair', 'native'])
        self.make('a')
        self.make('b', '--cores', '10')
        self.assertEqual([self.terms(name)[0] for name in 'ab'], ['fair', 'fixed'])
        self.assertEqual(self.mete('policy', '0', 'fixed').returncode, 0)
        self.refused(1, ['create', 'c', '-m', '1M'], 'policy fixed needs --cores')
        self.refused(2, ['policy', '0', 'fiar'], 'fair')
        self.refused(2, ['policy', '0'], 'which policy')
        self.refused(1, ['policy', '9', 'fair'], '9')

    def test_kept(self):
        """Over a restart of meted; and a store that an earlier mete wrote is taken over."""
        self.make('a', '-p', 'elastic', '-c', '20', '-C', '60', '-w', '7', '-k', 'low')
        self.mete('set', 'a', '--freeze')
        self.mete('policy', '1', 'weighted')
        before = self.share('a')
        self.kill_meted()
        self.assertEqual(self.share('a'), before)
        self.assertEqual(self.json('devices')['devices'][1]['policy'], 'weighted')
        self.kill_meted()
        store = sqlite3.connect(os.path.join(self.runtime, 'mete.db'))
        tables = [name for name, in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            if table not in FIRST:
                store.execute(f'DROP TABLE {table}')
                continue
            for column in [row[1] for row in store.execute(f'PRAGMA table_info({table})')]:
                if column not in FIRST[table]:
                    store.execute(f'ALTER TABLE {table} DROP COLUMN {column}')
        store.execute('PRAGMA user_version = 1')
        store.commit()
        store.close()
        self.assertEqual(self.terms('a'), ('native', None, 100, None, 'normal'))
        self.assertEqual(self.mete('set', 'a', '--cores', '5').returncode, 0)


place.main()
