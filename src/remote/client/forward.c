/* forward.c: the table that forwarded libraries find by its name; see forward.h. */
#include "remote/client/forward.h"
#include "base/own_note.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/gate.h"
#include "remote/client/session.h"
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

/* A library's object: its word is 1 + the device that was current. */
static void *mint(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t *id)
{
	void *made = client_mint(c, kind, owner, id);
	_Atomic uint32_t *word = made && kind == KIND_FORWARDED ? client_word(made) : NULL;
	struct context *context;

	if (word && context_current(c->thread, &context) == CUDA_SUCCESS)
		*word = (uint32_t)context->device + 1;
	return made;
}

static bool stream_is_near(const struct client_call *c, CUstream stream)
{
	bool named = c->subject && handle_kind(c->subject) == KIND_FORWARDED;
	_Atomic uint32_t *word = named ? client_word((const void *)(uintptr_t)c->subject) : NULL;
	CUdevice device = context_device(client_context(stream));

	return !word || !*word || device < 0 || *word == (uint32_t)device + 1;
}

static void settle(void)
{
	unsigned int count = __atomic_load_n(&session_count, __ATOMIC_ACQUIRE);
	bool hosts = false;

	for (unsigned int i = 0; i < count; i++)
		hosts |= __atomic_load_n(&sessions[i]->link.host, __ATOMIC_ACQUIRE) != NULL;
	if (hosts && !captures_any())
		cuda_remote_table.cuCtxSynchronize();
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
	.stream_is_near = stream_is_near,
	.settle = settle,
	.use_current = client_use_current,
	.mint = mint,
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
