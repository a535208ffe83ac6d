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

#define FENCE_UIDS                                                                                                     \
	4096u /* numbers from first_uid on: more than there are workers, so that none comes again at once              \
	       */
#define FENCE_AUTO "auto"
#define FENCE_OFF "off"

struct daemon;
struct worker;

/* Settings: meted.yaml, workers. */
#define FENCE_LIBRARIES 4096 /* bytes of the list of folders */

struct fence_options {
	bool observe_devices;  /* unknown commands to device nodes are logged, not refused */
	bool namespaces;       /* workers make some for themselves */
	uint64_t first_uid;    /* 0: all workers become mete-worker */
	const char *cgroup;    /* FENCE_AUTO (also NULL), FENCE_OFF or a folder */
	uint64_t memory_bytes; /* of a grant's workers; 0: half of the machine's */
	uint64_t tasks;	       /* 0: no bound */
	uint64_t all_bytes;    /* of all workers before their clients; 0: three quarters of the machine's */
	const char *demand;    /* words, separated by commas; NULL: none */
	const char *libraries; /* folders, separated by colons; NULL: none */
};

#define FENCE_DEFAULT                                                                                                  \
	{                                                                                                              \
		.namespaces = true, .first_uid = 69632, .tasks = 16384                                                 \
	}

/* Words of WORKER_FENCE_* (wire/worker.h). Value: the bits, or 0 with the word that is none in `why`. */
uint32_t fence_read(const char *words, char *why, size_t size);
/* For settings: 0 or -EINVAL with `why`. */
int fence_check_words(const char *value, char *why, size_t size);
int fence_check_uid(const char *value, char *why, size_t size);
int fence_check_libraries(const char *value, char *why, size_t size);
int fence_check_cgroup(const char *value, char *why, size_t size);

/* A user that no living worker has; 0: it stays with mete-worker. */
uid_t fence_choose_uid(struct daemon *daemon);
/* A worker waits with these. False: it lacks what is demanded, which `why` names. */
bool fence_take(struct daemon *daemon, uint32_t held, char *why, size_t size);
/* {"held": [...], "missing": [...]}, or null before the first worker. */
json_t *fence_json(const struct daemon *daemon);
