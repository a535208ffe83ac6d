/* grave_test.c: records that are replaced while threads read them; made for the thread and address sanitizers. */
#include "remote/client/grave.h"

#include "base/tap.h"

#include <pthread.h>

#define READERS 3
#define TURNS 20000
#define MARK 0x5eedu

struct record {
	struct grave grave;
	uint32_t mark, turn;
};

static _Atomic(struct record *) present;
static atomic_uint ended, wrong;
static atomic_bool over;

static void end(struct grave *grave)
{
	struct record *r = (struct record *)grave; /* its first member */

	r->mark = 0;
	free(r);
	atomic_fetch_add(&ended, 1);
}

static struct record *make(uint32_t turn)
{
	struct record *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	r->mark = MARK;
	r->turn = turn;
	return r;
}

static void *read_on(void *unused)
{
	uint32_t last = 0;

	while (!atomic_load(&over)) {
		LOOKING;
		struct record *r = atomic_load_explicit(&present, memory_order_acquire);

		if (r->mark != MARK || r->turn < last)
			atomic_fetch_add(&wrong, 1);
		last = r->turn;
	}
	return unused;
}

static void replace(uint32_t turn)
{
	struct record *old = atomic_exchange_explicit(&present, make(turn), memory_order_acq_rel);

	grave_bury(&old->grave, end);
}

static void test_threads(void)
{
	pthread_t reader[READERS];

	atomic_store(&present, make(0));
	for (int i = 0; i < READERS; i++)
		ok(!pthread_create(&reader[i], NULL, read_on, NULL));
	for (uint32_t turn = 1; turn <= TURNS; turn++)
		replace(turn);
	atomic_store(&over, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(reader[i], NULL);
	is(atomic_load(&wrong), 0);
	replace(TURNS + 1);
	is(atomic_load(&ended), TURNS + 1); /* nobody looks: all have gone */
}

/* What is buried while somebody looks stays until they have left, however often they looked. */
static void test_waits(void)
{
	unsigned int before = atomic_load(&ended);

	{
		LOOKING;
		grave_look(thread_get());
		replace(1);
		grave_leave(thread_get());
		is(atomic_load(&ended), before);
		replace(2);
		is(atomic_load(&ended), before);
	}
	replace(3);
	is(atomic_load(&ended), before + 3);
	/* Who begins later does not hold what went before. */
	grave_look(thread_get());
	replace(4);
	thread_forget();
	grave_forget();
	replace(5);
	is(atomic_load(&ended), before + 5);
	free(atomic_load(&present));
}

int main(void)
{
	tap_begin();
	test_threads();
	test_waits();
	return tap_end();
}
