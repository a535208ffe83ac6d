/* grant_entry.c: what the fields of a request about a grant say, and what is refused of it. */
#include "base/size.h"
#include "daemon/daemon.h"
#include "daemon/tenants/grant_ask.h"
#include "daemon/tenants/tenant.h"

#include <inttypes.h>

enum verbs_result grant_asked(struct ask *ask, struct tenant **ret)
{
	const char *name = json_string_value(json_object_get(ask->request, "name"));

	if (!name)
		return refuse(ask, CODE_MALFORMED, "the request names no grant: give its \"name\"");
	*ret = tenant_find(ask->daemon, name);
	if (!*ret)
		return refuse(ask, CODE_UNKNOWN_GRANT, "there is no grant %.64s: `mete ps` lists those that there are",
			      name);
	return VERBS_ANSWERED;
}

bool grant_may_change(const struct ask *ask, const struct tenant *t)
{
	return ask_is_owner(ask) || ask->asker->uid == t->grant.uid;
}

enum verbs_result grant_refuse_other(struct ask *ask, const struct tenant *t)
{
	if (!t->grant.uid)
		return refuse(ask, CODE_NOT_YOURS, "grant %s is root's: only root may change it", t->grant.name);
	return refuse(ask, CODE_NOT_YOURS,
		      "grant %s belongs to uid %u: only they and root may change it", t->grant.name,
		      (unsigned int)t->grant.uid);
}

/*
 * The device that an entry of "devices" names, in a list. "device" may be left out where the list has one. Value: false
 * when it was refused.
 */
bool grant_entry_device(struct ask *ask, json_t *entry, const struct device *list, unsigned int count,
			const char *where, unsigned int *ret)
{
	json_t *named = json_object_get(entry, "device");
	const char *spec = json_string_value(named);
	char why[DEVICE_AMBIGUITY_BYTES];
	int found;

	if (!json_is_object(entry) || (named && !spec)) {
		refuse(ask, CODE_MALFORMED, "an entry of \"devices\" must be an object whose \"device\" is a text");
		return false;
	}
	if (!spec && count != 1) {
		refuse(ask, CODE_UNKNOWN_DEVICE, "%s has %u devices: say which", where, count);
		return false;
	}
	found = spec ? device_find(list, count, spec) : 0;
	if (found >= 0) {
		*ret = (unsigned int)found;
		return true;
	}
	if (found == DEVICE_AMBIGUOUS)
		refuse(ask, CODE_AMBIGUOUS_DEVICE, "device %.64s of %s: %s", spec, where,
		       device_ambiguity(list, count, spec, why));
	else
		refuse(ask, CODE_UNKNOWN_DEVICE,
		       "device %.64s: %s has none of that index or UUID: `mete devices` lists them", spec, where);
	return false;
}

/* The bytes that an entry asks of a device; `rest` when it names none. Value: false when it was refused. */
bool grant_entry_bytes(struct ask *ask, json_t *entry, const struct device *device, uint64_t rest, uint64_t *ret)
{
	json_t *bytes = json_object_get(entry, "mem_bytes"), *pct = json_object_get(entry, "mem_pct");

	if ((bytes && !json_is_integer(bytes)) || (pct && !json_is_number(pct)) || (bytes && pct)) {
		refuse(ask, CODE_MALFORMED,
		       "\"mem_bytes\" must be a whole number and \"mem_pct\" a number, and only one of them given");
		return false;
	}
	*ret = rest;
	if (bytes)
		*ret = json_integer_value(bytes) < 0
			       ? 0
			       : (uint64_t)json_integer_value(bytes) / WIRE_UNIT_BYTES * WIRE_UNIT_BYTES;
	if (pct) {
		double x = json_number_value(pct);

		if (!(x > 0 && x <= 100)) {
			refuse(ask, CODE_BAD_SIZE, "device %u: a share of the memory is above 0 and at most 100 %%",
			       device->index);
			return false;
		}
		*ret = grant_pct_bytes(device, x);
	}
	if (*ret || (!bytes && !pct))
		return true;
	refuse(ask, CODE_BAD_SIZE, "device %u: the quota must be at least %u bytes", device->index, WIRE_UNIT_BYTES);
	return false;
}

/* Value: false when it was refused. */
bool grant_check_fit(struct ask *ask, const struct device *d, uint64_t others, uint64_t bytes, bool overcommit)
{
	char asked[SIZE_TEXT_BYTES], total[SIZE_TEXT_BYTES], rest[SIZE_TEXT_BYTES];

	size_format(bytes, asked);
	size_format(d->total_bytes, total);
	size_format(d->total_bytes > others ? d->total_bytes - others : 0, rest);
	switch (grant_fits(d, others, bytes, overcommit)) {
	case GRANT_FITS:
		return true;
	case GRANT_OVER_DEVICE:
		refuse(ask, CODE_OVER_DEVICE, "device %u (%s) has %s, asked were %s (%" PRIu64 " bytes): ask for less",
		       d->index, d->name, total, asked, bytes);
		return false;
	case GRANT_OVER_PROMISED:
		refuse(ask, CODE_OVER_PROMISED,
		       "device %u (%s): %s of %s are not promised to others yet, asked were %s (%" PRIu64
		       " bytes): ask for less, shrink or delete a grant (`mete ps`), or overcommit",
		       d->index, d->name, rest, total, asked, bytes);
		return false;
	case GRANT_OVER_COUNTABLE:
		refuse(ask, CODE_OVER_DEVICE, "device %u: one grant may have just under 1 TiB of a device", d->index);
		return false;
	case GRANT_NOTHING:
		refuse(ask, CODE_OVER_PROMISED,
		       "device %u (%s): all of its %s are promised to others: shrink or delete a grant (`mete ps`), or "
		       "overcommit",
		       d->index, d->name, total);
		return false;
	}
	return false;
}
