/*
 * server.c: the server's own process: listens, reads prefaces, forks a process per session, answers what these ask.
 *
 * Of what a stranger says it reads the 32 bytes of a preface, nothing else; and sees whether more has come, before a
 * process is begun for it. Who has not said so much within two seconds is dropped. Connections, and processes whose
 * peer has not proved who it is, have few places, which model/unproven.h gives out: to each source some, and some to
 * those that have proved themselves before. A lane is handed to the process of its session unread.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/send_fds.h"
#include "model/chatter.h"
#include "remote/relay/broker.h"
#include "remote/relay/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define LISTENERS_MOST 16u
#define PENDING_MOST 256u /* connections that have not said their preface, and something behind it */
#define PENDING_NS UINT64_C(2000000000)
#define SEATS_UNPROVEN 64u /* processes whose peer has not proved who it is */
#define SESSIONS_MOST 256u
#define LANES_TRIES 2u /* as many times as many connections as a session needs are handed on to it */
#define SWEEP_MS 500
#define REST_BYTES 4096 /* of what comes behind words that are refused */
#define REST_READS 4u

static const struct unproven_rule pending_rule = { .most = PENDING_MOST, .per_source = 64, .kept = 64 };
static const struct unproven_rule unproven_rule = { .most = SEATS_UNPROVEN, .per_source = 32, .kept = 16 };

/* Lines of the log about one address, in a minute; and about all. Those who have proved who they are say more. */
static const struct chatter_rule strangers_rule = { .lines = 5, .all = 60, .window_ns = UINT64_C(60000000000) };
static const struct chatter_rule proven_rule = { .lines = 60, .all = 600, .window_ns = UINT64_C(60000000000) };

enum what {
	LISTENER,
	PENDING,
	SEAT,
};

/* Begins each thing that epoll tells of. */
struct source {
	enum what what;
};

struct listener {
	struct source source;
	int fd;
	char address[64];
};

struct pending {
	struct source source;
	int fd; /* -1: free */
	struct unproven_source from;
	uint64_t since_ns;
	bool known; /* somebody from there has proved who he is */
	bool said;  /* the preface, which is good */
	size_t used;
	struct frame_preface preface;
};

/* A session's process. */
struct seat {
	struct source source;
	struct seat *next;
	struct relay_server *server;
	struct relay_session session; /* but for its count */
	struct relay_count *count;    /* a page that its process writes */
	struct unproven_source from;
	char address[64];
	enum relay_trust trust; /* as the preface said; this server takes it */
	uint8_t route[FRAME_ROUTE_BYTES];
	char key_name[RELAY_NAME_BYTES]; /* asked for */
	int broker;
	unsigned int lanes_left;
	bool known; /* as of struct pending */
	bool asked_key, asked_open, awaits, proven, refused, opened, gone;
};

struct relay_server {
	struct relay_server_config config;
	struct relay_server_ops ops;
	void *user;
	struct tls *tls; /* NULL: none is set up */
	int epoll;
	struct listener listeners[LISTENERS_MOST];
	unsigned int listener_count;
	struct pending pending[PENDING_MOST];
	struct seat *seats;
	unsigned int unproven;
	struct unproven_known known;	  /* sources that have proved who they are */
	struct unproven_tries tries;	  /* and what has come to nothing so far */
	struct chatter strangers, proven; /* lines about them */
	uint64_t heard_ns;		  /* when what was held back was last looked for */
	uint64_t last_number;
};

/* --------------------------------------------------------------------------------------------------------- small ---
 */

__attribute__((format(printf, 2, 3))) static void say(struct relay_server *s, const char *fmt, ...)
{
	char line[RELAY_TEXT_BYTES * 2];
	va_list ap;

	if (!s->ops.say)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	s->ops.say(s->user, line);
}

/* A line about a peer, or one less: whoever can cause lines does not fill the log. */
__attribute__((format(printf, 5, 6))) static void say_of(struct relay_server *s, const struct unproven_source *from,
							 const char *address, bool proven, const char *fmt, ...)
{
	char line[RELAY_TEXT_BYTES * 2], host[64];
	va_list ap;

	snprintf(host, sizeof(host), "%.63s", address);
	if (strrchr(host, ':')) /* its next connection has another port */
		*strrchr(host, ':') = 0;
	if (!chatter_may(proven ? &s->proven : &s->strangers, proven ? &proven_rule : &strangers_rule, from, host,
			 clock_now_ns()))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	say(s, "%s", line);
}

static void tell_held(struct relay_server *s, struct chatter *c, const struct chatter_rule *rule, uint64_t now_ns)
{
	char name[CHATTER_NAME_BYTES];
	uint64_t hidden;

	while (chatter_held(c, rule, now_ns, name, &hidden))
		say(s, "%s: %llu more lines within a minute", *name ? name : "other addresses",
		    (unsigned long long)hidden);
}

static int watch(struct relay_server *s, int fd, struct source *source)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLRDHUP, .data.ptr = source };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

/* In the clear: nothing has been proved, and nothing more will be read. */
__attribute__((format(printf, 4, 5))) static void refuse(struct relay_server *s, int fd, enum wall_status status,
							 const char *fmt, ...)
{
	struct frame_welcome w = {
		.magic = FRAME_MAGIC, .version = FRAME_VERSION, .size = sizeof(w), .status = status
	};
	char address[64], rest[REST_BYTES];
	struct unproven_source from;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w.wall.text, sizeof(w.wall.text), fmt, ap);
	va_end(ap);
	tcp_peer_address(fd, address);
	from = tcp_peer_source(fd);
	say_of(s, &from, address, false, "%s: refused: %s", address, w.wall.text);
	/* Unread bytes would turn the end into a reset, which takes the answer away: from who goes on sending as well.
	 */
	send(fd, &w, sizeof(w), MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(fd, SHUT_WR);
	for (unsigned int i = 0; i < REST_READS && recv(fd, rest, sizeof(rest), MSG_DONTWAIT) > 0; i++)
		;
}

/* --------------------------------------------------------------------------------------------------------- seats ---
 */

static void seat_free(struct seat *seat)
{
	if (seat->broker >= 0)
		close(seat->broker);
	if (seat->count)
		munmap(seat->count, sizeof(*seat->count));
	free(seat);
}

/* Its process has ended, or is not to go on. */
static void seat_end(struct relay_server *s, struct seat *seat)
{
	struct seat **at = &s->seats;

	while (*at != seat)
		at = &(*at)->next;
	*at = seat->next;
	if (!seat->proven)
		s->unproven--;
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, seat->broker, NULL);
	if (seat->session.pid > 0) {
		kill(seat->session.pid, SIGKILL);
		while (waitpid(seat->session.pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	seat->session.count = *seat->count;
	if (seat->opened && s->ops.closed)
		s->ops.closed(s->user, &seat->session);
	seat_free(seat);
}

static struct seat *seat_new(struct relay_server *s, int *ret_broker)
{
	struct seat *seat = calloc(1, sizeof(*seat));
	int pair[2];

	if (!seat)
		return NULL;
	seat->source.what = SEAT;
	seat->server = s;
	seat->broker = -1;
	seat->count = mmap(NULL, sizeof(*seat->count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seat->count == MAP_FAILED)
		seat->count = NULL;
	if (!seat->count || RAND_bytes(seat->route, sizeof(seat->route)) != 1 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		seat_free(seat);
		return NULL;
	}
	seat->broker = pair[0];
	send_fds_admit(seat->broker, false); /* they go to the session alone */
	/* A session that was taken over asks and does not read: what does not fit is lost, and nobody waits for it. */
	fcntl(seat->broker, F_SETFL, O_NONBLOCK);
	*ret_broker = pair[1];
	seat->session.number = ++s->last_number;
	seat->session.since_ns = clock_now_ns();
	seat->lanes_left = LANES_TRIES * (1 + 2 * RELAY_LANES_MOST);
	return seat;
}

/*
 * A newcomer from there needs a place: somebody's who has not proved who it is, when there is no other. False: it gets
 * none.
 */
static bool seat_yield(struct relay_server *s, const struct unproven_source *from, bool known)
{
	uint64_t now_ns = clock_now_ns();
	struct unproven there[SEATS_UNPROVEN];
	const struct unproven *gone;
	unsigned int n = 0;
	struct seat *last;

	for (struct seat *seat = s->seats; seat && n < SEATS_UNPROVEN; seat = seat->next)
		if (!seat->proven)
			there[n++] = (struct unproven){ .source = seat->from,
							.since_ns = seat->session.since_ns,
							.known = seat->known,
							.who = seat,
							.tries = unproven_tries(&s->tries, &seat->from, now_ns) };
	gone = unproven_yields(&unproven_rule, there, n, from, known);
	if (!gone)
		return true;
	if (unproven_drops(gone, unproven_tries(&s->tries, from, now_ns), now_ns))
		return false;
	last = gone->who;
	say_of(s, &last->from, last->address, false,
	       "%s: dropped: others want its place, and it has not said who it is", last->address);
	seat_end(s, last);
	return true;
}

/* The connection stays the caller's. */
static void seat_begin(struct relay_server *s, int fd, enum relay_trust trust, const struct unproven_source *from,
		       bool known)
{
	_cleanup_close_ int broker = -1;
	struct seat *seat = seat_new(s, &broker);
	struct guest_config guest = {
		.connection = fd,
		.trust = trust,
		.tls = trust == RELAY_PLAIN ? NULL : s->tls,
		.ucx = s->config.ucx,
		.patience_ms = s->config.patience_ms,
		.uid = s->config.uid,
		.gid = s->config.gid,
	};

	if (!seat || watch(s, seat->broker, &seat->source) < 0) {
		refuse(s, fd, WALL_FULL, "the server has no memory for one more session; try again later");
		if (seat)
			seat_free(seat);
		return;
	}
	seat->from = *from;
	seat->known = known;
	seat->trust = trust;
	tcp_peer_address(fd, seat->address);
	seat->next = s->seats;
	s->seats = seat;
	s->unproven++;
	fflush(NULL);
	seat->session.pid = fork();
	if (!seat->session.pid) {
		guest.broker = broker;
		guest.count = seat->count;
		guest_run(&guest);
	}
	if (seat->session.pid < 0) {
		refuse(s, fd, WALL_FULL, "the server cannot start one more process; try again later");
		seat_end(s, seat);
	}
}

/* ---------------------------------------------------------------------------------------------------- what is asked
 * --- */

static void answer_key(struct relay_server *s, struct seat *seat, struct broker_message *m)
{
	bool found = seat->trust == RELAY_KEY && !seat->asked_key && relay_name_good(m->peer.name) && s->ops.find_key &&
		     s->ops.find_key(s->user, m->peer.name, m->key);

	seat->asked_key = true;
	m->status = found ? WALL_OK : WALL_REFUSED;
	if (found)
		memcpy(seat->key_name, m->peer.name, sizeof(seat->key_name));
	else
		memset(m->key, 0, sizeof(m->key));
	broker_send(seat->broker, m, -1);
	explicit_bzero(m->key, sizeof(m->key));
}

/*
 * What a process says of its peer, which has perhaps taken it over: how it was to prove itself is known here since the
 * preface, a key is the one that was asked for, and where it comes from is what the connection says.
 */
static bool peer_good(const struct seat *seat, const struct relay_peer *peer)
{
	if (peer->trust != seat->trust)
		return false;
	switch (seat->trust) {
	case RELAY_KEY:
		return seat->key_name[0] && !strcmp(seat->key_name, peer->name);
	case RELAY_CERT:
		return relay_name_good(peer->name);
	default:
		return !peer->name[0];
	}
}

static void seat_peer(struct seat *seat, const struct relay_peer *peer)
{
	seat->session.peer = *peer;
	memcpy(seat->session.peer.address, seat->address, sizeof(seat->session.peer.address));
}

/* Whether the session gets a worker. The descriptor stays the caller's. */
static void seat_answer(struct relay_server *s, struct seat *seat, int fd, enum wall_status status, const char *text)
{
	struct broker_message m = { .kind = BROKER_OPEN };

	seat->awaits = false;
	m.status = fd < 0 ? (status ? status : WALL_BAD) : WALL_OK;
	snprintf(m.text, RELAY_TEXT_BYTES, "%s", text);
	memcpy(m.route, seat->route, sizeof(m.route));
	seat->opened = fd >= 0;
	seat->refused = fd < 0;
	broker_send(seat->broker, &m, fd);
}

/* By its name; who has proved nothing by where it comes from. */
static bool same_client(const struct seat *a, const struct seat *b)
{
	return a->trust == b->trust && (a->trust == RELAY_PLAIN ? unproven_same(&a->from, &b->from)
								: !strcmp(a->session.peer.name, b->session.peer.name));
}

/* Who was refused has a process until it has said so, and no place. */
static bool has_place(const struct seat *seat)
{
	return seat->proven && !seat->refused;
}

/* Of this client, without this one; `client` NULL: of all. */
static unsigned int sessions_of(const struct relay_server *s, const struct seat *self, const struct seat *client)
{
	unsigned int n = 0;

	for (const struct seat *seat = s->seats; seat; seat = seat->next)
		n += seat != self && has_place(seat) && (!client || same_client(seat, client));
	return n;
}

/* A client may have half of what the others leave, whatever its processes are for. False: a line says why. */
static bool may_stay(const struct relay_server *s, struct seat *seat, char *text)
{
	unsigned int most = s->config.sessions_most ? s->config.sessions_most : SESSIONS_MOST;
	unsigned int all = sessions_of(s, seat, NULL) + 1, own = sessions_of(s, seat, seat);

	seat->refused = all > most || own > most - all;
	if (all > most)
		snprintf(text, RELAY_TEXT_BYTES,
			 "the server has %u sessions, which is all that it takes; try again later", most);
	else if (seat->refused)
		snprintf(text, RELAY_TEXT_BYTES,
			 "this client has %u sessions, and the rest is for others; try again later", own);
	return !seat->refused;
}

static int open_wall(struct relay_server *s, struct seat *seat, enum wall_status *ret_status, char *text)
{
	bool may = may_stay(s, seat, text);

	*ret_status = may ? WALL_BAD : WALL_FULL;
	return may ? s->ops.open(s->user, &seat->session, ret_status, text) : -1;
}

/* For those from there that come, and those that have. */
static void know_source(struct relay_server *s, const struct unproven_source *from)
{
	unproven_remember(&s->known, from, clock_now_ns());
	for (struct seat *seat = s->seats; seat; seat = seat->next)
		seat->known |= unproven_same(&seat->from, from);
	for (unsigned int i = 0; i < PENDING_MOST; i++)
		s->pending[i].known |= unproven_same(&s->pending[i].from, from);
}

/* Its place among those that have not is free, and where it comes from is remembered. */
static void seat_proven(struct relay_server *s, struct seat *seat)
{
	seat->proven = true;
	s->unproven--;
	unproven_proved(&s->tries, &seat->from, clock_now_ns());
	/* Without TLS whoever comes is let in: that proves nothing. */
	if (seat->trust != RELAY_PLAIN)
		know_source(s, &seat->from);
}

static void answer_open(struct relay_server *s, struct seat *seat, const struct broker_message *m)
{
	char text[RELAY_TEXT_BYTES] = { 0 };
	_cleanup_close_ int fd = -1;
	enum wall_status status;
	int r;

	if (seat->asked_open || !peer_good(seat, &m->peer)) {
		seat_end(s, seat);
		return;
	}
	seat->asked_open = true;
	if (!seat->proven)
		seat_proven(s, seat);
	seat_peer(seat, &m->peer);
	seat->session.hello = m->hello;
	r = open_wall(s, seat, &status, text);
	seat->awaits = r == RELAY_LATER;
	if (seat->awaits)
		return;
	fd = r;
	seat_answer(s, seat, fd, status, text);
}

static void answer_about(struct relay_server *s, struct seat *seat, struct broker_message *m)
{
	bool good = peer_good(seat, &m->peer);

	memset(m->text, 0, sizeof(m->text));
	if (good && !seat->proven)
		seat_proven(s, seat);
	if (good)
		seat_peer(seat, &m->peer);
	m->status = good && !may_stay(s, seat, m->text) ? WALL_FULL : WALL_OK;
	if (s->ops.about && good && !m->status)
		s->ops.about(s->user, &seat->session.peer, m->text, sizeof(m->text) - 1);
	broker_send(seat->broker, m, -1);
}

static void seat_turn(struct relay_server *s, struct seat *seat)
{
	struct broker_message m;
	int fd, r = broker_receive(seat->broker, &m, &fd, 0);

	if (fd >= 0)
		close(fd);
	if (r == -ETIMEDOUT || r == -EAGAIN)
		return;
	if (r < 0) {
		seat_end(s, seat);
		return;
	}
	switch (m.kind) {
	case BROKER_KEY:
		answer_key(s, seat, &m);
		break;
	case BROKER_OPEN:
		answer_open(s, seat, &m);
		break;
	case BROKER_ABOUT:
		answer_about(s, seat, &m);
		break;
	case BROKER_READY:
		seat->lanes_left = 0;
		break;
	case BROKER_SAY:
		for (char *c = m.text; *c; c++)
			if ((unsigned char)*c < ' ')
				*c = '?';
		say_of(s, &seat->from, seat->address, seat->proven, "%.500s", m.text);
		break;
	default:
		seat_end(s, seat);
	}
}

/* ------------------------------------------------------------------------------------------------------ prefaces ---
 */

/*
 * A connection that was handed on lives after it is closed here, and what comes on it is another process's: it is not
 * watched any more, or each byte would wake this one, which would find nothing to do.
 */
static void pending_end(struct relay_server *s, struct pending *p)
{
	if (p->fd >= 0) {
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, p->fd, NULL);
		close(p->fd);
	}
	p->fd = -1;
}

/* What a preface wants can be had? Else it is refused. */
static bool trust_good(struct relay_server *s, int fd, enum relay_trust trust)
{
	bool keys = s->config.keys, certs = s->config.cert.chain != NULL;
	const char *take = keys && certs ? "a key or a certificate" : keys ? "a key" : "a certificate";

	switch (trust) {
	case RELAY_PLAIN:
		if (s->config.plain || (!s->tls && tcp_is_loopback(fd)))
			return true;
		if (s->tls)
			refuse(s, fd, WALL_REFUSED, "this server wants to know who asks: give %s", take);
		else
			refuse(s, fd, WALL_REFUSED,
			       "this server has no keys, and takes connections from its own machine alone");
		return false;
	case RELAY_KEY:
		if (keys)
			return true;
		refuse(s, fd, WALL_REFUSED,
		       certs ? "this server takes no keys: give a certificate"
			     : "this server has no keys: it speaks without TLS only (--plain)");
		return false;
	default:
		if (certs)
			return true;
		refuse(s, fd, WALL_REFUSED,
		       keys ? "this server takes no certificates: give a key"
			    : "this server has no certificate: it speaks without TLS only (--plain)");
		return false;
	}
}

static void hand_lane(struct relay_server *s, int fd, const uint8_t route[FRAME_ROUTE_BYTES],
		      const struct unproven_source *from)
{
	struct broker_message m = { .kind = BROKER_LANE };

	for (struct seat *seat = s->seats; seat; seat = seat->next)
		if (seat->opened && seat->lanes_left && !memcmp(seat->route, route, FRAME_ROUTE_BYTES)) {
			seat->lanes_left--;
			unproven_proved(&s->tries, from, clock_now_ns());
			broker_send(seat->broker, &m, fd);
			return;
		}
	refuse(s, fd, WALL_UNREACHABLE, "there is no such session any more; the program must be started again");
}

/* The preface is there. Value: it is one of a session, which is begun when more comes. */
static bool pending_said(struct relay_server *s, struct pending *p)
{
	char text[RELAY_TEXT_BYTES];
	int status = frame_check_preface(&p->preface, text);

	if (status)
		refuse(s, p->fd, (enum wall_status)status, "%s", text);
	else if (!trust_good(s, p->fd, (enum relay_trust)p->preface.trust))
		;
	else if (p->preface.purpose == FRAME_LANE)
		hand_lane(s, p->fd, p->preface.route, &p->from);
	else
		return true;
	return false;
}

/* What comes behind the preface is for the session's process. */
static void pending_begins(struct relay_server *s, struct pending *p)
{
	char byte;
	ssize_t n = recv(p->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && seat_yield(s, &p->from, p->known))
		seat_begin(s, p->fd, (enum relay_trust)p->preface.trust, &p->from, p->known);
	pending_end(s, p);
}

static void pending_turn(struct relay_server *s, struct pending *p)
{
	ssize_t n;

	if (p->fd < 0)
		return;
	if (p->said) {
		pending_begins(s, p);
		return;
	}
	n = recv(p->fd, (uint8_t *)&p->preface + p->used, sizeof(p->preface) - p->used, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	p->used += n > 0 ? (size_t)n : 0;
	/* Whoever speaks another protocol is told so at its first words. */
	if (n > 0 && p->used < sizeof(p->preface) &&
	    !(p->used >= sizeof(p->preface.magic) && p->preface.magic != FRAME_MAGIC))
		return;
	p->said = n > 0 && pending_said(s, p);
	if (!p->said)
		pending_end(s, p);
}

/* A place for one from there. */
static struct pending *pending_place(struct relay_server *s, const struct unproven_source *from, bool known)
{
	uint64_t now_ns = clock_now_ns();
	struct unproven there[PENDING_MOST];
	const struct unproven *gone;
	struct pending *free_place = NULL;
	unsigned int n = 0;

	for (unsigned int i = 0; i < PENDING_MOST; i++) {
		struct pending *p = &s->pending[i];

		if (p->fd < 0)
			free_place = p;
		else
			there[n++] = (struct unproven){ .source = p->from,
							.since_ns = p->since_ns,
							.known = p->known,
							.who = p,
							.tries = unproven_tries(&s->tries, &p->from, now_ns) };
	}
	gone = unproven_yields(&pending_rule, there, n, from, known);
	if (!gone)
		return free_place;
	pending_end(s, gone->who);
	return gone->who;
}

static void accept_one(struct relay_server *s, struct listener *l)
{
	int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct unproven_source from;
	struct pending *at;
	bool known;

	if (fd < 0)
		return;
	from = tcp_peer_source(fd);
	known = unproven_knows(&s->known, &from);
	unproven_tried(&s->tries, &from, clock_now_ns());
	at = pending_place(s, &from, known);
	*at = (struct pending){
		.source = { PENDING }, .fd = fd, .from = from, .known = known, .since_ns = clock_now_ns()
	};
	if (watch(s, fd, &at->source) < 0)
		pending_end(s, at);
}

static void sweep(struct relay_server *s)
{
	uint64_t now = clock_now_ns();

	for (unsigned int i = 0; i < PENDING_MOST; i++)
		if (s->pending[i].fd >= 0 && now - s->pending[i].since_ns > PENDING_NS)
			pending_end(s, &s->pending[i]);
	if (now - s->heard_ns < SWEEP_MS * UINT64_C(1000000))
		return;
	s->heard_ns = now;
	tell_held(s, &s->strangers, &strangers_rule, now);
	tell_held(s, &s->proven, &proven_rule, now);
}

/* --------------------------------------------------------------------------------------------------------- server ---
 */

int relay_server_turn(struct relay_server *s, int timeout_ms)
{
	struct epoll_event event;
	struct source *source;
	uint64_t until = clock_now_ns() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000000;
	int n, nap;

	for (;;) {
		nap = timeout_ms < 0 || timeout_ms > SWEEP_MS ? SWEEP_MS : timeout_ms;
		n = epoll_wait(s->epoll, &event, 1, nap);
		if (n < 0 && errno != EINTR)
			return -errno;
		sweep(s);
		if (n || (timeout_ms >= 0 && clock_now_ns() >= until))
			break;
	}
	/* One at a time: what one does may be the end of another. */
	source = n > 0 ? event.data.ptr : NULL;
	if (source && source->what == LISTENER)
		accept_one(s, (struct listener *)(void *)source);
	else if (source && source->what == PENDING)
		pending_turn(s, (struct pending *)(void *)source);
	else if (source)
		seat_turn(s, (struct seat *)(void *)source);
	return 0;
}

static int listen_all(struct relay_server *s, char *text)
{
	for (const char *const *where = s->config.listen; *where; where++) {
		struct listener *l = &s->listeners[s->listener_count];
		int r;

		if (s->listener_count == LISTENERS_MOST) {
			snprintf(text, RELAY_TEXT_BYTES, "at most %u addresses can be listened on", LISTENERS_MOST);
			return -EINVAL;
		}
		l->source.what = LISTENER;
		l->fd = tcp_listen(*where, l->address, text);
		if (l->fd < 0)
			return -EADDRNOTAVAIL;
		s->listener_count++;
		r = watch(s, l->fd, &l->source);
		if (r < 0)
			return r;
	}
	return 0;
}

int relay_server_new(struct relay_server **ret, const struct relay_server_config *config,
		     const struct relay_server_ops *ops, void *user, char ret_text[RELAY_TEXT_BYTES])
{
	struct relay_server *s = calloc(1, sizeof(*s));
	int r = 0;

	*ret = NULL;
	snprintf(ret_text, RELAY_TEXT_BYTES, "no memory");
	if (!s)
		return -ENOMEM;
	s->config = *config;
	s->ops = *ops;
	s->user = user;
	for (unsigned int i = 0; i < PENDING_MOST; i++)
		s->pending[i] = (struct pending){ .source = { PENDING }, .fd = -1 };
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		r = -errno;
	if (!r && config->ucx && !ucx_present()) {
		snprintf(ret_text, RELAY_TEXT_BYTES, "this mete was built without UCX; leave --ucx out");
		r = -ENOTSUP;
	}
	if (!r && (config->keys || config->cert.chain) &&
	    tls_server_new(&s->tls, config->keys, &config->cert, ret_text))
		r = -EINVAL;
	if (!r)
		r = listen_all(s, ret_text);
	if (r < 0) {
		relay_server_free(s);
		return r;
	}
	ret_text[0] = 0;
	*ret = s;
	return 0;
}

int relay_server_fd(const struct relay_server *server)
{
	return server->epoll;
}

const char *relay_server_address(const struct relay_server *server, unsigned int i)
{
	return i < server->listener_count ? server->listeners[i].address : NULL;
}

void relay_server_each(struct relay_server *server, void (*each)(void *user, const struct relay_session *session),
		       void *user)
{
	for (struct seat *seat = server->seats; seat; seat = seat->next)
		if (seat->opened) {
			seat->session.count = *seat->count;
			each(user, &seat->session);
		}
}

bool relay_server_answer(struct relay_server *server, uint64_t number, int take_fd, enum wall_status status,
			 const char *text)
{
	_cleanup_close_ int fd = take_fd;

	for (struct seat *seat = server->seats; seat; seat = seat->next)
		if (seat->session.number == number && seat->awaits) {
			seat_answer(server, seat, fd, status, text);
			return true;
		}
	return false;
}

/* The sessions see their broker's end, tell their peers, and end; who does not is ended. */
static void end_seats(struct relay_server *s)
{
	for (struct seat *seat = s->seats; seat; seat = seat->next)
		shutdown(seat->broker, SHUT_RDWR);
	for (unsigned int i = 0; i < 100 && s->seats; i++) {
		for (struct seat *seat = s->seats, *next; seat; seat = next) {
			next = seat->next;
			if (waitpid(seat->session.pid, NULL, WNOHANG) == seat->session.pid) {
				seat->session.pid = 0;
				seat_end(s, seat);
			}
		}
		if (s->seats)
			usleep(20000);
	}
	while (s->seats)
		seat_end(s, s->seats);
}

void relay_server_free(struct relay_server *s)
{
	if (!s)
		return;
	end_seats(s);
	for (unsigned int i = 0; i < PENDING_MOST; i++)
		pending_end(s, &s->pending[i]);
	for (unsigned int i = 0; i < s->listener_count; i++)
		close(s->listeners[i].fd);
	if (s->epoll >= 0)
		close(s->epoll);
	tls_free(s->tls);
	free(s);
}

int relay_wall_dial(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	size_t length = strlen(path);

	if (fd < 0)
		return -errno;
	if (!length || length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, length + 1);
	if (connect(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1)) <
	    0)
		return -errno;
	return steal_fd(&fd);
}
