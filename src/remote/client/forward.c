/* forward.c: the table that forwarded libraries find by its name; see forward.h. */
#include "remote/client/forward.h"
#include "base/own_note.h"
#include "remote/client/gate.h"
#include "remote/client/unified.h"
#include "cuda_remote.h"
#include "core/log.h"

OWN_NOTE("the remote client");

__attribute__((visibility("default"))) extern const struct forward_calls mete_remote_forward;

/* A library's call is inside the gate while it has a request. */
static void request(struct client_call *c, uint16_t number)
{
	gate_enter();
	client_request(c, number);
}

/* Which stream a library's work is for is known to the library's handle alone. */
static bool begin_room(struct client_call *c, bool waits, size_t bytes)
{
	if (c->result == CUDA_SUCCESS && unified_any(c->session))
		unified_begin_unknown(c->session);
	return client_begin_room(c, waits, bytes);
}

static bool begin(struct client_call *c, bool waits)
{
	return begin_room(c, waits, CLIENT_ROOM);
}

static CUresult end(struct client_call *c)
{
	CUresult r = client_end(c);

	gate_leave(NULL);
	return r;
}

const struct forward_calls mete_remote_forward = {
	.size = sizeof(struct forward_calls),
	.fingerprint = CUDA_REMOTE_FINGERPRINT,
	.cuda = &cuda_remote_table,
	.request = request,
	.use = client_use,
	.use_stream = client_use_stream,
	.use_current = client_use_current,
	.mint = client_mint,
	.drop = client_drop,
	.keep = client_keep,
	.kept = client_kept,
	.begin = begin,
	.begin_room = begin_room,
	.begin_memo = client_begin_memo,
	.send = client_send,
	.end = end,
	.log = log_line,
};
