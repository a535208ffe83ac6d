/* traffic.c: see traffic.h. The counts have one writer at a time, so a load and a store do: no locked instruction. */
#include "remote/worker/traffic.h"

#include "wire/worker.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct worker_traffic nobodys, *traffic = &nobodys;

void traffic_open(void)
{
	struct worker_traffic *at;
	struct stat st;

	if (fstat(WORKER_TRAFFIC_FD, &st) || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(*at))
		return;
	at = mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED, WORKER_TRAFFIC_FD, 0);
	if (at == MAP_FAILED)
		return;
	if (at->magic != WORKER_TRAFFIC_MAGIC) {
		munmap(at, sizeof(*at));
		return;
	}
	close(WORKER_TRAFFIC_FD);
	traffic = at;
}

void traffic_relayed(bool relayed)
{
	atomic_store_explicit(&traffic->relayed, relayed, memory_order_relaxed);
}

static void add(enum worker_count which, uint64_t amount)
{
	_Atomic uint64_t *count = &traffic->count[which];

	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + amount, memory_order_relaxed);
}

void traffic_received(size_t message, uint64_t payload)
{
	add(WORKER_RECEIVED_CALLS, 1);
	add(WORKER_RECEIVED_BYTES, message + payload);
}

void traffic_sent(size_t message, uint64_t payload)
{
	add(WORKER_SENT_BYTES, message + payload);
}
