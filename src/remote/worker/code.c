/* code.c: which handler a request of remote/code.h goes to. */
#include "remote/worker/code.h"

#include "remote/code.h"

int worker_other_image(struct work *work)
{
	switch ((enum code_call)work->head.call) {
	case CALL_CODE_PIECE:
		return worker_code_piece(work);
	case CALL_CODE_TELL:
		return worker_code_tell(work);
	case CALL_CODE_LIST:
		return worker_code_list(work);
	case CALL_CODE_GLOBAL:
		return worker_code_global(work);
	case CALL_CODE_LINK:
		return worker_code_link(work);
	case CALL_CODE_LINK_READ:
		return worker_code_link_read(work);
	case CALL_CODE_HELD:
		return worker_code_held(work);
	default:
		work->result = CUDA_ERROR_NOT_SUPPORTED;
		return 0;
	}
}
