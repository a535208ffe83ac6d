/* queue.c: see queue.h. */
#include "model/queue.h"

#include <stddef.h>
#include <string.h>

static struct queue_entry *find(struct queue *q, const void *who)
{
	for (unsigned int i = 0; i < q->count; i++)
		if (q->entry[i].who == who)
			return &q->entry[i];
	return NULL;
}

const struct queue_entry *queue_find(const struct queue *q, const void *who)
{
	return find((struct queue *)q, who);
}

unsigned int queue_before(const struct queue *q, const void *who, uint64_t devices)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < q->count && q->entry[i].who != who; i++)
		n += q->entry[i].hold == QUEUE_ROOM && q->entry[i].devices & devices;
	return n;
}

unsigned int queue_holding(const struct queue *q, const void *who, uint64_t user, uint64_t devices, uint64_t now_ns,
			   uint64_t hold_ns)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < q->count && q->entry[i].who != who; i++) {
		const struct queue_entry *e = &q->entry[i];

		n += e->hold == QUEUE_ROOM && e->devices & devices &&
		     (e->user == user || now_ns - e->since_ns < hold_ns);
	}
	return n;
}

unsigned int queue_wait(struct queue *q, const void *who, uint64_t user, uint64_t devices, enum queue_hold hold,
			uint64_t now_ns)
{
	struct queue_entry *e = find(q, who);

	if (!e && q->count == QUEUE_MOST)
		return 0;
	if (!e) {
		e = &q->entry[q->count++];
		*e = (struct queue_entry){ .who = who, .since_ns = now_ns, .user = user };
	}
	e->devices = devices;
	e->hold = hold;
	e->seen_ns = now_ns;
	return queue_before(q, who, devices) + 1;
}

bool queue_put(struct queue *q, const struct queue_entry *entry)
{
	unsigned int at = q->count;

	if (at == QUEUE_MOST)
		return false;
	for (; at && q->entry[at - 1].since_ns > entry->since_ns; at--)
		q->entry[at] = q->entry[at - 1];
	q->entry[at] = *entry;
	q->count++;
	return true;
}

static void drop(struct queue *q, struct queue_entry *e)
{
	q->count--;
	memmove(e, e + 1, (size_t)(&q->entry[q->count] - e) * sizeof(*e));
}

void queue_leave(struct queue *q, const void *who)
{
	struct queue_entry *e = find(q, who);

	if (e)
		drop(q, e);
}

void queue_sweep(struct queue *q, uint64_t now_ns)
{
	for (unsigned int i = 0; i < q->count;)
		if (now_ns - q->entry[i].seen_ns > QUEUE_PATIENCE_NS)
			drop(q, &q->entry[i]);
		else
			i++;
}
