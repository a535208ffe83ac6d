/*
 * others.c: see others.h. meted's half is src/daemon/tenants/others.c.
 *
 * Pages are fetched when a crew is met for the second time: where processes come and go all the time asking meted is
 * cheaper than that.
 */
#include "core/others.h"
#include "core/account.h"
#include "core/attach.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE_MS 200u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static const struct wire_page *peer[WIRE_PEERS_MOST];
static unsigned int peer_count;
static uint32_t mapped_crew, met_crew; /* 0: none */

static void unmap_locked(void)
{
	while (peer_count)
		munmap((void *)(uintptr_t)peer[--peer_count], WIRE_PEER_BYTES);
	mapped_crew = 0;
}

static const struct wire_page *map_peer(uint32_t index, uint32_t crew)
{
	struct wire_peer ask = { .head = { .type = WIRE_PEER, .size = sizeof ask }, .index = index };
	struct wire_peer_is got;
	void *page = MAP_FAILED;
	int fd = -1;

	if (attach_ask_fd(&ask, &got, sizeof got, PATIENCE_MS, &fd) == WIRE_OK && fd >= 0 && got.crew == crew)
		page = mmap(NULL, WIRE_PEER_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		syscall(SYS_close, fd);
	return page == MAP_FAILED ? NULL : page;
}

/* False: not this time. */
static bool fetch_locked(uint32_t crew, uint32_t count)
{
	bool again = met_crew == crew;

	met_crew = crew;
	if (!again)
		return false;
	unmap_locked();
	while (peer_count < count) {
		peer[peer_count] = map_peer(peer_count, crew);
		if (!peer[peer_count])
			break;
		peer_count++;
	}
	if (peer_count < count)
		unmap_locked();
	else
		mapped_crew = crew;
	return peer_count == count;
}

static bool peers_held(unsigned int device, uint32_t crew, uint32_t count, uint64_t *units)
{
	bool there;

	if (count > WIRE_PEERS_MOST)
		return false;
	pthread_mutex_lock(&lock);
	there = mapped_crew == crew || fetch_locked(crew, count);
	for (unsigned int i = 0; there && i < peer_count; i++)
		*units += wire_held(atomic_load_explicit(&peer[i]->account[device].word, memory_order_acquire));
	pthread_mutex_unlock(&lock);
	return there;
}

bool others_held(unsigned int device, uint64_t *ret_units)
{
	const struct wire_account *a = accounts[device].wire;
	uint32_t serial = atomic_load_explicit(&a->others_serial, memory_order_acquire), crew, count;

	if (!serial || serial & 1)
		return false;
	crew = atomic_load_explicit(&a->others_crew, memory_order_relaxed);
	count = atomic_load_explicit(&a->others_count, memory_order_relaxed);
	*ret_units = atomic_load_explicit(&a->object_units, memory_order_relaxed);
	*ret_units += wire_held(atomic_load_explicit(&a->word, memory_order_acquire));
	if (count && !peers_held(device, crew, count, ret_units))
		return false;
	atomic_thread_fence(memory_order_acquire); /* pairs with meted's fence in others_change() */
	return atomic_load_explicit(&a->others_serial, memory_order_relaxed) == serial;
}

void others_forget(bool forked)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	if (forked)
		lock = unlocked;
	pthread_mutex_lock(&lock);
	unmap_locked();
	met_crew = 0;
	pthread_mutex_unlock(&lock);
}
