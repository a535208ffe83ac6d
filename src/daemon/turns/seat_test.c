/*
 * seat_test.c: what a tenant's account begins with under the next meted: what stands on its clients' pages, or what the
 * meted before has handed over, against which a page, where a client may write what it likes, counts for nothing.
 */
#include "daemon/tenants/tenant.h"
#include "daemon/turns/resume.h"
#include "daemon/turns/state.h"

#include "base/tap.h"

#include <stdlib.h>

#define MS UINT64_C(1000000)
#define NOW (1000000 * MS)

static const struct arbiter_terms half = {
	.gated = true, .class = ARBITER_NORMAL, .guarantee_ppm = 500000, .limit_ppm = 1000000, .weight = 100
};

/* One tenant's share of an engine, with one client's page that was found. */
struct found {
	struct engine *engine;
	struct place *place;
	struct wire_turn *turn;
};

static struct found prepare(uint64_t charged_ns, int64_t arrears_ns)
{
	static const uint8_t uuid[DEVICE_UUID_BYTES];
	struct found f = { .engine = engine_new(uuid, WIRE_COMPUTE), .turn = aligned_alloc(64, sizeof(*f.turn)) };

	memset(f.turn, 0, sizeof(*f.turn));
	f.place = engine_join(f.engine, &half, NOW);
	atomic_store(&f.turn->charged_ns, charged_ns);
	atomic_store(&f.turn->arrears_ns, arrears_ns);
	atomic_store(&f.turn->charged_at_ns, NOW);
	return f;
}

static struct arbiter_reading sit(struct found *f)
{
	struct seat *s = engine_sit(f->place, f->turn, true, NOW);
	struct arbiter_reading r = engine_totals(f->place, NOW);

	engine_rise(s, NOW, false);
	engine_leave(f->place, NOW);
	engine_free(f->engine);
	free(f->turn);
	return r;
}

static void test_pages(void)
{
	struct found f = prepare(700 * MS, 300 * (int64_t)MS);
	struct arbiter_reading r = sit(&f);

	tap_ok(r.charged_ns == 700 * MS && r.arrears_ns == 300 * (int64_t)MS, "what stands on the page goes on");
	f = prepare(0, 300 * (int64_t)MS);
	r = sit(&f);
	tap_ok(r.arrears_ns == 300 * (int64_t)MS, "of one that has never had a turn as well: it is behind by %lld ms",
	       (long long)r.arrears_ns / (long long)MS);
}

static void test_handed_over(void)
{
	struct tenant *t = calloc(1, sizeof(*t));
	const struct place_totals totals = { .charged_ns = 700 * MS, .arrears_ns = -300 * (int64_t)MS };
	struct found f = prepare(UINT64_C(1) << 60, INT64_MAX);
	struct arbiter_reading r;

	t->places.at[0][WIRE_COMPUTE] = f.place;
	resume_totals_set(t, 0, WIRE_COMPUTE, &totals);
	r = sit(&f);
	tap_ok(r.charged_ns == 700 * MS && r.arrears_ns == -300 * (int64_t)MS,
	       "what was handed over holds, whatever the page says: behind by %lld ms",
	       (long long)r.arrears_ns / (long long)MS);
	free(t);
}

int main(void)
{
	tap_begin();
	test_pages();
	test_handed_over();
	return tap_end();
}
