/* occupancy.c: occupancy of clusters, whose configuration travels as a launch without parameters. */
#include "remote/worker/launches.h"

#include "cuda_remote.h"

#include <errno.h>

typedef CUresult (*question)(int *ret, CUfunction f, const CUlaunchConfig *config);

static int clusters(struct work *work, question ask)
{
	struct launch l;
	CUlaunchConfig config;
	CUstream stream;
	bool known;
	int32_t n = 0;
	int r = launch_read(work, &l);

	if (r)
		return r;
	if (work->in.used != work->in.size)
		return -EPROTO;
	stream = worker_find_stream(work, l.head.stream, &known);
	if (work->result != CUDA_SUCCESS)
		return 0;
	config = launch_config(&l, stream);
	work->result = (int32_t)ask(&n, l.known->handle, &config);
	remote_put(&work->out, &n, sizeof(n));
	return 0;
}

int worker_cuOccupancyMaxPotentialClusterSize(struct work *work)
{
	return clusters(work, work->driver->cuOccupancyMaxPotentialClusterSize);
}

int worker_cuOccupancyMaxActiveClusters(struct work *work)
{
	return clusters(work, work->driver->cuOccupancyMaxActiveClusters);
}
