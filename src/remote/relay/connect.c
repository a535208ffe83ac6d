/*
 * connect.c: the client's machine: a worker's socket whose worker is far away, see relay.h.
 *
 * Each program that connects gets a process of its own, which dials the server, makes an arena of the shape that the
 * worker's has, and lets the program in when all is there; or says in the welcome why not.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "remote/relay/dial.h"
#include "remote/relay/sandbox.h"
#include "remote/relay/session.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELLO_MS 5000u
#define BACKLOG 64
#define REAP_MS 1000
#define FDS 64u
#define UCX_FDS 1024u

/* Where programs go, and those next whose server has asked them to leave. */
struct road {
	const struct relay_target *now, *next; /* NULL: nobody is on the way */
	struct relay_target target[2];	       /* of those that servers have named: by turns */
	char where[2][2 * WALL_WHERE_BYTES];   /* their texts */
	unsigned int named;
	int told[2]; /* a pair of sockets: the programs' processes write struct road_word */
};

enum road_kind {
	ROAD_NEXT,  /* a program is asked to go to `where`; "": to leave, and to come to the same server again */
	ROAD_TAKEN, /* it has gone */
};

struct road_word {
	enum road_kind kind;
	char where[WALL_WHERE_BYTES];
};

/* A program's process. */
struct host {
	const struct relay_target *target;
	int client, stop, told;
	bool sent; /* its program was asked to go to another server */
	struct dial dial;
	struct wall wall;
};

/* ------------------------------------------------------------------------------------------------------ one program
 * --- */

static void say(const struct host *h, const char *text)
{
	fprintf(stderr, "mete-relay: %s: %s\n", h->dial.peer, text);
}

_Noreturn static void refuse(struct host *h, int status, const char *text)
{
	say(h, text);
	wall_refuse_of(h->client, h->dial.peer, (enum wall_status)status, text);
	_exit(1);
}

/* Any API may be spoken by both ends: its fingerprint is between the program and the worker. */
static int receive_hello(int client, struct wall_hello *ret)
{
	int r = wall_receive_hello(client, 0, ret, HELLO_MS);

	return r == WALL_WRONG_VERSION && ret->magic == WALL_MAGIC && ret->version == WALL_VERSION ? 0 : r;
}

static void make_wall(struct host *h)
{
	const struct wall_welcome *far = &h->dial.welcome.wall;
	struct wall_shape shape = { .ring_bytes = far->ring_bytes,
				    .in_bytes = far->in_bytes,
				    .out_bytes = far->out_bytes };
	const struct wall_welcome *near = &h->wall.welcome;
	int r;

	if (!frame_check_wall(far) || far->arena_bytes == far->heap_offset)
		refuse(h, WALL_WRONG_VERSION,
		       "the server's worker has memory of another kind; install the same mete on both");
	shape.heap_bytes = far->arena_bytes - far->heap_offset;
	r = wall_make(&h->wall, &shape);
	if (r < 0)
		refuse(h, WALL_FULL, "no memory for the rings of a session on this machine");
	if (near->arena_bytes != far->arena_bytes || near->in_offset != far->in_offset ||
	    near->out_offset != far->out_offset || near->heap_offset != far->heap_offset)
		refuse(h, WALL_WRONG_VERSION,
		       "the server's worker has memory of another kind; install the same mete on both");
}

static void let_in(struct host *h)
{
	struct wall_welcome more = h->dial.welcome.wall;

	more.flags &= WALL_MOVES; /* not coherent */
	snprintf(more.server, sizeof(more.server), "%.63s", h->dial.peer);
	if (wall_welcome(&h->wall, h->client, &more) < 0)
		_exit(1); /* the program has gone meanwhile */
}

static void tell_road(struct host *h, enum road_kind kind, const char *where)
{
	struct road_word word = { .kind = kind };

	snprintf(word.where, sizeof(word.where), "%s", where);
	if (write(h->told, &word, sizeof(word)) < 0)
		say(h, "the relay has ended");
}

/*
 * The program's library does what is asked, and comes to the relay again (client/move.c). A wish that is taken back
 * names the other server all the same.
 */
static void pass_wish(void *host, uint32_t wish, const char *where)
{
	struct host *h = host;
	struct wall_area *area = (void *)h->wall.control;
	const bool goes = *where && WALL_WISH_DRAIN(wish);

	tell_road(h, ROAD_NEXT, goes ? where : "");
	__atomic_store_n(&h->sent, goes, __ATOMIC_RELAXED);
	snprintf(area->where, sizeof(area->where), "%s", where);
	/* Release: pairs with the client's look (client/move.c). */
	__atomic_store_n(&area->wish, wish, __ATOMIC_RELEASE);
	syscall(SYS_futex, &area->wish, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static int run_session(struct host *h)
{
	struct relay_count count = { 0 };
	char text[RELAY_TEXT_BYTES];
	struct session_config c = {
		.side = SESSION_CLIENT,
		.wall = &h->wall,
		.messages_in = h->dial.messages_in,
		.messages_out = h->dial.first,
		.lanes = h->dial.welcome.lanes,
		.patience_ms = h->dial.welcome.patience_ms,
		.count = &count,
		.peer = h->dial.peer,
		.stop = h->stop,
		.wish = pass_wish,
		.wish_arg = h,
	};
	int status;

	memcpy(c.payloads_in, h->dial.payloads_in, sizeof(c.payloads_in));
	memcpy(c.payloads_out, h->dial.payloads_out, sizeof(c.payloads_out));
	status = session_run(&c, text);
	if (status)
		say(h, text);
	else if (__atomic_load_n(&h->sent, __ATOMIC_RELAXED))
		tell_road(h, ROAD_TAKEN, "");
	return status ? 1 : 0;
}

/* From here on the server is a stranger that could have been taken over. */
static void close_in(const struct host *h)
{
	bool ucx = h->target->ucx;
	enum sandbox_need need = !ucx ? SANDBOX_LINES : ucx_shares_memory() ? SANDBOX_UCX_SHARED : SANDBOX_UCX;

	if (sandbox_drop(getuid(), getgid(), ucx ? UCX_FDS : FDS) < 0 || sandbox_close(need) < 0)
		_exit(1);
}

/* A session that goes on here: the arena is the program's, and lies where it lay. */
static void take_arena(struct host *h, uint64_t base)
{
	int arena;

	if (wall_receive_arena(h->client, &arena, HELLO_MS) < 0 || wall_bring(&h->wall, arena, base) < 0)
		_exit(1);
}

static void check_base(struct host *h, uint64_t base)
{
	if (h->dial.welcome.wall.base != base)
		refuse(h, WALL_WRONG_VERSION,
		       "the server takes up no sessions of other servers; install the same mete on both");
}

/* In the child. */
_Noreturn static void host_run(const struct road *road, int client, int stop)
{
	struct host *h = calloc(1, sizeof(*h));
	struct wall_hello hello;
	int *kept[3], r;
	bool brings;

	if (!h)
		_exit(1);
	h->client = client;
	h->stop = stop;
	h->told = road->told[1];
	kept[0] = &h->client;
	kept[1] = &h->stop;
	kept[2] = &h->told;
	sandbox_keep(kept, 3, true);
	r = receive_hello(h->client, &hello);
	if (r < 0)
		_exit(1);
	brings = hello.flags & WALL_BRINGS;
	h->target = brings && road->next ? road->next : road->now;
	if (brings)
		hello.flags = (hello.flags & ~(uint32_t)WALL_BRINGS) | WALL_BASED;
	if (hello.flags & WALL_MOVES)
		hello.flags |= WALL_PASSES;
	r = r ? r : dial_init(&h->dial, h->target);
	if (r)
		refuse(h, r,
		       h->dial.text[0] ? h->dial.text
				       : "the program's library is of another version than this relay; install the "
					 "same mete");
	if (dial_open(&h->dial, &hello, 0))
		refuse(h, (int)h->dial.status, h->dial.text);
	make_wall(h);
	if (brings)
		check_base(h, hello.brings.base);
	if (dial_lanes(&h->dial))
		refuse(h, (int)h->dial.status, h->dial.text);
	let_in(h);
	if (brings)
		take_arena(h, hello.brings.base);
	close_in(h);
	_exit(run_session(h));
}

/* ----------------------------------------------------------------------------------------------------------- many ---
 */

int relay_connect_listen(const char *path, char ret_text[RELAY_TEXT_BYTES])
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;
	mode_t old;
	int r;

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path)) {
		snprintf(ret_text, RELAY_TEXT_BYTES, "the socket's path %.120s is too long: at most %zu characters",
			 path, sizeof(address.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
	old = umask(0177);
	r = bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0 ? -errno : 0;
	umask(old);
	if (r < 0) {
		snprintf(ret_text, RELAY_TEXT_BYTES, "cannot listen on %s: %s", path, strerror(-r));
		return r;
	}
	return steal_fd(&fd);
}

void relay_split_where(char *where, struct relay_target *t)
{
	char *offer = strchr(where, '/'), *close = strchr(where, ']'), *colon;

	if (offer) {
		*offer = 0;
		t->offer = offer + 1;
	}
	colon = strrchr(where, ':');
	t->host = where;
	if (*where == '[' && close) {
		t->host = where + 1;
		colon = close[1] == ':' ? close + 1 : NULL;
		*close = 0;
	} else if (colon && strchr(where, ':') != colon) {
		colon = NULL;
	}
	t->port = colon ? colon + 1 : NULL;
	if (colon)
		*colon = 0;
}

/* The same proof, to another server, and the same offer where no other is named. */
static void name_next(struct road *road, const char *where)
{
	const char *offer = road->now->offer && !strchr(where, '/') ? road->now->offer : NULL;
	unsigned int i = road->named % 2;
	struct relay_target *t = &road->target[i];

	/* What is in use is not overwritten. */
	if (t == road->now)
		t = &road->target[i = 1 - i];
	/* Of the target before it goes with its text, which the one after the next overwrites. */
	snprintf(road->where[i], sizeof(road->where[i]), "%s%s%.*s", where, offer ? "/" : "", WALL_WHERE_BYTES - 1,
		 offer ? offer : "");
	*t = *road->now;
	t->server_name = NULL;
	relay_split_where(road->where[i], t);
	road->next = t;
	road->named = i + 1;
}

static void hear_road(struct road *road)
{
	struct road_word word;

	while (recv(road->told[0], &word, sizeof(word), MSG_DONTWAIT) == (ssize_t)sizeof(word)) {
		word.where[sizeof(word.where) - 1] = 0;
		if (word.kind == ROAD_NEXT && !*word.where) {
			road->next = NULL;
		} else if (word.kind == ROAD_NEXT && frame_check_where(word.where)) {
			name_next(road, word.where);
		} else if (word.kind == ROAD_TAKEN && road->next) {
			road->now = road->next;
			road->next = NULL;
		}
	}
}

/* Value: a process more. */
static unsigned int take_program(const struct road *road, int listener, int stop)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	pid_t pid;

	if (fd < 0)
		return 0;
	fflush(NULL);
	pid = fork();
	if (!pid)
		host_run(road, fd, stop);
	if (pid < 0)
		wall_refuse(fd, WALL_FULL, "the relay cannot start one more process: %s", strerror(errno));
	close(fd);
	return pid > 0;
}

/* Value: so many processes have ended. */
static unsigned int reap(void)
{
	unsigned int n = 0;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		n++;
	return n;
}

/* `idle_ms` 0: for as long as nobody says `stop`. */
static int run(const struct relay_target *target, int listener, int stop, unsigned int idle_ms)
{
	uint64_t used_ns = clock_now_ns();
	unsigned int programs = 0;
	struct pollfd p[3] = { { .fd = listener, .events = POLLIN }, { .fd = stop, .events = POLLIN } };
	static struct road road;

	road.now = target;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, road.told))
		return -errno;
	p[2] = (struct pollfd){ .fd = road.told[0], .events = POLLIN };
	for (;;) {
		if (poll(p, 3, REAP_MS) < 0 && errno != EINTR)
			return -errno;
		/* First: a program that comes because of it comes after it. */
		hear_road(&road);
		if (p[1].revents)
			break;
		if (p[0].revents & (POLLERR | POLLHUP | POLLNVAL))
			return -EPIPE;
		if (p[0].revents & POLLIN)
			programs += take_program(&road, listener, stop);
		programs -= reap();
		if (programs)
			used_ns = clock_now_ns();
		if (idle_ms && clock_now_ns() - used_ns > idle_ms * UINT64_C(1000000))
			break;
	}
	reap();
	return 0;
}

int relay_connect_run(const struct relay_target *target, int listener, int stop)
{
	return run(target, listener, stop, 0);
}

int relay_connect_rest(const struct relay_target *target, int listener, unsigned int idle_ms)
{
	return run(target, listener, -1, idle_ms);
}

/* ---------------------------------------------------------------------------------------------------------- probe ---
 */

#define ECHO_TIMES 8u
#define FLOOD_STEP (UINT64_C(4) << 20)

static uint64_t echo_ns(struct line *line)
{
	struct frame_head head = { .kind = FRAME_ECHO };
	uint64_t since = clock_now_ns();

	if (line_write(line, &head, sizeof(head)) < 0 || line_read_all(line, &head, sizeof(head)) < 0)
		return 0;
	return clock_now_ns() - since;
}

static uint64_t per_second(uint64_t bytes, uint64_t ns)
{
	return ns ? (uint64_t)((double)bytes * 1e9 / (double)ns) : 0;
}

static uint64_t measure_up(struct line *line, uint8_t *buffer, uint64_t ns)
{
	struct frame_head head = { .kind = FRAME_SINK, .bytes = FRAME_BATCH_BYTES };
	uint64_t since = clock_now_ns(), bytes = 0;

	for (; clock_now_ns() - since < ns; bytes += head.bytes)
		if (line_write_two(line, &head, sizeof(head), buffer, head.bytes) < 0)
			return 0;
	head.value = 1;
	head.bytes = 0;
	if (line_write(line, &head, sizeof(head)) < 0 || line_read_all(line, &head, sizeof(head)) < 0)
		return 0;
	return per_second(bytes, clock_now_ns() - since);
}

static uint64_t measure_down(struct line *line, uint8_t *buffer, uint64_t ns)
{
	uint64_t since = clock_now_ns(), bytes = 0, wanted = 0;
	struct frame_head head;

	while (clock_now_ns() - since < ns || bytes < wanted) {
		/* Two steps on the way, so that the line does not run dry. */
		while (wanted < bytes + 2 * FLOOD_STEP && clock_now_ns() - since < ns) {
			head = (struct frame_head){ .kind = FRAME_FLOOD, .value = FLOOD_STEP };
			wanted += FLOOD_STEP;
			if (line_write(line, &head, sizeof(head)) < 0)
				return 0;
		}
		if (line_read_all(line, &head, sizeof(head)) < 0 || head.bytes > FRAME_BATCH_BYTES ||
		    line_read_all(line, buffer, head.bytes) < 0)
			return 0;
		bytes += head.bytes;
	}
	return per_second(bytes, clock_now_ns() - since);
}

static int read_about(struct dial *d, struct relay_probe *ret)
{
	uint32_t bytes = d->welcome.about_bytes;

	memcpy(ret->server, d->welcome.wall.server, sizeof(ret->server));
	if (bytes >= sizeof(ret->about) || line_read_all(d->first, ret->about, bytes) < 0) {
		snprintf(d->text, sizeof(d->text), "%s does not speak as a mete server of this version", d->peer);
		return WALL_BAD;
	}
	return 0;
}

static void measure(struct line *line, unsigned int measure_ms, struct relay_probe *ret)
{
	uint64_t ns = (uint64_t)measure_ms * 1000000, one;
	_cleanup_free_ uint8_t *buffer = calloc(1, FRAME_BATCH_BYTES);

	line->ops->until(line, clock_now_ns() + 4 * ns + UINT64_C(10000000000));
	for (unsigned int i = 0; i < ECHO_TIMES; i++) {
		one = echo_ns(line);
		if (one && (!ret->round_trip_ns || one < ret->round_trip_ns))
			ret->round_trip_ns = one;
	}
	if (!measure_ms || !buffer)
		return;
	ret->up_bytes_s = measure_up(line, buffer, ns);
	ret->down_bytes_s = measure_down(line, buffer, ns);
}

int relay_probe(const struct relay_target *target, unsigned int measure_ms, struct relay_probe *ret,
		char ret_text[RELAY_TEXT_BYTES])
{
	struct wall_hello hello = { .magic = WALL_MAGIC, .version = WALL_VERSION, .pid = getpid() };
	struct dial d;
	int r = dial_init(&d, target);

	memset(ret, 0, sizeof(*ret));
	if (!r)
		r = dial_open(&d, &hello, FRAME_PROBE);
	if (!r)
		r = read_about(&d, ret);
	if (!r)
		measure(d.first, measure_ms, ret);
	if (r)
		memcpy(ret_text, d.text, RELAY_TEXT_BYTES);
	dial_deinit(&d);
	return r;
}
