/* tiny_worker.h: what generated handlers of the tiny API are made of, as remote/worker/worker.h for the real one. The
 * tests define it, see remote_ends.h. */
#pragma once

#include "tiny_call.h"

struct work {
	const struct tiny_table *driver;
	struct call_request head;
	struct remote_reader in;
	struct remote_writer out;
	int32_t result;
};

typedef int (*worker_handler)(struct work *work);

worker_handler worker_handler_find(uint16_t call);
worker_handler worker_other_find(uint16_t call);
void *worker_find(struct work *work, enum remote_kind kind, uint64_t id, bool *known);
tyqueue worker_find_stream(struct work *work, uint64_t id, bool *known);
int worker_add(struct work *work, enum remote_kind kind, uint64_t id, void *handle, uint64_t owner);
uint64_t worker_name(struct work *work, enum remote_kind kind, void *handle, uint64_t owner);
uint64_t worker_known(struct work *work, enum remote_kind kind, void *handle);
uint64_t worker_owner(struct work *work, uint64_t id);
bool worker_ending(struct work *work, uint64_t id, const void *handle);
typedef tyresult (*worker_end)(void *handle);
bool worker_later(struct work *work, uint64_t id, worker_end end, void *handle);
void worker_stays(struct work *work, uint64_t id);
void worker_remove(struct work *work, uint64_t id);
bool worker_reaches(struct work *work, tyaddress at, size_t bytes);
uint64_t worker_at(uint64_t at);
void worker_yield(struct work *work);
