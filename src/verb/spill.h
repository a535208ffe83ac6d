/* spill.h: --spill and --resident of the verbs that create a grant. */
#pragma once

#include "client/fault.h"
#include "verb/verb.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct spill {
	bool is;
	uint64_t resident_bytes;
};

/* Value: 0 or a negative errno, with the fault. */
int spill_parse(struct spill *spill, const struct command_line *line, struct fault *f);
/* Adds them to a grant_create. */
void spill_request(const struct spill *spill, json_t *request);
