/*
 * images.c: see images.h.
 *
 * Pieces come in order and are written where they belong; the hash is worked out once, when somebody first asks for the
 * whole, so that a name never stands for other bytes than it should. Beyond IMAGES_MOST bytes the images that were
 * asked for longest ago go, and are sent again when they are needed again.
 */
#include "remote/worker/images.h"
#include "remote/worker/code.h"
#include "remote/worker/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define IMAGES_MOST (UINT64_C(512) << 20) /* bytes that are kept though nobody uses them */
#define IMAGES_COUNT_MOST 4096u
#define PAGE 4096u

struct image {
	struct image *next;
	uint8_t hash[SHA256_BYTES];
	uint64_t whole, got;
	uint64_t asked; /* when, in calls */
	unsigned int users;
	bool good; /* the hash is that of the bytes */
	uint8_t *data; /* with a page of zeroes behind it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all */
static struct image *images;
static uint64_t asked, bytes_kept;
static unsigned int count;

static size_t mapped(uint64_t whole)
{
	return (whole + PAGE - 1) / PAGE * PAGE + PAGE;
}

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
	bytes_kept -= i->whole;
	count--;
	munmap(i->data, mapped(i->whole));
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

static struct image *make(const struct code_piece *p)
{
	struct image **old;
	struct image *i;

	while (count && (count >= IMAGES_COUNT_MOST || bytes_kept + p->whole > IMAGES_MOST) && (old = oldest()))
		drop(old);
	i = count < IMAGES_COUNT_MOST ? calloc(1, sizeof(*i)) : NULL;
	if (!i)
		return NULL;
	i->data = mmap(NULL, mapped(p->whole), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (i->data == MAP_FAILED) {
		free(i);
		return NULL;
	}
	memcpy(i->hash, p->hash, sizeof(i->hash));
	i->whole = p->whole;
	i->asked = ++asked;
	i->next = images;
	images = i;
	count++;
	bytes_kept += i->whole;
	return i;
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

static bool is_good(struct image *i)
{
	uint8_t hash[SHA256_BYTES];
	struct sha256 s;

	if (!i->good) {
		sha256_begin(&s);
		sha256_add(&s, i->data, i->whole);
		sha256_end(&s, hash);
		i->good = !memcmp(hash, i->hash, sizeof(hash));
	}
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
