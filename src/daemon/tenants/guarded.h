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
	bool stale; /* ... and its count was not written for GUARDED_STALE_S */
	bool over;  /* the difference exceeds the reserve, and this was reported */
	bool ungated; /* it has channels and no attached program, and this was reported */
	uint32_t front;
	uint64_t quota_bytes, used_bytes, peak_bytes, said_bytes; /* said_bytes: reported by its clients */
	uint64_t groups, refused, killed;
};

#define GUARDED_STALE_S 10

/* The effective value of the setting guard.grants, a word of model/guarding.h; and the setting's check (settings.h). */
const char *guarded_rule_word(const struct daemon *daemon);
int guarded_check_rule(const char *value, char *why, size_t size);

/*
 * False: the node's rule (guard.grants: required) demands that the guard holds every program of this tenant, and it
 * does not hold this one, which is not attached yet. An event says so, and `why` is for the log.
 */
bool guarded_admits(struct tenant *tenant, const struct process *process, int pidfd, char *why, size_t size);
/* Reads the counts of all tenants and adds events. Called once a second. */
void guarded_read(struct daemon *daemon);
/* The guard's count minus the clients' reports; below 0: the clients report more than the guard has seen. */
int64_t guarded_difference(const struct guarded *g);
/* null if the guard does not count the tenant. */
json_t *guarded_json(const struct tenant *tenant);
