/* tiny_call.h: what the generated client of the tiny API is made of, as remote/client/call.h for the real one. The
 * tests define it, see remote_ends.h. */
#pragma once

#include "remote.h"
#include "tiny_table.h"
#include "ring/call.h"

enum remote_kind { KIND_NONE, KIND_STREAM, KIND_ITEM };

#define ID_STREAM_LEGACY UINT64_C(1)
#define ID_STREAM_PER_THREAD UINT64_C(2)
#define CLIENT_ROOM 4096u

struct session;

struct client_call {
	uint16_t call;
	tyresult result;
	struct session *session;
	struct remote_writer out;
	struct remote_reader in;
	struct call_reply reply;
	bool waits, memo;
};

void client_call(struct client_call *c, enum tiny_call call);
uint64_t client_use(struct client_call *c, enum remote_kind kind, const void *handle);
uint64_t client_use_stream(struct client_call *c, tyqueue queue);
int32_t client_use_device(struct client_call *c, tydevice device);
int32_t client_meet_device(struct client_call *c, int32_t ordinal);
bool client_use_current(struct client_call *c);
void *client_mint(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t *id);
void *client_meet(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t id);
void client_drop(const void *handle);
bool client_begin(struct client_call *c, bool waits);
bool client_begin_room(struct client_call *c, bool waits, size_t bytes);
bool client_begin_memo(struct client_call *c);
void client_memo_forget(struct client_call *c, uint64_t id);
void client_send(struct client_call *c);
tyresult client_end(struct client_call *c);
void client_refused(enum tiny_call call);
