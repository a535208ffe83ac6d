/*
 * daemon_fuzz.c: fuzz target for what meted is told: packets of clients and requests on the control socket.
 *
 * LLVMFuzzerTestOneInput() is the entry that a fuzzing engine calls (link with -fsanitize=fuzzer and -DFUZZ_ENGINE).
 * Without an engine main() feeds it the corpus (files named on the command line) and mutations of it from a fixed seed.
 *
 * An input is a list of steps: one byte that says what, then what it needs. The handlers run as in meted, on two real
 * processes' connections, a store in memory and page files; only the loop does not run between the steps. What must
 * hold after every step: the ledger is the sum of the pages, nothing is granted above the quota, nothing crashes.
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

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define QUOTA_UNITS 1000u
#define PEERS 2
#define STEPS_MAX 200

enum step { STEP_PACKET, STEP_TAKE, STEP_GIVE, STEP_MEASURE, STEP_RECONNECT, STEP_TURN, STEP_REQUEST, STEP_COUNT };

struct peer {
	struct session *session; /* meted's side */
	int fd;			 /* the client's */
};

static struct daemon daemon_under_test;
static uv_loop_t loop;
static char directory[64];
static struct tenant *tenant;
static struct peer peers[PEERS];
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

static void world_begin(void)
{
	static struct grant grant = {
		.name = "fuzz", .kind = DEVICE_SOFT, .libcuda = "", .libnvml = "", .share_count = 2
	};
	char error[512];

	grant.id = daemon_new_id(&daemon_under_test);
	for (unsigned int i = 0; i < grant.share_count; i++) {
		grant.share[i].device = daemon_under_test.machine.device[i];
		ledger_init(&grant.share[i].ledger, QUOTA_UNITS);
	}
	check(!store_add(daemon_under_test.store, &grant, error, sizeof(error)));
	check(!tenant_new(&daemon_under_test, &grant, false, &tenant, error, sizeof(error)));
	for (int i = 0; i < PEERS; i++)
		peer_connect(&peers[i]);
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
	while (daemon_under_test.tenants) {
		check(!store_remove(daemon_under_test.store, daemon_under_test.tenants->grant.id, error,
				    sizeof(error)));
		tenant_free(daemon_under_test.tenants, false);
	}
	tenant = NULL;
	turn();
}

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
	/* A claim is believed: what it says beyond the quota is no bug. */
	if (length == sizeof(struct wire_hello))
		memset(packet + offsetof(struct wire_hello, held_units), 0, sizeof(uint32_t) * WIRE_MAX_DEVICES);
	if (peer->session && !session_message(peer->session, packet, length)) {
		session_free(peer->session);
		peer->session = NULL;
	}
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

		/* Its end would take the tenant from under the peers; an upgrade starts programs. */
		if (!op || (strcmp(op, "upgrade") && (strcmp(op, "grant_delete") || !of_tenant))) {
			check(verbs_treat(&daemon_under_test, &asker, request, VERBS_LAST, &answer) == VERBS_ANSWERED);
			check(answer && json_is_boolean(json_object_get(answer, "ok")));
			daemon_under_test.stopping = false;
		}
	}
	json_decref(answer);
	json_decref(request);
}

static void do_step(uint8_t what, const uint8_t *data, size_t length)
{
	struct peer *peer = &peers[what / STEP_COUNT % PEERS];
	struct wire_account *a = account_of(peer, length ? data[0] : 0);
	uint32_t units = length > 1 ? data[1] : 1;

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

	*d = (struct device){ .kind = DEVICE_SOFT, .index = index, .total_bytes = 16ull << 30, .granule_bytes = 512 };
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
