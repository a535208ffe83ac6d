/*
 * fence.h: the measures that confine workers in addition to their filter of system calls: what the operator requires,
 * and what the machine provides.
 *
 * A machine may refuse any of them. The log reports once what workers have and what they lack, and `mete doctor` shows
 * it. A worker that lacks a measure that `workers.demand` names is not used.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The numbers from first_uid on: more than there are workers, so that none is used again at once. */
#define FENCE_UIDS 4096u
#define FENCE_AUTO "auto"
#define FENCE_OFF "off"

struct daemon;
struct worker;

/* Settings: meted.yaml, workers. */
#define FENCE_LIBRARIES 4096 /* bytes of the list of folders */
#define FENCE_IDLE_MOST 8u

struct fence_options {
	bool observe_devices;  /* unknown commands to device nodes are logged, not refused */
	bool namespaces;       /* workers create namespaces for themselves */
	uint64_t first_uid;    /* 0: all workers run as mete-worker */
	const char *cgroup;    /* FENCE_AUTO (also NULL), FENCE_OFF or a folder */
	uint64_t memory_bytes; /* of a grant's workers; 0: half of the machine's memory */
	uint64_t tasks;	       /* 0: unlimited */
	uint64_t all_bytes;    /* of all workers without clients; 0: three quarters of the machine's memory */
	uint64_t idle;	       /* workers that wait for a client, of each set of devices; at most FENCE_IDLE_MOST */
	const char *demand;    /* words, separated by commas; NULL: none */
	const char *libraries; /* folders, separated by colons; NULL: none */
};

#define FENCE_DEFAULT                                                                                                  \
	{                                                                                                              \
		.namespaces = true, .first_uid = 69632, .tasks = 16384, .idle = 2                                      \
	}

/* Parses words of WORKER_FENCE_* (wire/worker.h). Value: the bits, or 0 with the unknown word in `why`. */
uint32_t fence_read(const char *words, char *why, size_t size);
/* Checks of settings. Value: 0, or -EINVAL with `why`. */
int fence_check_words(const char *value, char *why, size_t size);
int fence_check_uid(const char *value, char *why, size_t size);
int fence_check_libraries(const char *value, char *why, size_t size);
int fence_check_cgroup(const char *value, char *why, size_t size);

/* A user id that no living worker has; 0: the worker stays with mete-worker. */
uid_t fence_choose_uid(struct daemon *daemon);
/* Records the measures of a worker that has started. False: it lacks a required one, which `why` names. */
bool fence_take(struct daemon *daemon, uint32_t held, char *why, size_t size);
/* {"held": [...], "missing": [...]}, or null before the first worker. */
json_t *fence_json(const struct daemon *daemon);
