/* dial.c: see dial.h. */
#include "remote/relay/dial.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_MS 10000u

__attribute__((format(printf, 3, 4))) static int fail(struct dial *d, enum wall_status status, const char *fmt, ...)
{
	va_list ap;

	d->status = status;
	va_start(ap, fmt);
	vsnprintf(d->text, sizeof(d->text), fmt, ap);
	va_end(ap);
	return (int)status;
}

static const char *port_of(const struct relay_target *t)
{
	return t->port ? t->port : RELAY_PORT;
}

static uint64_t deadline(const struct relay_target *t)
{
	return clock_now_ns() + (uint64_t)(t->connect_ms ? t->connect_ms : CONNECT_MS) * 1000000;
}

int dial_init(struct dial *d, const struct relay_target *target)
{
	memset(d, 0, sizeof(*d));
	d->target = target;
	snprintf(d->peer, sizeof(d->peer), strchr(target->host, ':') ? "[%.120s]:%.30s" : "%.120s:%.30s", target->host,
		 port_of(target));
	if (target->ucx && !target->plain)
		return fail(d, WALL_REFUSED,
			    "UCX encrypts nothing: say --plain as well if the network to %s is trusted", target->host);
	if (target->ucx && !ucx_present())
		return fail(d, WALL_REFUSED, "this mete was built without UCX; leave --ucx out");
	if (target->trust == RELAY_PLAIN)
		return 0;
	d->status = (enum wall_status)tls_client_new(&d->tls, target, d->text);
	return (int)d->status;
}

/* ---------------------------------------------------------------------------------------------------- connecting ---
 */

/* Why nothing, or not this, came from the server. Each thread has its own answer. */
static int explain(struct dial *d, struct line *line, int r, enum wall_status *ret_status, char *text)
{
	int status = line->ops->explain(line, text);

	if (!status) {
		status = WALL_UNREACHABLE;
		snprintf(text, RELAY_TEXT_BYTES,
			 r == -ETIMEDOUT ? "%s does not answer; is it a mete server, and is it "
					   "well? see its log"
					 : "%s ended the connection; is it a mete server? see "
					   "its log",
			 d->peer);
	}
	*ret_status = (enum wall_status)status;
	return status;
}

/* Connects, says the preface, proves. NULL: *ret_status, text. */
static struct line *dial_line(struct dial *d, const struct frame_preface *preface, uint64_t until_ns,
			      enum wall_status *ret_status, char *text)
{
	const struct relay_target *t = d->target;
	struct iovec part = { (void *)(uintptr_t)preface, sizeof(*preface) };
	int fd = tcp_dial(t->host, port_of(t), until_ns, text);
	struct line *line;

	*ret_status = WALL_UNREACHABLE;
	if (fd < 0)
		return NULL;
	if (t->trust == RELAY_PLAIN && !t->plain && !tcp_is_loopback(fd)) {
		close(fd);
		*ret_status = WALL_REFUSED;
		snprintf(text, RELAY_TEXT_BYTES,
			 "%s is another machine: give a key or a certificate, or say --plain if the network is trusted",
			 t->host);
		return NULL;
	}
	if (tcp_write(fd, until_ns, &part, 1) < 0) {
		close(fd);
		snprintf(text, RELAY_TEXT_BYTES, "%s ended the connection; is it a mete server? see its log", d->peer);
		return NULL;
	}
	if (d->tls)
		return tls_line(d->tls, fd, false, until_ns, ret_status, text);
	line = tcp_line(fd);
	if (line)
		line->ops->until(line, until_ns);
	else
		snprintf(text, RELAY_TEXT_BYTES, "no memory");
	return line;
}

static struct frame_preface preface_of(struct dial *d, enum frame_purpose purpose)
{
	struct frame_preface p = {
		.magic = FRAME_MAGIC,
		.version = FRAME_VERSION,
		.purpose = (uint8_t)purpose,
		.trust = (uint8_t)d->target->trust,
	};

	if (purpose == FRAME_LANE)
		memcpy(p.route, d->welcome.route, sizeof(p.route));
	return p;
}

/* One core ciphers about as fast as one stream goes without: where there are some to spare, several do it at once. */
static unsigned int lanes_of(const struct relay_target *t)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (t->lanes)
		return t->lanes;
	if (t->trust == RELAY_PLAIN || cores < 4)
		return 1;
	return cores < 8 ? 2 : 4;
}

static struct frame_hello hello_of(struct dial *d, const struct wall_hello *wall, unsigned int flags)
{
	const struct relay_target *t = d->target;
	struct frame_hello h = {
		.magic = FRAME_MAGIC,
		.version = FRAME_VERSION,
		.flags = (uint16_t)(flags | (t->ucx ? FRAME_UCX : 0)),
		.size = sizeof(h),
		.lanes = lanes_of(t),
		.patience_ms = t->patience_ms ? t->patience_ms : RELAY_PATIENCE_MS,
		.wall = *wall,
	};

	if (wall->flags & WALL_BASED && t->offer)
		snprintf(h.wall.name + FRAME_BROUGHT_BYTES, sizeof(h.wall.name) - FRAME_BROUGHT_BYTES, "%s", t->offer);
	else if (t->offer)
		snprintf(h.wall.name, sizeof(h.wall.name), "%s", t->offer);
	return h;
}

int dial_open(struct dial *d, const struct wall_hello *wall, unsigned int flags)
{
	struct frame_preface preface = preface_of(d, FRAME_SESSION);
	struct frame_hello hello = hello_of(d, wall, flags);
	uint64_t until_ns = deadline(d->target);
	int r;

	d->first = dial_line(d, &preface, until_ns, &d->status, d->text);
	if (!d->first)
		return (int)d->status;
	r = line_write(d->first, &hello, sizeof(hello));
	/* Even if that failed, there may be an answer that says why. */
	if (!r || r == -EPIPE || r == -ECONNRESET)
		r = line_read_all(d->first, &d->welcome, sizeof(d->welcome));
	if (r < 0)
		return explain(d, d->first, r, &d->status, d->text);
	if (!frame_check_welcome(&d->welcome))
		return fail(d, WALL_WRONG_VERSION,
			    "%s does not speak as a mete server of this version; install the same "
			    "mete on both",
			    d->peer);
	if (d->welcome.status)
		return fail(d, (enum wall_status)d->welcome.status, "%s", d->welcome.wall.text);
	if (d->target->ucx && !(d->welcome.flags & FRAME_UCX))
		return fail(d, WALL_REFUSED, "%s does not offer UCX; leave --ucx out, or start the server with it",
			    d->peer);
	return 0;
}

/* --------------------------------------------------------------------------------------------------------- lanes ---
 */

/* One lane on its way; a thread for each, so that they cost the round trips of one. */
struct lane_dial {
	struct dial *dial;
	pthread_t thread;
	enum frame_role role;
	unsigned int index;
	uint64_t until_ns;
	struct line **ret;
	enum wall_status status;
	char text[RELAY_TEXT_BYTES];
};

static void *lane_dial(void *lane_dial)
{
	struct lane_dial *l = lane_dial;
	struct dial *d = l->dial;
	struct frame_preface preface = preface_of(d, FRAME_LANE);
	struct frame_lane lane = { .magic = FRAME_MAGIC, .role = (uint16_t)l->role, .index = (uint16_t)l->index };
	struct line *line = dial_line(d, &preface, l->until_ns, &l->status, l->text);
	int r;

	if (!line)
		return NULL;
	memcpy(lane.token, d->welcome.token, sizeof(lane.token));
	r = line_write(line, &lane, sizeof(lane));
	if (r < 0) {
		explain(d, line, r, &l->status, l->text);
		line_close(line);
		return NULL;
	}
	l->status = WALL_OK;
	*l->ret = line;
	return NULL;
}

/* Waits until the server has all of them. */
static int await_ready(struct dial *d)
{
	struct frame_head head;
	int r = line_read_all(d->messages_in, &head, sizeof(head));
	char text[RELAY_TEXT_BYTES] = { 0 };

	if (r < 0)
		return explain(d, d->messages_in, r, &d->status, d->text);
	if (head.kind == FRAME_READY && !head.bytes)
		return 0;
	if (head.kind == FRAME_BYE && head.bytes < sizeof(text) &&
	    line_read_all(d->messages_in, text, head.bytes) == 0 && head.value && head.value <= WALL_STATUS_MOST)
		return fail(d, (enum wall_status)head.value, "%s", text);
	return fail(d, WALL_BAD, "%s sent what the protocol does not allow; install the same mete on both", d->peer);
}

/* The same lines go on by UCX; in the same order at both ends. */
static int change_to_ucx(struct dial *d)
{
	struct line **all[2 + 2 * RELAY_LANES_MOST] = { &d->first, &d->messages_in };
	unsigned int n = 2;
	struct line *line;

	for (unsigned int i = 0; i < d->welcome.lanes; i++) {
		all[n++] = &d->payloads_out[i];
		all[n++] = &d->payloads_in[i];
	}
	for (unsigned int i = 0; i < n; i++) {
		line = ucx_line(*all[i], true, d->text);
		if (!line) {
			d->status = WALL_UNREACHABLE;
			return (int)d->status;
		}
		*all[i] = line;
	}
	return 0;
}

static int settle(struct dial *d)
{
	int r = await_ready(d);

	if (!r && d->target->ucx)
		r = change_to_ucx(d);
	if (r)
		return r;
	r = d->first->ops->until(d->first, 0);
	if (!r)
		r = d->messages_in->ops->until(d->messages_in, 0);
	for (unsigned int i = 0; i < d->welcome.lanes && !r; i++) {
		r = d->payloads_in[i]->ops->until(d->payloads_in[i], 0);
		if (!r)
			r = d->payloads_out[i]->ops->until(d->payloads_out[i], 0);
	}
	return r ? fail(d, WALL_UNREACHABLE, "%s: %s", d->peer, strerror(-r)) : 0;
}

int dial_lanes(struct dial *d)
{
	struct lane_dial lanes[1 + 2 * RELAY_LANES_MOST];
	unsigned int n = 0, started;
	uint64_t until_ns = deadline(d->target);

	lanes[n++] = (struct lane_dial){ .role = FRAME_MESSAGES_DOWN, .ret = &d->messages_in };
	for (unsigned int i = 0; i < d->welcome.lanes; i++) {
		lanes[n++] = (struct lane_dial){ .role = FRAME_PAYLOADS_UP, .index = i, .ret = &d->payloads_out[i] };
		lanes[n++] = (struct lane_dial){ .role = FRAME_PAYLOADS_DOWN, .index = i, .ret = &d->payloads_in[i] };
	}
	for (started = 0; started < n; started++) {
		lanes[started].dial = d;
		lanes[started].until_ns = until_ns;
		if (pthread_create(&lanes[started].thread, NULL, lane_dial, &lanes[started]))
			break;
	}
	d->status = WALL_OK;
	for (unsigned int i = 0; i < started; i++) {
		pthread_join(lanes[i].thread, NULL);
		if (lanes[i].status && !d->status)
			fail(d, lanes[i].status, "%s", lanes[i].text);
	}
	if (started < n)
		return fail(d, WALL_FULL, "no memory for a session");
	if (d->status)
		return (int)d->status;
	d->first->ops->until(d->first, until_ns);
	return settle(d);
}

void dial_deinit(struct dial *d)
{
	line_close(d->first);
	line_close(d->messages_in);
	for (unsigned int i = 0; i < RELAY_LANES_MOST; i++) {
		line_close(d->payloads_in[i]);
		line_close(d->payloads_out[i]);
	}
	tls_free(d->tls);
}
