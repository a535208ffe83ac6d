/* soft_fault.c: `mete soft fault`: an error of a software device, from outside. */
#include "cli/soft_driver.h"
#include "verb/verb.h"
#include "wire/soft_fault.h"
#include "verb/say.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static bool number(const char *text, long least, long most, long *ret)
{
	char *end;

	errno = 0;
	*ret = strtol(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *ret >= least && *ret <= most;
}

struct wish {
	long device, xid, pid;
	bool lost, back;
};

static int read_wish(const struct command_line *line, struct wish *w)
{
	const char *xid = option_value(line, "xid"), *pid = option_value(line, "pid");

	*w = (struct wish){ .xid = 31, .lost = option_given(line, "lost"), .back = option_given(line, "back") };
	if (!number(line->args[0], 0, 63, &w->device))
		say_error("soft fault %s: give the device's index; `mete soft devices` lists them", line->args[0]);
	else if (xid && !number(xid, 1, 9999, &w->xid))
		say_error("--xid %s: give a whole number from 1 to 9999", xid);
	else if (pid && !number(pid, 1, 0x7fffffff, &w->pid))
		say_error("--pid %s: give the number of a process", pid);
	else if (w->lost + w->back + (xid || pid) > 1)
		say_error("soft fault: --lost, --back and an error exclude each other");
	else
		return 0;
	return -EINVAL;
}

static int bring_about(const struct soft_fault_table *table, const struct wish *w)
{
	int r;

	if (w->lost || w->back)
		r = table->lose((int)w->device, w->lost);
	else
		r = table->report((int)w->device, (uint32_t)w->xid, (int32_t)w->pid);
	if (r == CUDA_ERROR_INVALID_DEVICE)
		say_error("soft fault %ld: there is no such software device; `mete soft devices` lists them",
			  w->device);
	else if (r)
		say_error("soft fault: process %ld has no context on device %ld; `mete ps` lists those that have",
			  w->pid, w->device);
	return r ? EXIT_FAILED : EXIT_DONE;
}

VERB(soft_fault)
{
	static const char id[16] = SOFT_FAULT_ID;
	const struct soft_fault_table *table = NULL;
	struct soft_driver d;
	struct fault f;
	struct wish w;
	int r;

	if (read_wish(line, &w))
		return EXIT_USAGE;
	if (soft_driver_open(&d, &r, &f)) {
		if (*f.text)
			say_error("%s", f.text);
		return EXIT_FAILED;
	}
	if (r || d.table((const void **)&table, (const CUuuid *)id)) {
		say_error("soft fault: there is no software device; METE_SOFT_DEVICES says how many there are");
		return EXIT_FAILED;
	}
	return bring_about(table, &w);
}
