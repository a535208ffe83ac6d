/* grants.h: requests about grants and readers of their answers, for verbs and connectors. */
#pragma once

#include "client/control.h"

/* Checks a grant's name, which is also a file name. Returns 0 or -EINVAL. */
int grant_name_check(const char *name, struct fault *f);

/*
 * Gets the grants of meted (name NULL: all). Returns 0 with the array in *ret, which the caller owns; or as
 * control_ask(). Without a meted and a store: 0 with an empty array if name is NULL, else CONTROL_REFUSED.
 */
int grants_get(struct control *c, const char *name, json_t **ret, struct fault *f);

/*
 * The same; unless ret_waiting is NULL, also gets the waiting requests (NULL from an older meted), which the caller
 * owns.
 */
int grants_get_all(struct control *c, const char *name, json_t **ret, json_t **ret_waiting, struct fault *f);

/* Returns the sum of a field over the devices of a grant or a process. */
json_int_t devices_sum(json_t *holder, const char *key);
