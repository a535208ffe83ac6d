/*
 * handover_times.h: what the turns of a tenant's share have come to, as one meted writes it for the next: an array of
 * integers. An older meted writes fewer of them.
 */
#pragma once

#include "daemon/turns/resume.h"

#include <jansson.h>

json_t *handover_times_write(unsigned int share, enum wire_engine engine, const struct place_totals *totals);
/* False: it is damaged, or of a share that the tenant does not have. */
bool handover_times_read(const json_t *one, unsigned int shares, unsigned int *ret_share, enum wire_engine *ret_engine,
			 struct place_totals *ret);
