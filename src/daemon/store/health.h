/* health.h: the states of devices and of quarantined tenants, in the store. */
#pragma once

#include "daemon/health/health.h"
#include "daemon/store/store.h"
#include "model/quarantine.h"

/* Keeps a device's state; nothing is kept of one that was never anything but active. 0 or -errno with the line. */
int store_put_health(struct store *store, const struct health *h, char *error, size_t error_size);
/* Keeps what is to be remembered of a tenant's faults. */
int store_put_quarantine(struct store *store, uint64_t grant_id, uint64_t faults, const struct quarantine *q,
			 char *error, size_t error_size);
/* Reads it back; nothing is changed where there is nothing. `most_ns`: no quarantine lasts longer. */
void store_get_quarantine(struct store *store, uint64_t grant_id, uint64_t most_ns, uint64_t *ret_faults,
			  struct quarantine *ret);
void store_drop_quarantine(struct store *store, uint64_t grant_id);
/* Calls `fn` for each that is kept. */
int store_load_health(struct store *store, void (*fn)(const struct health *h, void *owner), void *owner, char *error,
		      size_t error_size);
