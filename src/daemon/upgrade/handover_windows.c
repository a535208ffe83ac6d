/* handover_windows.c: see handover_windows.h. The file is a line, then per window a head and its samples. */
#include "daemon/upgrade/handover_windows.h"

#include "base/cleanup.h"
#include "daemon/daemon.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/resume.h"
#include "daemon/upgrade/handover.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE "mete-windows 1\n\n" /* of whole words, so that what follows is aligned */
#define LINE_BYTES (sizeof(LINE) - 1)

struct head {
	uint64_t grant_id;
	uint64_t start_time; /* with pid: of a client's process; 0: the tenant's */
	int32_t pid;
	uint32_t device;
	uint32_t engine; /* enum wire_engine */
	uint32_t which; /* enum resume_window */
	uint32_t count;
	uint32_t sample_bytes;
};

_Static_assert(LINE_BYTES % 8 == 0 && sizeof(struct head) % 8 == 0, "samples are aligned");

static void save_one(FILE *file, struct tenant *t, struct client *c, unsigned int device, enum wire_engine engine,
		     enum resume_window which)
{
	struct window_sample sample[RESUME_SAMPLES];
	struct head head = { .grant_id = t->grant.id,
			     .start_time = c ? c->process.start_time : 0,
			     .pid = c ? c->process.pid : 0,
			     .device = device,
			     .engine = engine,
			     .which = which,
			     .count = resume_window_get(t, c, device, engine, which, sample),
			     .sample_bytes = sizeof(sample[0]) };

	if (!head.count)
		return;
	fwrite(&head, sizeof(head), 1, file);
	fwrite(sample, sizeof(sample[0]), head.count, file);
}

static void save_tenant(FILE *file, struct tenant *t)
{
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		for (unsigned int k = 0; k < WIRE_ENGINES; k++) {
			save_one(file, t, NULL, i, (enum wire_engine)k, RESUME_SECOND);
			save_one(file, t, NULL, i, (enum wire_engine)k, RESUME_MINUTE);
			for (struct client *c = t->clients; c; c = c->next)
				save_one(file, t, c, i, (enum wire_engine)k, RESUME_SEAT);
		}
}

json_t *handover_windows_save(struct daemon *daemon, struct handover *h, int *ret_file)
{
	_cleanup_close_ int fd = memfd_create("mete-windows", MFD_CLOEXEC);
	_cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(dup(fd), "we");

	*ret_file = -1;
	if (!file)
		return json_null();
	fputs(LINE, file);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		save_tenant(file, t);
	if (fflush(file))
		return json_null();
	*ret_file = steal_fd(&fd);
	return handover_give(h, *ret_file);
}

/* The side that comes. */

static struct client *client_of(struct tenant *t, const struct head *head)
{
	struct process process = { .pid = head->pid, .start_time = head->start_time };

	return head->pid ? client_find(t, &process) : NULL;
}

static void load_one(struct daemon *daemon, const struct head *head, const struct window_sample *sample)
{
	struct tenant *t = tenant_find_id(daemon, head->grant_id);

	if (t && head->device < t->grant.share_count && head->engine < WIRE_ENGINES && head->which < RESUME_WINDOWS)
		resume_window_set(t, client_of(t, head), head->device, (enum wire_engine)head->engine,
				  (enum resume_window)head->which, sample, head->count);
}

static void load(struct daemon *daemon, const char *text, size_t bytes)
{
	size_t at = LINE_BYTES;

	if (bytes < at || memcmp(text, LINE, at))
		return;
	while (bytes - at >= sizeof(struct head)) {
		const struct head *head = (const void *)(text + at);

		at += sizeof(*head);
		if (head->sample_bytes != sizeof(struct window_sample) || head->count > RESUME_SAMPLES ||
		    bytes - at < head->count * sizeof(struct window_sample))
			return;
		load_one(daemon, head, (const void *)(text + at));
		at += head->count * sizeof(struct window_sample);
	}
}

void handover_windows_restore(struct daemon *daemon, struct handover *h)
{
	_cleanup_close_ int fd = handover_take(h, handover_get(h, "windows"));
	struct stat st;
	void *text;

	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0)
		return;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return;
	load(daemon, text, (size_t)st.st_size);
	munmap(text, (size_t)st.st_size);
}
