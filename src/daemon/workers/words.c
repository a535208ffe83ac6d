/* words.c: see words.h. */
#include "daemon/workers/words.h"

#include "base/clean_text.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/tenants/tenant.h"
#include "daemon/upgrade/handover.h"
#include "daemon/workers/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 400u
#define PIECE_BYTES 4096u
#define PAUSE_MS 100u /* between two pieces */

struct words {
	int fd;
	struct watch *watch; /* NULL: in a pause, or over */
	struct timer *pause;
	size_t used;
	bool cut; /* the rest of this line is left out */
	char line[LINE_BYTES + 1];
};

static void write_line(struct worker *worker)
{
	struct words *w = worker->words;
	struct tenant *tenant = tenant_find_id(worker->daemon, worker->grant_id);

	w->line[w->used] = 0;
	if (w->used)
		log_limited(tenant ? &tenant->worker_lines : &worker->daemon->worker_lines, "%s%s%sworker %d: %s%s",
			    tenant ? "grant " : "", tenant ? tenant->grant.name : "", tenant ? ": " : "",
			    (int)worker->pid, clean_text_ascii(w->line), w->cut ? " ..." : "");
	w->used = 0;
	w->cut = false;
}

static void take(struct worker *worker, const char *piece, size_t bytes)
{
	struct words *w = worker->words;

	for (size_t i = 0; i < bytes; i++)
		if (piece[i] == '\n')
			write_line(worker);
		else if (w->used < LINE_BYTES)
			w->line[w->used++] = piece[i] ? piece[i] : '?';
		else
			w->cut = true;
}

/* Value: false when it has closed its end. */
static bool read_piece(struct worker *worker)
{
	char piece[PIECE_BYTES];
	ssize_t n = read(worker->words->fd, piece, sizeof(piece));

	if (n > 0)
		take(worker, piece, (size_t)n);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void on_readable(void *owner)
{
	struct worker *worker = owner;
	struct words *w = worker->words;

	watch_free(w->watch);
	w->watch = NULL;
	if (read_piece(worker))
		timer_start(w->pause, PAUSE_MS, 0);
}

static void on_pause(void *owner)
{
	struct worker *worker = owner;

	worker->words->watch = watch_new(worker->daemon->loop, worker->words->fd, on_readable, worker);
}

static bool watch_words(struct worker *worker, int fd)
{
	struct words *w = calloc(1, sizeof(*w));

	if (!w)
		return false;
	w->fd = fd;
	w->pause = timer_new(worker->daemon->loop, on_pause, worker);
	w->watch = w->pause ? watch_new(worker->daemon->loop, fd, on_readable, worker) : NULL;
	if (w->watch) {
		worker->words = w;
		return true;
	}
	timer_free(w->pause);
	free(w);
	return false;
}

int words_begin(struct worker *worker)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	if (watch_words(worker, ends[0]))
		return ends[1];
	close(ends[0]);
	close(ends[1]);
	return -ENOMEM;
}

void words_end(struct worker *worker)
{
	struct words *w = worker->words;

	if (!w)
		return;
	read_piece(worker);
	write_line(worker);
	watch_free(w->watch);
	timer_free(w->pause);
	close(w->fd);
	free(w);
	worker->words = NULL;
}

json_t *words_save(const struct worker *worker, struct handover *h)
{
	return handover_give(h, worker->words ? worker->words->fd : -1);
}

void words_restore(struct worker *worker, int fd)
{
	if (fd >= 0 && !watch_words(worker, fd))
		close(fd);
}
