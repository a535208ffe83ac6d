/* rooms.c: see rooms.h. */
#include "remote/worker/rooms.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096u

int rooms_init(struct rooms *rooms, size_t room_bytes, uint32_t most)
{
	*rooms = (struct rooms){ .lock = PTHREAD_MUTEX_INITIALIZER, .most = most };
	rooms->room_bytes = (room_bytes + PAGE - 1) / PAGE * PAGE;
	rooms->unused = calloc(most, sizeof(*rooms->unused));
	if (!rooms->unused)
		return -ENOMEM;
	/* Without rights it counts as nobody's memory. */
	rooms->begin = mmap(NULL, most * rooms->room_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rooms->begin != MAP_FAILED)
		return 0;
	rooms->begin = NULL;
	free(rooms->unused);
	rooms->unused = NULL;
	return -ENOMEM;
}

void rooms_deinit(struct rooms *rooms)
{
	if (rooms->begin)
		munmap(rooms->begin, rooms->most * rooms->room_bytes);
	free(rooms->unused);
	*rooms = (struct rooms){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

static uint8_t *take_locked(struct rooms *rooms)
{
	uint8_t *room;

	if (rooms->unused_count)
		return rooms->begin + rooms->unused[--rooms->unused_count] * rooms->room_bytes;
	if (rooms->made == rooms->most)
		return NULL;
	room = rooms->begin + rooms->made * rooms->room_bytes;
	if (mprotect(room, rooms->room_bytes, PROT_READ | PROT_WRITE))
		return NULL;
	rooms->made++;
	return room;
}

void *rooms_take(struct rooms *rooms)
{
	void *room;

	pthread_mutex_lock(&rooms->lock);
	room = take_locked(rooms);
	pthread_mutex_unlock(&rooms->lock);
	return room;
}

void rooms_give(struct rooms *rooms, void *room)
{
	if (!room)
		return;
	madvise(room, rooms->room_bytes, MADV_DONTNEED);
	pthread_mutex_lock(&rooms->lock);
	rooms->unused[rooms->unused_count++] = (uint32_t)((size_t)((uint8_t *)room - rooms->begin) / rooms->room_bytes);
	pthread_mutex_unlock(&rooms->lock);
}
