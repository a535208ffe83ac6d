/*
 * ucx.c: a line over UCX, for RDMA and other fast fabrics; see line.h.
 *
 * A line that is there (TCP, proved by TLS or not) carries the addresses of both sides' UCX workers; from then on the
 * bytes go over UCX, and the old line only tells of the other side's end. UCX chooses the transport: of the fabric, of
 * shared memory on one machine, or TCP, which make this code run everywhere. It encrypts nothing.
 *
 * The library is opened when it is asked for: it changes a process a good deal (hooks in malloc()), which is nothing
 * for programs that only might want it.
 *
 * What it must do without, since its process is closed in once its connections stand (sandbox.h): files. So it is told
 * to look up no routes, to handle no signals, and to ask nobody whether he is still there, which the base line knows.
 * Shared memory it uses only where UCX_TLS in the environment says so: which memory that is, the other side names.
 */
#include "base/clock.h"
#include "remote/relay/line.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#define LIBRARY "libucp.so.0"
#define ADDRESS_MOST 65536u
#define GREETING UINT64_C(0x6d65746520756378)
#define SPINS 100u
#define NAP_MS 1000
#define STEP_NS UINT64_C(1000000)
#define LAST_NS UINT64_C(100000000) /* for what is on its way when the other side has ended */

#define UCX_CALLS(_)                                                                                                   \
	_(ucp_config_read)                                                                                             \
	_(ucp_config_modify)                                                                                           \
	_(ucp_config_release)                                                                                          \
	_(ucp_init_version)                                                                                            \
	_(ucp_worker_create)                                                                                           \
	_(ucp_worker_destroy)                                                                                          \
	_(ucp_worker_get_address)                                                                                      \
	_(ucp_worker_release_address)                                                                                  \
	_(ucp_worker_get_efd)                                                                                          \
	_(ucp_worker_arm)                                                                                              \
	_(ucp_worker_progress)                                                                                         \
	_(ucp_ep_create)                                                                                               \
	_(ucp_ep_close_nbx)                                                                                            \
	_(ucp_ep_flush_nbx)                                                                                            \
	_(ucp_stream_send_nbx)                                                                                         \
	_(ucp_stream_recv_nbx)                                                                                         \
	_(ucp_request_check_status)                                                                                    \
	_(ucp_request_cancel)                                                                                          \
	_(ucp_request_free)

static struct {
#define MEMBER(name) __typeof__(&name) name;
	UCX_CALLS(MEMBER)
#undef MEMBER
} ucx;

static pthread_once_t context_once = PTHREAD_ONCE_INIT;
static bool ucx_there;
static ucp_context_h context; /* NULL: it cannot be had */

struct ucx_line {
	struct line line, *base;
	ucp_worker_h worker;
	ucp_ep_h ep;
	int event;
	bool cut;    /* any thread; relaxed: the base line's end wakes who sleeps */
	bool broken; /* by the error handler: the same thread */
	uint64_t until_ns;
};

bool ucx_shares_memory(void)
{
	return getenv("UCX_TLS") != NULL;
}

static void open_library(void)
{
	void *library;

	/* It reads them when it is loaded. */
	setenv("UCX_HANDLE_ERRORS", "none", true);
	setenv("UCX_TCP_PREFER_DEFAULT", "n", true);
	setenv("UCX_WARN_UNUSED_ENV_VARS", "n", true);
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;
	ucx_there = true;
#define FIND(name)                                                                                                     \
	*(void **)&ucx.name = dlsym(library, #name);                                                                   \
	ucx_there &= ucx.name != NULL;
	UCX_CALLS(FIND)
#undef FIND
}

/* Looked for in a child: this process may fork sessions, and the library does not outlive a fork well. */
bool ucx_present(void)
{
	pid_t child = fork();
	int status = 1;

	if (!child) {
		open_library();
		_exit(ucx_there ? 0 : 1);
	}
	if (child > 0)
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	return child > 0 && !status;
}

static void open_context(void)
{
	ucp_params_t params = { .field_mask = UCP_PARAM_FIELD_FEATURES,
				.features = UCP_FEATURE_STREAM | UCP_FEATURE_WAKEUP };
	ucp_config_t *config;

	open_library();
	if (!ucx_there || ucx.ucp_config_read(NULL, NULL, &config) != UCS_OK)
		return;
	ucx.ucp_config_modify(config, "KEEPALIVE_INTERVAL", "inf");
	if (!ucx_shares_memory())
		ucx.ucp_config_modify(config, "TLS", "^sm");
	if (ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context) != UCS_OK)
		context = NULL;
	ucx.ucp_config_release(config);
}

static struct ucx_line *of(struct line *line)
{
	return (struct ucx_line *)(void *)line;
}

/* ------------------------------------------------------------------------------------------------------- waiting ---
 */

/* The base line has ended, or says what it must not say any more. */
static bool base_ended(struct ucx_line *l)
{
	struct pollfd p = { .fd = l->base->ops->fd(l->base), .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

/* Until something happens, in bounds. 0; -ETIMEDOUT. */
static int sleep_once(struct ucx_line *l)
{
	struct pollfd p[2] = { { .fd = l->event, .events = POLLIN },
			       { .fd = l->base->ops->fd(l->base), .events = POLLRDHUP } };
	uint64_t now = clock_now_ns();
	int nap = NAP_MS;

	if (l->until_ns && now >= l->until_ns)
		return -ETIMEDOUT;
	if (l->until_ns && (l->until_ns - now) / 1000000 < NAP_MS)
		nap = (int)((l->until_ns - now) / 1000000) + 1;
	if (ucx.ucp_worker_arm(l->worker) == UCS_OK)
		poll(p, 2, nap);
	return 0;
}

/* Whether to go on: not past the time, and not long after the base line's end. *last_ns: when that is over. */
static int judge(struct ucx_line *l, uint64_t *last_ns)
{
	uint64_t now = clock_now_ns();

	if (l->until_ns && now >= l->until_ns)
		return -ETIMEDOUT;
	/* What was sent before the end is still to be read. */
	if (!*last_ns && base_ended(l))
		*last_ns = now + LAST_NS;
	return *last_ns && now > *last_ns ? -EPIPE : 0;
}

/*
 * Until the request is done; frees it. 0 or -errno. A transport whose other side is gone may report progress for ever,
 * so that is no reason to put off what ends the wait.
 */
static int await(struct ucx_line *l, ucs_status_ptr_t request)
{
	uint64_t last_ns = 0;
	unsigned int spins = 0, busy = 0;
	ucs_status_t status = UCS_OK;
	int r = 0;

	if (!UCS_PTR_IS_PTR(request))
		return UCS_PTR_STATUS(request) == UCS_OK ? 0 : -EPIPE;
	while (!r && (status = ucx.ucp_request_check_status(request)) == UCS_INPROGRESS) {
		if (__atomic_load_n(&l->cut, __ATOMIC_RELAXED)) {
			r = -EPIPE;
		} else if (ucx.ucp_worker_progress(l->worker)) {
			spins = 0;
			if (++busy % SPINS == 0)
				r = judge(l, &last_ns);
		} else if (l->broken) {
			r = -EPIPE;
		} else if (++spins > SPINS) {
			r = sleep_once(l);
			if (!r)
				r = judge(l, &last_ns);
		}
	}
	if (r < 0) {
		ucx.ucp_request_cancel(l->worker, request);
		for (unsigned int i = 0; i < SPINS && ucx.ucp_request_check_status(request) == UCS_INPROGRESS; i++)
			ucx.ucp_worker_progress(l->worker);
	}
	ucx.ucp_request_free(request);
	return r < 0 ? r : status == UCS_OK ? 0 : -EPIPE;
}

/* ---------------------------------------------------------------------------------------------------------- line ---
 */

/* A receive that did not end at once tells here how much it got. */
static void on_received(void *request, ucs_status_t status, size_t bytes, void *got)
{
	*(size_t *)got = bytes;
}

static ssize_t ucx_read(struct line *line, void *at, size_t bytes)
{
	struct ucx_line *l = of(line);
	size_t now = 0, later = 0;
	ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
		.cb = { .recv_stream = on_received },
		.user_data = &later,
	};
	ucs_status_ptr_t request = ucx.ucp_stream_recv_nbx(l->ep, at, bytes, &now, &params);
	int r;

	if (!request)
		return (ssize_t)now;
	r = await(l, request);
	if (r == -EPIPE)
		return 0;
	return r < 0 ? r : (ssize_t)later;
}

static int ucx_write(struct line *line, const struct iovec *parts, unsigned int n)
{
	struct ucx_line *l = of(line);
	ucp_request_param_t params = { 0 };
	int r = 0;

	for (unsigned int i = 0; i < n && !r; i++)
		if (parts[i].iov_len)
			r = await(l, ucx.ucp_stream_send_nbx(l->ep, parts[i].iov_base, parts[i].iov_len, &params));
	/* Nobody drives the transport after this: all must be out. */
	return r ? r : await(l, ucx.ucp_ep_flush_nbx(l->ep, &params));
}

static int ucx_until(struct line *line, uint64_t until_ns)
{
	of(line)->until_ns = until_ns;
	return 0;
}

static void ucx_cut(struct line *line)
{
	struct ucx_line *l = of(line);

	__atomic_store_n(&l->cut, true, __ATOMIC_RELAXED);
	l->base->ops->cut(l->base);
}

static void ucx_peer(struct line *line, struct relay_peer *ret)
{
	of(line)->base->ops->peer(of(line)->base, ret);
}

static uint64_t ucx_round_trip(struct line *line)
{
	return of(line)->base->ops->round_trip_ns(of(line)->base);
}

static int ucx_fd(struct line *line)
{
	return of(line)->base->ops->fd(of(line)->base);
}

static int ucx_explain(struct line *line, char ret_text[RELAY_TEXT_BYTES])
{
	return 0;
}

static void ucx_end(struct ucx_line *l)
{
	ucp_request_param_t params = { .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE };

	l->until_ns = clock_now_ns() + LAST_NS;
	__atomic_store_n(&l->cut, false, __ATOMIC_RELAXED); /* closing has its own bound */
	if (l->ep)
		await(l, ucx.ucp_ep_close_nbx(l->ep, &params));
	if (l->worker)
		ucx.ucp_worker_destroy(l->worker);
	free(l);
}

static void ucx_close(struct line *line)
{
	struct line *base = of(line)->base;

	ucx_end(of(line));
	base->ops->close(base);
}

static const struct line_ops ucx_ops = {
	.name = "UCX",
	.read = ucx_read,
	.write = ucx_write,
	.until = ucx_until,
	.cut = ucx_cut,
	.peer = ucx_peer,
	.round_trip_ns = ucx_round_trip,
	.fd = ucx_fd,
	.explain = ucx_explain,
	.close = ucx_close,
};

/* ------------------------------------------------------------------------------------------------------ beginning ---
 */

static void on_error(void *line, ucp_ep_h ep, ucs_status_t status)
{
	((struct ucx_line *)line)->broken = true;
}

static int make_worker(struct ucx_line *l)
{
	ucp_worker_params_t params = { .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
				       .thread_mode = UCS_THREAD_MODE_SERIALIZED };

	if (ucx.ucp_worker_create(context, &params, &l->worker) != UCS_OK)
		return -ENODEV;
	return ucx.ucp_worker_get_efd(l->worker, &l->event) == UCS_OK ? 0 : -ENODEV;
}

/* Sends our address over the base line, and reads theirs. *ret: to be freed. */
static int swap_addresses(struct ucx_line *l, void **ret)
{
	ucp_address_t *own;
	size_t bytes;
	uint32_t own_bytes, their_bytes;
	int r;

	if (ucx.ucp_worker_get_address(l->worker, &own, &bytes) != UCS_OK)
		return -ENODEV;
	own_bytes = (uint32_t)bytes;
	r = line_write_two(l->base, &own_bytes, sizeof(own_bytes), own, bytes);
	ucx.ucp_worker_release_address(l->worker, own);
	if (!r)
		r = line_read_all(l->base, &their_bytes, sizeof(their_bytes));
	if (r < 0)
		return r;
	if (!their_bytes || their_bytes > ADDRESS_MOST)
		return -EPROTO;
	*ret = malloc(their_bytes);
	return *ret ? line_read_all(l->base, *ret, their_bytes) : -ENOMEM;
}

/* Shared memory cannot tell of the other side's end; the base line does that anyway. */
static int make_endpoint(struct ucx_line *l, const void *address)
{
	ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
			      UCP_EP_PARAM_FIELD_ERR_HANDLER,
		.address = address,
		.err_mode = UCP_ERR_HANDLING_MODE_PEER,
		.err_handler = { on_error, l },
	};
	ucs_status_t status = ucx.ucp_ep_create(l->worker, &params, &l->ep);

	if (status != UCS_OK) {
		params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
		status = ucx.ucp_ep_create(l->worker, &params, &l->ep);
	}
	return status == UCS_OK ? 0 : -ENODEV;
}

/*
 * Both sides connecting at one instant is what UCX's TCP transport does not always survive (1.13). So one does, until
 * its connection stands, then says so on the base line; meanwhile the other one only drives its worker.
 */
static int connect_first(struct ucx_line *l, const void *address)
{
	ucp_request_param_t params = { 0 };
	uint8_t go = 1;
	int r = make_endpoint(l, address);

	if (!r)
		r = await(l, ucx.ucp_ep_flush_nbx(l->ep, &params));
	return r ? r : line_write(l->base, &go, sizeof(go));
}

/*
 * Drives the worker until the other side says, on the base line, that it has come as far. It is read in short steps:
 * poll() knows nothing of what TLS has taken from the socket already.
 */
static int await_word(struct ucx_line *l)
{
	uint8_t word;
	ssize_t n;

	do {
		for (unsigned int i = 0; i < SPINS && ucx.ucp_worker_progress(l->worker); i++)
			;
		if (clock_now_ns() >= l->until_ns)
			return -ETIMEDOUT;
		l->base->ops->until(l->base, clock_now_ns() + STEP_NS);
		n = line_read(l->base, &word, sizeof(word));
	} while (n == -ETIMEDOUT);
	l->base->ops->until(l->base, l->until_ns);
	return n == 1 ? 0 : n < 0 ? (int)n : -EPIPE;
}

static int connect_second(struct ucx_line *l, const void *address)
{
	int r = await_word(l);

	return r ? r : make_endpoint(l, address);
}

/*
 * A word each way: both know that it works, and that it is the other one. What one has sent may need the other's worker
 * to be driven, so neither goes on before both are done.
 */
static int greet(struct ucx_line *l)
{
	uint64_t own = GREETING, theirs = 0;
	uint8_t done = 1;
	int r = line_write(&l->line, &own, sizeof(own));

	if (!r)
		r = line_read_all(&l->line, &theirs, sizeof(theirs));
	if (!r && theirs != GREETING)
		r = -EPROTO;
	if (!r)
		r = line_write(l->base, &done, sizeof(done));
	return r ? r : await_word(l);
}

struct line *ucx_line(struct line *take_base, bool first, char ret_text[RELAY_TEXT_BYTES])
{
	struct ucx_line *l = calloc(1, sizeof(*l));
	void *address = NULL;
	int r;

	if (l)
		pthread_once(&context_once, open_context);
	if (!l || !context) {
		free(l);
		snprintf(ret_text, RELAY_TEXT_BYTES, "UCX does not start on this machine; leave --ucx out");
		return NULL;
	}
	l->line.ops = &ucx_ops;
	l->base = take_base;
	l->until_ns = clock_now_ns() + UINT64_C(10000000000);
	r = make_worker(l);
	if (!r)
		r = swap_addresses(l, &address);
	if (!r)
		r = first ? connect_first(l, address) : connect_second(l, address);
	if (!r)
		r = greet(l);
	free(address);
	if (!r)
		return &l->line;
	ucx_end(l);
	snprintf(ret_text, RELAY_TEXT_BYTES, "UCX cannot connect the two machines (%s); leave --ucx out", strerror(-r));
	return NULL;
}
