/* grants.h: meted's words about grants, as the verbs need them. */
#pragma once

#include "client/control.h"

/* A name is a file's name too. Value: 0 or -EINVAL. */
int grant_name_check(const char *name, struct fault *f);

/*
 * Asks meted for its grants (name NULL: all). Value: 0 with the array in *ret (owned); or as control_ask(). No meted
 * and no store: 0 with an empty array when name is NULL, else CONTROL_REFUSED.
 */
int grants_get(struct control *c, const char *name, json_t **ret, struct fault *f);

/* The same, with the requests that wait for room (NULL from an older meted; owned), where ret_waiting is not NULL. */
int grants_get_all(struct control *c, const char *name, json_t **ret, json_t **ret_waiting, struct fault *f);

/* The sum of a field over the devices of a grant or a process. */
json_int_t devices_sum(json_t *holder, const char *key);
