/*
 * meet.c: ranks that find each other.
 *
 * Who makes the id listens, and its address stands in the id with a secret of 16 bytes. Every rank tells it who it is
 * and where it listens itself; when all have come, or the time is over, each is told of all the others, or why not.
 * Then each connects to the ranks before it: by a socket of the machine with shared memory where both are on one, else
 * by TCP.
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
#define MEET_VERSION 1u
#define SECRET 16
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
};

struct answer {
	uint32_t status; /* ncclResult_t */
	char text[TEXT];
};

struct other {
	struct address listens;
	uint8_t machine[16];
};

/* ---- time and sockets ---- */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t timeout_ms(void)
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

/* An abstract name, of the secret and the rank. */
static socklen_t name_of(struct sockaddr_un *ret, const uint8_t secret[SECRET], int rank)
{
	int n = 1 + snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "mete-nccl-%d-", rank);

	ret->sun_family = AF_UNIX;
	ret->sun_path[0] = 0;
	for (int i = 0; i < SECRET; i++)
		n += snprintf(ret->sun_path + n, sizeof(ret->sun_path) - (size_t)n, "%02x", secret[i]);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n);
}

static int local_socket(const uint8_t secret[SECRET], int rank, bool listens)
{
	struct sockaddr_un a = { 0 };
	socklen_t bytes = name_of(&a, secret, rank);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (listens ? bind(fd, (struct sockaddr *)&a, bytes) || listen(fd, NCCL_RANKS_MOST)
		    : connect(fd, (struct sockaddr *)&a, bytes)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Ranks with the same boot and the same network namespace. */
static void machine_of(uint8_t ret[16])
{
	char text[64] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	uint64_t hash[2] = { UINT64_C(0xcbf29ce484222325), 0 };
	struct stat st;

	if (f && !fgets(text, sizeof(text), f))
		*text = 0;
	if (f)
		fclose(f);
	for (const char *p = text; *p; p++)
		hash[0] = (hash[0] ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
	if (!stat("/proc/self/ns/net", &st))
		hash[1] = st.st_ino;
	memcpy(ret, hash, sizeof(hash));
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

/* Somebody has connected: a rank, or nobody of ours. */
static void gathering_take(struct gathering *g, const struct id *id, int fd)
{
	struct hello h;
	char text[TEXT];

	if (!move(NULL, fd, &h, sizeof(h), false, now_ms() + 5000) || h.magic != MEET_MAGIC ||
	    memcmp(h.secret, id->secret, SECRET)) {
		close(fd);
		return;
	}
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

/* Until all have come; the time runs from the first. */
static void *root_thread(void *given)
{
	struct root *r = given;
	struct gathering g = { 0 };
	int64_t end = now_ms() + 24 * 3600 * 1000;
	char text[TEXT];

	while (!g.answer.status && (!g.ranks || g.come < g.ranks)) {
		struct pollfd p = { r->listener, POLLIN, 0 };
		int fd;

		wait_for(NULL, &p, 1, now_ms() + 200);
		fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			bool first = !g.ranks;

			gathering_take(&g, &r->id, fd);
			if (first && g.ranks)
				end = now_ms() + timeout_ms();
		}
		gathering_look(&g);
		if (now_ms() < end)
			continue;
		if (!g.ranks)
			break; /* nobody took the id */
		snprintf(text, sizeof(text), "%u of %u ranks came within %lld s (METE_NCCL_TIMEOUT)", g.come, g.ranks,
			 (long long)timeout_ms() / 1000);
		gathering_fail(&g, ncclRemoteError, text);
	}
	gathering_end(&g);
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
	return m->local >= 0 && !memcmp(m->others[rank].machine, m->hello.machine, sizeof(m->hello.machine));
}

static bool line_to(struct meeting *m, int rank)
{
	bool here = is_here(m, rank);
	int fd = here ? local_socket(m->id.secret, rank, false) : connect_tcp(m->c, &m->others[rank].listens, m->end);

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

/* False: nobody of ours. */
static bool line_from(struct meeting *m, int fd, bool local)
{
	struct hello h;
	int memory;

	if (!move(m->c, fd, &h, sizeof(h), false, m->end) || h.magic != MEET_MAGIC ||
	    h.ranks != (uint32_t)m->c->ranks || memcmp(h.secret, m->id.secret, SECRET) ||
	    h.rank <= (uint32_t)m->c->rank || h.rank >= h.ranks || m->c->lines[h.rank]) {
		close(fd);
		return false;
	}
	if (!local) {
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

static bool lines_make(struct meeting *m)
{
	for (int i = 0; i < m->c->rank; i++)
		if (!line_to(m, i)) {
			nccl_fail(m->c, ncclRemoteError, "rank %d cannot reach rank %d: %s", m->c->rank, i,
				  strerror(errno));
			return false;
		}
	for (int left = m->c->ranks - m->c->rank - 1; left;) {
		struct pollfd p[2] = { { m->tcp, POLLIN, 0 }, { m->local, POLLIN, 0 } };
		bool good = wait_for(m->c, p, 2, m->end);

		for (int k = 0; good && k < 2; k++) {
			int fd = p[k].revents ? accept4(p[k].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;

			left -= fd >= 0 && line_from(m, fd, k);
		}
		if (!good) {
			nccl_fail(m->c, ncclRemoteError, "rank %d: %d ranks have not connected in time", m->c->rank,
				  left);
			return false;
		}
	}
	return true;
}

ncclResult_t meet_all(struct ncclComm *c, const ncclUniqueId *id)
{
	struct meeting m = { .c = c, .tcp = -1, .local = -1, .end = now_ms() + timeout_ms() };
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
	m.local = local_socket(m.id.secret, c->rank, true);
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
