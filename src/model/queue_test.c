/* queue_test.c: first come, first served, on each device; and nobody is held up without a reason. */
#include "base/tap.h"
#include "model/queue.h"

#include <stdlib.h>

#define S UINT64_C(1000000000)

static struct queue q;
static const char who[QUEUE_MOST + 1];

static void in_order(void)
{
	q.count = 0;
	is(queue_before(&q, NULL, 1), 0);
	is(queue_wait(&q, &who[0], 0, 1, QUEUE_ROOM, S), 1);
	is(queue_wait(&q, &who[1], 0, 1, QUEUE_ROOM, S), 2);
	is(queue_wait(&q, &who[2], 0, 2, QUEUE_ROOM, S), 1);	 /* another device */
	is(queue_wait(&q, &who[3], 0, 3, QUEUE_ROOM, S), 4);	 /* both */
	is(queue_wait(&q, &who[1], 0, 1, QUEUE_ROOM, 2 * S), 2); /* asks again */
	is(queue_before(&q, NULL, 1), 3);		      /* somebody new */
	is(queue_before(&q, NULL, 2), 2);
	is(queue_before(&q, NULL, 4), 0);
	queue_leave(&q, &who[0]);
	queue_leave(&q, &who[0]);
	is(queue_wait(&q, &who[1], 0, 1, QUEUE_ROOM, 2 * S), 1);
	is(queue_wait(&q, &who[3], 0, 3, QUEUE_ROOM, 2 * S), 3);
}

static void other_reasons(void)
{
	q.count = 0;
	is(queue_wait(&q, &who[0], 0, 1, QUEUE_OTHER, S), 1); /* its own ceiling */
	is(queue_wait(&q, &who[1], 0, 1, QUEUE_ROOM, S), 1);
	is(queue_before(&q, NULL, 1), 1);
	is(queue_wait(&q, &who[0], 0, 1, QUEUE_ROOM, S), 1); /* it came first all the same */
	is(queue_before(&q, &who[1], 1), 1);
}

static void patience(void)
{
	q.count = 0;
	queue_wait(&q, &who[0], 0, 1, QUEUE_ROOM, S);
	queue_wait(&q, &who[1], 0, 1, QUEUE_ROOM, 2 * S);
	queue_sweep(&q, S + QUEUE_PATIENCE_NS);
	is(q.count, 2);
	queue_sweep(&q, S + QUEUE_PATIENCE_NS + 1);
	is(q.count, 1);
	ok(queue_find(&q, &who[1]) && !queue_find(&q, &who[0]));
}

/* Who asks for what will never be free holds up others for a while, himself for as long as he likes, root never. */
static void other_users(void)
{
	q.count = 0;
	queue_wait(&q, &who[0], 7, 1, QUEUE_ROOM, S);
	queue_wait(&q, &who[1], 7, 1, QUEUE_OTHER, S);
	queue_wait(&q, &who[2], 8, 1, QUEUE_ROOM, 2 * S);
	is(queue_holding(&q, NULL, 8, 1, S + QUEUE_HOLD_NS - 1, QUEUE_HOLD_NS), 2);
	is(queue_holding(&q, &who[2], 8, 1, S + QUEUE_HOLD_NS - 1, QUEUE_HOLD_NS), 1);
	is(queue_holding(&q, &who[2], 8, 1, S + QUEUE_HOLD_NS, QUEUE_HOLD_NS), 0);
	is(queue_holding(&q, NULL, 8, 1, 3 * S + QUEUE_HOLD_NS, QUEUE_HOLD_NS), 1); /* his own request before it */
	is(queue_holding(&q, NULL, 7, 1, 3 * S + QUEUE_HOLD_NS, QUEUE_HOLD_NS), 1);
	is(queue_holding(&q, NULL, 7, 2, S, QUEUE_HOLD_NS), 0); /* another device */
	is(queue_holding(&q, NULL, 0, 1, 2 * S, 0), 0);
	/* Who comes anew stands behind those who wait already. */
	queue_leave(&q, &who[0]);
	queue_wait(&q, &who[3], 7, 1, QUEUE_ROOM, 3 * S);
	is(queue_holding(&q, &who[2], 8, 1, 3 * S, QUEUE_HOLD_NS), 0);
}

static void handed_on(void)
{
	struct queue_entry e[3] = { { &who[2], 1, 30, S, QUEUE_ROOM, 0 },
				    { &who[0], 1, 10, S, QUEUE_ROOM, 0 },
				    { &who[1], 1, 20, S, QUEUE_ROOM, 0 } };

	q.count = 0;
	for (int i = 0; i < 3; i++)
		ok(queue_put(&q, &e[i]));
	for (unsigned int i = 0; i < 3; i++)
		is(queue_wait(&q, &who[i], 0, 1, QUEUE_ROOM, 2 * S), i + 1);
}

static void full(void)
{
	q.count = 0;
	for (unsigned int i = 0; i < QUEUE_MOST; i++)
		if (queue_wait(&q, &who[i], 0, 1, QUEUE_ROOM, S) != i + 1)
			ok(false);
	is(queue_wait(&q, &who[QUEUE_MOST], 0, 1, QUEUE_ROOM, S), 0);
	is(queue_wait(&q, &who[QUEUE_MOST - 1], 0, 1, QUEUE_ROOM, S), QUEUE_MOST);
}

/* Whatever happens: nobody's place grows while it waits for the same. */
static void never_back(void)
{
	unsigned int place[16] = { 0 };
	bool good = true;

	q.count = 0;
	srandom(7);
	for (unsigned int i = 0; i < 100000; i++) {
		unsigned int k = (unsigned int)random() % 16, now;

		if (random() % 5 == 0) {
			queue_leave(&q, &who[k]);
			place[k] = 0;
			continue;
		}
		now = queue_wait(&q, &who[k], 0, 1u << k % 3, QUEUE_ROOM, S);
		good &= !place[k] || now <= place[k];
		place[k] = now;
	}
	ok(good);
}

int main(void)
{
	tap_begin();
	in_order();
	other_reasons();
	patience();
	other_users();
	handed_on();
	full();
	never_back();
	return tap_end();
}
