/* observe.c: see observe.h. */
#include "cli/observe.h"

#include "base/clock.h"
#include "client/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARIES_MOST 4096u
#define LINES_MOST 64u
#define NOTICE "calling init: " /* what ld.so writes of each file whose constructors it runs */

static void add(char ***list, size_t *count, size_t most, const char *text)
{
	char **more;

	for (size_t i = 0; i < *count; i++)
		if (!strcmp((*list)[i], text))
			return;
	more = *count < most ? realloc(*list, (*count + 1) * sizeof(*more)) : NULL;
	if (!more)
		return;
	*list = more;
	if ((more[*count] = strdup(text)))
		++*count;
}

static void read_loads(const char *path, struct observation *o)
{
	FILE *f = fopen(path, "re");
	char *line = NULL, *at;
	size_t room = 0;

	while (f && getline(&line, &room, f) >= 0)
		if ((at = strstr(line, NOTICE))) {
			at += strlen(NOTICE);
			at[strcspn(at, "\n")] = 0;
			if (*at == '/')
				add(&o->library, &o->library_count, LIBRARIES_MOST, at);
		}
	free(line);
	if (f)
		fclose(f);
}

static void read_log(const char *path, struct observation *o)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) >= 0) {
		line[strcspn(line, "\n")] = 0;
		add(&o->line, &o->line_count, LINES_MOST, line);
	}
	free(line);
	if (f)
		fclose(f);
}

/* Reads what was written, and removes it. */
static void collect(const char *dir, struct observation *o)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[PATH_MAX];

	while (d && (entry = readdir(d))) {
		if (*entry->d_name == '.' || !path_join(path, "%s/%s", dir, entry->d_name))
			continue;
		if (!strncmp(entry->d_name, "ld.", 3))
			read_loads(path, o);
		else if (!strcmp(entry->d_name, "log"))
			read_log(path, o);
		unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(dir);
}

_Noreturn static void become(char *const *argv, const char *dir)
{
	static const char *const words[] = { "mete", "soft", "run", "--" };
	const size_t before = sizeof(words) / sizeof(*words);
	char output[PATH_MAX], log[PATH_MAX], **all;
	size_t count = 0;

	while (argv[count])
		count++;
	all = calloc(before + count + 1, sizeof(*all));
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (!all || !path_join(output, "%s/ld", dir) || !path_join(log, "%s/log", dir) ||
	    setenv("LD_DEBUG", "libs", 1) || setenv("LD_DEBUG_OUTPUT", output, 1) || setenv("METE_LOG", log, 1))
		_exit(EXIT_FAILURE);
	memcpy(all, words, sizeof(words));
	memcpy(all + before, argv, count * sizeof(*all));
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execv("/proc/self/exe", all);
	_exit(EXIT_FAILURE);
}

static void end(pid_t child, int *status)
{
	uint64_t until = clock_now_ns() + UINT64_C(3000000000);

	kill(-child, SIGTERM);
	while (!waitpid(child, status, WNOHANG) && clock_now_ns() < until)
		usleep(20000);
	kill(-child, SIGKILL);
	waitpid(child, status, 0);
}

int observe(char *const *argv, unsigned int seconds, struct observation *ret, struct fault *f)
{
	uint64_t until = clock_now_ns() + seconds * UINT64_C(1000000000);
	char dir[] = "/tmp/mete-doctor-XXXXXX";
	pid_t child, done = 0;

	*ret = (struct observation){ 0 };
	if (!mkdtemp(dir))
		return fault_set(f, -errno, "/tmp: cannot make a folder for what is observed: %s", strerror(errno));
	fflush(NULL);
	child = fork();
	if (!child)
		become(argv, dir);
	if (child > 0)
		setpgid(child, child);
	while (child > 0 && !(done = waitpid(child, &ret->status, WNOHANG)) && clock_now_ns() < until)
		usleep(20000);
	ret->late = child > 0 && !done;
	if (ret->late)
		end(child, &ret->status);
	collect(dir, ret);
	return child < 0 ? fault_set(f, -EAGAIN, "no process for the command; raise the limit of processes (ulimit -u)")
			 : 0;
}

void observation_deinit(struct observation *o)
{
	while (o->library_count)
		free(o->library[--o->library_count]);
	while (o->line_count)
		free(o->line[--o->line_count]);
	free(o->library);
	free(o->line);
}
