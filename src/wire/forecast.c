/* forecast.c: see forecast.h. */
#include "wire/forecast.h"

#define LEARN_LEAST 4u
#define LEARN_MOST 64u
#define STRANGE_MOST 3u /* then they are what is usual */
#define BEFORE_NS 10000u
#define AFTER_NS 5000u
#define LATE_FIRST_NS 15000u /* until it is known better */
#define LATE_MOST_NS 50000u
#define SOON_NS 40000u /* what takes longer is slept for: more than a round trip with TLS on one machine */
#define REST_LEAST 16u
#define REST_MOST 1024u

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* A fourth of the way towards `to`. */
static uint64_t towards(uint64_t from, uint64_t to)
{
	return to > from ? from + (to - from + 3) / 4 : from - (from - to) / 4;
}

static uint64_t late(const struct forecast *f)
{
	return f->late_ns ? f->late_ns : LATE_FIRST_NS;
}

uint64_t forecast_soon(const struct forecast *f)
{
	return !f->rest && f->soon_ns && f->soon_ns <= SOON_NS ? 2 * f->soon_ns + AFTER_NS : 0;
}

struct forecast_window forecast_begin(struct forecast *f)
{
	uint64_t before = BEFORE_NS + 2 * f->off_ns, after = AFTER_NS + 2 * f->off_ns, sleep;

	if (f->rest) {
		f->rest--;
		return (struct forecast_window){ 0 };
	}
	sleep = before + late(f);
	if (f->learnt < LEARN_LEAST || before + after > f->mean_ns / FORECAST_SHARE || sleep >= f->mean_ns)
		return (struct forecast_window){ 0 };
	return (struct forecast_window){ f->mean_ns - sleep, f->mean_ns + after };
}

static void begin_anew(struct forecast *f, uint64_t took_ns)
{
	f->mean_ns = took_ns;
	f->off_ns = 0;
	f->learnt = 1;
	f->strange = 0;
}

void forecast_end(struct forecast *f, uint64_t took_ns, bool asleep)
{
	uint64_t off;

	if (asleep)
		took_ns = took_ns > late(f) ? took_ns - late(f) : 1;
	off = took_ns < FORECAST_SOON_NS ? took_ns : FORECAST_SOON_NS;
	f->soon_ns = towards(f->soon_ns ? f->soon_ns : FORECAST_SOON_NS, off);
	if (took_ns < FORECAST_LEAST_NS || took_ns > FORECAST_MOST_NS)
		return;
	off = apart(took_ns, f->mean_ns);
	if (!f->learnt || (off > f->mean_ns / 4 && ++f->strange >= STRANGE_MOST)) {
		begin_anew(f, took_ns);
		return;
	}
	if (off > f->mean_ns / 4)
		return;
	f->strange = 0;
	f->off_ns = towards(f->off_ns, off);
	f->mean_ns = towards(f->mean_ns, took_ns);
	if (f->learnt < LEARN_MOST)
		f->learnt++;
	else
		f->rests = 0; /* that was long ago */
}

void forecast_woke(struct forecast *f, uint64_t late_ns)
{
	f->late_ns = towards(late(f), late_ns < LATE_MOST_NS ? late_ns : LATE_MOST_NS);
}

void forecast_crowded(struct forecast *f)
{
	f->rests = f->rests ? f->rests * 2 : REST_LEAST;
	if (f->rests > REST_MOST)
		f->rests = REST_MOST;
	f->rest = f->rests;
	f->learnt = LEARN_LEAST;
}
