/*
 * serve_fuzz.c: any bytes at meted's two doors for people: HTTP and the control socket, over real sockets and the real
 * loop. A libFuzzer target where FUZZ_ENGINE is defined, else a driver of its own.
 *
 * The first byte of a text says which door, the second how long the pieces are in which the rest is sent. What must
 * hold: HTTP answers with statuses that are known, and without the token nothing changes; the control socket answers
 * every line that is sent with one JSON object in its turn; whoever hangs up leaves nothing behind.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/tenants/residence.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/health/faults.h"
#include "daemon/health/health.h"
#include "daemon/http/http.h"
#include "daemon/http/token.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/tenants/end.h"
#include "daemon/tenants/page.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/arbitrate.h"
#include "daemon/turns/trace.h"
#include "daemon/upgrade/upgrade.h"
#include "daemon/workers/images.h"
#include "daemon/workers/worker.h"
#include "text_fuzz.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int __wrap_machine_refresh(struct daemon *daemon, machine_fn fn, void *owner);
void __wrap_machine_forget(struct daemon *daemon, const void *owner);
int __wrap_upgrade_begin(struct daemon *daemon, const char *binary, bool check_only, struct control *control,
			 char *error, size_t size);

#define QUOTA_UNITS 1000u
#define TEXT_BYTES 65536u
#define ANSWER_BYTES (4u << 20)
#define WAIT_NS 10000000000u /* longer than anything takes; then it is a fault */
#define WAITING 64u

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "serve_fuzz: %s does not hold\n", #cond);                                      \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

enum door { DOOR_HTTP, DOOR_HTTP_TOKEN, DOOR_CONTROL, DOORS };

static struct daemon daemon_under_test;
static uv_loop_t loop;
static char directory[64], token[TOKEN_BYTES];
static char answer[ANSWER_BYTES];
static unsigned long statuses[600], lines_answered;

/* What would start programs. */

static struct {
	machine_fn fn;
	void *owner;
} waiting[WAITING];

int __wrap_machine_refresh(struct daemon *daemon, machine_fn fn, void *owner)
{
	(void)daemon;
	for (unsigned int i = 0; i < WAITING; i++)
		if (!waiting[i].fn) {
			waiting[i].fn = fn;
			waiting[i].owner = owner;
			return 0;
		}
	return -ENOMEM;
}

void __wrap_machine_forget(struct daemon *daemon, const void *owner)
{
	(void)daemon;
	for (unsigned int i = 0; i < WAITING; i++)
		if (waiting[i].owner == owner)
			waiting[i].fn = NULL;
}

int __wrap_upgrade_begin(struct daemon *daemon, const char *binary, bool check_only, struct control *control,
			 char *error, size_t size)
{
	(void)daemon;
	(void)binary;
	(void)check_only;
	(void)control;
	snprintf(error, size, "not here");
	return -EPERM;
}

static void turn(void)
{
	uv_run(&loop, UV_RUN_NOWAIT);
	for (unsigned int i = 0; i < WAITING; i++)
		if (waiting[i].fn) {
			machine_fn fn = waiting[i].fn;

			waiting[i].fn = NULL;
			fn(waiting[i].owner);
		}
	daemon_under_test.stopping = false;
}

/* The world. */

static void world_begin(void)
{
	static struct grant grant = { .name = "fuzz", .kind = DEVICE_SOFT, .libcuda = "", .libnvml = "",
				      .share_count = 2 };
	struct daemon *d = &daemon_under_test;
	struct tenant *tenant;
	char error[512];

	d->machine.asked_ns = clock_now_ns();
	grant.id = daemon_new_id(d);
	for (unsigned int i = 0; i < grant.share_count; i++) {
		grant.share[i].device = d->machine.device[i];
		ledger_init(&grant.share[i].ledger, QUOTA_UNITS);
	}
	check(!store_add(d->store, &grant, error, sizeof(error)));
	check(!tenant_new(d, &grant, false, &tenant, error, sizeof(error)));
}

static void world_end(void)
{
	struct daemon *d = &daemon_under_test;
	char error[512];

	for (uint64_t until = clock_now_ns() + WAIT_NS; d->controls;) {
		turn();
		check(clock_now_ns() < until);
	}
	trace_close(d);
	end_stop(d);
	while (d->tenants) {
		check(!store_remove(d->store, d->tenants->grant.id, error, sizeof(error)));
		tenant_free(d->tenants, false);
	}
	turn();
}

/* What nobody may change without the token. */
struct state {
	unsigned int tenants, cordoned, frozen;
	uint64_t quota_units;
};

static struct state state_of(void)
{
	struct state ret = { 0 };

	for (struct tenant *t = daemon_under_test.tenants; t; t = t->next) {
		ret.tenants++;
		ret.frozen += t->grant.share[0].compute.terms.frozen;
		ret.quota_units += t->grant.share[0].ledger.target_units;
	}
	for (struct health *h = daemon_under_test.health; h; h = h->next)
		ret.cordoned += h->cordoned || h->draining || h->drained;
	return ret;
}

static void check_unchanged(const struct state *before)
{
	struct state now = state_of();

	check(now.tenants == before->tenants && now.frozen == before->frozen);
	check(now.cordoned == before->cordoned && now.quota_units == before->quota_units);
	check(!daemon_under_test.endings);
}

/* A client. */

static int client_new(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory, name);
	check(fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

/* Reads what there is behind what was read before. Value: false when meted has hung up. */
static bool client_hear(int fd, size_t *used)
{
	ssize_t n;

	while ((n = recv(fd, answer + *used, ANSWER_BYTES - 1 - *used, 0)) > 0) {
		*used += (size_t)n;
		check(*used < ANSWER_BYTES - 1);
	}
	answer[*used] = 0;
	return n < 0 && errno == EAGAIN;
}

/* Says it in pieces. Value: false when meted has hung up. */
static bool client_say(int fd, const char *text, size_t length, size_t piece, size_t *used)
{
	while (length) {
		ssize_t n = send(fd, text, length < piece ? length : piece, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			break;
		text += n < 0 ? 0 : n;
		length -= n < 0 ? 0 : (size_t)n;
		turn();
		if (!client_hear(fd, used))
			return false;
	}
	return true;
}

static size_t count(const char *text, size_t length, char what)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++)
		n += text[i] == what;
	return n;
}

/* HTTP. */

static void check_statuses(size_t length)
{
	const char *at = answer, *end = answer + length;

	if (!length)
		return;
	check(length > 12 && !strncmp(answer, "HTTP/1.", 7));
	while ((at = memmem(at, (size_t)(end - at), "HTTP/1.", 7)) && at + 12 < end) {
		unsigned int status = isdigit(at[9]) ? (unsigned int)atoi(at + 9) : 0;

		at += 7;
		if (!status) /* it stands in somebody's text */
			continue;
		check(status < 600);
		statuses[status]++;
		if (status != 100 && status != 200 && status != 304 && (status < 400 || status > 499) &&
		    status != 501 && status != 503 && status != 505) {
			fprintf(stderr, "serve_fuzz: status %u: %s\n", status, answer);
			abort();
		}
	}
}

static void ask_http(const char *text, size_t length, size_t piece)
{
	_cleanup_close_ int fd = client_new("http.sock");
	size_t used = 0;
	bool there = client_say(fd, text, length, piece, &used);

	for (int i = 0; there && i < 8; i++) {
		turn();
		there = client_hear(fd, &used);
	}
	shutdown(fd, SHUT_WR);
	for (uint64_t until = clock_now_ns() + WAIT_NS; there; there = client_hear(fd, &used)) {
		turn();
		check(clock_now_ns() < until);
	}
	check_statuses(used);
}

/* Puts the token in the place of the word TOKEN. */
static size_t put_token(const char *text, size_t length, char *ret)
{
	const char *at = memmem(text, length, "TOKEN", 5);
	size_t before = at ? (size_t)(at - text) : length, rest = at ? length - before - 5 : 0;

	memcpy(ret, text, before);
	if (!at)
		return before;
	memcpy(ret + before, token, TOKEN_BYTES - 1);
	memcpy(ret + before + TOKEN_BYTES - 1, at + 5, rest);
	return before + TOKEN_BYTES - 1 + rest;
}

/* The control socket. */

static void check_lines(size_t used)
{
	char *line = answer, *end;

	while ((end = memchr(line, '\n', used - (size_t)(line - answer)))) {
		json_t *json = json_loadb(line, (size_t)(end - line), 0, NULL);

		check(json_is_object(json) && json_is_boolean(json_object_get(json, "ok")));
		check(json_is_true(json_object_get(json, "ok")) || json_is_string(json_object_get(json, "error")));
		json_decref(json);
		lines_answered++;
		line = end + 1;
	}
	check(line == answer + used);
}

static void ask_control(const char *text, size_t length, size_t piece)
{
	_cleanup_close_ int fd = client_new("control.sock");
	size_t used = 0, lines = count(text, length, '\n');
	bool there = client_say(fd, text, length, piece, &used), held = memmem(text, length, "trace", 5);

	check(there);
	for (uint64_t until = clock_now_ns() + WAIT_NS; count(answer, used, '\n') < lines && !held;) {
		turn();
		check(client_hear(fd, &used));
		check(clock_now_ns() < until);
	}
	check_lines(used);
	check(held || count(answer, used, '\n') == lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	static char text[TEXT_BYTES + TOKEN_BYTES];
	enum door door = length ? data[0] % DOORS : 0;
	size_t piece;
	struct state before;

	/* A process that is named as a grant's command may be killed. */
	if (length < 3 || length > TEXT_BYTES / 2 || memmem(data, length, "runner", 6))
		return 0;
	piece = data[1] % 64 ? data[1] % 64 : length;
	data += 2;
	length -= 2;
	world_begin();
	before = state_of();
	if (door == DOOR_HTTP_TOKEN)
		length = put_token((const char *)data, length, text);
	else
		memcpy(text, data, length);
	if (door == DOOR_CONTROL)
		ask_control(text, length, piece);
	else
		ask_http(text, length, piece);
	if (door == DOOR_HTTP)
		check_unchanged(&before);
	world_end();
	return 0;
}

static void nothing(void *owner)
{
	(void)owner;
}

static void add_device(unsigned int index)
{
	struct machine *machine = &daemon_under_test.machine;
	struct device *d = &machine->device[machine->device_count++];

	*d = (struct device){ .kind = DEVICE_SOFT, .index = index, .total_bytes = 16ull << 30, .granule_bytes = 512 };
	d->uuid[15] = (uint8_t)index;
	strcpy(d->name, "mete software device");
}

static int start(struct daemon *d, char *error, size_t size)
{
	static const struct residence_options memory = { .turn_ns = 2000000000u };
	struct http_options http = { 0 };

	d->memory = &memory;
	if (runtime_open(&d->runtime, NULL, directory, false, error, size) ||
	    store_open(":memory:", false, &d->store, error, size))
		return -1;
	strcpy(d->state_dir, directory);
	d->journal = journal_new();
	d->reap = timer_new(&loop, nothing, d);
	d->sweep = timer_new(&loop, nothing, d);
	if (arbitrate_start() || health_start(d, error, size) || faults_start(d, error, size) || telemetry_start(d))
		return -1;
	return token_new(directory, TOKEN_ACTS, token, error, size) || http_start(d, &http, error, size) ||
	       control_listen(d, error, size);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct daemon *d = &daemon_under_test;
	char error[512] = "";

	(void)argc;
	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	snprintf(directory, sizeof(directory), "%s/mete-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	check(mkdtemp(directory));
	uv_loop_init(&loop);
	*d = (struct daemon){ .loop = &loop, .control_fd = -1, .spare_fd = -1 };
	page_guard();
	log_open("/dev/null");
	d->machine.driver[0] = (struct driver){ .kind = DEVICE_SOFT, .usable = true, .libcuda = "/nowhere" };
	d->machine.driver[1] = (struct driver){ .kind = DEVICE_NVIDIA, .status = "none" };
	add_device(0);
	add_device(1);
	if (start(d, error, sizeof(error))) {
		fprintf(stderr, "serve_fuzz: %s\n", error);
		return 1;
	}
	return 0;
}

#ifndef FUZZ_ENGINE

static void leave(struct daemon *d)
{
	char command[128];

	d->stopping = true;
	control_close(d, true);
	http_stop(d, true);
	faults_stop(d);
	telemetry_stop(d);
	worker_leave(d);
	images_stop(d);
	arbitrate_stop();
	timer_free(d->reap);
	timer_free(d->sweep);
	health_stop(d);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	journal_free(d->journal);
	store_close(d->store);
	log_close();
	runtime_close(&d->runtime);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command))
		fprintf(stderr, "serve_fuzz: %s stays\n", directory);
}

/* 'c', 'd' and 'b' are the doors of HTTP, HTTP with the token, and control. '@': at once. */
static const char *const corpus[] = {
	"c@GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"c@GET / HTTP/1.0\r\n\r\n",
	"c\x05HEAD /api/v1/node HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n",
	"c@GET /metrics?compat=dcgm HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
	"c@GET /api/v1/history?tenant=fuzz&series=held,got&span=600 HTTP/1.1\r\nHost: x\r\n\r\n",
	"c@GET /api/v1/history?device=0&span=86400 HTTP/1.1\r\nHost: x\r\n\r\n",
	"c@GET /api/v1/events?after=0&limit=5&tenant=fuzz&kind=grant&device=1 HTTP/1.1\r\nHost: x\r\n\r\n",
	"c@GET /console/console.js HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"1\"\r\n\r\n",
	"c@GET /%2e%2e/%00/\xff?a=%&b HTTP/1.1\r\nHost: x\r\n\r\n",
	"c@OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
	"c@POST /api/v1/tenants/fuzz/end HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n",
	"c@POST /api/v1/devices/0/cordon HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer 00\r\nContent-Length: 2\r\n\r\n{}",
	"d@POST /api/v1/tenants/fuzz/end HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 2\r\n\r\n{}",
	"d\x09POST /api/v1/tenants/fuzz/freeze HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 0\r\n\r\n",
	"d@POST /api/v1/tenants/fuzz/resize HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 57\r\n"
	"\r\n{\"soon\":true,\"devices\":[{\"device\":\"0\",\"mem_bytes\":51200}]}",
	"d@POST /api/v1/devices/GPU-00000000-0000-0000-0000-000000000001/drain HTTP/1.1\r\nHost: x\r\n"
	"Authorization: Bearer TOKEN\r\nContent-Length: 42\r\n\r\n{\"reason\":\"x\",\"grace_s\":1,\"end\":true     }",
	"d@POST /api/v1/devices/1/uncordon HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 2\r\n\r\n{}",
	"b@{\"op\":\"hello\"}\n{\"op\":\"grants\"}\n",
	"b@{\"op\":\"devices\"}\n{\"op\":\"devices\",\"known\":true}\n{\"op\":\"policies\"}\n",
	"b\x07{\"op\":\"grant_create\",\"name\":\"a\",\"driver\":\"soft\",\"devices\":[{\"device\":\"0\",\"mem_pct\":12.5,\"cores\":20}]}\n"
	"{\"op\":\"grant_delete\",\"name\":\"a\"}\n",
	"b@{\"op\":\"grant_create\",\"driver\":\"auto\",\"overcommit\":true,\"devices\":[{\"device\":\"GPU-00\"},{\"device\":\"1\","
	"\"mem_bytes\":51200,\"policy\":\"fair\",\"class\":\"high\",\"turn_ns\":2000000}]}\n{\"op\":\"grants\",\"name\":\"fuzz\"}\n",
	"b@{\"op\":\"grant_set\",\"name\":\"fuzz\",\"soon\":true,\"devices\":[{\"device\":\"0\",\"mem_bytes\":1024}]}\n{\"op\":\"stop\"}\n",
	"b@{\"op\":\"grant_bind\",\"name\":\"fuzz\"}\n{\"op\":\"grant_end\",\"name\":\"fuzz\"}\n{\"op\":\"grant_release\",\"name\":\"fuzz\"}\n",
	"b@{\"op\":\"token_show\"}\n{\"op\":\"audit\",\"limit\":5}\n{\"op\":\"metrics\"}\n",
	"b@{\"op\":\"policy_set\",\"device\":\"0\",\"policy\":\"fair\"}\n{\"op\":\"device_health\"}\n",
	"b@{\"op\":\"device_cordon\",\"device\":\"0\",\"reason\":\"x\"}\n{\"op\":\"device_uncordon\",\"device\":\"0\"}\n",
	"b@{\"op\":\"device_drain\",\"device\":\"1\",\"grace_s\":1,\"end\":true}\n{\"op\":\"device_uncordon\",\"device\":\"1\"}\n",
	"b@{\"op\":\"events\",\"after\":0,\"limit\":3,\"kind\":\"grant\",\"tenant\":\"fuzz\",\"device\":\"0\"}\n",
	"b@{\"op\":\"trace_start\",\"device\":\"0\"}\n{\"op\":\"trace_read\",\"id\":1}\n{\"op\":\"trace_stop\",\"id\":1}\n",
	"d@POST /api/v1/devices/\xff%fe/uncordon HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 0\r\n\r\n",
	"b@{\"op\":\"o\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\"}\n",
	"b@{\"op\":\"grant_set\",\"name\":\"fuzz\",\"devices\":[{\"device\":\"0\",\"policy\":\""
	"x\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
	"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\"}]}\n",
	"b@{\"op\":\"device_cordon\",\"device\":\"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
	"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\"}\n",
	"b@{\"op\":\"device_cordon\",\"device\":\"1\",\"reason\":\"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
	"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
	"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
	"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\"}\n"
	"{\"op\":\"device_health\"}\n{\"op\":\"devices\"}\n",
	"b@[1]\nnull\n{\"op\":1e999}\n{\"op\":\"\\ud800\"}\n\n",
};

/* Texts that reach what they are to: else the checks above would hold for silence too. */
static void check_reached(void)
{
	check(statuses[200] && statuses[400] && statuses[401] && statuses[404] && statuses[405]);
	check(lines_answered > 100);
}

int main(int argc, char **argv)
{
	struct text_fuzz f = { .name = "serve_fuzz",
			       .corpus = corpus,
			       .texts = sizeof(corpus) / sizeof(*corpus),
			       .likely = "{}[]\":,/?&=% \r\n\n\t0159-+.eatTOKEN*;\\u",
			       .most = 512,
			       .rounds = 4000 };
	int r;

	if (LLVMFuzzerInitialize(&argc, &argv))
		return 1;
	r = text_fuzz_main(f, argc, argv);
	check_reached();
	for (unsigned int i = 0; i < 600; i++)
		if (statuses[i])
			printf("status %u: %lu\n", i, statuses[i]);
	leave(&daemon_under_test);
	return r;
}
#endif
