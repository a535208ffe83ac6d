/* tenants_test.c: the account against a plain list of what is there, at random; and the cases that matter by name. */
#include "guard/tenants.h"

#include "base/tap.h"
#include "rm/interface.h"

#include <stdlib.h>
#include <string.h>

#define MIB(n) ((uint64_t)(n) << 20)

static void test_quota(void)
{
	struct tenant_account *a = tenant_account_new(MIB(10));

	tap_ok(tenant_charge(a, MIB(10)) && !tenant_charge(a, 1), "the quota to the byte");
	tap_ok(!tenant_charge(a, UINT64_MAX), "no sum is too large to be refused");
	tenant_refund(a, MIB(10));
	tap_ok(!a->used && a->peak == MIB(10), "it comes back, and the peak stays");
	tenant_charge(a, MIB(4));
	tenant_settle(a, MIB(4), MIB(12));
	tap_ok(a->used == MIB(12) && !tenant_charge(a, 0),
	       "what was taken all the same is above the quota, and nothing more is given");
	tenant_account_free(a);
}

static void test_trees(void)
{
	struct tenant_account *a = tenant_account_new(MIB(100));

	tenant_put(a, 1, 1, 1, RM_CLASS_CLIENT);
	tenant_put(a, 1, 1, 2, RM_CLASS_DEVICE);
	tenant_put(a, 1, 2, 3, RM_CLASS_SUBDEVICE);
	tenant_charge(a, MIB(7));
	tenant_put_memory(a, 1, 2, 10, MIB(3));
	tenant_put_memory(a, 1, 3, 11, MIB(4));
	tenant_put(a, 2, 2, 2, RM_CLASS_CLIENT);
	tenant_put_name(a, 2, 2, 20, tenant_find(a, 1, 11));
	tenant_free_object(a, 1, 3);
	tap_ok(a->used == MIB(7) && !tenant_find(a, 1, 11),
	       "a second name keeps memory whose first goes with what is above it");
	tenant_free_object(a, 1, 2);
	tap_ok(a->used == MIB(4) && !tenant_find(a, 1, 10) && tenant_find(a, 1, 1), "a device takes its memory along");
	tenant_free_object(a, 2, 2);
	tap_ok(!a->used, "a client takes all");
	tenant_charge(a, MIB(1));
	tenant_put_memory(a, 1, 77, 12, MIB(1));
	tenant_free_object(a, 1, 77);
	tap_ok(!a->used, "a parent that was never seen made is one all the same");
	tenant_charge(a, MIB(2));
	tenant_put_memory(a, 1, 1, 13, MIB(2));
	tenant_put(a, 1, 1, 13, 0);
	tap_ok(!a->used, "a name that is used again has lost what it was before");
	tenant_put(a, 1, 1, 30, RM_CLASS_GROUP);
	tap_ok(a->groups == 1, "groups are counted");
	tenant_free_object(a, 1, 1);
	tap_ok(!a->groups && !a->objects, "and go with their client");
	tenant_account_free(a);
}

static void test_full(void)
{
	struct tenant_account *a = tenant_account_new(MIB(100));

	for (uint32_t i = 0; i < 20000 && tenant_room(a); i++)
		tenant_put(a, 1, 1, 100 + i, 0);
	tap_ok(!tenant_room(a) && a->objects == TENANT_OBJECTS_MOST, "a full account says so");
	tenant_free_object(a, 1, 1);
	tap_ok(!a->objects && tenant_room(a), "and is empty again with its client");
	tenant_account_free(a);
}

struct plain {
	uint32_t client, handle;
	int memory; /* number in `bytes` */
};

/* Flat memory of two clients, names at random: the account is the sum of what any name is left of. */
static void test_random(void)
{
	struct tenant_account *a = tenant_account_new(UINT64_MAX);
	static struct plain list[64];
	static uint64_t bytes[200000];
	unsigned int seed = 5, bad = 0, memories = 0;

	for (int step = 0; step < 100000; step++) {
		unsigned int i = (unsigned int)rand_r(&seed) % 64, j = (unsigned int)rand_r(&seed) % 64;
		uint32_t client = 1 + i % 2, handle = 100 + i;
		uint64_t sum = 0;

		switch (rand_r(&seed) % 4) {
		case 0:
			bytes[memories] = (uint64_t)(rand_r(&seed) % 1000) << 12;
			tenant_charge(a, bytes[memories]);
			tenant_put_memory(a, client, client, handle, bytes[memories]);
			list[i] = (struct plain){ client, handle, (int)memories++ };
			break;
		case 1:
			if (i == j || !list[j].handle)
				break;
			tenant_put_name(a, client, client, handle, tenant_find(a, list[j].client, list[j].handle));
			list[i] = (struct plain){ client, handle, list[j].memory };
			break;
		case 2:
			tenant_free_object(a, client, handle);
			list[i].handle = 0;
			break;
		default:
			if (rand_r(&seed) % 50)
				break;
			tenant_free_object(a, client, client);
			for (int k = 0; k < 64; k++)
				if (list[k].client == client)
					list[k].handle = 0;
			break;
		}
		if (step % 50)
			continue;
		for (int k = 0; k < 64; k++) {
			bool first = list[k].handle;

			for (int m = 0; m < k && first; m++)
				first = !list[m].handle || list[m].memory != list[k].memory;
			sum += first ? bytes[list[k].memory] : 0;
		}
		bad += a->used != sum;
	}
	tap_ok(!bad, "100000 steps at random (%u)", bad);
	tenant_account_free(a);
}

int main(void)
{
	tap_begin();
	test_quota();
	test_trees();
	test_full();
	test_random();
	return tap_end();
}
