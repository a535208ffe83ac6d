/* twin.c: see twin.h. */
#include "remote/libs/twin.h"
#include "remote/libs/twin_device.h"

#include <pthread.h>
#include <stdlib.h>

#define NUMBERS 65536

struct twin {
	unsigned int type;
	void *twin;
	void (*end)(void *twin);
};

void twin_enter(struct twin_call *c, const struct forward_library *library)
{
	*c = (struct twin_call){ .library = library };
	twin_device_begin();
}

/* ---- objects ---- */

static struct twin *find(const void *object)
{
	const struct forward_calls *f = object ? forward_client() : NULL;

	return f ? f->kept(KIND_FORWARDED, object) : NULL;
}

/* Objects of the client alone: their twins' own addresses, which no handle of the client is. */
struct here {
	struct here *next;
	void *twin;
	unsigned int type;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct here *heres; /* mutex guards it, and what it leads to */

static void *find_here(const void *object, unsigned int type)
{
	struct here *h;

	pthread_mutex_lock(&mutex);
	for (h = heres; h && (h->twin != object || (type && h->type != type)); h = h->next)
		;
	pthread_mutex_unlock(&mutex);
	return h ? h->twin : NULL;
}

const void *twin_here(void *twin, unsigned int type)
{
	struct here *h = malloc(sizeof(*h));

	if (!h)
		return NULL;
	*h = (struct here){ .twin = twin, .type = type };
	pthread_mutex_lock(&mutex);
	h->next = heres;
	heres = h;
	pthread_mutex_unlock(&mutex);
	return twin;
}

bool twin_leaves(const void *object)
{
	struct here **at, *h;

	pthread_mutex_lock(&mutex);
	for (at = &heres; *at && (*at)->twin != object; at = &(*at)->next)
		;
	h = *at;
	if (h)
		*at = h->next;
	pthread_mutex_unlock(&mutex);
	free(h);
	return h;
}

void *twin_of(const void *object, unsigned int type)
{
	struct twin *t = find(object);

	if (t)
		return t->type == type ? t->twin : NULL;
	return object ? find_here(object, type) : NULL;
}

static void twin_free(void *given)
{
	struct twin *t = given;

	t->end(t->twin);
	free(t);
}

void twin_gone(const void *object)
{
	const struct forward_calls *f = forward_client();

	if (f)
		f->drop(object);
}

static const void *objects[NUMBERS]; /* mutex guards it */

const void *twin_object(int number)
{
	const void *object = NULL;

	pthread_mutex_lock(&mutex);
	if (number > 0 && number < NUMBERS)
		object = objects[number];
	pthread_mutex_unlock(&mutex);
	return object;
}

void twin_number(int number, const void *object)
{
	pthread_mutex_lock(&mutex);
	if (number > 0 && number < NUMBERS)
		objects[number] = object;
	pthread_mutex_unlock(&mutex);
}

/* ---- turns ---- */

/*
 * The worker refuses a call about an object while another one about it waits there, because these libraries are not
 * made for two at once (serve.c). A program may use one handle in several threads, so that its calls take turns here:
 * from their message to their end. Calls about other objects go on: what one waits for may come behind another.
 */
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t turn_left = PTHREAD_COND_INITIALIZER;
static struct twin_call *taken;
static unsigned int turns_awaited;

static bool taken_by_another(const void *object)
{
	for (const struct twin_call *c = taken; c; c = c->next)
		if (c->turn_of == object && !pthread_equal(c->thread, pthread_self()))
			return true;
	return false;
}

static void turn_take(struct twin_call *c, const void *object)
{
	pthread_mutex_lock(&turns);
	turns_awaited++;
	while (taken_by_another(object))
		pthread_cond_wait(&turn_left, &turns);
	turns_awaited--;
	c->turn_of = object;
	c->thread = pthread_self();
	c->next = taken;
	taken = c;
	pthread_mutex_unlock(&turns);
}

static void turn_leave(struct twin_call *c)
{
	struct twin_call **place = &taken;

	if (!c->turn_of)
		return;
	pthread_mutex_lock(&turns);
	while (*place != c)
		place = &(*place)->next;
	*place = c->next;
	c->turn_of = NULL;
	if (turns_awaited)
		pthread_cond_broadcast(&turn_left);
	pthread_mutex_unlock(&turns);
}

/* ---- messages ---- */

/* What the twin's answer means. True: the worker is asked. */
static bool passes(struct twin_call *c, int status, bool *ret_waits)
{
	bool asked = status && status == c->library->status.not_supported && !c->library->final;

	c->f.status = status;
	*ret_waits = *ret_waits || asked || twin_device_takes_memory();
	return !status || asked;
}

bool twin_begin(struct twin_call *c, int status, unsigned int call, const void *object, enum twin_way way, size_t bytes)
{
	bool waits = way != TWIN_RUN;
	uint64_t id;

	if (!passes(c, status, &waits) || !object || !find(object))
		return false;
	c->goes = true;
	turn_take(c, object);
	if (!forward_open(&c->f, c->library))
		return false;
	id = c->f.client->use(&c->f.call, KIND_FORWARDED, object);
	c->memo = way == TWIN_ASK_ONCE;
	return c->memo ? forward_start_memo(&c->f, call, id) : forward_start(&c->f, call, id, waits, bytes);
}

bool twin_make(struct twin_call *c, int status, unsigned int call, bool waits, size_t bytes)
{
	c->f.status = status;
	if (status)
		return false;
	c->goes = true;
	forward_context();
	if (!forward_open(&c->f, c->library) || !c->f.client->use_current(&c->f.call))
		return false;
	c->made = c->f.client->mint(&c->f.call, KIND_FORWARDED, NULL, &c->made_id);
	if (!c->made || !forward_start(&c->f, call, 0, waits, bytes))
		return false;
	forward_put(&c->f, &c->made_id, sizeof(c->made_id));
	return true;
}

void twin_put_object(struct twin_call *c, const void *object)
{
	uint64_t id = object ? c->f.client->use(&c->f.call, KIND_FORWARDED, object) : 0;

	forward_put(&c->f, &id, sizeof(id));
}

void twin_put_list(struct twin_call *c, const void *list, uint64_t count, size_t each)
{
	uint64_t bytes = list ? count * each + 1 : 0;

	if (list && count > FORWARD_LIST_MOST) {
		c->f.status = c->library->status.invalid;
		bytes = 0;
	}
	forward_put(&c->f, &bytes, sizeof(bytes));
	if (bytes > 1)
		forward_put(&c->f, list, bytes - 1);
}

bool twin_send(struct twin_call *c)
{
	bool answer = forward_send(&c->f);

	return answer || (c->memo && c->f.call.result == CUDA_SUCCESS);
}

void twin_get(struct twin_call *c, void *to, size_t bytes)
{
	uint8_t unwanted[16];

	forward_get(&c->f, to ? to : unwanted, bytes < sizeof(unwanted) ? bytes : sizeof(unwanted));
}

int twin_end(struct twin_call *c)
{
	int status = c->goes ? forward_end(&c->f) : c->f.status;

	turn_leave(c);
	if (status && status == c->library->status.not_supported)
		twin_device_tell(c->library->title);
	return status;
}

int twin_made(struct twin_call *c, void *twin, unsigned int type, void (*end)(void *twin))
{
	struct twin *t = malloc(sizeof(*t));
	int status = twin_end(c);

	if (!status && !t)
		status = c->library->status.alloc_failed;
	if (!status && c->made) {
		*t = (struct twin){ type, twin, end };
		c->f.client->keep(c->made, t, twin_free);
		return 0;
	}
	free(t);
	if (c->made)
		c->f.client->drop(c->made);
	if (twin)
		end(twin);
	return status ? status : c->library->status.internal;
}
