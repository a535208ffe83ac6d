/*
 * target.h: the servers and the credentials: --remote or the operand of `mete remote`, --key, --cert, --cert-key, --ca,
 * --plain, --offer, --ucx.
 */
#pragma once

#include "verb/verb.h"
#include "remote/relay/relay.h"
#include "client/fault.h"

#define TARGETS_MOST 16

struct targets {
	struct relay_target target[TARGETS_MOST]; /* point into the texts */
	char text[TARGETS_MOST][300];		  /* "HOST\0PORT" */
	size_t count;
};

/* Parses "HOST[:PORT]" and "[v6]:PORT", several separated by commas. Value: 0 or a negative errno. */
int targets_read(struct targets *t, const char *list, const struct command_line *line, struct fault *f);

/* Checks that --cert, --cert-key and --ca are all given and readable. Value: 0 or a negative errno. */
int target_check_cert(const struct relay_cert *cert, struct fault *f);

/* Parses --patience to milliseconds; NULL: 0, the default. Value: 0 or -EINVAL. */
int patience_read(const char *text, unsigned int *ret_ms, struct fault *f);

/* Wipes the keys. */
void targets_deinit(struct targets *t);

/* "HOST:PORT". Value: text. */
const char *target_name(const struct relay_target *target, char text[320]);
