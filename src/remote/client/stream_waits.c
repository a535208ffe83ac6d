/* stream_waits.c: the calls that wait for a stream, or ask about it. */
#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/unified.h"
#include "remote/client/waited.h"

static CUresult stream_wait(CUstream stream)
{
	struct client_call c;
	uint64_t id;
	bool done;

	client_call(&c, CUDA_CALL_cuStreamSynchronize);
	id = client_use_stream(&c, stream);
	if (c.result == CUDA_SUCCESS && waited_still(&c, id))
		return client_end(&c);
	done = c.result == CUDA_SUCCESS && waited_done(&c, id);
	if (client_begin(&c, !done)) {
		remote_put(&c.out, &id, sizeof(id));
		client_send(&c);
	}
	if (c.waits)
		waited_note(&c, id);
	else
		waited_sent(&c, id);
	return client_end(&c);
}

CUresult client_cuStreamSynchronize(CUstream hStream)
{
	CUresult r = stream_wait(hStream);

	return r == CUDA_SUCCESS ? unified_waited(hStream) : r;
}

static CUresult stream_ask(CUstream stream)
{
	struct client_call c;
	uint64_t id;

	client_call(&c, CUDA_CALL_cuStreamQuery);
	id = client_use_stream(&c, stream);
	if (c.result == CUDA_SUCCESS && waited_done(&c, id))
		return client_end(&c);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &id, sizeof(id));
		client_send(&c);
	}
	waited_asked(&c, id);
	return client_end(&c);
}

CUresult client_cuStreamQuery(CUstream hStream)
{
	CUresult r = stream_ask(hStream);

	return r == CUDA_SUCCESS ? unified_waited(hStream) : r;
}
