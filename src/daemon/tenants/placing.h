/* placing.h: chooses the device of a share that names none (model/placement.h), and the setting for it. */
#pragma once

#include "daemon/ask.h"
#include "model/grant.h"

struct daemon;

#define PLACING_FIRST "first" /* the setting: grants that name no device are on the first */

/* placement.rule as it holds: "first", "spread", "binpack" or "fit". */
const char *placing_rule_word(const struct daemon *daemon);

/* The setting's check (settings.h). */
int placing_check_rule(const char *value, char *why, size_t size);

/* Whether "placement" of the request is a rule; false: it was refused. */
bool placing_reads(struct ask *ask);

/* order[]: places in `list` of the devices that the grant has not yet, the best first for this entry. Value: how many.
 */
unsigned int placing_order(struct ask *ask, const struct grant *g, json_t *entry, const struct device *list,
			   unsigned int count, unsigned int *order);
