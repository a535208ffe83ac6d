/* placing.h: chooses the device of a share that names none (model/placement.h), and the setting for it. */
#pragma once

#include "daemon/ask.h"
#include "model/grant.h"

struct daemon;

#define PLACING_FIRST "first" /* the setting: a grant that names no device gets the first */

/* The effective value of placement.rule: "first", "spread", "binpack" or "fit". */
const char *placing_rule_word(const struct daemon *daemon);

/* The setting's check (settings.h). */
int placing_check_rule(const char *value, char *why, size_t size);

/* False: "placement" of the request is not a rule, and the request was refused. */
bool placing_reads(struct ask *ask);

/*
 * Fills order[] with indices into `list`: devices that the grant does not have yet, the best for this entry first.
 * Value: their number.
 */
unsigned int placing_order(struct ask *ask, const struct grant *g, json_t *entry, const struct device *list,
			   unsigned int count, unsigned int *order);
