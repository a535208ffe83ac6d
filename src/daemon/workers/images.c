/* images.c: see images.h. */
#include "daemon/workers/images.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/send_fds.h"
#include "daemon/daemon.h"
#include "daemon/tenants/tenant.h"
#include "daemon/upgrade/handover.h"
#include "daemon/workers/worker.h"
#include "model/shelf.h"
#include "wire/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define STALE_NS UINT64_C(3600000000000) /* without use */
#define LOOK_MS 60000
#define ROOMS 4u /* of one worker; images come in one after the other */
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

_Static_assert(sizeof(((struct worker_image *)NULL)->hash) == SHELF_HASH_BYTES, "the same hash");

struct images {
	struct shelf shelf;
	uv_loop_t *loop;
	struct timer *look; /* runs while something is kept */
};

static void remove_image(struct images *images, struct shelf_image *image)
{
	loop_close(images->loop, image->item);
	shelf_remove(&images->shelf, image);
}

static void on_look(void *owner)
{
	struct images *images = owner;
	uint64_t now_ns = clock_now_ns();
	struct shelf_image *image;

	while (now_ns > STALE_NS && (image = shelf_stale(&images->shelf, now_ns - STALE_NS)))
		remove_image(images, image);
	if (!images->shelf.count)
		timer_stop(images->look);
}

static struct images *images_of(struct daemon *daemon)
{
	struct images *images = daemon->images;

	if (images)
		return images;
	images = calloc(1, sizeof(*images));
	if (images)
		images->look = timer_new(daemon->loop, on_look, images);
	if (!images || !images->look) {
		free(images);
		return NULL;
	}
	images->loop = daemon->loop;
	images->shelf.most_bytes = daemon->images_most_bytes;
	daemon->images = images;
	return images;
}

/* Neither form can be taken for the other: a uid is a number. */
static const char *owner_name(const struct tenant *tenant, char name[SHELF_NAME_BYTES])
{
	if (*tenant->images)
		snprintf(name, SHELF_NAME_BYTES, "%u/%s", (unsigned int)tenant->grant.uid, tenant->images);
	else
		snprintf(name, SHELF_NAME_BYTES, "grant/%" PRIx64, tenant->grant.id);
	return name;
}

static struct shelf_owner *owner_of(const struct tenant *tenant)
{
	char name[SHELF_NAME_BYTES];

	return tenant->daemon->images ? shelf_owner(&tenant->daemon->images->shelf, owner_name(tenant, name)) : NULL;
}

/* What workers say. */

/* From a meted of an earlier release: what a worker has made. */
static bool is_sealed(int fd, uint64_t bytes)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS) == SEALS && !fstat(fd, &st) && st.st_size >= 0 &&
	       (uint64_t)st.st_size == worker_image_room(bytes);
}

/*
 * Memory for an image that a worker is about to get. It is meted's, as is each descriptor that meted closes: closing
 * one that a worker has sent could take as long as whoever made it likes.
 */
struct image_room {
	struct image_room *next;
	struct worker_image word; /* what was asked for */
	int fd;
};

static void end_room(struct worker *worker, struct image_room **at)
{
	struct image_room *room = *at;

	*at = room->next;
	if (room->fd >= 0)
		loop_close(worker->daemon->loop, room->fd);
	free(room);
}

static void end_rooms(struct worker *worker, unsigned int most)
{
	struct image_room **at = &worker->rooms;

	for (; *at && most; most--)
		at = &(*at)->next;
	while (*at)
		end_room(worker, at);
}

static int make_memory(uint64_t bytes)
{
	_cleanup_close_ int fd = memfd_create("mete-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)worker_image_room(bytes)) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return -1;
	return steal_fd(&fd);
}

static bool wants(struct tenant *tenant, const struct worker_image *word)
{
	struct images *images = images_of(tenant->daemon);
	char name[SHELF_NAME_BYTES];

	return images && word->bytes <= images->shelf.most_bytes &&
	       shelf_wants(&images->shelf, owner_name(tenant, name), word->hash, word->bytes);
}

/* The worker waits for an answer. */
static void give_room(struct tenant *tenant, struct worker *worker, const struct worker_image *word)
{
	struct image_room *room = wants(tenant, word) ? calloc(1, sizeof(*room)) : NULL;
	int fd = -1;

	if (room) {
		end_rooms(worker, ROOMS - 1);
		*room = (struct image_room){ .next = worker->rooms, .word = *word, .fd = make_memory(word->bytes) };
		worker->rooms = room;
		fd = room->fd;
	}
	send_fd(worker->images_fd, word, sizeof(*word), fd, MSG_DONTWAIT);
	if (room && fd < 0)
		end_room(worker, &worker->rooms);
}

/* Value: the memory that was made for this image, the caller's, or -1. */
static int take_room(struct worker *worker, const struct worker_image *word)
{
	struct image_room **at = &worker->rooms;
	int fd = -1;

	while (*at && ((*at)->word.bytes != word->bytes || memcmp((*at)->word.hash, word->hash, SHELF_HASH_BYTES)))
		at = &(*at)->next;
	if (!*at)
		return -1;
	fd = steal_fd(&(*at)->fd);
	end_room(worker, at);
	return fd;
}

static void keep(struct tenant *tenant, struct worker *worker, const struct worker_image *word)
{
	int fd = take_room(worker, word);
	struct images *images = tenant->daemon->images;
	struct shelf_image *victim;
	char name[SHELF_NAME_BYTES];

	/* Not while the worker can still write to it. */
	if (fd < 0)
		return;
	if (!wants(tenant, word) || fcntl(fd, F_ADD_SEALS, SEALS)) {
		loop_close(tenant->daemon->loop, fd);
		return;
	}
	owner_name(tenant, name);
	while ((victim = shelf_victim(&images->shelf, name, word->bytes)))
		remove_image(images, victim);
	if (!shelf_add(&images->shelf, name, word->hash, word->bytes, clock_now_ns(), fd)) {
		loop_close(tenant->daemon->loop, fd);
		return;
	}
	if (!timer_running(images->look))
		timer_start(images->look, LOOK_MS, LOOK_MS);
}

static void use(struct tenant *tenant, const struct worker_image *word)
{
	struct shelf_image *image = shelf_find(owner_of(tenant), word->hash);

	if (!image)
		return;
	shelf_use(image, clock_now_ns());
	tenant->daemon->meter.image_hits++;
	tenant->daemon->meter.image_saved_bytes += image->bytes;
}

static void hear(struct worker *worker)
{
	struct worker_image word;
	struct tenant *tenant;
	ssize_t n = recv(worker->images_fd, &word, sizeof(word), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(word) || word.version != WORKER_IMAGE_VERSION || worker->state != WORKER_BUSY) {
		images_end(worker);
		return;
	}
	tenant = tenant_find_id(worker->daemon, worker->grant_id);
	if (tenant && word.type == WORKER_IMAGE_ROOM)
		give_room(tenant, worker, &word);
	else if (tenant && word.type == WORKER_IMAGE_KEEP)
		keep(tenant, worker, &word);
	else if (tenant && word.type == WORKER_IMAGE_USED)
		use(tenant, &word);
}

static void on_word(void *owner)
{
	struct worker *worker = owner;
	uint64_t since_ns = clock_now_ns();

	if (!worker_may_speak(worker))
		return;
	hear(worker);
	worker_spoke(worker->daemon, worker->grant_id, since_ns);
}

/* What workers are told. */

int images_begin(struct worker *worker)
{
	_cleanup_close_ int theirs = -1;
	int ends[2];

	if (!worker->daemon->images_most_bytes || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	worker->images_fd = ends[0];
	theirs = ends[1];
	send_fds_admit(worker->images_fd, false);
	worker->images = watch_new(worker->daemon->loop, worker->images_fd, on_word, worker);
	if (worker->images)
		return steal_fd(&theirs);
	images_end(worker);
	return -1;
}

static bool show_one(const struct worker *worker, const struct shelf_image *image)
{
	struct worker_image word = { .type = WORKER_IMAGE_HELD,
				     .version = WORKER_IMAGE_VERSION,
				     .bytes = image->bytes };

	memcpy(word.hash, image->hash, sizeof(word.hash));
	return send_fd(worker->images_fd, &word, sizeof(word), image->item, MSG_DONTWAIT) == (ssize_t)sizeof(word);
}

void images_resume(struct worker *worker, int take_fd)
{
	worker->images_fd = take_fd;
	if (take_fd < 0)
		return;
	send_fds_admit(take_fd, false);
	worker->images = watch_new(worker->daemon->loop, worker->images_fd, on_word, worker);
	if (!worker->images)
		images_end(worker);
}

void images_show(struct worker *worker, const struct tenant *tenant)
{
	const struct shelf_owner *owner = owner_of(tenant);

	for (const struct shelf_image *i = owner ? owner->images : NULL; i && worker->images_fd >= 0; i = i->next)
		if (!show_one(worker, i))
			return; /* what it is not shown it is sent */
}

void images_end(struct worker *worker)
{
	watch_free(worker->images);
	worker->images = NULL;
	end_rooms(worker, 0);
	if (worker->images_fd >= 0)
		close(worker->images_fd);
	worker->images_fd = -1;
}

/* Ends and limits. */

void images_leave(const struct tenant *tenant)
{
	struct shelf_owner *owner = *tenant->images ? NULL : owner_of(tenant);
	unsigned int count = owner ? owner->count : 0;

	for (; count; count--)
		remove_image(tenant->daemon->images, owner->images); /* the last one takes the owner along */
}

void images_limit(struct daemon *daemon, uint64_t most_bytes)
{
	struct shelf_image *image;

	daemon->images_most_bytes = most_bytes;
	if (!daemon->images)
		return;
	daemon->images->shelf.most_bytes = most_bytes;
	while ((image = shelf_excess(&daemon->images->shelf)))
		remove_image(daemon->images, image);
}

void images_stop(struct daemon *daemon)
{
	struct images *images = daemon->images;

	if (!images)
		return;
	while (images->shelf.owners)
		remove_image(images, images->shelf.owners->images);
	timer_free(images->look);
	free(images);
	daemon->images = NULL;
}

/* A handover. */

static json_t *owner_save(const struct shelf_owner *o, struct handover *h)
{
	json_t *list = json_array();

	/* The last one first, as they are put before each other. */
	for (const struct shelf_image *i = o->images; i; i = i->next) {
		char hash[2 * SHELF_HASH_BYTES + 1];

		hex_write(i->hash, SHELF_HASH_BYTES, hash);
		json_array_insert_new(list, 0,
				      json_pack("{s:s s:I s:I s:o}", "hash", hash, "bytes", (json_int_t)i->bytes,
						"used", (json_int_t)i->used_ns, "fd", handover_give(h, i->item)));
	}
	return json_pack("{s:s s:I s:I s:o}", "name", o->name, "hits", (json_int_t)o->hits, "saved",
			 (json_int_t)o->saved_bytes, "images", list);
}

json_t *images_save(const struct daemon *daemon, struct handover *h)
{
	const struct images *images = daemon->images;
	json_t *owners = json_array();

	for (const struct shelf_owner *o = images ? images->shelf.owners : NULL; o; o = o->next)
		json_array_insert_new(owners, 0, owner_save(o, h));
	return json_pack("{s:I s:I s:o}", "hits", (json_int_t)images_hits(daemon), "saved",
			 (json_int_t)images_saved_bytes(daemon), "owners", owners);
}

static uint64_t number(const json_t *part, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(part, name));

	return n > 0 ? (uint64_t)n : 0;
}

static void image_restore(struct images *images, const char *name, const json_t *part, struct handover *h)
{
	_cleanup_close_ int fd = handover_take(h, json_object_get(part, "fd"));
	const char *hash_text = json_string_value(json_object_get(part, "hash"));
	uint64_t bytes = number(part, "bytes");
	uint8_t hash[SHELF_HASH_BYTES];

	if (fd < 0 || !hash_text || !hex_read(hash_text, hash, SHELF_HASH_BYTES) || !is_sealed(fd, bytes) ||
	    !shelf_wants(&images->shelf, name, hash, bytes))
		return;
	if (shelf_add(&images->shelf, name, hash, bytes, number(part, "used"), fd))
		steal_fd(&fd);
}

static void owner_restore(struct images *images, const json_t *part, struct handover *h)
{
	const char *name = json_string_value(json_object_get(part, "name"));
	struct shelf_owner *owner;
	json_t *image;
	size_t i;

	if (!name || strlen(name) >= SHELF_NAME_BYTES)
		return;
	json_array_foreach(json_object_get(part, "images"), i, image) image_restore(images, name, image, h);
	owner = shelf_owner(&images->shelf, name);
	if (!owner)
		return;
	owner->hits = number(part, "hits");
	owner->saved_bytes = number(part, "saved");
}

void images_restore(struct daemon *daemon, struct handover *h)
{
	const json_t *part = handover_get(h, "images");
	struct images *images = part && daemon->images_most_bytes ? images_of(daemon) : NULL;
	json_t *owner;
	size_t i;

	if (!images)
		return;
	images_counted(daemon, number(part, "hits"), number(part, "saved"));
	json_array_foreach(json_object_get(part, "owners"), i, owner) owner_restore(images, owner, h);
	images_limit(daemon, daemon->images_most_bytes);
	if (images->shelf.count)
		timer_start(images->look, LOOK_MS, LOOK_MS);
}

/* Figures. */

json_t *images_json(const struct tenant *tenant)
{
	const struct shelf_owner *o = owner_of(tenant);

	return json_pack("{s:i s:I s:I s:I}", "kept", o ? (int)o->count : 0, "kept_bytes", o ? (json_int_t)o->bytes : 0,
			 "hits", o ? (json_int_t)o->hits : 0, "saved_bytes", o ? (json_int_t)o->saved_bytes : 0);
}

uint64_t images_kept_bytes(const struct daemon *daemon)
{
	return daemon->images ? daemon->images->shelf.bytes : 0;
}

/* From the handover and from the file of meters: the same. */
void images_counted(struct daemon *daemon, uint64_t hits, uint64_t saved_bytes)
{
	struct node_meter *n = &daemon->meter;

	n->image_hits = hits > n->image_hits ? hits : n->image_hits;
	n->image_saved_bytes = saved_bytes > n->image_saved_bytes ? saved_bytes : n->image_saved_bytes;
}

uint64_t images_hits(const struct daemon *daemon)
{
	return daemon->meter.image_hits;
}

uint64_t images_saved_bytes(const struct daemon *daemon)
{
	return daemon->meter.image_saved_bytes;
}
