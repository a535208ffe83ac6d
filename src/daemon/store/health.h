/* health.h: the states of devices and of quarantined tenants, in the store. */
#pragma once

#include "daemon/health/health.h"
#include "daemon/store/store.h"
#include "model/quarantine.h"

/*
 * Stores a device's state; a device that was always active is not stored. Value: 0, or -errno with the line for the
 * user.
 */
int store_put_health(struct store *store, const struct health *h, char *error, size_t error_size);
/* Stores the count of a tenant's faults and its quarantine. */
int store_put_quarantine(struct store *store, uint64_t grant_id, uint64_t faults, const struct quarantine *q,
			 char *error, size_t error_size);
/* Reads them back; unchanged if nothing is stored. `most_ns`: the upper bound of a quarantine. */
void store_get_quarantine(struct store *store, uint64_t grant_id, uint64_t most_ns, uint64_t *ret_faults,
			  struct quarantine *ret);
void store_drop_quarantine(struct store *store, uint64_t grant_id);
/* Calls `fn` for each stored device. */
int store_load_health(struct store *store, void (*fn)(const struct health *h, void *owner), void *owner, char *error,
		      size_t error_size);
