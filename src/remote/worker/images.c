/*
 * images.c: see images.h.
 *
 * Pieces come in order and are written where they belong; the hash is worked out once, when somebody first asks for the
 * whole, so that a name never stands for other bytes than it should. Beyond IMAGES_MOST bytes the images that were
 * asked for longest ago go, and are sent again when they are needed again.
 *
 * What meted holds for this tenant (keep.h) is as if it had come, in memory that is mapped when it is asked for; its
 * hash is worked out all the same. The client is told of it when the session begins.
 */
#include "remote/worker/images.h"
#include "remote/worker/code.h"
#include "remote/worker/keep.h"
#include "remote/worker/worker.h"

#include "wire/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define IMAGES_MOST (UINT64_C(512) << 20) /* bytes that are kept though nobody uses them */
#define IMAGES_COUNT_MOST 4096u

struct image {
	struct image *next;
	uint8_t hash[SHA256_BYTES];
	uint64_t whole, got;
	uint64_t asked; /* when, in calls */
	unsigned int users;
	bool good; /* the hash is that of the bytes */
	bool held; /* by meted; `data` is NULL until it is asked for */
	int fd; /* its memory, if meted is to get it or has given it; else -1 */
	uint8_t *data; /* with a page of zeroes behind it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all */
static struct image *images;
static uint64_t asked, bytes_kept;
static unsigned int count;

static struct image **find(const uint8_t hash[SHA256_BYTES])
{
	struct image **at = &images;

	while (*at && memcmp((*at)->hash, hash, SHA256_BYTES))
		at = &(*at)->next;
	return at;
}

static void drop(struct image **at)
{
	struct image *i = *at;

	*at = i->next;
	count--;
	if (i->data) {
		bytes_kept -= i->whole;
		munmap(i->data, worker_image_room(i->whole));
	}
	if (i->fd >= 0)
		close(i->fd);
	free(i);
}

static struct image **oldest(void)
{
	struct image **old = NULL;

	for (struct image **at = &images; *at; at = &(*at)->next)
		if (!(*at)->users && (!old || (*at)->asked < (*old)->asked))
			old = at;
	return old;
}

static void make_room(uint64_t bytes)
{
	struct image **old;

	while (count && (count >= IMAGES_COUNT_MOST || bytes_kept + bytes > IMAGES_MOST) && (old = oldest()))
		drop(old);
}

static struct image *add_image(const uint8_t hash[SHA256_BYTES], uint64_t whole, int fd)
{
	struct image *i = count < IMAGES_COUNT_MOST ? calloc(1, sizeof(*i)) : NULL;

	if (!i)
		return NULL;
	memcpy(i->hash, hash, sizeof(i->hash));
	i->whole = whole;
	i->fd = fd;
	i->asked = ++asked;
	i->next = images;
	images = i;
	count++;
	return i;
}

static struct image *make(const struct code_piece *p)
{
	struct image *i;
	void *data;
	int fd;

	make_room(p->whole);
	data = keep_room(p->hash, p->whole, &fd);
	i = data ? add_image(p->hash, p->whole, fd) : NULL;
	if (i) {
		i->data = data;
		bytes_kept += i->whole;
		return i;
	}
	if (data)
		munmap(data, worker_image_room(p->whole));
	if (fd >= 0)
		close(fd);
	return NULL;
}

void images_hold(int meted)
{
	uint8_t hash[SHA256_BYTES];
	struct image *i;
	uint64_t bytes;
	int fd;

	pthread_mutex_lock(&lock);
	keep_open(meted);
	while (keep_next(hash, &bytes, &fd)) {
		i = bytes && bytes <= CODE_IMAGE_MOST && !*find(hash) ? add_image(hash, bytes, fd) : NULL;
		if (i) {
			i->held = true;
			i->got = bytes;
		} else {
			close(fd);
		}
	}
	pthread_mutex_unlock(&lock);
}

int worker_code_held(struct work *work)
{
	unsigned int told = 0;

	if (work->in.used != work->in.size)
		return -EPROTO;
	pthread_mutex_lock(&lock);
	for (const struct image *i = images; i && told < CODE_HELD_MOST; i = i->next)
		if (i->held) {
			remote_put(&work->out, i->hash, sizeof(i->hash));
			told++;
		}
	pthread_mutex_unlock(&lock);
	return 0;
}

/* Nobody waits for it: whatever is wrong with a piece shows when the image is asked for and is not there. */
static void add(const struct code_piece *p, const void *bytes)
{
	struct image **at = find(p->hash);

	if (*at && !p->at && (*at)->got < (*at)->whole && !(*at)->users)
		drop(at); /* begun anew */
	at = find(p->hash);
	if (!*at && (p->at || !make(p)))
		return;
	at = find(p->hash);
	if ((*at)->whole != p->whole || (*at)->got != p->at || p->bytes > p->whole - p->at)
		return;
	memcpy((*at)->data + p->at, bytes, p->bytes);
	(*at)->got += p->bytes;
}

int worker_code_piece(struct work *work)
{
	struct code_piece p;
	const void *bytes;

	remote_get(&work->in, &p, sizeof(p));
	bytes = remote_take(&work->in, p.bytes);
	if (work->in.bad || work->in.used != work->in.size || !p.bytes || p.whole > CODE_IMAGE_MOST)
		return -EPROTO;
	pthread_mutex_lock(&lock);
	add(&p, bytes);
	pthread_mutex_unlock(&lock);
	return 0;
}

/* What meted holds is there. */
static bool is_mapped(struct image *i)
{
	if (i->data || !i->held)
		return i->data;
	i->data = (uint8_t *)(uintptr_t)keep_map(i->fd, i->whole);
	close(i->fd);
	i->fd = -1;
	if (i->data)
		bytes_kept += i->whole;
	return i->data;
}

/* Works out the hash, once; then it is known whether an image has come or been held, and meted is told. */
static bool is_good(struct image *i)
{
	uint8_t hash[SHA256_BYTES];
	struct sha256 s;

	if (i->good)
		return true;
	if (!is_mapped(i))
		return false;
	sha256_begin(&s);
	sha256_add(&s, i->data, i->whole);
	sha256_end(&s, hash);
	i->good = !memcmp(hash, i->hash, sizeof(hash));
	if (i->good && i->held)
		keep_used(i->hash, i->whole);
	else if (i->good && i->fd >= 0)
		keep_give(i->data, i->hash, i->whole, i->fd);
	if (i->good)
		i->fd = -1;
	return i->good;
}

struct image *images_take(const uint8_t hash[SHA256_BYTES], uint64_t bytes)
{
	struct image **at, *i;

	pthread_mutex_lock(&lock);
	at = find(hash);
	i = *at;
	if (i && (i->whole != bytes || i->got < i->whole))
		i = NULL;
	if (i && !is_good(i)) {
		drop(at); /* it was not looked after: nobody has seen it */
		i = NULL;
	}
	if (i) {
		i->users++;
		i->asked = ++asked;
	}
	pthread_mutex_unlock(&lock);
	return i;
}

void images_give(struct image *i)
{
	pthread_mutex_lock(&lock);
	i->users--;
	pthread_mutex_unlock(&lock);
}

const void *image_data(const struct image *i)
{
	return i->data;
}
