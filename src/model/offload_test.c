/* offload_test.c: where memory goes, and that no bound is passed, whoever asks. */
#include "model/offload.h"
#include "base/tap.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct offload_owner root = { .owner = true, .disk = true },
				  alice = { .user = 1, .host_most = UINT64_MAX, .disk = true },
				  bob = { .user = 2, .host_most = UINT64_MAX, .disk = true },
				  cheat = { .user = 3, .host_most = UINT64_MAX }, poor = { .user = 4, .host_most = 20 };

static void goes(const struct offload *o, const struct offload_owner *whose, uint64_t units, enum offload_place where,
		 const char *what)
{
	enum offload_place chosen = offload_choose(o, whose, units);

	tap_ok(chosen == where, "%s (%d)", what, (int)chosen);
}

static void in_order(void)
{
	struct offload o = { .host_most = 100, .disk_most = 1000, .disk_user_most = 400 };

	goes(&o, &root, 100, OFFLOAD_HOST, "an owner has all of the host's memory");
	goes(&o, &alice, 75, OFFLOAD_HOST, "a user all but a quarter");
	goes(&o, &alice, 76, OFFLOAD_DISK, "what is more goes to the disk, as a whole");
	goes(&o, &cheat, 76, OFFLOAD_NOWHERE, "whose programs may not write there stays");
	goes(&o, &alice, 401, OFFLOAD_NOWHERE, "a user has a bound of the disk");
	goes(&o, &root, 1001, OFFLOAD_NOWHERE, "and all together have one");
	offload_add(&o, &alice, OFFLOAD_HOST, 75);
	offload_add(&o, &alice, OFFLOAD_DISK, 390);
	goes(&o, &root, 25, OFFLOAD_HOST, "the quarter is there for owners");
	goes(&o, &alice, 10, OFFLOAD_DISK, "to the unit");
	goes(&o, &alice, 11, OFFLOAD_NOWHERE, "and not one more");
	goes(&o, &bob, 400, OFFLOAD_DISK, "another user has his own");
	offload_add(&o, &bob, OFFLOAD_DISK, 400);
	offload_add(&o, &root, OFFLOAD_DISK, 200);
	goes(&o, &alice, 10, OFFLOAD_DISK, "what is left of all is for whoever comes");
	goes(&o, &root, 26, OFFLOAD_NOWHERE, "and no more");
	o.disk_most = 0;
	goes(&o, &root, 26, OFFLOAD_NOWHERE, "a disk that is not there any more takes nothing");
	tap_ok(!offload_room(&o, &bob, OFFLOAD_DISK), "and has no room");
}

/* A user has a bound of the host's memory, by all of his grants together. */
static void by_user(void)
{
	struct offload o = { .host_most = 100 };

	goes(&o, &poor, 20, OFFLOAD_HOST, "a user has his part of the host's memory");
	goes(&o, &poor, 21, OFFLOAD_NOWHERE, "and no more");
	tap_ok(offload_is_users_part(&o, &poor), "that is his own bound");
	offload_add(&o, &poor, OFFLOAD_HOST, 15);
	goes(&o, &poor, 6, OFFLOAD_NOWHERE, "what he has counts");
	goes(&o, &bob, 60, OFFLOAD_HOST, "for others there is what is left");
	offload_add(&o, &bob, OFFLOAD_HOST, 57);
	tap_ok(!offload_is_users_part(&o, &poor) && offload_room(&o, &poor, OFFLOAD_HOST) == 3,
	       "where others leave less than that, it is not his own bound");
}

/* Whoever has no account of his own shares one with all like him. */
static void many_users(void)
{
	struct offload o = { .disk_most = 100000, .disk_user_most = 10 };
	uint64_t got = 0;

	for (uint32_t user = 1; user <= 400; user++) {
		struct offload_owner whose = { .user = user, .disk = true };

		while (offload_choose(&o, &whose, 1) == OFFLOAD_DISK) {
			offload_add(&o, &whose, OFFLOAD_DISK, 1);
			got++;
		}
	}
	tap_ok(got == (OFFLOAD_USERS + 1) * 10, "400 users have what 257 may have (%" PRIu64 ")", got);
}

static void at_random(void)
{
	bool good = true;

	for (int run = 0; run < 2000 && good; run++) {
		struct offload o = { .host_most = (uint64_t)rand() % 100,
				     .disk_most = (uint64_t)rand() % 100,
				     .disk_user_most = (uint64_t)rand() % 50 };
		uint64_t disk[4] = { 0 }, host = 0, users = 0;

		for (int i = 0; i < 50; i++) {
			struct offload_owner whose = { .owner = !(rand() % 3),
						       .user = (uint32_t)rand() % 4,
						       .host_most = UINT64_MAX,
						       .disk = rand() % 4 };
			uint64_t units = (uint64_t)rand() % 20;
			enum offload_place where = offload_choose(&o, &whose, units);

			offload_add(&o, &whose, where, units);
			host += where == OFFLOAD_HOST ? units : 0;
			users += where == OFFLOAD_HOST && !whose.owner ? units : 0;
			if (where == OFFLOAD_DISK && !whose.owner)
				disk[whose.user] += units;
			good = good && host <= o.host_most && o.disk <= o.disk_most &&
			       users <= o.host_most - o.host_most / OFFLOAD_KEPT_PART &&
			       (where != OFFLOAD_DISK || whose.disk);
			for (int u = 0; u < 4; u++)
				good = good && disk[u] <= o.disk_user_most;
		}
	}
	tap_ok(good, "no bound is passed, whoever asks for what in which order");
}

int main(void)
{
	tap_begin();
	in_order();
	by_user();
	many_users();
	at_random();
	return tap_end();
}
