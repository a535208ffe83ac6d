/*
 * guarded.h: compares what the guard counts of a tenant at the kernel's boundary (guard/counts.h) with what its
 * clients report. The difference is what the driver takes for contexts, or the memory of a program that calls the
 * driver itself. A difference above the reserve for contexts is an event, and so is every call that the guard refuses.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct process;
struct tenant;

struct guarded {
	bool known; /* the guard counts this tenant */
	bool stale; /* ... and nobody has written the count for GUARDED_STALE_S */
	bool over;  /* the difference is above the reserve, and has been said */
	bool ungated; /* it has channels and no attached program, and that has been said */
	uint32_t front;
	uint64_t quota_bytes, used_bytes, peak_bytes, said_bytes; /* said: by its clients */
	uint64_t groups, refused, killed;
};

#define GUARDED_STALE_S 10

/* The setting guard.grants as it holds, a word of model/guarding.h; and its check (settings.h). */
const char *guarded_rule_word(const struct daemon *daemon);
int guarded_check_rule(const char *value, char *why, size_t size);

/*
 * False: by the node's rule (guard.grants: required) the guard is to hold every program of this tenant, and does not
 * hold this one, which is not attached yet. An event says so, and `why` for the log.
 */
bool guarded_admits(struct tenant *tenant, const struct process *process, int pidfd, char *why, size_t size);
/* Reads the counts of all tenants; adds events. Once a second. */
void guarded_read(struct daemon *daemon);
/* What the guard counts above what the clients say; below 0: they hold more than it has seen. */
int64_t guarded_difference(const struct guarded *g);
/* null, where the guard does not count the tenant. */
json_t *guarded_json(const struct tenant *tenant);
