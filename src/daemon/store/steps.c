/* steps.c: the steps, see steps.h. */
#include "daemon/store/steps.h"

const char *const store_steps[] = {
	/* 1: grants and their shares of memory */
	"CREATE TABLE grants ("
	" id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, uid INTEGER NOT NULL, gid INTEGER NOT NULL,"
	" kind INTEGER NOT NULL, libcuda TEXT NOT NULL, libnvml TEXT NOT NULL,"
	" runner_pid INTEGER NOT NULL, runner_start INTEGER NOT NULL, created INTEGER NOT NULL,"
	" overcommit INTEGER NOT NULL) STRICT;"
	"CREATE TABLE shares ("
	" grant_id INTEGER NOT NULL REFERENCES grants(id) ON DELETE CASCADE, place INTEGER NOT NULL,"
	" device_index INTEGER NOT NULL, uuid BLOB NOT NULL, name TEXT NOT NULL,"
	" total_bytes INTEGER NOT NULL, granule_bytes INTEGER NOT NULL,"
	" quota_units INTEGER NOT NULL, target_units INTEGER NOT NULL,"
	" PRIMARY KEY (grant_id, place)) STRICT;",
	/* 2: shares of time. A row of version 1 is native: what it was. */
	"ALTER TABLE shares ADD COLUMN policy TEXT NOT NULL DEFAULT 'native';"
	"ALTER TABLE shares ADD COLUMN class TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE shares ADD COLUMN cores REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE shares ADD COLUMN cores_limit REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE shares ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE shares ADD COLUMN turn_ns INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE shares ADD COLUMN frozen INTEGER NOT NULL DEFAULT 0;"
	"CREATE TABLE defaults (uuid BLOB PRIMARY KEY, policy TEXT NOT NULL) STRICT;",
	/* 3: walled grants */
	"ALTER TABLE grants ADD COLUMN wall INTEGER NOT NULL DEFAULT 0;",
	/* 4: what is wrong with devices, and with tenants */
	"CREATE TABLE devices (uuid BLOB PRIMARY KEY, kind INTEGER NOT NULL, device_index INTEGER NOT NULL,"
	" name TEXT NOT NULL, total_bytes INTEGER NOT NULL, granule_bytes INTEGER NOT NULL,"
	" cordoned INTEGER NOT NULL, drained INTEGER NOT NULL, draining INTEGER NOT NULL, ends INTEGER NOT NULL,"
	" until INTEGER NOT NULL, lost INTEGER NOT NULL, reason TEXT NOT NULL, lost_reason TEXT NOT NULL,"
	" since INTEGER NOT NULL, faults INTEGER NOT NULL) STRICT;"
	"CREATE TABLE quarantines (grant_id INTEGER PRIMARY KEY, faults INTEGER NOT NULL, level INTEGER NOT NULL,"
	" until INTEGER NOT NULL) STRICT;",
	/* 5: grants of containers */
	"ALTER TABLE grants ADD COLUMN container INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE grants ADD COLUMN keep INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE grants ADD COLUMN spec TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE grants ADD COLUMN files TEXT NOT NULL DEFAULT '';",
	/* 6: when a tenant's last faults were, and how long its last quarantine was */
	("ALTER TABLE quarantines ADD COLUMN times TEXT NOT NULL DEFAULT '';"
	 "ALTER TABLE quarantines ADD COLUMN length INTEGER NOT NULL DEFAULT 0;"),
	/* 7: devices where programs without a share run unheld */
	"CREATE TABLE natives (uuid BLOB PRIMARY KEY) STRICT;",
	/* 8: grants that wait for their first process, and who has taken a device out */
	"ALTER TABLE grants ADD COLUMN expires INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE devices ADD COLUMN who TEXT NOT NULL DEFAULT '';",
	/* 9: whose work a grant is to those who started it */
	"ALTER TABLE grants ADD COLUMN container_id TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE grants ADD COLUMN pod TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE grants ADD COLUMN namespace TEXT NOT NULL DEFAULT '';",
	/* 10: memory that may leave its device */
	"ALTER TABLE grants ADD COLUMN spill INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE grants ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE grants ADD COLUMN resident_units INTEGER NOT NULL DEFAULT 0;",
#ifdef METE_TEST_STEP
	METE_TEST_STEP, /* what tests take for the next release has one more */
#endif
};

const unsigned int store_step_count = sizeof(store_steps) / sizeof(*store_steps);
