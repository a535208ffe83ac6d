/*
 * shared_event.h: the state of an event with CU_EVENT_INTERPROCESS that processes share.
 *
 * One page, the file of a shared object. Each record has a version and the word of the process that made it; the page
 * holds the latest record, and which of the last 512 versions have been reached. A record whose process has died counts
 * as reached, so that no process waits for it.
 */
#pragma once

#include "softdev/driver.h"

struct shared_event;

/* One record of an event, by some process. */
struct shared_record {
	uint32_t version; /* 0: the event was never recorded */
	uint32_t word;	  /* segment_place.word of the recording process */
};

CUresult shared_event_new(struct device *d, struct shared_event **ret);
/* Opens another process's; CUDA_ERROR_INVALID_HANDLE: no process has it any more. */
CUresult shared_event_open(uint64_t object, struct shared_event **ret);
struct shared_event *shared_event_ref(struct shared_event *e);
void shared_event_unref(struct shared_event *e);
uint64_t shared_event_object(const struct shared_event *e);

/* A new record by this process, which will be reached later. */
struct shared_record shared_event_record(struct shared_event *e);
void shared_event_reached(struct shared_event *e, uint32_t version);
struct shared_record shared_event_latest(const struct shared_event *e);
/* True if this process made the record. */
bool shared_record_own(struct shared_record r);
bool shared_record_reached(const struct shared_event *e, struct shared_record r);
/* Blocks until it is reached or *stop is not 0; NULL: only until it is reached. */
void shared_record_wait(struct shared_event *e, struct shared_record r, const _Atomic int *stop);
