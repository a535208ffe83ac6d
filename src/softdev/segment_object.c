/* segment_object.c: memory that several processes may hold: an object in the segment, and a file that is its memory. */
#include "softdev/segment.h"

#include "base/cleanup.h"
#include "base/setting.h"
#include "softdev/segment_file.h"
#include "softdev/segment_lock.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct segment_object *object_take_locked(struct segment *s)
{
	for (uint32_t i = 0; i < SEGMENT_MAX_OBJECTS; i++)
		if (!s->object[i].id) {
			if (s->objects <= i)
				s->objects = i + 1;
			return &s->object[i];
		}
	return NULL;
}

/* A descriptor of the object's file that holds it alive, the driver's own or one to be given away. Or -errno. */
static int object_hold(const char *path, int flags, bool given)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	int r;

	if (fd < 0)
		return -errno;
	/* In a container the tenant's processes may be of several users. Others see it too: a device for tests. */
	if (flags & O_CREAT && setting_inside() && fchmod(fd, 0666))
		return -errno;
	r = segment_file_lock(fd, F_RDLCK, SEGMENT_GIVEN);
	if (!r && !given)
		r = segment_file_lock(fd, F_RDLCK, SEGMENT_HELD);
	return r ? r : steal_fd(&fd);
}

static int object_new_locked(struct segment_place *p, const struct segment_wish *wish, uint64_t *ret_id)
{
	struct segment_device *dev = &p->segment->device[wish->device];
	struct segment_process *self = &p->segment->process[p->index];
	struct segment_object *o;
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	uint64_t id;

	if (!wish->charged && !segment_room_locked(dev, wish->units))
		segment_reap_locked(p);
	if (!wish->charged && !segment_room_locked(dev, wish->units))
		return -ENOMEM;
	o = object_take_locked(p->segment);
	if (!o)
		return -ENOSPC;
	o->units = wish->units;
	o->device = wish->device;
	o->kind = wish->kind;
	o->owner_pid = self->pid;
	o->owner_start_time = self->start_time;
	do { /* a file that is there already belongs to a segment that was deleted: its number is passed over */
		id = ++p->segment->next_object;
		segment_object_path(p->dir, id, path);
		o->id = id; /* from here on a kill leaves an object without a living file, which the next reap clears */
		fd = object_hold(path, O_CREAT | O_EXCL, false);
	} while (fd == -EEXIST);
	if (fd < 0 || ftruncate(fd, (off_t)wish->bytes)) {
		int r = fd < 0 ? fd : -errno;

		unlink(path);
		o->id = 0;
		return r;
	}
	if (wish->charged) {
		self->share[wish->device].held_units -= wish->units;
	} else {
		dev->used_units += wish->units;
		if (dev->used_units > dev->peak_units)
			dev->peak_units = dev->used_units;
	}
	*ret_id = id;
	return steal_fd(&fd);
}

int segment_object_new(struct segment_place *p, const struct segment_wish *wish, uint64_t *ret_id)
{
	int r;

	segment_lock(p);
	r = object_new_locked(p, wish, ret_id);
	segment_unlock(p);
	return r;
}

static struct segment_object *object_find_locked(struct segment *s, uint64_t id)
{
	for (uint32_t i = 0; i < s->objects; i++)
		if (s->object[i].id == id)
			return &s->object[i];
	return NULL;
}

/* Where nobody holds it any more its file may lie there still: to hold that would bring back the dead. */
static int object_open(struct segment_place *p, uint64_t id, bool given)
{
	struct segment_object *o;
	char path[PATH_MAX];
	int r = -ENOENT;

	segment_object_path(p->dir, id, path);
	segment_lock(p);
	o = object_find_locked(p->segment, id);
	if (o && segment_object_alive(p->segment, p->dir, o))
		r = object_hold(path, 0, given);
	segment_unlock(p);
	return r;
}

int segment_object_open(struct segment_place *p, uint64_t id)
{
	return object_open(p, id, false);
}

int segment_object_give(struct segment_place *p, uint64_t id)
{
	return object_open(p, id, true);
}

void segment_object_adopt(struct segment_place *p, uint64_t id)
{
	const struct segment_process *self = &p->segment->process[p->index];
	struct segment_object *o;

	segment_lock(p);
	o = object_find_locked(p->segment, id);
	if (o && !segment_maker_alive(p->segment, p->dir, o)) {
		o->owner_pid = self->pid;
		o->owner_start_time = self->start_time;
	}
	segment_unlock(p);
}

int segment_object_find(struct segment_place *p, enum segment_object_kind kind, int fd, uint64_t *ret_id,
			uint32_t *ret_device, uint64_t *ret_units)
{
	struct segment *s = p->segment;
	struct stat given, st;
	char path[PATH_MAX];
	int r = -EINVAL;

	if (fstat(fd, &given))
		return -EINVAL;
	segment_lock(p);
	for (uint32_t i = 0; i < s->objects; i++) {
		uint64_t id = s->object[i].id;

		if (!id || s->object[i].kind != kind)
			continue;
		segment_object_path(p->dir, id, path);
		if (stat(path, &st) || st.st_ino != given.st_ino || st.st_dev != given.st_dev)
			continue;
		*ret_id = id;
		*ret_device = s->object[i].device;
		*ret_units = s->object[i].units;
		r = 0;
		break;
	}
	segment_unlock(p);
	return r;
}
