/* handlers.c: which function does what a request asks for that is no call of the API; see worker.h. */
#include "remote/worker/worker.h"

#include "remote/move.h"

#include <errno.h>

/* Families that nobody has written are not supported. */
#pragma weak worker_other_host_done
#pragma weak worker_other_memory
#pragma weak worker_other_move
#pragma weak worker_other_image
#pragma weak worker_other_graph
#pragma weak worker_other_library
#pragma weak worker_other_watch

static int whole(const struct work *work)
{
	return work->in.used == work->in.size ? 0 : -EPROTO;
}

/* Without a table of queries there is nothing to tell. */
__attribute__((weak)) int worker_other_open(struct work *work)
{
	return whole(work);
}

int worker_other_ping(struct work *work)
{
	return whole(work);
}

worker_handler worker_other_find(uint16_t call)
{
	if (call == CALL_OPEN)
		return worker_other_open;
	if (call == CALL_WATCH)
		return worker_other_watch;
	if (call == CALL_PING)
		return worker_other_ping;
	if (call == CALL_HOST_DONE)
		return worker_other_host_done;
	if (call >= CALL_LIBRARY)
		return worker_other_library;
	if (call >= CALL_GRAPH)
		return worker_other_graph;
	if (call >= CALL_IMAGE)
		return worker_other_image;
	if (call >= CALL_MOVE)
		return worker_other_move;
	return call >= CALL_MEMORY ? worker_other_memory : NULL;
}
