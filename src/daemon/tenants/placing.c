/* placing.c: see placing.h. */
#include "daemon/tenants/placing.h"

#include "daemon/daemon.h"
#include "daemon/health/health.h"
#include "daemon/store/store.h"
#include "daemon/tenants/tenant.h"
#include "model/placement.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

_Static_assert(MACHINE_MAX_DEVICES <= PLACEMENT_CARDS, "placement.h has room for every device");

const char *placing_rule_word(const struct daemon *daemon)
{
	return daemon->placement ? daemon->placement : PLACING_FIRST;
}

int placing_check_rule(const char *value, char *why, size_t size)
{
	if (!strcmp(value, PLACING_FIRST) || placement_rule_find(value) >= 0)
		return 0;
	snprintf(why, size, "knows no \"%.40s\"; its words are first, spread, binpack, fit", value);
	return -EINVAL;
}

bool placing_reads(struct ask *ask)
{
	json_t *given = json_object_get(ask->request, "placement");
	const char *word = json_string_value(given);

	if (!given || json_is_null(given) || (word && placement_rule_find(word) >= 0))
		return true;
	refuse(ask, CODE_MALFORMED, "\"placement\" must be spread, binpack or fit, not \"%.40s\"", word ? word : "");
	return false;
}

static enum placement_rule rule_of(const struct ask *ask)
{
	const char *word = json_string_value(json_object_get(ask->request, "placement"));
	int rule = placement_rule_find(word ? word : placing_rule_word(ask->daemon));

	return rule < 0 ? PLACEMENT_SPREAD : (enum placement_rule)rule;
}

static uint32_t ppm_of(json_t *entry, const char *key)
{
	double percent = json_number_value(json_object_get(entry, key));

	return percent > 0 && percent <= 100 ? (uint32_t)(percent * 1e4 + 0.5) : 0;
}

/* What is malformed is refused where the entry is read; here it is nothing. */
static struct placement_ask asked(const struct ask *ask, json_t *entry)
{
	json_int_t bytes = json_integer_value(json_object_get(entry, "mem_bytes"));
	json_int_t stays = json_integer_value(json_object_get(ask->request, "resident_bytes"));

	return (struct placement_ask){
		.bytes = bytes > 0 ? (uint64_t)bytes : 0,
		.bytes_ppm = ppm_of(entry, "mem_pct"),
		.time_ppm = ppm_of(entry, "cores"),
		.overcommit = json_is_true(json_object_get(ask->request, "overcommit")),
		.leaves = json_is_true(json_object_get(ask->request, "spill")),
		.stays_bytes = stays > 0 ? (uint64_t)stays : 0,
	};
}

static struct placement_card card_of(struct daemon *daemon, const struct device *d)
{
	static const enum placement_state states[] = {
		[DEVICE_ACTIVE] = PLACEMENT_ACTIVE,
		[DEVICE_CORDONED] = PLACEMENT_CORDONED,
		[DEVICE_DRAINING] = PLACEMENT_DRAINED,
		[DEVICE_LOST] = PLACEMENT_LOST,
	};
	uint64_t promised = daemon_promised_bytes(daemon, d->uuid, NULL);
	uint32_t ppm = daemon_promised_ppm(daemon, d->uuid, NULL);
	struct placement_card c = {
		.total_bytes = d->total_bytes,
		.left_bytes = d->total_bytes > promised ? d->total_bytes - promised : 0,
		.left_ppm = ppm < PLACEMENT_WHOLE_PPM ? PLACEMENT_WHOLE_PPM - ppm : 0,
		.state = states[health_state(daemon, d->uuid)],
		.name = d->name,
		.group = -1,
	};

	if (c.state == PLACEMENT_ACTIVE && store_native(daemon->store, d->uuid))
		c.state = PLACEMENT_NATIVE;
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		c.sharers += grant_find_share(&t->grant, d->uuid) != NULL;
	return c;
}

/* What is asked for here: as much as the grants have that there are, and as this one. */
static size_t mix_of(struct daemon *daemon, const struct placement_ask *own, struct placement_type *mix)
{
	size_t n = 0;

	mix[n++] = (struct placement_type){ *own, 1 };
	for (struct tenant *t = daemon->tenants; t && n < PLACEMENT_MIX; t = t->next) {
		const struct grant_share *share = &t->grant.share[0];

		if (!t->grant.share_count)
			continue;
		mix[n++] = (struct placement_type){ { .bytes = share->ledger.quota_units * WIRE_UNIT_BYTES,
						      .time_ppm = share->compute.terms.guarantee_ppm },
						    1 };
	}
	return n;
}

unsigned int placing_order(struct ask *ask, const struct grant *g, json_t *entry, const struct device *list,
			   unsigned int count, unsigned int *order)
{
	struct placement_card cards[MACHINE_MAX_DEVICES];
	struct placement_type mix[PLACEMENT_MIX];
	struct placement_ask wanted = asked(ask, entry);
	unsigned int of[MACHINE_MAX_DEVICES], n = 0;
	struct placement_node node = { .card = cards, .cpu_left_milli = -1 };

	for (unsigned int i = 0; i < count; i++) {
		if (grant_find_share((struct grant *)g, list[i].uuid))
			continue;
		cards[n] = card_of(ask->daemon, &list[i]);
		of[n++] = i;
	}
	node.count = n;
	placement_order(&node, &wanted, rule_of(ask), mix, mix_of(ask->daemon, &wanted, mix), order);
	for (unsigned int i = 0; i < n; i++)
		order[i] = of[order[i]];
	return n;
}
