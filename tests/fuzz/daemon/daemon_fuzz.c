/*
 * daemon_fuzz.c: fuzz target for what meted is told: packets of clients and requests on the control socket.
 *
 * LLVMFuzzerTestOneInput() is the entry that a fuzzing engine calls (link with -fsanitize=fuzzer and -DFUZZ_ENGINE).
 * Without an engine main() feeds it the corpus (files named on the command line) and mutations of it from a fixed seed.
 *
 * An input is a list of steps: one byte that says what, then what it needs. The handlers run as in meted, on two real
 * processes' connections, a store in memory and page files; only the loop does not run between the steps. What must
 * hold after every step: the ledger is the sum of the pages, nothing is granted above the quota, nothing crashes.
 *
 * With HOSTILE_PAGE the clients also write whatever they want into their pages, a second tenant on the same devices
 * keeps to the rules, the memory of both can leave, and the turns of all are decided between the steps. What must hold:
 * meted's own sums agree, the honest tenant's page and account are as it left them, nothing crashes.
 *
 * With HOSTILE_WORKER a worker of the tenant's has been taken over: what it says on its connections and for images,
 * what it writes to its standard error and into the counts that it shares with meted. What must hold as well: images
 * are kept within their bound, and memory that a worker has for one is as large as it was asked for, and no larger.
 */
#include "base/cleanup.h"
#include "daemon/tenants/residence.h"
#include "daemon/tenants/account.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/tenants/session.h"
#include "daemon/store/store.h"
#include "daemon/tenants/tenant.h"
#ifdef HOSTILE_PAGE
#include "base/clock.h"
#include "daemon/turns/arbitrate.h"
#include "daemon/turns/engine.h"
#endif
#ifdef HOSTILE_WORKER
#include "daemon/tenants/moving.h"
#include "daemon/workers/images.h"
#include "daemon/workers/traffic.h"
#include "daemon/workers/words.h"
#include "daemon/workers/worker.h"
#include "wire/worker.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define QUOTA_UNITS 1000u
#define PEERS 2
#define STEPS_MAX 200

#ifdef HOSTILE_PAGE
#define DEVICE_BYTES (1200ull * WIRE_UNIT_BYTES) /* two quotas of QUOTA_UNITS do not fit */
#define WORLD_GRANT ((struct grant){ .name = "fuzz", .share_count = 1, .spill = true, .resident_units = 100 })
#else
#define DEVICE_BYTES (16ull << 30)
#define WORLD_GRANT ((struct grant){ .name = "fuzz", .share_count = 2 })
#endif

enum step { STEP_PACKET, STEP_TAKE, STEP_GIVE, STEP_MEASURE, STEP_RECONNECT, STEP_TURN, STEP_REQUEST, STEP_COUNT };

struct peer {
	struct session *session; /* meted's side */
	int fd;			 /* the client's */
};

static struct daemon daemon_under_test;
static uv_loop_t loop;
static char directory[64];
static struct tenant *tenant;
static unsigned long welcomed; /* HELLOs of the tenant's that were */
static struct peer peers[PEERS];
#ifdef HOSTILE_PAGE
static struct peer honest_peer;
#endif
static int maker_fd = -1; /* a child that makes the second peer's sockets, so that it is another process */

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "daemon_fuzz: %s does not hold\n", #cond);                                     \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* Connections. */

static void send_pair(int to, const int fds[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))] = { 0 }, byte = 0;
	struct iovec io = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(c), fds, 2 * sizeof(int));
	sendmsg(to, &msg, MSG_NOSIGNAL);
}

/* The kernel notes who made a pair: this is how the child lends its name. */
_Noreturn static void make_pairs(int fd)
{
	char byte;

	while (read(fd, &byte, 1) == 1) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair))
			break;
		send_pair(fd, pair);
		close(pair[0]);
		close(pair[1]);
	}
	_exit(0);
}

static void pair_of_child(int ret[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))], byte = 0;
	struct iovec io = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};

	ssize_t n;

	check(write(maker_fd, &byte, 1) == 1);
	do /* the engine has a timer */
		n = recvmsg(maker_fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	check(n == 1);
	memcpy(ret, CMSG_DATA(CMSG_FIRSTHDR(&msg)), 2 * sizeof(int));
}

static void peer_connect(struct peer *peer)
{
	int pair[2];

	if (peer == &peers[0])
		check(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
	else
		pair_of_child(pair);
	peer->session = session_new(tenant, pair[0]);
	peer->fd = pair[1];
	check(peer->session);
}

static void peer_close(struct peer *peer)
{
	if (peer->session)
		session_free(peer->session);
	close(peer->fd);
	*peer = (struct peer){ .fd = -1 };
}

/* Reads what meted answered; descriptors are closed. */
static void peer_drain(struct peer *peer)
{
	char control[CMSG_SPACE(4 * sizeof(int))], answer[8192];

	for (;;) {
		struct iovec io = { answer, sizeof(answer) };
		struct msghdr msg = {
			.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
		};
		struct wire_header head;
		ssize_t n = recvmsg(peer->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		struct cmsghdr *c;
		int fds[2];

		if (n <= 0)
			return;
		check((size_t)n >= sizeof(head));
		memcpy(&head, answer, sizeof(head));
		check(head.size == (size_t)n);
		c = CMSG_FIRSTHDR(&msg);
		if (!c)
			continue;
		check(c->cmsg_len == CMSG_LEN(sizeof(fds)));
		memcpy(fds, CMSG_DATA(c), sizeof(fds));
		close(fds[0]);
		close(fds[1]);
	}
}

/* The world. */

#ifdef HOSTILE_PAGE
static void honest_begin(void);
#endif
#ifdef HOSTILE_WORKER
static void worker_begin(void);
static void worker_over(void);
#endif

static struct tenant *make_tenant(struct grant grant)
{
	struct tenant *made;
	char error[512];

	grant.kind = DEVICE_SOFT;
	grant.libcuda = grant.libnvml = "";
	grant.id = daemon_new_id(&daemon_under_test);
	for (unsigned int i = 0; i < grant.share_count; i++) {
		grant.share[i].device = daemon_under_test.machine.device[i];
		ledger_init(&grant.share[i].ledger, QUOTA_UNITS);
	}
	check(!store_add(daemon_under_test.store, &grant, error, sizeof(error)));
	check(!tenant_new(&daemon_under_test, &grant, false, &made, error, sizeof(error)));
	return made;
}

static void world_begin(void)
{
	tenant = make_tenant(WORLD_GRANT);
#ifdef HOSTILE_PAGE
	honest_begin();
#endif
	for (int i = 0; i < PEERS; i++)
		peer_connect(&peers[i]);
#ifdef HOSTILE_WORKER
	worker_begin();
#endif
}

static void turn(void)
{
	uv_run(&loop, UV_RUN_NOWAIT);
}

static void world_end(void)
{
	char error[512];

	for (int i = 0; i < PEERS; i++)
		peer_close(&peers[i]);
#ifdef HOSTILE_PAGE
	peer_close(&honest_peer);
#endif
#ifdef HOSTILE_WORKER
	worker_over();
#endif
	while (daemon_under_test.tenants) {
		check(!store_remove(daemon_under_test.store, daemon_under_test.tenants->grant.id, error,
				    sizeof(error)));
		tenant_free(daemon_under_test.tenants, false);
	}
	tenant = NULL;
	turn();
}

#ifndef HOSTILE_PAGE
static void check_sums(void)
{
	for (unsigned int d = 0; tenant && d < tenant->grant.share_count; d++) {
		const struct ledger *ledger = &tenant->grant.share[d].ledger;
		uint64_t granted = 0;

		for (struct client *c = tenant->clients; c; c = c->next) {
			uint64_t word = atomic_load(&c->page.map->account[d].word);

			check(wire_held(word) <= wire_granted(word));
			check(wire_granted(word) == c->granted_units[d]);
			granted += wire_granted(word);
		}
		check(granted == ledger->granted_units);
		check(granted + ledger->object_units <= ledger->quota_units);
	}
}
#endif

/* Steps. */

static struct wire_account *account_of(const struct peer *peer, uint8_t device)
{
	return peer->session && peer->session->client ? &peer->session->client->page.map->account[device % 2] : NULL;
}

static void step_packet(struct peer *peer, const uint8_t *data, size_t length)
{
	/* a copy of exactly its size, so that a sanitizer sees what is read beyond it */
	_cleanup_free_ uint8_t *packet = malloc(length ? length : 1);

	check(packet);
	memcpy(packet, data, length);
#ifndef HOSTILE_PAGE
	/* A claim is believed: what it says beyond the quota is no bug. */
	if (length == sizeof(struct wire_hello))
		memset(packet + offsetof(struct wire_hello, held_units), 0, sizeof(uint32_t) * WIRE_MAX_DEVICES);
#endif
	if (peer->session && !session_message(peer->session, packet, length)) {
		session_free(peer->session);
		peer->session = NULL;
	}
	welcomed += peer->session && peer->session->client;
	peer_drain(peer);
}

static void step_request(const uint8_t *data, size_t length)
{
	struct asker asker = { .uid = geteuid(), .gid = getegid(), .pid = getpid() };
	json_t *request = json_loadb((const char *)data, length, 0, NULL), *answer = NULL;

	if (json_is_object(request)) {
		const char *op = json_string_value(json_object_get(request, "op"));
		json_t *name = json_object_get(request, "name");
		bool of_tenant = json_is_string(name) && !strcmp(json_string_value(name), "fuzz");
		bool of_honest = json_is_string(name) && !strcmp(json_string_value(name), "honest");

		/* Its end would take the tenant from under the peers; an upgrade starts programs. */
		if (!of_honest && (!op || (strcmp(op, "upgrade") && (strcmp(op, "grant_delete") || !of_tenant)))) {
			check(verbs_treat(&daemon_under_test, &asker, request, VERBS_LAST, &answer) == VERBS_ANSWERED);
			check(answer && json_is_boolean(json_object_get(answer, "ok")));
			daemon_under_test.stopping = false;
		}
	}
	json_decref(answer);
	json_decref(request);
}

#ifdef HOSTILE_PAGE
/* What the clients write into their pages, and who reads it. */

enum hostile { HOSTILE_WRITE, HOSTILE_RUN, HOSTILE_LOOK, HOSTILE_KILL, HOSTILE_COUNT };

#define HOSTILE_FROM 128u /* steps from here on are these */
#define HONEST_UNITS 500u

static struct tenant *honest;
static uint64_t honest_word, virtual_ns;

static void honest_begin(void)
{
	struct wire_hello hello = { .head = { .type = WIRE_HELLO, .size = sizeof(hello), .serial = 1 },
				    .version = WIRE_VERSION,
				    .library = 1 };
	struct wire_reserve reserve = { .head = { .type = WIRE_RESERVE, .size = sizeof(reserve), .serial = 2 },
					.need_units = HONEST_UNITS };
	int pair[2];

	honest = make_tenant((struct grant){ .name = "honest", .share_count = 1 });
	check(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
	honest_peer = (struct peer){ session_new(honest, pair[0]), pair[1] };
	check(honest_peer.session);
	step_packet(&honest_peer, (const uint8_t *)&hello, sizeof(hello));
	step_packet(&honest_peer, (const uint8_t *)&reserve, sizeof(reserve));
	check(honest_peer.session && honest_peer.session->client);
	check(wire_take(account_of(&honest_peer, 0), HONEST_UNITS));
	honest_word = atomic_load(&account_of(&honest_peer, 0)->word);
}

/* meted's own sums, and the neighbour. */
static void check_sums(void)
{
	const struct ledger *ledger;

	for (struct tenant *t = daemon_under_test.tenants; t; t = t->next)
		for (unsigned int d = 0; d < t->grant.share_count; d++) {
			uint64_t granted = 0;

			for (struct client *c = t->clients; c; c = c->next)
				granted += c->granted_units[d];
			check(granted == t->grant.share[d].ledger.granted_units);
		}
	ledger = &honest->grant.share[0].ledger;
	check(wire_held(honest_word) == HONEST_UNITS);
	check(atomic_load(&account_of(&honest_peer, 0)->word) == honest_word);
	check(ledger->granted_units == HONEST_UNITS && ledger->quota_units == QUOTA_UNITS && !ledger->object_units);
}

/* Which part of the page, where in it, and eight bytes; any of its words, and some that mean something. */
static void hostile_write(struct peer *peer, const uint8_t *data, size_t length)
{
	struct wire_page *page = peer->session && peer->session->client ? peer->session->client->page.map : NULL;
	uint64_t now = clock_now_ns() + virtual_ns, value = 0;
	uint8_t *part;
	size_t size;

	if (!page || length < 4)
		return;
	memcpy(&value, data + 3, length - 3 < sizeof(value) ? length - 3 : sizeof(value));
	switch (data[0] % 8) {
	case 0:
		part = (uint8_t *)page;
		size = offsetof(struct wire_page, account);
		break;
	case 1:
	case 2:
	case 3:
		part = (uint8_t *)&page->account[0];
		size = sizeof(page->account[0]);
		break;
	default:
		part = (uint8_t *)&page->turn[0][data[0] / 8 % WIRE_ENGINES];
		size = sizeof(page->turn[0][0]);
	}
	if (data[0] & 128) /* a time not far from now */
		value = now + (uint64_t)(int64_t)(int32_t)value;
	memcpy(part + (data[1] | (size_t)data[2] << 8) * 4 % (size - 7), &value, sizeof(value));
}

static void run_turns(uint64_t later_ns)
{
	virtual_ns += later_ns;
	arbitrate_lock();
	for (struct tenant *t = daemon_under_test.tenants; t; t = t->next)
		for (int k = 0; k < WIRE_ENGINES; k++)
			if (t->places.at[0][k])
				engine_run(engine_of(t->places.at[0][k]), clock_now_ns() + virtual_ns);
	arbitrate_unlock();
}

/* meted is killed, and the next one finds the clients' pages. */
static void kill_meted(void)
{
	struct process process[PEERS];
	char name[PEERS][PAGE_NAME_BYTES];
	unsigned int count = 0;

	for (int i = 0; i < PEERS; i++)
		peer_close(&peers[i]);
	while (tenant->clients) {
		check(count < PEERS);
		process[count] = tenant->clients->process;
		page_name(tenant->grant.id, process[count].pid, process[count].start_time, name[count]);
		client_free(tenant->clients, true);
		count++;
	}
	while (count--) {
		struct process found;
		struct client *client;
		int pidfd = -1;

		check(!process_find(process[count].pid, &found, &pidfd));
		if (client_recover(tenant, &process[count], &pidfd, name[count], -1, &client))
			close(pidfd);
		else
			arbitrate_attach(client, true);
	}
	for (int i = 0; i < PEERS; i++)
		peer_connect(&peers[i]);
}

static void hostile_step(uint8_t what, const uint8_t *data, size_t length)
{
	struct peer *peer = &peers[what / HOSTILE_COUNT % PEERS];

	switch (what % HOSTILE_COUNT) {
	case HOSTILE_WRITE:
		hostile_write(peer, data, length);
		break;
	case HOSTILE_RUN:
		run_turns(length ? (uint64_t)data[0] << (length > 1 ? data[1] % 30 : 10) : 1000);
		break;
	case HOSTILE_LOOK:
		residence_look_now(&daemon_under_test);
		break;
	default:
		kill_meted();
	}
}
#endif

#ifdef HOSTILE_WORKER
/* What a worker that was taken over says. */

enum taken {
	TAKEN_WORD,    /* on its connection */
	TAKEN_IMAGE,   /* on that for images */
	TAKEN_MEMORY,  /* to the memory that it has for one */
	TAKEN_TRAFFIC, /* into the counts */
	TAKEN_TEXT,    /* to its standard error */
	TAKEN_PACKET,  /* on the connection to its grant that it was given last */
	TAKEN_AGAIN,   /* another one comes */
	TAKEN_COUNT,
};

#define TAKEN_FROM 128u /* steps from here on are these */
#define IMAGES_MOST (1u << 20)
#define TAKEN_PLACE "workers/fuzz"

static struct {
	pid_t pid;
	int control, images, error, memory, grant;
} taken = { .control = -1, .images = -1, .error = -1, .memory = -1, .grant = -1 };
static unsigned long connected, kept; /* connections that it was given, and images of it that were kept */

static struct worker *worker_now(void)
{
	return daemon_under_test.workers; /* there is one at most */
}

static void close_all(void)
{
	int *fds[] = { &taken.control, &taken.images, &taken.error, &taken.memory, &taken.grant };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		cleanup_close(fds[i]);
		*fds[i] = -1;
	}
}

/* Its process does nothing; with its grant meted may end it. */
static void live(void)
{
	if (taken.pid > 0 && !waitpid(taken.pid, NULL, WNOHANG))
		return;
	taken.pid = fork();
	check(taken.pid >= 0);
	if (taken.pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* What it had open would stay in the loop's poll. */
	for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
		close(fd);
	for (;;)
		pause();
}

static void worker_begin(void)
{
	struct worker *worker;
	int pair[2], counts;

	live();
	check(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	mkdirat(daemon_under_test.runtime.dir_fd, WORKER_FOLDER, 0700);
	daemon_under_test.images_most_bytes = IMAGES_MOST;
	worker = worker_adopt(&daemon_under_test, WORKER_BUSY, taken.pid, TAKEN_PLACE, pair[0]);
	check(worker);
	taken.control = pair[1];
	worker->grant_id = tenant->grant.id;
	counts = traffic_create(worker);
	taken.images = images_begin(worker);
	taken.error = words_begin(worker);
	check(counts >= 0 && taken.images >= 0 && taken.error >= 0);
	close(counts);
}

static void worker_over(void)
{
	if (worker_now())
		worker_free(worker_now());
	check(!worker_now());
	close_all();
	images_stop(&daemon_under_test);
}

/* The answers on one of its connections. Value: the descriptor that came with the last one that had any; -1. */
static int hear_answers(int fd, size_t bytes, void *ret)
{
	char control[CMSG_SPACE(4 * sizeof(int))];
	int last = -1;

	for (;;) {
		struct iovec io = { ret, bytes };
		struct msghdr msg = {
			.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
		};
		ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		struct cmsghdr *c;

		if (n <= 0)
			return last;
		check((size_t)n == bytes);
		c = CMSG_FIRSTHDR(&msg);
		if (!c)
			continue;
		check(c->cmsg_len == CMSG_LEN(sizeof(int)));
		cleanup_close(&last);
		memcpy(&last, CMSG_DATA(c), sizeof(int));
	}
}

/* As many bytes of what was meant, with its version or another one, and of another size or of its own. */
static void say_to(int fd, uint8_t how, void *what, size_t bytes, uint32_t version)
{
	if (how & 63)
		memcpy((uint8_t *)what + sizeof(uint32_t), &version, sizeof(version));
	if ((how & 0xf0) == 0x10)
		bytes = how & 15 ? bytes / 16 * (how & 15) : bytes + 1;
	send(fd, what, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	turn();
}

static void say_word(uint8_t how, const uint8_t *data, size_t length)
{
	struct {
		struct worker_word word;
		uint8_t more[8];
	} w = { 0 };
	struct worker_word answer;
	int fd;

	memcpy(&w, data, length < sizeof(w.word) ? length : sizeof(w.word));
	say_to(taken.control, how, &w, sizeof(w.word), WORKER_VERSION);
	fd = hear_answers(taken.control, sizeof(answer), &answer);
	if (fd < 0)
		return;
	check(answer.type == WORKER_CONNECTED && !answer.status);
	cleanup_close(&taken.grant);
	taken.grant = fd;
	connected++;
}

static void say_image(uint8_t how, const uint8_t *data, size_t length)
{
	static const uint64_t sizes[] = { 0,	      1,	  WORKER_IMAGE_LEAST, IMAGES_MOST, IMAGES_MOST + 1,
					  UINT64_MAX, 1ull << 40, IMAGES_MOST / 3,    4096,	   100000 };
	struct {
		struct worker_image word;
		uint8_t more[8];
	} w = { 0 };
	struct worker_image answer = { 0 };
	struct stat st;
	int fd;

	w.word.type = length ? data[0] % 8 : WORKER_IMAGE_ROOM;
	w.word.bytes = sizes[length > 1 ? data[1] % (sizeof(sizes) / sizeof(*sizes)) : 2];
	w.word.hash[0] = length > 2 ? data[2] % 8 : 0;
	if (length > 3)
		w.word.bytes += data[3];
	say_to(taken.images, how, &w, sizeof(w.word), WORKER_IMAGE_VERSION);
	fd = hear_answers(taken.images, sizeof(answer), &answer);
	if (fd < 0)
		return;
	check(answer.type == WORKER_IMAGE_ROOM && answer.bytes <= IMAGES_MOST);
	check(!fstat(fd, &st) && (uint64_t)st.st_size == worker_image_room(answer.bytes));
	cleanup_close(&taken.memory);
	taken.memory = fd;
}

static void write_memory(const uint8_t *data, size_t length)
{
	struct stat before, after;

	if (taken.memory < 0 || !length || fstat(taken.memory, &before))
		return;
	if (data[0] % 4 == 0 && ftruncate(taken.memory, data[0] * 1024) && pwrite(taken.memory, data, length, 0) < 0)
		return;
	if (data[0] % 4 == 1 && fcntl(taken.memory, F_ADD_SEALS, data[0] / 4 & 15) < 0)
		return;
	if (data[0] % 4 > 1 && pwrite(taken.memory, data, length, data[0] * 64) < 0)
		return;
	check(!fstat(taken.memory, &after) && before.st_size == after.st_size);
}

/* Anywhere but in what says that it is such a file, and then somebody looks. */
static void write_traffic(const uint8_t *data, size_t length)
{
	struct worker *w = worker_now();
	size_t from = offsetof(struct worker_traffic, relayed), room = sizeof(*w->traffic) - from;
	char text[512];

	if (!w || !w->traffic || length < 3)
		return;
	from += (data[0] | (size_t)data[1] << 8) % room;
	length = length - 2 < sizeof(*w->traffic) - from ? length - 2 : sizeof(*w->traffic) - from;
	memcpy((uint8_t *)w->traffic + from, data + 2, length);
	if (tenant->telemetry)
		traffic_take(w, tenant->telemetry);
	moving_follow(tenant);
	json_decref(moving_waiting_json(tenant));
	check(moving_pins(w, text, sizeof(text)));
}

static void write_text(const uint8_t *data, size_t length)
{
	if (write(taken.error, data, length) == (ssize_t)length)
		turn();
}

static void say_packet(const uint8_t *data, size_t length)
{
	_cleanup_free_ uint8_t *packet = malloc(length ? length : 1);

	check(packet);
	if (length)
		memcpy(packet, data, length);
	if (length == sizeof(struct wire_hello))
		memset(packet + offsetof(struct wire_hello, held_units), 0, sizeof(uint32_t) * WIRE_MAX_DEVICES);
	if (taken.grant < 0)
		return;
	send(taken.grant, packet, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	turn();
	peer_drain(&(struct peer){ .fd = taken.grant });
	for (const struct client *c = tenant->clients; c; c = c->next)
		welcomed += c->process.pid == taken.pid;
}

static void taken_step(uint8_t what, const uint8_t *data, size_t length)
{
	const uint8_t how = length ? data[0] : 1, *rest = data + (length > 0);
	json_t *images;

	switch ((what - TAKEN_FROM) % TAKEN_COUNT) {
	case TAKEN_WORD:
		say_word(how, rest, length - (length > 0));
		break;
	case TAKEN_IMAGE:
		say_image(how, rest, length - (length > 0));
		break;
	case TAKEN_MEMORY:
		write_memory(data, length);
		break;
	case TAKEN_TRAFFIC:
		write_traffic(data, length);
		break;
	case TAKEN_TEXT:
		write_text(data, length);
		break;
	case TAKEN_PACKET:
		say_packet(data, length);
		break;
	case TAKEN_AGAIN:
		worker_over();
		worker_begin();
	}
	check(images_kept_bytes(&daemon_under_test) <= IMAGES_MOST);
	images = images_json(tenant);
	kept += json_integer_value(json_object_get(images, "kept")) > 0;
	json_decref(images);
}
#endif

static void do_step(uint8_t what, const uint8_t *data, size_t length)
{
	struct peer *peer = &peers[what / STEP_COUNT % PEERS];
	struct wire_account *a = account_of(peer, length ? data[0] : 0);
	uint32_t units = length > 1 ? data[1] : 1;

#ifdef HOSTILE_PAGE
	if (what >= HOSTILE_FROM) {
		hostile_step(what, data, length);
		return;
	}
#endif
#ifdef HOSTILE_WORKER
	if (what >= TAKEN_FROM) {
		taken_step(what, data, length);
		return;
	}
#endif
	switch (what % STEP_COUNT) {
	case STEP_PACKET:
		step_packet(peer, data, length);
		break;
	case STEP_TAKE:
		if (a)
			wire_take(a, units);
		break;
	case STEP_GIVE:
		if (a && wire_held(atomic_load(&a->word)) >= units)
			wire_give(a, units);
		break;
	case STEP_MEASURE:
		if (a)
			atomic_store(&a->measuring, units % 3);
		break;
	case STEP_RECONNECT:
		peer_close(peer);
		peer_connect(peer);
		break;
	case STEP_TURN:
		turn();
		break;
	case STEP_REQUEST:
		step_request(data, length);
		break;
	}
	/* A turn of the loop may have ended a session that was being closed. */
	for (int i = 0; i < PEERS; i++) {
		struct session *s = tenant->sessions;

		while (s && s != peers[i].session)
			s = s->next;
		peers[i].session = s;
	}
}

/* One byte: what. Two bytes: how much data. The data. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	int steps = 0;

	world_begin();
	while (length >= 3 && steps++ < STEPS_MAX) {
		size_t size = data[1] | (size_t)data[2] << 8;

		if (size > length - 3)
			size = length - 3;
		do_step(data[0], data + 3, size);
		check_sums();
		data += 3 + size;
		length -= 3 + size;
	}
	world_end();
	return 0;
}

static void nothing(void *owner)
{
	(void)owner;
}

static void remove_directory(void)
{
	char command[128];

	runtime_close(&daemon_under_test.runtime);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (*directory && system(command))
		fprintf(stderr, "daemon_fuzz: %s stays\n", directory);
}

static void add_device(unsigned int index)
{
	struct machine *machine = &daemon_under_test.machine;
	struct device *d = &machine->device[machine->device_count++];

	*d = (struct device){ .kind = DEVICE_SOFT, .index = index, .total_bytes = DEVICE_BYTES, .granule_bytes = 512 };
	d->uuid[15] = (uint8_t)index;
	strcpy(d->name, "mete software device");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const struct residence_options memory = { .turn_ns = 2000000000u };
	struct daemon *d = &daemon_under_test;
	char error[512] = "";
	int pair[2];
	pid_t child;

	(void)argc;
	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	child = fork();
	check(child >= 0);
	if (!child) {
		close(pair[0]);
		make_pairs(pair[1]);
	}
	close(pair[1]);
	maker_fd = pair[0];
	snprintf(directory, sizeof(directory), "%s/mete-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	check(mkdtemp(directory));
	uv_loop_init(&loop);
	*d = (struct daemon){ .loop = &loop, .control_fd = -1, .spare_fd = -1 };
	page_guard();
	d->memory = &memory;
	if (runtime_open(&d->runtime, NULL, directory, false, error, sizeof(error)) ||
	    store_open(":memory:", false, &d->store, error, sizeof(error))) {
		fprintf(stderr, "daemon_fuzz: %s\n", error);
		return 1;
	}
	log_open("/dev/null");
	d->reap = timer_new(&loop, nothing, d);
	d->sweep = timer_new(&loop, nothing, d);
	d->machine.driver[0] = (struct driver){ .kind = DEVICE_SOFT, .usable = true, .libcuda = "/nowhere" };
	d->machine.driver[1] = (struct driver){ .kind = DEVICE_NVIDIA, .status = "none" };
	add_device(0);
	add_device(1);
	return 0;
}

#ifndef FUZZ_ENGINE

#define INPUT_BYTES 65536u
#define SECONDS 5

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Steps of two inputs one after the other, then some bytes changed: numbers mostly to what lies at a limit. */
static size_t mutate(uint8_t *data, size_t length, uint32_t *state)
{
	static const uint8_t likely[] = { 0, 1, 2, 3, 7, 15, 16, 17, 0x7f, 0x80, 0xff, 0xe8 };

	for (uint32_t edits = next_random(state) % 12; edits && length; edits--) {
		size_t at = next_random(state) % length;

		if (next_random(state) % 8)
			data[at] = next_random(state) % 2 ? likely[next_random(state) % sizeof(likely)]
							  : (uint8_t)next_random(state);
		else if (next_random(state) % 2)
			length = at;
		else
			memmove(data + at, data + at + 1, --length - at);
	}
	return length;
}

struct corpus {
	uint8_t *data;
	size_t length;
};

static struct corpus corpus_read(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "rb");
	struct corpus c = { .data = malloc(INPUT_BYTES / 4) };

	check(f && c.data);
	c.length = fread(c.data, 1, INPUT_BYTES / 4, f);
	return c;
}

int main(int argc, char **argv)
{
	static uint8_t data[INPUT_BYTES];
	struct corpus *corpus = calloc((size_t)argc, sizeof(*corpus));
	size_t files = (size_t)argc - 1;
	unsigned long rounds = 0;
	uint32_t state = 2463534242u;
	time_t until = time(NULL) + SECONDS;

	check(files && corpus);
	if (LLVMFuzzerInitialize(&argc, &argv))
		return 1;
	for (size_t i = 0; i < files; i++) {
		corpus[i] = corpus_read(argv[i + 1]);
		LLVMFuzzerTestOneInput(corpus[i].data, corpus[i].length);
	}
	check(welcomed >= files); /* else the corpus is of another version, and tries next to nothing */
#ifdef HOSTILE_WORKER
	check(connected && kept);
#endif
	while (time(NULL) < until && rounds < 50000) {
		size_t length = 0;

		for (uint32_t parts = 1 + next_random(&state) % 3; parts; parts--) {
			const struct corpus *c = &corpus[next_random(&state) % files];

			memcpy(data + length, c->data, c->length);
			length += c->length;
		}
		length = mutate(data, length, &state);
		LLVMFuzzerTestOneInput(data, length);
		rounds++;
	}
	printf("daemon_fuzz: %zu inputs and %lu mutations, no violation\n", files, rounds);
	for (size_t i = 0; i < files; i++)
		free(corpus[i].data);
	free(corpus);
	close(maker_fd);
#ifdef HOSTILE_WORKER
	kill(taken.pid, SIGKILL);
	waitpid(taken.pid, NULL, 0);
#endif
	wait(NULL);
	timer_free(daemon_under_test.reap);
	timer_free(daemon_under_test.sweep);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	store_close(daemon_under_test.store);
	log_close();
	remove_directory();
	return 0;
}
#endif
