/* traffic.c: see traffic.h. The counts have one writer at a time, so a load and a store do: no locked instruction. */
#include "remote/worker/traffic.h"

#include "remote/move.h"
#include "wire/worker.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct worker_traffic nobodys, *traffic = &nobodys;

void traffic_open(void)
{
	struct worker_traffic *at;
	struct stat st;

	if (fstat(WORKER_TRAFFIC_FD, &st) || !S_ISREG(st.st_mode) || st.st_size < (off_t)WORKER_TRAFFIC_LEAST)
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

bool traffic_is_kept(void)
{
	return traffic != &nobodys;
}

uint32_t traffic_wish(uint32_t seen)
{
	uint32_t wish;

	while ((wish = atomic_load_explicit(&traffic->wish, memory_order_acquire)) == seen)
		syscall(SYS_futex, &traffic->wish, FUTEX_WAIT, seen, NULL, NULL, 0);
	return wish;
}

void traffic_where(char *where)
{
	memcpy(where, traffic->where, WORKER_WHERE_BYTES - 1);
	where[WORKER_WHERE_BYTES - 1] = 0;
}

void traffic_why(const char *why)
{
	memcpy(traffic->why, why, WORKER_WHERE_BYTES - 1);
}

void traffic_say(const struct move_said *said)
{
	uint32_t count = said->count < UINT16_MAX ? said->count : UINT16_MAX;

	atomic_store_explicit(&traffic->move_done, said->done, memory_order_relaxed);
	atomic_store_explicit(&traffic->move_total, said->total, memory_order_relaxed);
	atomic_store_explicit(&traffic->stay, count << 16 | (said->stay & 0xffffu), memory_order_relaxed);
	/* Release: meted reads the rest after it. */
	atomic_store_explicit(&traffic->phase, said->serial << 16 | (said->phase & 0xffffu), memory_order_release);
}

void traffic_moves(void)
{
	atomic_store_explicit(&traffic->moves, WORKER_MOVES_FAR, memory_order_release);
}

void traffic_begun(bool bound)
{
	/* Release: meted reads `moves` after it. */
	atomic_store_explicit(&traffic->begun, bound ? WORKER_BEGUN_BOUND : WORKER_BEGUN, memory_order_release);
}
