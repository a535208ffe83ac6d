/*
 * resume.h: the state of turns that the next meted gets beyond what the pages contain: totals, and the windows from
 * which `mete ps` and `mete top` compute rates.
 *
 * Charged time, the lag and the rights are on the pages of a tenant's clients as well. What is handed over here goes
 * before them: a tenant may have no client at the moment, and a client may write what it likes on its page.
 */
#pragma once

#include "daemon/turns/arbitrate.h"
#include "model/window.h"

struct place_totals {
	uint64_t charged_ns, wanted_ns, waited_ns;
	int64_t lag_ns;
	struct arbiter_rights rights;
	uint64_t longest_ns, bypassed; /* of clients that have ended */
};

/* False: the share is not gated. */
bool resume_totals_get(struct tenant *tenant, unsigned int device, enum wire_engine engine, struct place_totals *ret);
/* Must be called before the first client has its seat. */
void resume_totals_set(struct tenant *tenant, unsigned int device, enum wire_engine engine,
		       const struct place_totals *totals);

#define RESUME_SAMPLES 80u /* the maximum of any window */

enum resume_window {
	RESUME_SECOND, /* of a tenant's share */
	RESUME_MINUTE,
	RESUME_SEAT, /* of a client's */
	RESUME_WINDOWS,
};

/*
 * Returns the samples of a window; client: NULL except for RESUME_SEAT. Value: their number, 0: there is no such
 * window.
 */
unsigned int resume_window_get(struct tenant *tenant, struct client *client, unsigned int device,
			       enum wire_engine engine, enum resume_window which,
			       struct window_sample ret[RESUME_SAMPLES]);
/* Inserts the samples before the existing ones. */
void resume_window_set(struct tenant *tenant, struct client *client, unsigned int device, enum wire_engine engine,
		       enum resume_window which, const struct window_sample *sample, unsigned int count);
