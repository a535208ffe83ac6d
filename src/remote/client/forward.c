/* forward.c: the table that forwarded libraries find by its name; see forward.h. */
#include "remote/client/forward.h"
#include "base/own_note.h"
#include "cuda_remote.h"
#include "core/log.h"

OWN_NOTE("the remote client");

__attribute__((visibility("default"))) extern const struct forward_calls mete_remote_forward;

const struct forward_calls mete_remote_forward = {
	.size = sizeof(struct forward_calls),
	.fingerprint = CUDA_REMOTE_FINGERPRINT,
	.cuda = &cuda_remote_table,
	.request = client_request,
	.use = client_use,
	.use_stream = client_use_stream,
	.use_current = client_use_current,
	.mint = client_mint,
	.drop = client_drop,
	.keep = client_keep,
	.kept = client_kept,
	.begin = client_begin,
	.begin_room = client_begin_room,
	.begin_memo = client_begin_memo,
	.send = client_send,
	.end = client_end,
	.log = log_line,
};
