/* children.c: see children.h. */
#include "daemon/upgrade/children.h"

#include "daemon/daemon.h"
#include "daemon/upgrade/keeper.h"
#include "daemon/workers/worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
	struct child *next;
	pid_t pid;
	int pidfd;
	struct watch *end;
};

static struct child *children;
static json_t *looked;

/* Those of the thread that runs the loop: it starts all of them. */
json_t *children_save(void)
{
	json_t *list = json_array();
	char path[64];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1)
		json_array_append_new(list, json_integer(pid));
	if (file)
		fclose(file);
	return list;
}

void children_look(void)
{
	json_decref(looked);
	looked = children_save();
}

static void forget(struct child *c)
{
	struct child **at = &children;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	watch_free(c->end);
	close(c->pidfd);
	free(c);
}

static void on_end(void *owner)
{
	struct child *c = owner;

	if (waitpid(c->pid, NULL, WNOHANG))
		forget(c);
}

void children_forget(void)
{
	while (children)
		forget(children);
}

/* `meted --watch` or `--probe`: a child of a vendor's library has no use without its parent. */
static bool asks_drivers(pid_t pid)
{
	char path[64], text[256];
	const char *option;
	size_t bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	file = fopen(path, "re");
	if (file) {
		bytes = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[bytes] = 0;
	option = text + strlen(text) + 1;
	return option < text + bytes && (!strcmp(option, "--watch") || !strncmp(option, "--probe", 7));
}

void children_adopt(struct daemon *daemon, pid_t pid)
{
	struct child *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	c->pid = pid;
	c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	c->end = c->pidfd < 0 ? NULL : watch_new(daemon->loop, c->pidfd, on_end, c);
	if (c->end) {
		c->next = children;
		children = c;
		return;
	}
	if (c->pidfd >= 0)
		close(c->pidfd);
	free(c);
}

static bool is_worker(const struct daemon *daemon, pid_t pid)
{
	const struct worker *w = daemon->workers;

	while (w && w->pid != pid)
		w = w->next;
	return w;
}

static bool is_adopted(pid_t pid)
{
	const struct child *c = children;

	while (c && c->pid != pid)
		c = c->next;
	return c;
}

void children_restore(struct daemon *daemon, const json_t *list)
{
	json_t *all = json_array(), *number;
	size_t i;

	json_array_extend(all, (json_t *)(uintptr_t)list);
	json_array_extend(all, looked);
	json_decref(looked);
	looked = NULL;
	json_array_foreach(all, i, number)
	{
		pid_t pid = (pid_t)json_integer_value(number);

		if (pid <= 1 || is_worker(daemon, pid) || is_adopted(pid) || pid == keeper_pid())
			continue;
		if (asks_drivers(pid))
			kill(pid, SIGKILL);
		children_adopt(daemon, pid);
	}
	json_decref(all);
}
