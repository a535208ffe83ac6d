/* relays.c: see relays.h. */
#include "cli/relays.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "client/place.h"
#include "cli/relay_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS 20000 /* the relay itself gives up earlier */
#define END_MS 2000
#define IDLE_MS 20000  /* a program that is to come waits for no more than its work in flight */
#define LEAVE_TRIES 50 /* a second */

/* What a relay says once. */
struct word {
	int r;	   /* 0: ready */
	bool soft; /* what is offered is software devices */
	char text[RELAY_TEXT_BYTES];
};

/* In the child: nothing of the program's terminal and of the other relays is kept. */
static void detach(struct relays *r, const struct relays_one *own)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	if (r->apart)
		setsid();
	else
		setpgid(0, 0); /* an interrupt from the terminal is the program's */
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	for (size_t i = 0; i < r->count; i++) {
		if (&r->one[i] == own)
			continue;
		close(r->one[i].alive);
		close(r->one[i].tell);
	}
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "mete-relay");
}

static int say(int tell, int r, bool soft, const char *text)
{
	struct word word = { .r = r, .soft = soft };

	snprintf(word.text, sizeof(word.text), "%s", text);
	return write(tell, &word, sizeof(word)) == (ssize_t)sizeof(word) ? 0 : -EIO;
}

/*
 * Whether the server offers what is asked for; it would refuse the program's first call else. Without a name it is the
 * first offer. *ret_soft: its devices are software devices.
 */
static int check_offer(const struct relay_target *target, const struct relay_probe *probe, bool *ret_soft,
		       char text[RELAY_TEXT_BYTES])
{
	json_t *about = json_loads(probe->about, 0, NULL), *list = json_object_get(about, "offers"), *offer;
	const char *client = json_string_value(json_object_get(about, "client"));
	bool found = !target->offer || !json_array_size(list);
	char names[120] = "";
	size_t i;

	json_array_foreach(list, i, offer)
	{
		const char *name = json_string_value(json_object_get(offer, "name"));

		if (target->offer ? name && !strcmp(name, target->offer) : i == 0) {
			found = true;
			*ret_soft = !strcmp(json_string_value(json_object_get(offer, "driver")) ?: "", "soft");
		}
		if (name && strlen(names) + strlen(name) + 3 < sizeof(names))
			strcat(strcat(names, *names ? ", " : ""), name);
	}
	if (!found)
		snprintf(text, RELAY_TEXT_BYTES, "no offer %.40s for %.40s; there are: %s", target->offer,
			 client ? client : "this client", names);
	json_decref(about);
	return found ? 0 : -ENOENT;
}

_Noreturn static void become_relay(struct relays *all, const struct relay_target *target, const char *socket, int tell,
				   int stop)
{
	char text[RELAY_TEXT_BYTES] = "";
	struct relay_probe probe;
	bool soft = false;
	int listener = -1, r;
	pid_t mete = getppid();

	r = relay_probe(target, 0, &probe, text);
	if (!r)
		r = check_offer(target, &probe, &soft, text);
	if (!r) {
		listener = relay_connect_listen(socket, text);
		r = listener < 0 ? listener : 0;
	}
	if (say(tell, r, soft, text) || r)
		_exit(1);
	close(tell);
	r = all->apart ? relay_connect_rest(target, listener, IDLE_MS) : relay_connect_run(target, listener, stop);
	if (all->apart)
		unlink(socket);
	/* When mete was killed, or has gone; its programs' sessions end now as well. */
	for (int i = 0; i < LEAVE_TRIES && getppid() != mete && !relay_dir_leave(all->dir, &all->held); i++)
		usleep(20000);
	_exit(r ? 1 : 0);
}

static int start_one(struct relays *r, const struct relay_target *target, struct fault *f)
{
	struct relays_one *one = &r->one[r->count];
	int alive[2] = { -1, -1 }, tell[2] = { -1, -1 };
	char path[PATH_MAX];

	if (path_join(path, "%s/%zu.sock", r->dir, r->count) && strlen(path) < sizeof(one->socket))
		strcpy(one->socket, path);
	if (!*one->socket || pipe2(alive, O_CLOEXEC) || pipe2(tell, O_CLOEXEC)) {
		if (alive[0] >= 0) {
			close(alive[0]);
			close(alive[1]);
		}
		return fault_set(f, -EMFILE, "pipe: %s; raise the limit of open files (ulimit -n)", strerror(errno));
	}
	fflush(NULL);
	one->pid = fork();
	if (!one->pid) {
		close(alive[1]);
		close(tell[0]);
		detach(r, one);
		become_relay(r, target, one->socket, tell[1], alive[0]);
	}
	close(alive[0]);
	close(tell[1]);
	one->alive = alive[1];
	one->tell = tell[0];
	if (one->pid < 0) {
		close(one->alive);
		close(one->tell);
		return fault_set(f, -errno, "no process for a relay: %s; raise the limit of processes (ulimit -u)",
				 strerror(errno));
	}
	r->count++;
	return 0;
}

static int wait_one(struct relays_one *one, const struct relay_target *target, uint64_t until_ns, bool *ret_soft,
		    struct fault *f)
{
	struct pollfd p = { .fd = one->tell, .events = POLLIN };
	struct word word;
	char name[320];
	uint64_t now_ns;
	ssize_t n = -1;

	while (n < 0 && (now_ns = clock_now_ns()) < until_ns)
		if (poll(&p, 1, (int)((until_ns - now_ns) / 1000000) + 1) > 0)
			n = read(one->tell, &word, sizeof(word));
	if (n == (ssize_t)sizeof(word) && !word.r) {
		*ret_soft = word.soft;
		return 0;
	}
	word.text[sizeof(word.text) - 1] = 0;
	target_name(target, name);
	if (n < 0)
		return fault_set(f, -ETIMEDOUT, "%s: no answer within %d s; check the network and `mete serve` there",
				 name, READY_MS / 1000);
	if (n != (ssize_t)sizeof(word))
		return fault_set(f, -EIO, "%s: the relay ended without a word; try again", name);
	return fault_set(f, -ECONNREFUSED, strstr(word.text, target->host) ? "%.0s%s" : "%s: %s", name, word.text);
}

static int start_all(struct relays *r, const struct targets *t, bool apart, struct fault *f)
{
	uint64_t until_ns = clock_now_ns() + READY_MS * UINT64_C(1000000);
	size_t used = 0;
	bool soft = false;
	int e;

	*r = (struct relays){ .soft = true, .apart = apart };
	r->held = relay_dir_make(r->dir, f);
	e = r->held < 0 ? r->held : 0;
	for (size_t i = 0; !e && i < t->count; i++)
		e = start_one(r, &t->target[i], f);
	for (size_t i = 0; !e && i < r->count; i++) {
		e = wait_one(&r->one[i], &t->target[i], until_ns, &soft, f);
		r->soft &= soft;
	}
	for (size_t i = 0; !e && i < r->count; i++)
		used += (size_t)snprintf(r->sockets + used, sizeof(r->sockets) - used, "%s%s", i ? "," : "",
					 r->one[i].socket);
	if (e)
		relays_end(r);
	return e;
}

int relays_start(struct relays *r, const struct targets *t, struct fault *f)
{
	return start_all(r, t, false, f);
}

int relays_start_apart(struct relays *r, const struct targets *t, struct fault *f)
{
	return start_all(r, t, true, f);
}

void relays_let_go(struct relays *r)
{
	for (size_t i = 0; i < r->count; i++) {
		close(r->one[i].alive);
		close(r->one[i].tell);
	}
	r->count = 0;
	relay_dir_leave(r->dir, &r->held);
}

/* Asked by its pipe; by a signal when it does not heed that. */
static void end_one(struct relays_one *one, uint64_t until_ns)
{
	pid_t pid;

	while ((pid = waitpid(one->pid, NULL, WNOHANG)) == 0 && clock_now_ns() < until_ns)
		usleep(2000);
	if (pid == 0) {
		kill(one->pid, SIGKILL);
		while (waitpid(one->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	unlink(one->socket);
}

void relays_end(struct relays *r)
{
	uint64_t until_ns = clock_now_ns() + END_MS * UINT64_C(1000000);

	for (size_t i = 0; i < r->count; i++) {
		close(r->one[i].alive);
		close(r->one[i].tell);
	}
	for (size_t i = 0; i < r->count; i++)
		end_one(&r->one[i], until_ns);
	r->count = 0;
	relay_dir_leave(r->dir, &r->held);
	*r->dir = 0;
}
