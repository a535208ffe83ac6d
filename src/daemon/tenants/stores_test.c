/*
 * stores_test.c: a file on the disk goes to the next meted along with the process that has it; the file of a process
 * that has ended since is not given to the process that has its pid by then.
 */
#include "daemon/daemon.h"
#include "daemon/tenants/process.h"
#include "daemon/tenants/stores.h"
#include "daemon/tenants/tenant.h"
#include "daemon/upgrade/handover.h"

#include "base/tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNITS 7u

static uv_loop_t loop;
static struct daemon *meted;

/* A tenant of a meted that has read `list` and one open file. */
struct next {
	struct tenant *tenant;
	struct handover *handover;
};

/* Takes the handover: writes it, and reads it as the next meted does. */
static struct handover *pass(struct handover *h)
{
	struct handover *read = NULL;
	char error[400];
	int file = handover_write(h, error, sizeof(error));

	handover_free(h);
	return file >= 0 && !handover_read(file, &read) ? read : NULL;
}

/* `start`: what was saved of the process; below 0: an older meted saved none. */
static struct next begin(pid_t pid, json_int_t start)
{
	struct handover *h = handover_new();
	json_t *one = json_pack("{s:i s:I s:o}", "pid", (int)pid, "units", (json_int_t)UNITS, "file",
				handover_give(h, memfd_create("store", MFD_CLOEXEC)));
	struct next n = { .tenant = calloc(1, sizeof(*n.tenant)) };

	if (start >= 0)
		json_object_set_new(one, "start", json_integer(start));
	handover_put(h, "stores", json_pack("[o]", one));
	n.tenant->daemon = meted;
	n.handover = pass(h);
	stores_restore(n.tenant, n.handover, handover_get(n.handover, "stores"));
	return n;
}

static void end(struct next *n)
{
	stores_end(n->tenant, true);
	handover_free(n->handover);
	free(n->tenant);
	uv_run(&loop, UV_RUN_NOWAIT);
}

static uint64_t restored(pid_t pid, json_int_t start)
{
	struct next n = begin(pid, start);
	uint64_t units = stores_units(n.tenant);

	end(&n);
	return units;
}

/* What is saved is what was restored. */
static void test_again(const struct process *self)
{
	struct next n = begin(self->pid, (json_int_t)self->start_time);
	struct handover *h = handover_new();
	json_t *list = stores_save(n.tenant, h), *one = json_array_get(list, 0);

	tap_ok(json_array_size(list) == 1 && json_integer_value(json_object_get(one, "pid")) == self->pid &&
		       (uint64_t)json_integer_value(json_object_get(one, "start")) == self->start_time &&
		       json_integer_value(json_object_get(one, "units")) == UNITS &&
		       json_is_integer(json_object_get(one, "file")),
	       "what was restored is saved again, with the start of its process");
	json_decref(list);
	handover_free(h);
	end(&n);
}

int main(void)
{
	struct process self;
	int pidfd, r;

	meted = calloc(1, sizeof(*meted));
	meted->loop = &loop;
	if (uv_loop_init(&loop) || process_find(getpid(), &self, &pidfd))
		return 1;
	close(pidfd);
	tap_begin();
	tap_ok(restored(self.pid, (json_int_t)self.start_time) == UNITS,
	       "the file of a process that runs stays its own");
	tap_ok(restored(self.pid, (json_int_t)self.start_time - 1) == 0,
	       "that of a process that has ended is not another's with its pid");
	tap_ok(restored(self.pid, -1) == UNITS, "an older meted did not say when the process started");
	test_again(&self);
	uv_run(&loop, UV_RUN_DEFAULT);
	r = tap_end();
	uv_loop_close(&loop);
	free(meted);
	return r;
}
