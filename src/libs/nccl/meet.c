/*
 * meet.c: ranks that find each other.
 *
 * Who makes the id listens, and its address stands in the id with a secret of 16 bytes. Every rank tells it who it is
 * and where it listens itself; when all have come, or the time is over, each is told of all the others, or why not.
 * Then each connects to the ranks before it: by a socket of the machine with shared memory where both are on one and of
 * one user, else by TCP.
 *
 * Anybody can connect. Who has not said the secret is not waited for, and everybody on a machine can read the names of
 * its sockets (/proc/net/unix): they are numbers drawn for this, and by them the secret is told to processes of this
 * user alone.
 *
 * NCCL_SHM_DISABLE=1: by TCP on one machine as well. METE_NCCL_TIMEOUT: seconds until a rank that has not come is an
 * error of the others (120). NCCL_SOCKET_IFNAME: the interface of which the address is, by the beginning of its name.
 * The lines are not encrypted, as NCCL's.
 */
#include "libs/nccl/nccl.h"

#include "softdev/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MEET_MAGIC UINT64_C(0x31636e656d657465)
#define MEET_VERSION 3u
#define SECRET 16
#define NAME 16
#define CALLERS 64
#define HELLO_MS 5000
#define TEXT 160

struct address {
	uint32_t address; /* IPv4, as it stands in packets */
	uint16_t port;
	uint16_t spare;
};

struct id {
	uint64_t magic;
	uint32_t version;
	struct address root;
	uint8_t secret[SECRET];
};

_Static_assert(sizeof(struct id) <= sizeof(ncclUniqueId), "an id");

/* What a rank says first, to the root and to another rank. */
struct hello {
	uint64_t magic;
	uint32_t version, rank, ranks;
	struct address listens;
	uint8_t secret[SECRET];
	uint8_t machine[16]; /* the same: sockets of the machine reach */
	uint8_t name[NAME];  /* of its own there; zeros: it has none */
};

struct answer {
	uint32_t status; /* ncclResult_t */
	char text[TEXT];
};

struct other {
	struct address listens;
	uint8_t machine[16];
	uint8_t name[NAME];
};

/* ---- time and sockets ---- */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t nccl_timeout_ms(void)
{
	const char *set = getenv("METE_NCCL_TIMEOUT");
	long seconds = set && *set ? strtol(set, NULL, 10) : 0;

	return (seconds > 0 && seconds < 1000000 ? seconds : 120) * 1000;
}

/* Waits until then in pieces, so that an end is heard of. False: the time is over, or the communicator ends. */
static bool wait_for(struct ncclComm *c, struct pollfd *fds, nfds_t count, int64_t end)
{
	for (;;) {
		int64_t left = end - now_ms();
		int n;

		if (left <= 0 || (c && c->abort))
			return false;
		n = poll(fds, count, left < 50 ? (int)left : 50);
		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
	}
}

static bool move(struct ncclComm *c, int fd, void *at, size_t bytes, bool out, int64_t end)
{
	for (size_t done = 0; done < bytes;) {
		struct pollfd p = { fd, out ? POLLOUT : POLLIN, 0 };
		ssize_t n = out ? send(fd, (char *)at + done, bytes - done, MSG_NOSIGNAL | MSG_DONTWAIT)
				: recv(fd, (char *)at + done, bytes - done, MSG_DONTWAIT);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (!n || (errno != EAGAIN && errno != EINTR) || !wait_for(c, &p, 1, end))
			return false;
	}
	return true;
}

/* A machine that is gone is noticed in half a minute. */
static void socket_set(int fd)
{
	int on = 1, idle = 10, each = 5, probes = 3, most = 30000;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof(each));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most, sizeof(most));
}

static uint32_t address_own(void)
{
	const char *wanted = getenv("NCCL_SOCKET_IFNAME");
	uint32_t found = htonl(INADDR_LOOPBACK);
	struct ifaddrs *all = NULL;
	bool best = false;

	if (getifaddrs(&all))
		return found;
	for (struct ifaddrs *i = all; i && !best; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP))
			continue;
		best = wanted && *wanted ? !strncmp(i->ifa_name, wanted, strlen(wanted))
					 : !(i->ifa_flags & IFF_LOOPBACK);
		if (best)
			found = ((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr.s_addr;
	}
	freeifaddrs(all);
	return found;
}

static int listen_tcp(struct address *ret)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t bytes = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*ret = (struct address){ .address = address_own() };
	a.sin_addr.s_addr = ret->address;
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, NCCL_RANKS_MOST) ||
	    getsockname(fd, (struct sockaddr *)&a, &bytes)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	ret->port = ntohs(a.sin_port);
	return fd;
}

static int connect_tcp(struct ncclComm *c, const struct address *to, int64_t end)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(to->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
	struct pollfd p = { fd, POLLOUT, 0 };
	socklen_t bytes = sizeof(error);

	a.sin_addr.s_addr = to->address;
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) &&
	    (errno != EINPROGRESS || !wait_for(c, &p, 1, end) || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) ||
	     error)) {
		close(fd);
		errno = error ? error : ETIMEDOUT;
		return -1;
	}
	socket_set(fd);
	return fd;
}

/* An abstract name. */
static socklen_t name_of(struct sockaddr_un *ret, const uint8_t name[NAME])
{
	int n = 1 + snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "mete-nccl-");

	ret->sun_family = AF_UNIX;
	ret->sun_path[0] = 0;
	for (int i = 0; i < NAME; i++)
		n += snprintf(ret->sun_path + n, sizeof(ret->sun_path) - (size_t)n, "%02x", name[i]);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n);
}

static bool same_user(int fd)
{
	struct ucred other;
	socklen_t bytes = sizeof(other);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &bytes) && other.uid == geteuid();
}

static int local_socket(const uint8_t name[NAME], bool listens)
{
	struct sockaddr_un a = { 0 };
	socklen_t bytes = name_of(&a, name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (listens ? bind(fd, (struct sockaddr *)&a, bytes) || listen(fd, NCCL_RANKS_MOST)
		    : connect(fd, (struct sockaddr *)&a, bytes) || !same_user(fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* With a name that is drawn. */
static int local_listen(uint8_t ret_name[NAME])
{
	int fd = getrandom(ret_name, NAME, 0) == NAME ? local_socket(ret_name, true) : -1;

	if (fd < 0)
		memset(ret_name, 0, NAME);
	return fd;
}

static uint64_t hash_of(const void *from, size_t bytes)
{
	const uint8_t *p = from;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Ranks with the same boot, the same network namespace and the same user. */
static void machine_of(uint8_t ret[16])
{
	char text[64] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	uint64_t place[3] = { 0, 0, geteuid() }, hash[2];
	struct stat st;

	if (f && !fgets(text, sizeof(text), f))
		*text = 0;
	if (f)
		fclose(f);
	if (!stat("/proc/self/ns/net", &st))
		place[0] = st.st_ino;
	if (!stat("/proc/self/ns/user", &st))
		place[1] = st.st_ino;
	hash[0] = hash_of(text, strlen(text));
	hash[1] = hash_of(place, sizeof(place));
	memcpy(ret, hash, sizeof(hash));
}

/* ---- who connects ---- */

struct caller {
	int fd;
	bool local;
	size_t got; /* of the hello */
	struct hello hello;
	int64_t end;
};

/* Callers that have not said who they are, the oldest first. */
struct door {
	int listeners[2]; /* TCP, and of the machine or -1 */
	const uint8_t *secret;
	struct caller callers[CALLERS];
	uint32_t count;
};

static void door_remove(struct door *d, uint32_t i)
{
	d->count--;
	memmove(&d->callers[i], &d->callers[i + 1], (d->count - i) * sizeof(*d->callers));
}

static void door_accept(struct door *d, bool local)
{
	int fd = accept4(d->listeners[local], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (local && !same_user(fd)) {
		close(fd);
		return;
	}
	if (d->count == CALLERS) {
		close(d->callers[0].fd);
		door_remove(d, 0);
	}
	d->callers[d->count++] = (struct caller){ .fd = fd, .local = local, .end = now_ms() + HELLO_MS };
}

/* 1: it is one of ours; 0: it has not said all; -1: it is none, or too slow. */
static int caller_hear(struct caller *k, const uint8_t secret[SECRET])
{
	ssize_t n = recv(k->fd, (char *)&k->hello + k->got, sizeof(k->hello) - k->got, MSG_DONTWAIT);

	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		return -1;
	k->got += n > 0 ? (size_t)n : 0;
	if (k->got < sizeof(k->hello))
		return now_ms() < k->end ? 0 : -1;
	return k->hello.magic == MEET_MAGIC && !memcmp(k->hello.secret, secret, SECRET) ? 1 : -1;
}

/* Waits a little. True: one of ours, whose socket is the caller's from then on. */
static bool door_next(struct door *d, struct ncclComm *c, struct caller *ret)
{
	struct pollfd p[2 + CALLERS] = { { d->listeners[0], POLLIN, 0 }, { d->listeners[1], POLLIN, 0 } };

	for (uint32_t i = 0; i < d->count; i++)
		p[2 + i] = (struct pollfd){ d->callers[i].fd, POLLIN, 0 };
	wait_for(c, p, 2 + d->count, now_ms() + 200);
	for (int k = 0; k < 2; k++)
		if (p[k].revents)
			door_accept(d, k);
	for (uint32_t i = 0; i < d->count;) {
		int r = caller_hear(&d->callers[i], d->secret);

		if (!r) {
			i++;
			continue;
		}
		*ret = d->callers[i];
		door_remove(d, i);
		if (r > 0)
			return true;
		close(ret->fd);
	}
	return false;
}

static void door_end(struct door *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		close(d->callers[i].fd);
}

/* ---- the root ---- */

struct root {
	int listener;
	struct id id;
};

struct gathering {
	uint32_t ranks, come;
	int *fds;
	struct other *others;
	struct answer answer;
};

static void gathering_fail(struct gathering *g, ncclResult_t status, const char *text)
{
	if (!g->answer.status) {
		g->answer.status = status;
		snprintf(g->answer.text, sizeof(g->answer.text), "%s", text);
	}
}

/* A rank has said who it is. */
static void gathering_take(struct gathering *g, const struct caller *k)
{
	const struct hello h = k->hello;
	char text[TEXT];
	int fd = k->fd;

	if (!g->ranks && h.ranks && h.ranks <= NCCL_RANKS_MOST) {
		g->fds = calloc(h.ranks, sizeof(*g->fds));
		g->others = calloc(h.ranks, sizeof(*g->others));
		g->ranks = g->fds && g->others ? h.ranks : 0;
		for (uint32_t i = 0; i < g->ranks; i++)
			g->fds[i] = -1;
	}
	snprintf(text, sizeof(text), "rank %u is of another version of mete's NCCL (%u, here %u): use one version",
		 h.rank, h.version, MEET_VERSION);
	if (h.version != MEET_VERSION)
		gathering_fail(g, ncclInvalidUsage, text);
	snprintf(text, sizeof(text), "rank %u of %u came to a communicator of %u ranks, or for the second time", h.rank,
		 h.ranks, g->ranks);
	if (h.ranks != g->ranks || h.rank >= g->ranks || g->fds[h.rank] >= 0) {
		struct answer a = { .status = ncclInvalidArgument };

		gathering_fail(g, ncclInvalidArgument, text);
		snprintf(a.text, sizeof(a.text), "%s", text);
		move(NULL, fd, &a, sizeof(a), true, now_ms() + 1000);
		close(fd);
		return;
	}
	g->fds[h.rank] = fd;
	g->others[h.rank] = (struct other){ .listens = h.listens };
	memcpy(g->others[h.rank].machine, h.machine, sizeof(h.machine));
	memcpy(g->others[h.rank].name, h.name, NAME);
	g->come++;
}

/* A rank that has come and is gone again. */
static void gathering_look(struct gathering *g)
{
	char byte, text[TEXT];

	for (uint32_t i = 0; i < g->ranks; i++)
		if (g->fds[i] >= 0 && !recv(g->fds[i], &byte, 1, MSG_DONTWAIT | MSG_PEEK)) {
			snprintf(text, sizeof(text), "rank %u ended before all had come", i);
			gathering_fail(g, ncclRemoteError, text);
		}
}

static void gathering_end(struct gathering *g)
{
	for (uint32_t i = 0; i < g->ranks; i++) {
		if (g->fds[i] < 0)
			continue;
		if (move(NULL, g->fds[i], &g->answer, sizeof(g->answer), true, now_ms() + 5000) && !g->answer.status)
			move(NULL, g->fds[i], g->others, g->ranks * sizeof(*g->others), true, now_ms() + 5000);
		close(g->fds[i]);
	}
	free(g->fds);
	free(g->others);
}

#define LATE_MS 5000

/* Ranks that come after it has failed are told why as well; without that they would find nobody. */
static void tell_late(struct gathering *g, struct door *d)
{
	const int64_t end = now_ms() + LATE_MS;

	for (uint32_t left = g->ranks - g->come; left && now_ms() < end;) {
		struct caller k;

		if (!door_next(d, NULL, &k))
			continue;
		move(NULL, k.fd, &g->answer, sizeof(g->answer), true, now_ms() + 1000);
		close(k.fd);
		left--;
	}
}

/* Until all have come; the time runs from the first. */
static void *root_thread(void *given)
{
	struct root *r = given;
	struct gathering g = { 0 };
	struct door d = { .listeners = { r->listener, -1 }, .secret = r->id.secret };
	int64_t end = now_ms() + 24 * 3600 * 1000;
	char text[TEXT];

	while (!g.answer.status && (!g.ranks || g.come < g.ranks)) {
		struct caller k;

		if (door_next(&d, NULL, &k)) {
			bool first = !g.ranks;

			gathering_take(&g, &k);
			if (first && g.ranks)
				end = now_ms() + nccl_timeout_ms();
		}
		gathering_look(&g);
		if (now_ms() < end)
			continue;
		if (!g.ranks)
			break; /* nobody took the id */
		snprintf(text, sizeof(text), "%u of %u ranks came within %lld s (METE_NCCL_TIMEOUT)", g.come, g.ranks,
			 (long long)nccl_timeout_ms() / 1000);
		gathering_fail(&g, ncclRemoteError, text);
	}
	gathering_end(&g);
	if (g.answer.status)
		tell_late(&g, &d);
	door_end(&d);
	close(r->listener);
	free(r);
	return NULL;
}

static bool thread_start(void *(*f)(void *), void *data)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool done;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	done = !pthread_create(&thread, &attr, f, data);
	pthread_attr_destroy(&attr);
	return done;
}

ncclResult_t meet_id(ncclUniqueId *ret)
{
	struct root *r = calloc(1, sizeof(*r));

	if (!r)
		return ncclSystemError;
	r->id.magic = MEET_MAGIC;
	r->id.version = MEET_VERSION;
	r->listener = listen_tcp(&r->id.root);
	if (r->listener < 0 || getrandom(r->id.secret, SECRET, 0) != SECRET) {
		log_line("NCCL: no socket to listen at: %s; NCCL_SOCKET_IFNAME chooses an interface", strerror(errno));
		free(r);
		return ncclSystemError;
	}
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &r->id, sizeof(r->id));
	if (thread_start(root_thread, r))
		return ncclSuccess;
	close(r->listener);
	free(r);
	return ncclSystemError;
}

/* ---- a rank ---- */

struct meeting {
	struct ncclComm *c;
	struct id id;
	struct hello hello;
	struct other *others;
	int tcp, local;
	int64_t end;
};

static ncclResult_t ask_root(struct meeting *m)
{
	struct ncclComm *c = m->c;
	int fd = connect_tcp(c, &m->id.root, m->end);
	struct answer a;
	bool heard;

	if (fd < 0) {
		nccl_fail(c, ncclSystemError, "rank %d cannot reach who made the id: %s", c->rank, strerror(errno));
		return ncclSystemError;
	}
	heard = move(c, fd, &m->hello, sizeof(m->hello), true, m->end) &&
		move(c, fd, &a, sizeof(a), false, m->end + 5000);
	if (heard && !a.status)
		heard = move(c, fd, m->others, (size_t)c->ranks * sizeof(*m->others), false, m->end + 5000);
	close(fd);
	if (!heard) {
		nccl_fail(c, ncclRemoteError, "rank %d: who made the id ended, or not all ranks came in time", c->rank);
		return ncclRemoteError;
	}
	a.text[TEXT - 1] = 0;
	if (a.status)
		nccl_fail(c, (ncclResult_t)a.status, "%s", a.text);
	return (ncclResult_t)a.status;
}

static bool is_here(const struct meeting *m, int rank)
{
	static const uint8_t none[NAME];

	return memcmp(m->others[rank].name, none, NAME) &&
	       !memcmp(m->others[rank].machine, m->hello.machine, sizeof(m->hello.machine));
}

static bool line_to(struct meeting *m, int rank)
{
	bool here = is_here(m, rank);
	int fd = here ? local_socket(m->others[rank].name, false) : connect_tcp(m->c, &m->others[rank].listens, m->end);

	if (fd < 0 || !move(m->c, fd, &m->hello, sizeof(m->hello), true, m->end)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	m->c->lines[rank] = here ? line_offer(fd) : line_new(fd);
	return m->c->lines[rank];
}

/* The descriptor of the memory that the other side offers; -1. */
static int memory_take(struct meeting *m, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct pollfd p = { fd, POLLIN, 0 };
	struct cmsghdr *c;
	int memory = -1;

	if (!wait_for(m->c, &p, 1, m->end) || recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&memory, CMSG_DATA(c), sizeof(int));
	return memory;
}

/* False: no rank that is waited for. */
static bool line_from(struct meeting *m, const struct caller *k)
{
	const struct hello h = k->hello;
	int memory, fd = k->fd;

	if (h.ranks != (uint32_t)m->c->ranks || h.rank <= (uint32_t)m->c->rank || h.rank >= h.ranks ||
	    m->c->lines[h.rank]) {
		close(fd);
		return false;
	}
	if (!k->local) {
		socket_set(fd);
		m->c->lines[h.rank] = line_new(fd);
	} else {
		memory = memory_take(m, fd);
		if (memory < 0) {
			close(fd);
			return false;
		}
		m->c->lines[h.rank] = line_accept(fd, memory);
		close(memory);
	}
	return m->c->lines[h.rank];
}

static bool lines_take(struct meeting *m)
{
	struct door d = { .listeners = { m->tcp, m->local }, .secret = m->id.secret };
	int left = m->c->ranks - m->c->rank - 1;
	struct caller k;

	while (left && now_ms() < m->end && !m->c->abort)
		left -= door_next(&d, m->c, &k) && line_from(m, &k);
	door_end(&d);
	if (left)
		nccl_fail(m->c, ncclRemoteError, "rank %d: %d ranks have not connected in time", m->c->rank, left);
	return !left;
}

static bool lines_make(struct meeting *m)
{
	for (int i = 0; i < m->c->rank; i++)
		if (!line_to(m, i)) {
			nccl_fail(m->c, ncclRemoteError, "rank %d cannot reach rank %d: %s", m->c->rank, i,
				  strerror(errno));
			return false;
		}
	return lines_take(m);
}

ncclResult_t meet_all(struct ncclComm *c, const ncclUniqueId *id)
{
	struct meeting m = { .c = c, .tcp = -1, .local = -1, .end = now_ms() + nccl_timeout_ms() };
	const char *shm = getenv("NCCL_SHM_DISABLE");
	ncclResult_t r = ncclSystemError;

	memcpy(&m.id, id, sizeof(m.id));
	if (m.id.magic != MEET_MAGIC || m.id.version != MEET_VERSION) {
		nccl_fail(c, ncclInvalidArgument,
			  "the unique id is none of this version of mete's NCCL: all ranks take the "
			  "one that ncclGetUniqueId() gave");
		return ncclInvalidArgument;
	}
	m.hello = (struct hello){
		.magic = MEET_MAGIC, .version = MEET_VERSION, .rank = (uint32_t)c->rank, .ranks = (uint32_t)c->ranks
	};
	memcpy(m.hello.secret, m.id.secret, SECRET);
	if (!shm || strcmp(shm, "1"))
		machine_of(m.hello.machine);
	else if (getrandom(m.hello.machine, sizeof(m.hello.machine), 0) < 0)
		return ncclSystemError;
	m.others = calloc((size_t)c->ranks, sizeof(*m.others));
	m.tcp = listen_tcp(&m.hello.listens);
	m.local = local_listen(m.hello.name);
	if (m.others && m.tcp >= 0)
		r = ask_root(&m);
	else
		nccl_fail(c, r, "no socket to listen at: %s", strerror(errno));
	if (!r && !lines_make(&m))
		r = ncclRemoteError;
	if (m.tcp >= 0)
		close(m.tcp);
	if (m.local >= 0)
		close(m.local);
	free(m.others);
	return r;
}
