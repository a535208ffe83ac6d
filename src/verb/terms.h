/*
 * terms.h: what the command line says of a device's time: the words of src/model/words.h.
 *
 * Each is given once for all devices, or once for each --device. What a policy takes is judged by src/model/policy.c,
 * here when the policy is named, else by meted, which knows the device's default and what a grant had before.
 */
#pragma once

#include "verb/choose.h"

/* Fills the shares' wishes. Value: 0 or -EINVAL. */
int terms_parse(struct choice *ch, const struct command_line *c, struct fault *f);

/* An option that says what a share is: of memory, devices, or a word of its time. */
bool terms_is_share(const char *option);

/* Adds the wish to a row of a request. */
void terms_request(const struct policy_wish *wish, json_t *row);

/* The name of a policy; *ret: enum policy. Value: 0 or -EINVAL. */
int terms_policy(const char *name, const char *option, int *ret, struct fault *f);

/* "30 %", "30-60 %", "<= 60 %", "weight 100", "-": the requested share of the device's time. */
const char *terms_requested(json_t *share, char text[48]);

/* A figure of the answer in percent; "-" when it is not known. */
const char *terms_percent(json_t *share, const char *key, char text[16]);
