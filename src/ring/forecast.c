/* forecast.c: see forecast.h. */
#include "ring/forecast.h"

#define LEARN_LEAST 4u
#define BEFORE_NS 10000u
#define AFTER_NS 5000u
#define LATE_FIRST_NS 15000u /* until it is known better */
#define LATE_MOST_NS 50000u
#define SOON_NS 40000u /* what takes longer is slept for: more than a round trip with TLS on one machine */
#define REST_LEAST 16u
#define REST_MOST 1024u

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
	uint64_t mean = f->usual.mean_ns, off = 2 * f->usual.off_ns, share = mean / FORECAST_SHARE, most, sleep;

	if (f->rest) {
		f->rest--;
		return (struct forecast_window){ 0 };
	}
	if (f->usual.learnt < LEARN_LEAST || BEFORE_NS + AFTER_NS > share)
		return (struct forecast_window){ 0 };
	/* Those that are somewhat too far off are not all looked for. */
	most = (share - BEFORE_NS - AFTER_NS) / 2;
	if (off > most + most / 4)
		return (struct forecast_window){ 0 };
	off = off < most ? off : most;
	sleep = BEFORE_NS + off + late(f);
	if (sleep >= mean)
		return (struct forecast_window){ 0 };
	return (struct forecast_window){ mean - sleep, mean + AFTER_NS + off };
}

struct forecast_window forecast_earlier(const struct forecast *f, struct forecast_window w, uint64_t ns)
{
	if (w.until_ns && ns <= f->usual.mean_ns / FORECAST_EARLY_SHARE)
		w.from_ns -= ns;
	return w;
}

void forecast_end(struct forecast *f, uint64_t took_ns, bool asleep)
{
	uint64_t soon;

	if (asleep)
		took_ns = took_ns > late(f) ? took_ns - late(f) : 1;
	soon = took_ns < FORECAST_SOON_NS ? took_ns : FORECAST_SOON_NS;
	f->soon_ns = usual_towards(f->soon_ns ? f->soon_ns : FORECAST_SOON_NS, soon);
	if (took_ns < FORECAST_LEAST_NS || took_ns > FORECAST_MOST_NS)
		return;
	if (usual_learn(&f->usual, took_ns, f->usual.mean_ns / 4) && f->usual.learnt == USUAL_LEARN_MOST)
		f->rests = 0; /* that was long ago */
}

void forecast_woke(struct forecast *f, uint64_t late_ns)
{
	f->late_ns = usual_towards(late(f), late_ns < LATE_MOST_NS ? late_ns : LATE_MOST_NS);
}

void forecast_crowded(struct forecast *f)
{
	f->rests = f->rests ? f->rests * 2 : REST_LEAST;
	if (f->rests > REST_MOST)
		f->rests = REST_MOST;
	f->rest = f->rests;
	f->usual.learnt = LEARN_LEAST;
}
