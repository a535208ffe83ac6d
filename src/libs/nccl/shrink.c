/*
 * shrink.c: a communicator without some of its ranks, any of which may be gone: ncclCommShrink(), ncclCommRevoke().
 *
 * The lowest of the ranks that stay makes a new unique id and tells the others. While all is well the communicators'
 * threads do that, in the order of the operations. After an error, or when operations are to be ended, the threads have
 * been stopped, and lines may have parts of what was on its way. Then each rank asks the lowest one, again and again,
 * and both look for a mark in what comes, which is as long as the communicator's own id and as secret.
 */
#include "libs/nccl/nccl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define AGAIN_MS 50
#define PAUSE_NS 200000
#define NCCL_SHRINK_ABORT 1 /* a macro of nccl.h */

static const char asks[8] = NCCL_ASKS, tells[8] = "mete-new";

struct note {
	char what[8];
	ncclUniqueId of, id; /* the communicator's, and the new one's */
};

/* What a rank has heard and said on a line. */
struct talk {
	struct line *line;
	struct note out, in;
	size_t out_done, in_done;
	bool wants;   /* something is to be said */
	bool is_over; /* all has been */
	int64_t asked;
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Says on; -1: the other rank is gone. */
static int talk_write(struct talk *t)
{
	long n;

	if (!t->wants)
		return 0;
	n = line_write(t->line, (const char *)&t->out + t->out_done, sizeof(t->out) - t->out_done);
	t->out_done += n > 0 ? (size_t)n : 0;
	if (t->out_done == sizeof(t->out)) {
		t->out_done = 0;
		t->wants = false;
	}
	return n < 0 ? -1 : n > 0;
}

/* Reads until a note of this kind is there, and leaves out what is none. -1: the other rank is gone. 1: it is there. */
static int talk_read(struct talk *t, const char what[8])
{
	const struct note *in = &t->in;
	size_t known = sizeof(in->what) + sizeof(in->of);

	for (;;) {
		struct note wanted = { .of = t->out.of };
		long n;

		memcpy(wanted.what, what, sizeof(wanted.what));
		while (t->in_done && memcmp(in, &wanted, t->in_done < known ? t->in_done : known)) {
			t->in_done--;
			memmove(&t->in, (const char *)&t->in + 1, t->in_done);
		}
		if (t->in_done == sizeof(t->in))
			return 1;
		n = line_read(t->line, (char *)&t->in + t->in_done, sizeof(t->in) - t->in_done);
		if (n <= 0)
			return n < 0 ? -1 : 0;
		t->in_done += (size_t)n;
	}
}

/* One turn with one rank. The lowest is asked, and then tells. */
static int talk_turn(struct talk *t, bool lowest, ncclUniqueId *id)
{
	int r = talk_write(t);

	if (r < 0)
		return -1;
	if (lowest) {
		if (!t->wants && t->asked) { /* has been told */
			t->is_over = true;
			return 0;
		}
		r = t->asked ? 0 : talk_read(t, asks);
		if (r == 1) {
			t->asked = 1;
			t->wants = true;
			t->out.id = *id;
		}
		return r;
	}
	r = talk_read(t, tells);
	if (r == 1) {
		*id = t->in.id;
		t->is_over = true;
		return r;
	}
	if (!t->wants && now_ms() - t->asked >= AGAIN_MS) {
		t->asked = now_ms();
		t->wants = true;
	}
	return r;
}

static ncclResult_t talk_all(struct ncclComm *c, struct talk *talks, const bool *stays, int lowest, ncclUniqueId *id)
{
	static const struct timespec pause = { 0, PAUSE_NS };
	int64_t end = now_ms() + nccl_timeout_ms();
	bool left = true;

	while (left) {
		left = false;
		for (int r = 0; r < c->ranks; r++) {
			struct talk *t = &talks[r];

			if (!stays[r] || !t->line || t->is_over || (c->rank != lowest && r != lowest))
				continue;
			if (talk_turn(t, c->rank == lowest, id) < 0 || (line_lost(t->line) && !t->is_over)) {
				nccl_fail(c, ncclRemoteError, "rank %d, which is to stay, has ended", r);
				return ncclRemoteError;
			}
			left = left || !t->is_over;
		}
		if (left && now_ms() > end) {
			nccl_fail(c, ncclRemoteError,
				  "a rank that is to stay has not called ncclCommShrink() (METE_NCCL_TIMEOUT)");
			return ncclRemoteError;
		}
		if (left)
			nanosleep(&pause, NULL);
	}
	return ncclSuccess;
}

/* Between ranks whose threads have ended. */
static ncclResult_t id_by_lines(struct ncclComm *c, const bool *stays, int lowest, ncclUniqueId *id)
{
	struct talk *talks = calloc((size_t)c->ranks, sizeof(*talks));
	ncclResult_t r;

	if (!talks)
		return ncclSystemError;
	for (int i = 0; i < c->ranks; i++) {
		talks[i].line = c->lines[i];
		memcpy(talks[i].out.what, c->rank == lowest ? tells : asks, sizeof(talks[i].out.what));
		talks[i].out.of = c->id;
	}
	r = talk_all(c, talks, stays, lowest, id);
	free(talks);
	return r;
}

/* Ends what is under way, and the thread; streams go on. Management remains possible. */
static void stop(struct ncclComm *c)
{
	nccl_join(c);
	pthread_mutex_lock(&c->mutex);
	c->abort = true;
	c->finalized = true;
	pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->mutex);
	if (!c->has_thread)
		return;
	pthread_join(c->thread, NULL);
	c->has_thread = false;
	nccl_words_write(c);
}

ncclResult_t soft_ncclCommRevoke(ncclComm_t comm, int revokeFlags)
{
	struct ncclComm *c = nccl_comm_find(comm);

	if (!c || revokeFlags)
		return ncclInvalidArgument;
	nccl_join(c);
	if (c->finalized && !c->abort)
		return ncclInvalidUsage;
	stop(c);
	return ncclSuccess;
}

/* Which ranks stay. Value: how many; 0: the list is none, or names this rank. */
static int stay(const struct ncclComm *c, const int *excluded, int count, bool *stays)
{
	int left = c->ranks;

	for (int i = 0; i < c->ranks; i++)
		stays[i] = true;
	for (int i = 0; i < count; i++) {
		if (excluded[i] < 0 || excluded[i] >= c->ranks || !stays[excluded[i]])
			return 0;
		stays[excluded[i]] = false;
		left--;
	}
	return stays[c->rank] ? left : 0;
}

ncclResult_t soft_ncclCommShrink(ncclComm_t comm, int *excludeRanksList, int excludeRanksCount, ncclComm_t *newcomm,
				 ncclConfig_t *config, int shrinkFlags)
{
	struct ncclComm *c = nccl_comm_find(comm);
	ncclUniqueId id = { { 0 } };
	int left, lowest = 0, rank = 0;
	ncclResult_t r;
	bool *stays;

	if (newcomm)
		*newcomm = NULL;
	if (!c || !newcomm || excludeRanksCount < 1 || !excludeRanksList || shrinkFlags & ~NCCL_SHRINK_ABORT)
		return ncclInvalidArgument;
	nccl_join(c);
	if (shrinkFlags & NCCL_SHRINK_ABORT)
		stop(c);
	if (!c->abort && c->state)
		return c->state == ncclInProgress ? ncclInvalidUsage : (ncclResult_t)c->state;
	stays = calloc((size_t)c->ranks, sizeof(*stays));
	if (!stays)
		return ncclSystemError;
	left = stay(c, excludeRanksList, excludeRanksCount, stays);
	for (int i = 0; i < c->rank; i++)
		rank += stays[i];
	while (left && !stays[lowest])
		lowest++;
	r = left ? ncclSuccess : ncclInvalidArgument;
	if (!r && c->rank == lowest)
		r = meet_id(&id);
	if (!r && c->abort)
		r = id_by_lines(c, stays, lowest, &id);
	else if (!r)
		r = nccl_news(c, stays, lowest, &id, sizeof(id));
	free(stays);
	return r ? r : nccl_create(newcomm, left, &id, rank, config, c);
}
