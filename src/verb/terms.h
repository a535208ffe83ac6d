/*
 * terms.h: the words of src/model/words.h on the command line: shares of a device's time.
 *
 * Each is given once for all devices, or once for each --device. src/model/policy.c checks what a policy accepts: here
 * if the policy is named, else in meted, which knows the device's default and the grant's previous terms.
 */
#pragma once

#include "verb/choose.h"

/* Sets the shares' wishes. Value: 0 or -EINVAL. */
int terms_parse(struct choice *ch, const struct command_line *c, struct fault *f);

/* True for an option that describes a share: memory, devices, or a word of its time. */
bool terms_is_share(const char *option);

/* Adds the wish to a row of a request. */
void terms_request(const struct policy_wish *wish, json_t *row);

/* The name of a policy; *ret: enum policy. Value: 0 or -EINVAL. */
int terms_policy(const char *name, const char *option, int *ret, struct fault *f);

/* "30 %", "30-60 %", "<= 60 %", "weight 100", "-": the requested share of the device's time. */
const char *terms_requested(json_t *share, char text[48]);

/* A figure of the answer in percent; "-" if not known. */
const char *terms_percent(json_t *share, const char *key, char text[16]);
