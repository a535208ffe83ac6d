/*
 * guest.c: the process of one session on the server, see guest.h.
 *
 * It gives up everything before it reads the first byte of the peer, proves who that is, asks for a worker, waits for
 * the other lanes, and then is one end of a session.
 */
#include "remote/relay/guest.h"

#include "base/clock.h"
#include "base/connect_remedy.h"
#include "remote/relay/broker.h"
#include "remote/relay/sandbox.h"
#include "remote/relay/session.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROVE_NS UINT64_C(5000000000) /* for proving, and hello */
#define LANES_NS UINT64_C(10000000000)
#define WORKER_MS 20000u
#define PROBE_NS UINT64_C(30000000000)
#define LEAST_PATIENCE_MS 200u
#define ASK_MS 30000
#define FDS 64u
#define UCX_FDS 1024u

struct guest {
	struct guest_config config;
	struct line *first; /* messages from the client */
	struct relay_peer peer;
	struct frame_hello hello;
	struct frame_welcome welcome;
	struct wall wall;
	uint8_t brings[FRAME_BROUGHT_BYTES]; /* WALL_BASED */
	char key_name[RELAY_NAME_BYTES]; /* the one that was asked for */
	uint8_t key[RELAY_KEY_BYTES];
	uint64_t until_ns;

	pthread_mutex_t mutex;
	/* guarded by mutex */
	struct line *messages_out, *payloads_in[RELAY_LANES_MOST], *payloads_out[RELAY_LANES_MOST];
	unsigned int lanes_there;
	int there[2]; /* a pipe: a lane has come */
};

/* A connection that is to become a lane, in a thread of its own. */
struct lane_arrival {
	struct guest *guest;
	int fd;
};

/* -------------------------------------------------------------------------------------------------------- texts --- */

__attribute__((format(printf, 2, 3))) static void say(struct guest *g, const char *fmt, ...)
{
	struct broker_message m = { .kind = BROKER_SAY };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m.text, sizeof(m.text), fmt, ap);
	va_end(ap);
	broker_send(g->config.broker, &m, -1);
}

static struct frame_welcome refusal(enum wall_status status, const char *text)
{
	struct frame_welcome w = {
		.magic = FRAME_MAGIC,
		.version = FRAME_VERSION,
		.size = sizeof(w),
		.status = status,
		.wall = { .magic = WALL_MAGIC, .version = WALL_VERSION, .status = status },
	};

	snprintf(w.wall.text, sizeof(w.wall.text), "%s", text);
	return w;
}

/* Tells the peer, tells the log, ends. */
_Noreturn static void refuse(struct guest *g, enum wall_status status, const char *text)
{
	struct frame_welcome w = refusal(status, text);

	line_write(g->first, &w, sizeof(w));
	say(g, "%s%s%s: refused: %s", g->peer.name, g->peer.name[0] ? " at " : "", g->peer.address, text);
	/* What the peer has sent and nobody has read would take the answer away with it. */
	poll(NULL, 0, 50);
	_exit(1);
}

/* -------------------------------------------------------------------------------------------------------- broker ---
 */

/* Asks, and waits for the answer of the same kind. */
static int ask(struct guest *g, struct broker_message *m, int *ret_fd)
{
	uint32_t kind = m->kind;
	int r = broker_send(g->config.broker, m, -1);

	if (!r)
		r = broker_receive(g->config.broker, m, ret_fd, ASK_MS);
	return r || m->kind == kind ? r : -EPROTO;
}

static bool find_key(void *guest, const char *name, uint8_t ret_key[RELAY_KEY_BYTES])
{
	struct guest *g = guest;
	struct broker_message m = { .kind = BROKER_KEY };
	int fd;

	/* The lanes come with the same name, and nobody is asked again. */
	if (!g->key_name[0]) {
		memcpy(m.peer.name, name, strlen(name) + 1);
		if (ask(g, &m, &fd) < 0 || m.status)
			return false;
		memcpy(g->key_name, name, strlen(name) + 1);
		memcpy(g->key, m.key, sizeof(g->key));
		OPENSSL_cleanse(m.key, sizeof(m.key));
	}
	if (strcmp(g->key_name, name))
		return false;
	memcpy(ret_key, g->key, sizeof(g->key));
	return true;
}

/* ------------------------------------------------------------------------------------------------------ the peer ---
 */

static void prove(struct guest *g)
{
	enum wall_status status;
	char text[RELAY_TEXT_BYTES], address[64];

	tcp_peer_address(g->config.connection, address);
	if (g->config.tls) {
		g->first = tls_line(g->config.tls, g->config.connection, true, g->until_ns, &status, text);
	} else {
		g->first = tcp_line(g->config.connection);
		snprintf(text, sizeof(text), "no memory");
	}
	if (!g->first || g->first->ops->until(g->first, g->until_ns) < 0) {
		say(g, "%s: %s", address, text);
		_exit(1);
	}
	g->first->ops->peer(g->first, &g->peer);
	if (g->peer.trust != g->config.trust) {
		say(g, "%s: proved itself otherwise than it said it would", address);
		_exit(1);
	}
}

static void read_hello(struct guest *g)
{
	char text[RELAY_TEXT_BYTES];
	int r = line_read_all(g->first, &g->hello, sizeof(g->hello));

	if (r < 0) {
		if (!g->first->ops->explain(g->first, text))
			snprintf(text, sizeof(text), r == -ETIMEDOUT ? "said nothing" : "ended the connection");
		say(g, "%s: %s", g->peer.address, text);
		_exit(1);
	}
	r = frame_check_hello(&g->hello, text);
	if (r)
		refuse(g, (enum wall_status)r, text);
	if (g->hello.wall.flags & WALL_BASED)
		frame_take_brings(&g->hello.wall, g->brings);
	if (g->peer.trust != RELAY_PLAIN && !g->peer.name[0])
		refuse(g, WALL_REFUSED,
		       "your certificate has no common name of letters, digits and . _ - @; have one made with a name");
}

/* ------------------------------------------------------------------------------------------------------- probing ---
 */

static void begin_welcome(struct guest *g)
{
	struct frame_welcome *w = &g->welcome;
	uint32_t patience = g->config.patience_ms ? g->config.patience_ms : RELAY_PATIENCE_MS;

	*w = refusal(WALL_OK, "");
	w->lanes = g->hello.lanes;
	w->flags = g->config.ucx ? g->hello.flags & FRAME_UCX : 0;
	w->patience_ms = g->hello.patience_ms < patience ? g->hello.patience_ms : patience;
	if (w->patience_ms < LEAST_PATIENCE_MS)
		w->patience_ms = LEAST_PATIENCE_MS;
}

/* Sends back what comes, throws away what comes, or sends as much as is wanted. False: enough. */
static bool probe_frame(struct guest *g, uint8_t *buffer)
{
	struct frame_head head, answer = { .kind = FRAME_SINK, .bytes = FRAME_BATCH_BYTES };

	if (line_read_all(g->first, &head, sizeof(head)) < 0 || head.bytes > FRAME_BATCH_BYTES ||
	    line_read_all(g->first, buffer, head.bytes) < 0)
		return false;
	switch (head.kind) {
	case FRAME_ECHO:
		return line_write_two(g->first, &head, sizeof(head), buffer, head.bytes) == 0;
	case FRAME_SINK:
		answer = (struct frame_head){ .kind = FRAME_READY };
		return !head.value || line_write(g->first, &answer, sizeof(answer)) == 0;
	case FRAME_FLOOD:
		for (uint64_t sent = 0; sent < head.value; sent += answer.bytes)
			if (line_write_two(g->first, &answer, sizeof(answer), buffer, answer.bytes) < 0)
				return false;
		return true;
	default:
		return false;
	}
}

_Noreturn static void serve_probe(struct guest *g)
{
	struct broker_message m = { .kind = BROKER_ABOUT, .peer = g->peer };
	uint8_t *buffer = calloc(1, FRAME_BATCH_BYTES);
	int fd;

	begin_welcome(g);
	gethostname(g->welcome.wall.server, sizeof(g->welcome.wall.server) - 1);
	if (!buffer || ask(g, &m, &fd) < 0)
		_exit(1);
	if (m.status)
		refuse(g, WALL_FULL, m.text);
	g->welcome.about_bytes = (uint32_t)strlen(m.text);
	g->first->ops->until(g->first, clock_now_ns() + PROBE_NS);
	if (line_write_two(g->first, &g->welcome, sizeof(g->welcome), m.text, g->welcome.about_bytes) == 0)
		while (probe_frame(g, buffer))
			;
	_exit(0);
}

/* ------------------------------------------------------------------------------------------------------ the wall ---
 */

static const char *worker_failed(int r)
{
	switch (r) {
	case -ETIMEDOUT:
		return "no worker of this server answers in time; try again, or see the server's log";
	case WALL_WRONG_VERSION:
		return "the program's library and the server's worker are of different versions; install the same mete "
		       "on both";
	default:
		return "the server's worker ended before it began; see the server's log";
	}
}

static void open_wall(struct guest *g)
{
	struct broker_message m = { .kind = BROKER_OPEN, .peer = g->peer, .hello = g->hello.wall };
	const char *text;
	int fd = -1, r = ask(g, &m, &fd);

	if (r < 0)
		_exit(1);
	if (m.status || fd < 0)
		refuse(g, m.status && m.status <= WALL_STATUS_MOST ? m.status : WALL_BAD, m.text);
	memcpy(g->welcome.route, m.route, sizeof(m.route));
	g->hello.wall.flags |= WALL_RELAYED;
	if (g->hello.wall.flags & WALL_BASED)
		frame_put_brings(&g->hello.wall, g->brings);
	r = wall_connect_socket(&g->wall, fd, &g->hello.wall, WORKER_MS);
	if (!r)
		return;
	text = r > 0 && g->wall.welcome.text[0] ? g->wall.welcome.text : worker_failed(r);
	refuse(g, r > 0 ? (enum wall_status)r : connect_is_away(r) ? WALL_AWAY : WALL_NO_DEVICE, text);
}

static void send_welcome(struct guest *g)
{
	struct frame_welcome *w = &g->welcome;

	w->wall = g->wall.welcome;
	/* `base` is the worker's, where the client puts its arena too if it can: nothing of this process's layout. */
	w->wall.flags &= WALL_MOVES;
	if (!w->wall.server[0])
		gethostname(w->wall.server, sizeof(w->wall.server) - 1);
	if (RAND_bytes(w->token, sizeof(w->token)) != 1 || line_write(g->first, w, sizeof(*w)) < 0)
		_exit(1);
}

/* --------------------------------------------------------------------------------------------------------- lanes ---
 */

static struct line **place(struct guest *g, const struct frame_lane *lane)
{
	if (lane->magic != FRAME_MAGIC)
		return NULL;
	if (lane->role == FRAME_MESSAGES_DOWN && !lane->index)
		return &g->messages_out;
	if (lane->index >= g->welcome.lanes)
		return NULL;
	if (lane->role == FRAME_PAYLOADS_UP)
		return &g->payloads_in[lane->index];
	return lane->role == FRAME_PAYLOADS_DOWN ? &g->payloads_out[lane->index] : NULL;
}

/* The same peer, with the session's secret, for a lane that is not there yet. */
static bool admit(struct guest *g, struct line *line)
{
	struct frame_lane lane;
	struct relay_peer peer;
	struct line **at;
	bool good = false;

	if (line_read_all(line, &lane, sizeof(lane)) < 0)
		return false;
	line->ops->peer(line, &peer);
	if (peer.trust != g->peer.trust || strcmp(peer.name, g->peer.name) ||
	    CRYPTO_memcmp(lane.token, g->welcome.token, sizeof(lane.token)))
		return false;
	pthread_mutex_lock(&g->mutex);
	at = place(g, &lane);
	if (at && !*at) {
		*at = line;
		g->lanes_there++;
		good = true;
	}
	pthread_mutex_unlock(&g->mutex);
	return good;
}

static void *lane_arrive(void *lane_arrival)
{
	struct lane_arrival *a = lane_arrival;
	struct guest *g = a->guest;
	struct line *line;
	enum wall_status status;
	char text[RELAY_TEXT_BYTES];

	if (g->config.tls)
		line = tls_line(g->config.tls, a->fd, true, g->until_ns, &status, text);
	else
		line = tcp_line(a->fd);
	free(a);
	if (line && (line->ops->until(line, g->until_ns) < 0 || !admit(g, line)))
		line_close(line);
	else if (line && write(g->there[1], "", 1) < 0)
		abort(); /* a pipe of ours that is empty */
	return NULL;
}

static void take_lane(struct guest *g, int fd)
{
	struct lane_arrival *a = malloc(sizeof(*a));
	pthread_t thread;

	if (a) {
		*a = (struct lane_arrival){ g, fd };
		if (!pthread_create(&thread, NULL, lane_arrive, a)) {
			pthread_detach(thread);
			return;
		}
	}
	free(a);
	close(fd);
}

static void await_lanes(struct guest *g)
{
	struct pollfd p[2] = { { .fd = g->config.broker, .events = POLLIN }, { .fd = g->there[0], .events = POLLIN } };
	unsigned int wanted = 1 + 2 * g->welcome.lanes, there = 0;
	struct broker_message m;
	char byte;
	int fd;

	while (there < wanted) {
		if (clock_now_ns() >= g->until_ns || poll(p, 2, 100) < 0) {
			say(g, "%s: opened %u of %u connections in time", g->peer.address, there, wanted);
			_exit(1);
		}
		if (p[0].revents) {
			if (broker_receive(g->config.broker, &m, &fd, 0) < 0 || m.kind != BROKER_LANE)
				_exit(1);
			if (fd >= 0)
				take_lane(g, fd);
		}
		if (p[1].revents && read(g->there[0], &byte, 1) == 1)
			there++;
	}
}

/* In the same order as the client's relay. */
static int change_to_ucx(struct guest *g)
{
	struct line **all[2 + 2 * RELAY_LANES_MOST] = { &g->first, &g->messages_out }, *line;
	char text[RELAY_TEXT_BYTES];
	unsigned int n = 2;

	for (unsigned int i = 0; i < g->welcome.lanes; i++) {
		all[n++] = &g->payloads_in[i];
		all[n++] = &g->payloads_out[i];
	}
	for (unsigned int i = 0; i < n; i++) {
		line = ucx_line(*all[i], false, text);
		if (!line) {
			say(g, "%s: %s", g->peer.address, text);
			return -EPROTO;
		}
		*all[i] = line;
	}
	return 0;
}

static int settle(struct guest *g)
{
	struct frame_head head = { .kind = FRAME_READY };
	struct broker_message m = { .kind = BROKER_READY };
	int r = broker_send(g->config.broker, &m, -1);

	if (!r)
		r = line_write(g->messages_out, &head, sizeof(head));
	if (!r && g->welcome.flags & FRAME_UCX) {
		r = change_to_ucx(g);
		/* What UCX needed to connect, it needs no more. */
		if (!r)
			r = sandbox_close(ucx_shares_memory() ? SANDBOX_UCX_SHARED : SANDBOX_UCX);
	}
	if (!r)
		r = g->first->ops->until(g->first, 0);
	if (!r)
		r = g->messages_out->ops->until(g->messages_out, 0);
	for (unsigned int i = 0; i < g->welcome.lanes && !r; i++) {
		r = g->payloads_in[i]->ops->until(g->payloads_in[i], 0);
		if (!r)
			r = g->payloads_out[i]->ops->until(g->payloads_out[i], 0);
	}
	return r;
}

/* ----------------------------------------------------------------------------------------------------------- run ---
 */

/* The server's process wants it to end, or has ended itself. */
static void why_stopped(int broker, char ret_text[RELAY_TEXT_BYTES])
{
	struct broker_message m;
	int fd;

	if (broker_receive(broker, &m, &fd, 0) == 0 && m.kind == BROKER_END && m.text[0])
		snprintf(ret_text, RELAY_TEXT_BYTES, "%.250s", m.text);
	else
		snprintf(ret_text, RELAY_TEXT_BYTES, "the server was ended; the program must be started again");
}

static void run_session(struct guest *g)
{
	char text[RELAY_TEXT_BYTES];
	struct session_config c = {
		.side = SESSION_SERVER,
		.wall = &g->wall,
		.messages_in = g->first,
		.messages_out = g->messages_out,
		.lanes = g->welcome.lanes,
		.patience_ms = g->welcome.patience_ms,
		.count = g->config.count,
		.peer = g->peer.address,
		.stop = g->config.broker,
		.why_stopped = why_stopped,
	};
	int status;

	memcpy(c.payloads_in, g->payloads_in, sizeof(c.payloads_in));
	memcpy(c.payloads_out, g->payloads_out, sizeof(c.payloads_out));
	status = session_run(&c, text);
	if (status)
		say(g, "%s%s%s: %s", g->peer.name, g->peer.name[0] ? " at " : "", g->peer.address, text);
}

_Noreturn void guest_run(const struct guest_config *config)
{
	struct guest *g = calloc(1, sizeof(*g));
	int *kept[2], r;

	if (!g)
		_exit(1);
	g->config = *config;
	g->until_ns = clock_now_ns() + PROVE_NS;
	kept[0] = &g->config.connection;
	kept[1] = &g->config.broker;
	sandbox_keep(kept, 2, false);
	pthread_mutex_init(&g->mutex, NULL);
	if (pipe2(g->there, O_CLOEXEC) < 0)
		_exit(1);
	r = sandbox_drop(config->uid, config->gid, config->ucx ? UCX_FDS : FDS);
	if (!r)
		r = sandbox_close(config->ucx ? SANDBOX_UCX_SETUP : SANDBOX_LINES);
	if (r < 0) {
		say(g, "a session cannot be closed in: %s", strerror(-r));
		_exit(1);
	}
	if (g->config.tls)
		tls_server_keys(g->config.tls, find_key, g);
	prove(g);
	read_hello(g);
	if (config->ucx && !(g->hello.flags & FRAME_UCX) && sandbox_close(SANDBOX_LINES) < 0)
		_exit(1);
	if (g->hello.flags & FRAME_PROBE)
		serve_probe(g);
	begin_welcome(g);
	open_wall(g);
	g->until_ns = clock_now_ns() + LANES_NS;
	g->first->ops->until(g->first, g->until_ns);
	send_welcome(g);
	await_lanes(g);
	if (settle(g) == 0)
		run_session(g);
	_exit(0);
}
