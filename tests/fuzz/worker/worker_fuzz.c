/*
 * worker_fuzz.c: fuzz target for the worker: whatever a client sends, through the real rings to the real handlers,
 *which call the software device.
 *
 * LLVMFuzzerTestOneInput() is the entry that a fuzzing engine calls (link with -fsanitize=fuzzer and -DFUZZ_ENGINE).
 * Without an engine main() runs inputs of its own making from a fixed seed, for METE_FUZZ_SECONDS (4), and the files
 *named on the command line first.
 *
 * Inputs that begin with "rec" are what real programs sent: messages, each behind its size (4 bytes). They were written
 *by
 *
 *	worker_fuzz --record SOCKET FILE	(then a program with METE_REMOTE=SOCKET)
 *
 * and main() changes bytes and words of them, too. Ids and addresses of a session are the same each time, so what is
 *not changed goes on to work.
 *
 * Any other input is a list of requests: call (2 bytes), flags (1), context (1), number of words (1), and the words,
 *each a byte that says what it is and what that needs (enum word). So ids, addresses and lengths that mean something
 *are likely, and everything else is possible. With FUZZ_LIBRARIES the worker has the forwarded libraries (remote/libs),
 *too, and requests to them have the number of a call of theirs and an object in front. What must hold: nothing crashes,
 *and every request that waits is answered or the session ends. What a session leaves in the driver ends with its
 *process; so without an engine a process runs for a second or two only.
 */
#include "cuda_remote.h"
#ifdef FUZZ_LIBRARIES
#include "remote/libs/serve.h"
#endif
#include "remote/worker/driver.h"
#include "remote/worker/execute.h"
#include "remote/worker/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define REQUESTS_MOST 64u
#define HARVEST 256u
#define ANSWER_NS UINT64_C(20000000000)
#define BODY_MOST 4096u
#ifdef FUZZ_LIBRARIES
#define LIBRARIES (FORWARD_NUMBER_END - CALL_LIBRARY)
#else
#define LIBRARIES 0
#endif

enum word {
	WORD_RAW,   /* 8 bytes */
	WORD_SMALL, /* 1 byte */
	WORD_SIZE,  /* 1 byte: a power of two, more or less */
	WORD_ID,    /* kind, slot: an id of the client's */
	WORD_FOUND, /* 1 byte: what an answer told, an id or an address */
	WORD_NEAR,  /* 2 bytes: the same, and something added */
	WORD_BYTES, /* 1 byte: so many bytes follow as they are */
	WORD_ARENA, /* 1 byte: an offset of the arena */
	WORD_COUNT
};

struct input {
	const uint8_t *at;
	size_t left;
};

static struct cuda_table driver;
static uint64_t found[HARVEST];
static unsigned int found_count;
static uint32_t ticket;
static uint64_t serial;
/* What came of it, for who reads the test's output. */
static unsigned int asked, good;
static bool done[65536];

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "worker_fuzz: %s does not hold\n", #cond);                                     \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

static uint8_t take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static uint64_t take_raw(struct input *in)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < 64; i += 8)
		v |= (uint64_t)take(in) << i;
	return v;
}

static uint64_t found_at(uint8_t i)
{
	return found_count ? found[i % found_count] : 0;
}

static uint64_t make_id(uint8_t kind, uint8_t slot)
{
	return CALL_ID(kind % (KIND_COUNT + 1), 1, slot % 16);
}

/* One word of the body; value: how many bytes it took. */
static size_t put_word(struct input *in, uint8_t *to, const struct wall *wall)
{
	uint64_t v = 0;
	uint8_t n;

	switch (take(in) % WORD_COUNT) {
	case WORD_RAW:
		v = take_raw(in);
		break;
	case WORD_SMALL:
		v = take(in);
		break;
	case WORD_SIZE:
		n = take(in);
		v = (UINT64_C(1) << n % 40) + (n >= 128 ? n % 3 : 0) - 1;
		break;
	case WORD_ID:
		n = take(in);
		v = make_id(n, take(in));
		break;
	case WORD_FOUND:
		v = found_at(take(in));
		break;
	case WORD_NEAR:
		n = take(in);
		v = found_at(n) + (uint64_t)(int64_t)(int8_t)take(in) * 64;
		break;
	case WORD_ARENA:
		n = take(in);
		v = (n & 1 ? wall->welcome.heap_offset : wall->welcome.in_offset) + n / 2 * UINT64_C(4096);
		break;
	default:
		n = take(in);
		for (unsigned int i = 0; i < n; i++)
			to[i] = take(in);
		return n;
	}
	memcpy(to, &v, sizeof(v));
	return sizeof(v);
}

/* They would wait for what nobody does here; a client that does so waits for itself. */
static bool waits_for_ever(uint16_t call)
{
	switch (call) {
	case CUDA_CALL_cuStreamWaitValue32:
	case CUDA_CALL_cuStreamWaitValue64:
	case CUDA_CALL_cuStreamWaitValue32_v2:
	case CUDA_CALL_cuStreamWaitValue64_v2:
	case CUDA_CALL_cuStreamBatchMemOp:
	case CUDA_CALL_cuStreamBatchMemOp_v2:
	case CUDA_CALL_cuGraphAddBatchMemOpNode:
	case CUDA_CALL_cuLaunchHostFunc:
	case CUDA_CALL_cuStreamAddCallback:
	case CUDA_CALL_cuGraphAddHostNode:
	case CUDA_CALL_cuGraphAddNode:
	case CUDA_CALL_cuGraphAddNode_v2:
		return true;
	default:
		return false;
	}
}

/* In front of a request to a library: which call of it, and about which object. Value: how many bytes it took. */
static size_t put_library(struct input *in, const struct call_request *head, uint8_t *to)
{
	uint64_t front[2] = { 0 };
	uint8_t object;

	if (head->call < CALL_LIBRARY || head->call >= CALL_LIBRARY + LIBRARIES)
		return 0;
	front[0] = take(in);
	front[0] |= (uint64_t)(take(in) & 3) << 8;
	object = take(in);
	if (object)
		front[1] = object & 64 ? found_at(object) : make_id(KIND_FORWARDED, object);
	memcpy(to, front, sizeof(front));
	return sizeof(front);
}

static size_t build(struct input *in, uint8_t *message, const struct wall *wall)
{
	struct call_request head = { .thread = 1 };
	size_t size = sizeof(head);
	uint8_t flags, words;

	head.call = take(in);
	head.call = (uint16_t)(head.call | take(in) << 8);
	if (head.call >= CUDA_CALL_COUNT && head.call < CALL_FIRST)
		head.call %= CUDA_CALL_COUNT;
	if (waits_for_ever(head.call))
		head.call = CALL_PING;
	flags = take(in);
	head.flags = (flags & 3) != 3 ? CALL_WAITS : 0;
	head.ticket = head.flags ? ++ticket : 0;
	head.thread = 1 + (flags >> 2) % 3;
	head.context = make_id(KIND_CONTEXT, take(in));
	if (!(head.context & 15))
		head.context = flags & 128 ? found_at(flags) : 0;
	if ((flags & 0x70) == 0x70) {
		struct call_payload p = { .offset = wall->welcome.in_offset, .bytes = 64, .serial = ++serial };

		head.flags |= CALL_PAYLOAD;
		memcpy(message + size, &p, sizeof(p));
		size += sizeof(p);
	}
	size += put_library(in, &head, message + size);
	for (words = take(in); words && size < BODY_MOST; words--) {
		size_t n = put_word(in, message + size, wall);

		memset(message + size + n, 0, remote_padded(n) - n);
		size += remote_padded(n);
	}
	head.size = (uint32_t)size;
	memcpy(message, &head, sizeof(head));
	return size;
}

/* What answers tell is what a client would use next. */
static void harvest(const struct call_reply *reply, size_t size)
{
	const uint64_t *word = (const uint64_t *)(const void *)(reply + 1);

	asked += !!reply->ticket;
	if (reply->result != CUDA_SUCCESS || !reply->ticket)
		return;
	good++;
	done[reply->call] = true;
	for (size_t i = 0; i < (size - sizeof(*reply)) / 8 && i < 8; i++)
		if (word[i] >= 4096)
			found[found_count++ % HARVEST] = word[i];
	if (found_count > HARVEST)
		found_count = HARVEST;
}

/* Reads answers up to that of `wanted`. False: the session has ended. */
static bool read_until(struct wall *wall, uint32_t wanted)
{
	_Alignas(8) static uint8_t copy[1 << 20];

	for (;;) {
		const void *at;
		struct call_reply reply;
		size_t size;
		int r = ring_next(&wall->replies, &at, &size, ANSWER_NS);

		if (r < 0)
			return false;
		check(r == 1); /* an answer came in time */
		check(size >= sizeof(reply) && size <= sizeof(copy));
		memcpy(copy, at, size);
		ring_release(&wall->replies);
		memcpy(&reply, copy, sizeof(reply));
		check(reply.size == size);
		harvest((const struct call_reply *)(const void *)copy, size);
		if (reply.ticket == wanted && wanted)
			return true;
	}
}

static bool send_message(struct wall *wall, const uint8_t *message, size_t size)
{
	struct call_request head;
	void *to;

	memcpy(&head, message, sizeof(head));
	if (ring_begin(&wall->requests, size, &to))
		return false;
	memcpy(to, message, size);
	ring_commit(&wall->requests, size);
	return !head.ticket || read_until(wall, head.ticket);
}

static bool send_ping(struct wall *wall)
{
	struct call_request ping = {
		.size = sizeof(ping), .call = CALL_PING, .flags = CALL_WAITS, .ticket = ++ticket, .thread = 1
	};

	return send_message(wall, (const uint8_t *)&ping, sizeof(ping));
}

static void *run(void *argument)
{
	struct worker *worker = argument;

	session_run(worker);
	/* As serve() does, but for the memory. */
	ring_close(&worker->wall->requests);
	ring_close(&worker->wall->replies);
	return NULL;
}

/* A driver that was told of it already says no. */
static void destroy(enum remote_kind kind, void *handle)
{
	if (kind == KIND_CONTEXT)
		driver.cuCtxDestroy_v2(handle);
	else if (kind == KIND_LIBRARY)
		driver.cuLibraryUnload(handle);
	else if (kind == KIND_GRAPH_EXEC)
		driver.cuGraphExecDestroy(handle);
	else if (kind == KIND_GRAPH)
		driver.cuGraphDestroy(handle);
}

static void clean_kind(struct worker *worker, enum remote_kind kind)
{
	for (unsigned int t = 0; t < 2; t++)
		for (unsigned int i = 0; i < IDS_CHUNKS && worker->ids.chunk[t][i]; i++)
			for (unsigned int k = 0; k < IDS_CHUNK; k++) {
				struct id_entry *e = &worker->ids.chunk[t][i][k];

				if (e->id && ids_kind(e->id) == kind)
					destroy(kind, e->handle);
			}
}

/* What the session leaves in the driver goes with the process; here by hand. */
static void clean_driver(struct worker *worker)
{
	static const enum remote_kind kinds[] = { KIND_GRAPH_EXEC, KIND_GRAPH, KIND_LIBRARY, KIND_CONTEXT };
	int count = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		clean_kind(worker, kinds[i]);
	driver.cuDeviceGetCount(&count);
	for (int i = 0; i < count; i++)
		driver.cuDevicePrimaryCtxReset_v2(i);
}

/* Both ends in one process: the client's is a copy of the worker's, as its map of the same memory would be. */
static void make_client(const struct wall *wall, struct wall *ret)
{
	*ret = *wall;
	wall_bell_init(&ret->bell, 0);
	ring_attach(&ret->requests, wall->requests.shared, wall->welcome.ring_bytes, &ret->bell.bell);
	ring_attach(&ret->replies, wall->replies.shared, wall->welcome.ring_bytes, &ret->bell.bell);
}

/* The next message of a recording; a size that cannot be is cut. */
static size_t replay(struct input *in, uint8_t *message, size_t most)
{
	uint32_t size = 0;

	for (unsigned int i = 0; i < 32; i += 8)
		size |= (uint32_t)take(in) << i;
	size &= ~7u;
	if (size > most)
		size = (uint32_t)most & ~7u;
	if (size > in->left)
		size = (uint32_t)in->left & ~7u;
	memcpy(message, in->at, size);
	in->at += size;
	in->left -= size;
	return size;
}

/* Whether it is left out: what would wait for ever, or for what has been left out. */
static bool left_out(const uint8_t *message, size_t size)
{
	struct call_request head;

	if (size < sizeof(head))
		return true;
	memcpy(&head, message, sizeof(head));
	return waits_for_ever(head.call) || head.call == CALL_HOST_DONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct wall_shape shape = { .flags = WALL_COHERENT, .heap_bytes = 1 << 24 };
	_Alignas(8) static uint8_t message[1 << 20];
	bool recorded = length > 4 && !memcmp(data, "rec", 4);
	struct input in = { data + (recorded ? 4 : 0), length - (recorded ? 4 : 0) };
	size_t size, longest;
	static struct worker worker;
	struct wall wall, client;
	pthread_t thread;
	bool lives = true;

	found_count = 0;
	serial = 0;
	check(!wall_make(&wall, &shape));
	make_client(&wall, &client);
	check(!session_init(&worker, &driver, &wall));
	check(!pthread_create(&thread, NULL, run, &worker));
	longest = ring_longest(wall.welcome.ring_bytes);
	for (unsigned int i = 0; (recorded || i < REQUESTS_MOST) && in.left && lives; i++) {
		size = recorded ? replay(&in, message, longest) : build(&in, message, &client);
		if (size && !left_out(message, size))
			lives = send_message(&client, message, size);
	}
	if (lives)
		send_ping(&client);
	ring_close(&client.requests);
	ring_close(&client.replies);
	pthread_join(thread, NULL);
	clean_driver(&worker);
	session_deinit(&worker);
	wall_close(&wall);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *path = getenv("METE_FUZZ_DRIVER");
	static char dir[] = "/tmp/worker-fuzz-XXXXXX";
	char why[400];

	(void)argc;
	(void)argv;
	if (!path || !mkdtemp(dir)) {
		fprintf(stderr, "worker_fuzz: METE_FUZZ_DRIVER names the software device's library\n");
		exit(2);
	}
	setenv("METE_SOFT_DIR", dir, 1);
	setenv("METE_SOFT_DEVICES", "2", 1);
	setenv("METE_SOFT_MEMORY", "2G", 1);
	setenv("METE_SOFT_TIME", "off", 1);
	setenv("METE_SOFT_TIMEOUT", "1", 1);
	if (!driver_open(path, &driver, why, sizeof(why))) {
		fprintf(stderr, "worker_fuzz: %s\n", why);
		exit(2);
	}
	check(driver.cuInit(0) == CUDA_SUCCESS);
#ifdef FUZZ_LIBRARIES
	forward_libraries_open(&driver, path);
#endif
	return 0;
}

#ifndef FUZZ_ENGINE
/* Recording: a worker of its own for one real client. */

static FILE *record;

static void *record_enter(void *arg, uint8_t **ret_message)
{
	struct worker *worker = arg;
	struct execute_room *room = malloc(sizeof(*room));

	check(room && !execute_room_init(room, &worker->rooms, ring_longest(worker->wall->welcome.ring_bytes)));
	*ret_message = room->request;
	return room;
}

static void record_leave(void *arg, void *room)
{
	(void)arg;
	execute_room_deinit(room);
	free(room);
}

static int record_execute(void *arg, void *at, size_t size)
{
	struct execute_room *room = at;
	uint32_t bytes = (uint32_t)size;
	bool yielded;

	fwrite(&bytes, sizeof(bytes), 1, record);
	fwrite(room->request, size, 1, record);
	fflush(record);
	return execute(arg, room, size, &yielded);
}

static int record_session(const char *path, const char *file)
{
	static const struct inbox_ops ops = { record_enter, record_leave, record_execute };
	struct wall_welcome more = { .flags = WALL_COHERENT, .fingerprint = CUDA_REMOTE_FINGERPRINT };
	struct wall_shape shape = { .flags = WALL_COHERENT, .heap_bytes = 1 << 24 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), client;
	static struct worker worker;
	struct wall_hello hello;
	struct wall wall;

	record = fopen(file, "wb");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	unlink(path);
	check(record && !bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, 1));
	fwrite("rec", 4, 1, record);
	client = accept(fd, NULL, NULL);
	check(!wall_receive_hello(client, CUDA_REMOTE_FINGERPRINT, &hello, 5000));
	check(!wall_make(&wall, &shape) && !session_init(&worker, &driver, &wall));
	inbox_init(&worker.inbox, &wall.requests, &ops, &worker);
	check(!wall_welcome(&wall, client, &more));
	session_run(&worker);
	fclose(record);
	unlink(path);
	return 0;
}

static uint64_t random_state = 88172645463325252u;

static uint32_t next_random(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % below;
}

/* Calls that make what the others need come more often. */
static uint16_t random_call(void)
{
	static const uint16_t often[] = { CUDA_CALL_cuDevicePrimaryCtxRetain,
					  CUDA_CALL_cuMemAlloc_v2,
					  CUDA_CALL_cuStreamCreate,
					  CUDA_CALL_cuEventCreate,
					  CUDA_CALL_cuGraphCreate,
					  CUDA_CALL_cuGraphInstantiateWithFlags,
					  CUDA_CALL_cuGraphLaunch,
					  CUDA_CALL_cuMemsetD8_v2,
					  CUDA_CALL_cuStreamBeginCapture_v2,
					  CUDA_CALL_cuCtxCreate_v2,
					  CUDA_CALL_cuMemPoolCreate,
					  CUDA_CALL_cuArrayCreate_v2,
					  CALL_OPEN,
					  CALL_MEMORY,
					  CALL_MEMORY + 1,
					  CALL_MEMORY + 2,
					  CALL_MEMORY + 3,
					  CALL_IMAGE,
					  CALL_IMAGE + 1,
					  CALL_IMAGE + 2,
					  CALL_GRAPH,
					  CALL_GRAPH + 1 };

	if (LIBRARIES && next_random(3))
		return (uint16_t)(CALL_LIBRARY + next_random(LIBRARIES + !LIBRARIES));
	if (next_random(3) == 0)
		return often[next_random(sizeof(often) / sizeof(*often))];
	return next_random(16) ? (uint16_t)next_random(CUDA_CALL_COUNT) : (uint16_t)(0xff00 + next_random(256));
}

static size_t random_input(uint8_t *to, size_t most)
{
	size_t size = 0;
	unsigned int requests = 1 + next_random(24);

	while (requests-- && size + 400 < most) {
		uint16_t call = random_call();
		unsigned int words = next_random(8);

		to[size++] = (uint8_t)call;
		to[size++] = (uint8_t)(call >> 8);
		to[size++] = (uint8_t)next_random(256);
		to[size++] = (uint8_t)next_random(4);
		if (call >= CALL_LIBRARY && call < CALL_LIBRARY + LIBRARIES) {
			to[size++] = (uint8_t)next_random(256);
			to[size++] = (uint8_t)next_random(next_random(2) ? 1 : 3);
			to[size++] = (uint8_t)next_random(next_random(3) ? 8 : 256);
		}
		to[size++] = (uint8_t)words;
		while (words--) {
			static const uint8_t likely[] = { WORD_SMALL, WORD_SMALL, WORD_SIZE, WORD_ID,	 WORD_FOUND,
							  WORD_FOUND, WORD_NEAR,  WORD_RAW,  WORD_BYTES, WORD_ARENA };
			unsigned int n;

			to[size] = likely[next_random(sizeof(likely))];
			n = to[size] == WORD_RAW ? 8 : 2;
			size++;
			for (unsigned int i = 0; i < n; i++)
				to[size++] = (uint8_t)(next_random(2) ? next_random(256) : next_random(4));
		}
	}
	return size;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define FILE_MOST (1u << 20)
#define FILES_MOST 32

static struct {
	uint8_t *data;
	size_t size;
} files[FILES_MOST];
static unsigned int file_count;

static void read_file(const char *path)
{
	FILE *f = fopen(path, "rb");

	if (!f || file_count == FILES_MOST)
		return;
	files[file_count].data = malloc(FILE_MOST);
	files[file_count].size = fread(files[file_count].data, 1, FILE_MOST, f);
	fclose(f);
	file_count++;
}

/* A recording with a few bytes or words changed, or cut. */
static size_t change_file(uint8_t *to)
{
	unsigned int which = next_random(file_count), changes = 1 + next_random(6);
	size_t size = files[which].size, at;

	memcpy(to, files[which].data, size);
	while (changes-- && size > 64) {
		uint64_t v = next_random(2) ? next_random(8) : UINT64_C(1) << next_random(64);

		at = 8 + next_random((uint32_t)(size - 24));
		switch (next_random(4)) {
		case 0:
			to[at] = (uint8_t)next_random(256);
			break;
		case 1:
			to[at] ^= (uint8_t)(1u << next_random(8));
			break;
		case 2:
			memcpy(to + at / 8 * 8, &v, sizeof(v));
			break;
		default:
			memcpy(to + at / 8 * 8, to + (8 + next_random((uint32_t)(size - 24))) / 8 * 8, 8);
		}
	}
	return size;
}

/* A process of its own: what it did is added to the parent's sums. Value: its wait status. */
static int run_child(unsigned int round, double seconds, int out)
{
	unsigned int sums[4] = { 0 };
	double end = now() + seconds;
	static uint8_t data[FILE_MOST];

	LLVMFuzzerInitialize(NULL, NULL);
	random_state += round * UINT64_C(0x9e3779b97f4a7c15);
	for (unsigned int i = 0; i < file_count && !round; i++)
		LLVMFuzzerTestOneInput(files[i].data, files[i].size);
	for (; now() < end; sums[0]++) {
		size_t size = file_count && next_random(4) ? change_file(data) : random_input(data, 8192);
		const char *keep = getenv("METE_FUZZ_LAST");
		FILE *f = keep ? fopen(keep, "wb") : NULL;

		if (f) {
			fwrite(data, 1, size, f);
			fclose(f);
		}
		LLVMFuzzerTestOneInput(data, size);
	}
	sums[1] = asked;
	sums[2] = good;
	for (unsigned int i = 0; i < 65536; i++)
		sums[3] += done[i];
	check(write(out, sums, sizeof(sums)) == sizeof(sums));
	return 0;
}

int main(int argc, char **argv)
{
	const char *seconds = getenv("METE_FUZZ_SECONDS");
	double end = now() + (seconds ? atof(seconds) : 4);
	unsigned int sums[4], all[4] = { 0 };
	int ends[2], status = 0;

	if (argc == 4 && !strcmp(argv[1], "--record")) {
		LLVMFuzzerInitialize(NULL, NULL);
		return record_session(argv[2], argv[3]);
	}
	for (int i = 1; i < argc; i++)
		read_file(argv[i]);
	check(!pipe(ends));
	for (unsigned int round = 0; !status && (!round || now() < end); round++) {
		pid_t pid = fork();

		if (!pid)
			_exit(run_child(round, end - now() < 2 ? end - now() : 2, ends[1]));
		waitpid(pid, &status, 0);
		if (status || read(ends[0], sums, sizeof(sums)) != sizeof(sums))
			break;
		for (unsigned int i = 0; i < 3; i++)
			all[i] += sums[i];
		all[3] = sums[3] > all[3] ? sums[3] : all[3];
	}
	printf("%u inputs; %u requests answered, %u with success, of %u calls\n", all[0], all[1], all[2], all[3]);
	if (status)
		printf("a worker ended with status %#x\n", (unsigned int)status);
	return status != 0;
}
#endif
