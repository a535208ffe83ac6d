/* session.c: messages of clients. */
#include "daemon/tenants/session.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/send_fds.h"
#include "daemon/tenants/account.h"
#include "daemon/daemon.h"
#include "daemon/tenants/guarded.h"
#include "daemon/tenants/limit.h"
#include "daemon/turns/doorbell.h"
#include "daemon/health/faults.h"
#include "daemon/log.h"
#include "daemon/telemetry.h"
#include "daemon/tenants/disk.h"
#include "daemon/tenants/end.h"
#include "daemon/tenants/others.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PACKETS_PER_TURN 16   /* then others have their turn */
#define BAD_MAX 8	      /* senseless messages, then the session ends */
#define WAITING_MAX 64	      /* requests of one session that wait for room */
#define SILENT_MAX 64	      /* of a grant that have not said HELLO */
#define HELD_PER_LOOK 32      /* programs of a tenant that may begin again; then others have their turn */
#define SESSIONS_OF_CLIENT 16 /* of one process */
#define HELLO_NS 10000000000u /* time to say HELLO */

static void on_readable(void *owner);

struct session *session_new(struct tenant *tenant, int fd)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s)
		s->watch = watch_new(tenant->daemon->loop, fd, on_readable, s);
	if (!s || !s->watch) {
		free(s);
		close(fd);
		return NULL;
	}
	s->tenant = tenant;
	s->fd = fd;
	s->began_ns = clock_now_ns();
	s->next = tenant->sessions;
	tenant->sessions = s;
	tenant->session_count++;
	return s;
}

void session_make_room(struct tenant *tenant)
{
	struct session *oldest = NULL;
	unsigned int silent = 0;

	for (struct session *s = tenant->sessions; s; s = s->next) {
		if (s->client || s->held)
			continue;
		silent++;
		oldest = s; /* the newest come first */
	}
	if (silent < SILENT_MAX)
		return;
	log_of_programs(tenant->grant.uid, tenant->grant.id,
			"grant %s: %u connections have said no HELLO: the oldest is closed", tenant->grant.name,
			silent);
	session_free(oldest);
}

void session_begin(struct session *session)
{
	on_readable(session);
}

/* It is not among those that are held any more. */
static void unhold(struct session *session)
{
	if (!session->held)
		return;
	free(session->held);
	session->held = NULL;
	session->tenant->held_count--;
}

void session_free(struct session *session)
{
	struct tenant *tenant = session->tenant;
	struct session **at = &tenant->sessions;

	while (*at != session)
		at = &(*at)->next;
	*at = session->next;
	tenant->session_count--;
	unhold(session);
	tenant_forget(session);
	if (session->client)
		residence_store_forget(session->client, session);
	watch_free(session->watch);
	close(session->fd);
	if (session->client)
		client_part(session->client);
	else
		daemon_reap_soon(tenant->daemon);
	free(session);
}

/* Ends the session at its own next turn: the caller may be working through a list that it stands in. */
static void end_soon(struct session *session)
{
	session->ending = true;
	shutdown(session->fd, SHUT_RDWR);
}

unsigned int session_end_left(struct tenant *tenant)
{
	unsigned int n = 0;

	for (struct session *s = tenant->sessions; s; s = s->next) {
		if (!s->client || s->client->death || s->ending)
			continue;
		end_soon(s);
		n++;
	}
	return n;
}

static const char *peer_text(const struct session *session)
{
	return session->client ? client_text(session->client) : "a process that has not said HELLO";
}

/* The descriptors that come with WELCOME: the page, the doorbell. */
#define WELCOME_FDS 2

static void send_with(struct session *session, const void *message, size_t size, const int *fds, unsigned int count)
{
	if (send_fds(session->fd, message, size, fds, count, MSG_DONTWAIT) >= 0)
		return;
	if (errno == EAGAIN)
		log_of_programs(session->tenant->grant.uid, session->tenant->grant.id,
				"grant %s: %s does not read its answers: connection closed",
				session->tenant->grant.name, peer_text(session));
	end_soon(session);
}

void session_answer(struct session *session, void *message, size_t size)
{
	if (!session->ending)
		send_with(session, message, size, NULL, 0);
}

static void answer_reserved(struct session *session, uint32_t serial, unsigned int device, enum wire_status status,
			    bool again)
{
	struct wire_reserved answer = { .again = again };

	wire_head(&answer.head, WIRE_RESERVED, sizeof(answer), serial, status);
	if (device < session->tenant->grant.share_count && session->client)
		answer.credit_units = account_credit(session->client, device);
	session_answer(session, &answer, sizeof(answer));
}

void session_answer_reserved(struct session *session, uint32_t serial, unsigned int device, enum wire_status status)
{
	answer_reserved(session, serial, device, status, false);
}

void session_answer_again(struct session *session, uint32_t serial, unsigned int device)
{
	answer_reserved(session, serial, device, WIRE_NO_ROOM, true);
}

/* A message that makes no sense: one line, and the end after a few. Value: false when the session is over. */
static bool senseless(struct session *session, uint32_t type, const char *why)
{
	telemetry_refused(session->tenant, REFUSAL_PROTOCOL);
	log_of_programs(session->tenant->grant.uid, session->tenant->grant.id,
			"grant %s: %s sent a %s that makes no sense: %s", session->tenant->grant.name,
			peer_text(session), wire_type_name(type), why);
	if (++session->bad < BAD_MAX)
		return true;
	log_of_programs(session->tenant->grant.uid, session->tenant->grant.id,
			"grant %s: %s goes on sending nonsense: connection closed", session->tenant->grant.name,
			peer_text(session));
	return false;
}

static bool refuse_hello(struct session *session, uint32_t serial, enum wire_status status)
{
	struct wire_welcome answer = { 0 };

	if (status != WIRE_BAD)
		telemetry_refused(session->tenant, status == WIRE_FULL ? REFUSAL_ATTACH : REFUSAL_PROTOCOL);
	wire_head(&answer.head, WIRE_WELCOME, sizeof(answer), serial, status);
	session_answer(session, &answer, sizeof(answer));
	return false;
}

static void refuse_by_name(struct session *session, const struct process *process, const struct wire_hello *hello,
			   enum wire_status status, uint32_t wait_s, const char *why)
{
	struct tenant *tenant = session->tenant;
	struct wire_welcome answer = { .wait_s = wait_s };

	log_of_programs(tenant->grant.uid, tenant->grant.id, "grant %s: pid %d (%s) is refused: %s", tenant->grant.name,
			(int)process->pid, process->command, why);
	wire_head(&answer.head, WIRE_WELCOME, sizeof(answer), hello->head.serial,
		  hello->version < 3 ? WIRE_FULL : status);
	snprintf(answer.grant_name, sizeof(answer.grant_name), "%s", tenant->grant.name);
	session_answer(session, &answer, sizeof(answer));
}

/* False: a process that is not attached yet may not begin now, and has been told. */
static bool may_begin(struct session *session, const struct process *process, int pidfd, const struct wire_hello *hello)
{
	struct tenant *tenant = session->tenant;
	uint32_t wait_s = 0;
	char why[512];
	bool ours;

	if (client_find(tenant, process))
		return true;
	if (!tenant_may_begin(tenant, &ours, &wait_s, why, sizeof(why))) {
		refuse_by_name(session, process, hello, ours ? WIRE_QUARANTINED : WIRE_OUT_OF_SERVICE, wait_s, why);
		return false;
	}
	/* The driver of a program behind a wall is in a worker, which is meted's own. */
	if (session->peer_pid || guarded_admits(tenant, process, pidfd, why, sizeof(why)))
		return true;
	refuse_by_name(session, process, hello, WIRE_UNGUARDED, 0, why);
	return false;
}

static void fill_welcome(const struct session *session, struct wire_welcome *w)
{
	const struct grant *grant = &session->tenant->grant;

	w->device_count = grant->share_count;
	w->host_pid = session->client->process.pid;
	w->grant_id = grant->id;
	snprintf(w->grant_name, sizeof(w->grant_name), "%s", grant->name);
	for (unsigned int i = 0; i < grant->share_count; i++) {
		const struct grant_share *share = &grant->share[i];

		memcpy(w->device[i].uuid, share->device.uuid, sizeof(w->device[i].uuid));
		w->device[i].quota_bytes = share->ledger.target_units * WIRE_UNIT_BYTES;
		w->device[i].total_bytes = share->device.total_bytes;
		w->device[i].granule_bytes = share->device.granule_bytes;
		w->device[i].flags = (share->device.kind == DEVICE_SOFT ? WIRE_DEVICE_SOFT : 0) |
				     (grant->spill ? WIRE_DEVICE_STAYS_ASKED : 0) |
				     (grant->spill && disk_there(session->tenant->daemon) ? WIRE_DEVICE_STORES : 0);
	}
}

/* A worker's contexts were charged before it had a client. */
static void redeem(struct session *session)
{
	struct worker *worker = session->peer_pid ? worker_find(session->tenant->daemon, session->peer_pid) : NULL;

	if (worker)
		pledge_redeem(&worker->pledge, session->client);
}

static bool has_many(const struct session *session, const struct process *process)
{
	const struct client *client = client_find(session->tenant, process);

	if (!client || client->sessions < SESSIONS_OF_CLIENT)
		return false;
	log_of_programs(session->tenant->grant.uid, session->tenant->grant.id,
			"grant %s: pid %d (%s) has %u connections already: one more is refused",
			session->tenant->grant.name, (int)process->pid, process->command, client->sessions);
	return true;
}

/* One that is being ended waits for nothing: its programs join, and are ended as all are. */
static bool lets_nobody_begin(const struct tenant *tenant)
{
	return suspension_holds(tenant) && !end_is_under_way(tenant);
}

/*
 * Where a tenant behind a wall has left its device, a program beside the wall waits as one behind it does. Workers are
 * those who leave and return.
 */
static bool must_wait(const struct session *session, const struct process *process)
{
	return lets_nobody_begin(session->tenant) && !session->peer_pid && !client_find(session->tenant, process);
}

static bool hold(struct session *session, const struct process *process, const struct wire_hello *hello)
{
	if (!limit_admits_process(session->tenant))
		return refuse_hello(session, hello->head.serial, WIRE_FULL);
	session->held = malloc(sizeof(*hello));
	if (!session->held)
		return refuse_hello(session, hello->head.serial, WIRE_FULL);
	*session->held = *hello;
	session->held_pid = process->pid;
	session->tenant->held_count++;
	return true;
}

static bool on_hello(struct session *session, const void *packet)
{
	const struct wire_hello *hello = packet;
	_cleanup_close_ int pidfd = -1, page_fd = -1, bell_fd = -1;
	struct tenant *tenant = session->tenant;
	struct wire_welcome answer = { 0 };
	struct process process;
	bool resumed;
	int r;

	if (hello->version < WIRE_VERSION_OLDEST || hello->version > WIRE_VERSION) {
		log_of_programs(tenant->grant.uid, tenant->grant.id,
				"grant %s: a client speaks version %u of the protocol, this meted speaks %u to %u: %s",
				tenant->grant.name, hello->version, WIRE_VERSION_OLDEST, WIRE_VERSION,
				hello->version > WIRE_VERSION ? "it may come again with a lower one"
							      : "restart the program");
		return refuse_hello(session, hello->head.serial, WIRE_WRONG_VERSION);
	}
	if (session->client || session->held) {
		senseless(session, WIRE_HELLO, "it has said HELLO before");
		return refuse_hello(session, hello->head.serial, WIRE_BAD);
	}
	r = session->peer_pid ? process_find(session->peer_pid, &process, &pidfd)
			      : process_of_peer(session->fd, &process, &pidfd);
	if (r) {
		log_of_programs(tenant->grant.uid, tenant->grant.id, "grant %s: a client cannot be named: %s",
				tenant->grant.name,
				r == -EXDEV ? "its pid namespace is not visible from meted's" : strerror(-r));
		return refuse_hello(session, hello->head.serial, WIRE_BAD);
	}
	if (!may_begin(session, &process, pidfd, hello))
		return false;
	if (has_many(session, &process))
		return refuse_hello(session, hello->head.serial, WIRE_FULL);
	if (must_wait(session, &process))
		return hold(session, &process, hello);
	r = client_attach(tenant, &process, &pidfd, hello, &session->client, &page_fd, &resumed);
	if (r) {
		log_of_programs(tenant->grant.uid, tenant->grant.id,
				"grant %s: no page for pid %d (%s) in %s/pages: %s", tenant->grant.name,
				(int)process.pid, process.command, tenant->daemon->runtime.dir, strerror(-r));
		return refuse_hello(session, hello->head.serial, WIRE_FULL);
	}
	redeem(session);
	session->version = hello->version;
	bell_fd = doorbell_for_client(tenant);
	client_join(session->client);
	arbitrate_hello(session->client, false);
	if (bell_fd < 0) {
		log_of_programs(tenant->grant.uid, tenant->grant.id, "grant %s: no doorbell for pid %d (%s): %s",
				tenant->grant.name, (int)process.pid, process.command, strerror(-bell_fd));
		return refuse_hello(session, hello->head.serial, WIRE_FULL);
	}
	wire_head(&answer.head, WIRE_WELCOME, sizeof(answer), hello->head.serial, WIRE_OK);
	answer.resumed = resumed;
	fill_welcome(session, &answer);
	send_with(session, &answer, sizeof(answer), (const int[WELCOME_FDS]){ page_fd, bell_fd }, WELCOME_FDS);
	return true;
}

static bool device_known(const struct session *session, uint32_t device)
{
	return device < session->tenant->grant.share_count;
}

static bool on_reserve(struct session *session, const void *packet)
{
	const struct wire_reserve *q = packet;
	struct account_request request = {
		.device = q->device,
		.need_units = q->need_units,
		.want_units = q->want_units,
		.all = q->flags & WIRE_RESERVE_ALL,
		.stays = q->flags & WIRE_RESERVE_STAYS,
	};
	const char *why = NULL;

	if (!device_known(session, q->device))
		why = "no such device in the grant";
	else if (q->flags & ~(uint32_t)(WIRE_RESERVE_ALL | WIRE_RESERVE_STAYS))
		why = "unknown flags";
	else if (session->waiting >= WAITING_MAX)
		why = "too many requests at once";
	if (why) {
		session_answer_reserved(session, q->head.serial, q->device, WIRE_BAD);
		return senseless(session, q->head.type, why);
	}
	tenant_reserve(session, q->head.serial, &request);
	return true;
}

static bool on_info(struct session *session, const void *packet)
{
	const struct wire_info *q = packet;
	struct wire_info_is answer = { 0 };
	bool known = device_known(session, q->device);

	wire_head(&answer.head, WIRE_INFO_IS, sizeof(answer), q->head.serial, known ? WIRE_OK : WIRE_BAD);
	if (known) {
		answer.quota_bytes = session->tenant->grant.share[q->device].ledger.target_units * WIRE_UNIT_BYTES;
		answer.held_bytes = (account_tenant_held(session->tenant, q->device) +
				     residence_away(session->tenant, q->device, NULL)) *
				    WIRE_UNIT_BYTES;
	}
	session_answer(session, &answer, sizeof(answer));
	return known || senseless(session, q->head.type, "no such device in the grant");
}

static bool on_peer(struct session *session, const void *packet)
{
	const struct wire_peer *q = packet;
	struct wire_peer_is answer = { 0 };
	_cleanup_close_ int fd = others_open(session->client, q->index, &answer.crew);

	wire_head(&answer.head, WIRE_PEER_IS, sizeof(answer), q->head.serial, fd < 0 ? WIRE_BAD : WIRE_OK);
	if (!session->ending)
		send_with(session, &answer, sizeof(answer), &fd, fd >= 0);
	return true;
}

void session_answer_stored(struct session *session, uint32_t serial, enum wire_status status, int fd)
{
	struct wire_stored answer = { 0 };

	wire_head(&answer.head, WIRE_STORED, sizeof(answer), serial, status);
	answer.disk = fd >= 0;
	if (!session->ending)
		send_with(session, &answer, sizeof(answer), &fd, fd >= 0);
}

static bool on_store(struct session *session, const void *packet)
{
	const struct wire_store *q = packet;
	int fd = -1, status = WIRE_BAD;

	if (device_known(session, q->device))
		status = residence_store(session->client, q->units, session, q->head.serial, &fd);
	if (status != RESIDENCE_LATER)
		session_answer_stored(session, q->head.serial, (enum wire_status)status, fd);
	return status != WIRE_BAD || senseless(session, q->head.type, "its memory does not leave the device");
}

static bool on_object(struct session *session, const void *packet)
{
	const struct wire_object_request *q = packet;
	struct wire_shared answer = { .device = q->device };
	enum wire_status status;

	others_change(session->tenant);
	if (q->head.type == WIRE_SHARE)
		status = account_share(session->client, q, &answer.units);
	else if (q->head.type == WIRE_IMPORT)
		status = account_import(session->client, q, &answer.units, &answer.device);
	else
		status = account_drop(session->client, q, &answer.units, &answer.last);
	others_publish(session->tenant, false);
	wire_head(&answer.head, WIRE_SHARED, sizeof(answer), q->head.serial, status);
	session_answer(session, &answer, sizeof(answer));
	if (status == WIRE_FULL)
		event_add(&session->tenant->events, "%s shares more than %u allocations", client_text(session->client),
			  WIRE_MAX_OBJECTS);
	if (q->head.type == WIRE_DROP)
		tenant_retry(session->tenant);
	return status != WIRE_BAD || senseless(session, q->head.type, "its key, device or size do not fit");
}

static bool on_event(struct session *session, const void *packet)
{
	const struct wire_event *q = packet;
	struct tenant *tenant = session->tenant;

	if (!device_known(session, q->device))
		return senseless(session, q->head.type, "no such device in the grant");
	if (q->kind == WIRE_EVENT_UNKNOWN_CALL)
		telemetry_unknown_call(tenant);
	event_add(&tenant->events, "device %u: %s: %s", tenant->grant.share[q->device].device.index,
		  client_text(session->client), q->text);
	log_of_programs(tenant->grant.uid, tenant->grant.id, "grant %s: device %u: %s: %s", tenant->grant.name,
			tenant->grant.share[q->device].device.index, client_text(session->client), q->text);
	return true;
}

static bool on_error(struct session *session, const void *packet)
{
	const struct wire_error *q = packet;

	if (!device_known(session, q->device))
		return senseless(session, q->head.type, "no such device in the grant");
	faults_reported(session->client, q->device, q->error);
	return true;
}

static bool on_processes(struct session *session, const void *packet)
{
	static struct wire_processes_are answer;
	const struct wire_processes *q = packet;
	bool known = device_known(session, q->device);
	size_t size;

	answer.count = 0;
	for (struct client *c = session->tenant->clients; known && c && answer.count < WIRE_MAX_PROCESSES;
	     c = c->next) {
		uint32_t held = account_held(c, q->device);

		if (held)
			answer.process[answer.count++] = (struct wire_process){ c->process.pid, held };
	}
	size = offsetof(struct wire_processes_are, process) + answer.count * sizeof(answer.process[0]);
	wire_head(&answer.head, WIRE_PROCESSES_ARE, size, q->head.serial, known ? WIRE_OK : WIRE_BAD);
	session_answer(session, &answer, size);
	return known || senseless(session, q->head.type, "no such device in the grant");
}

typedef bool (*handler_fn)(struct session *session, const void *packet);

static const handler_fn handlers[] = {
	[WIRE_HELLO] = on_hello,  [WIRE_RESERVE] = on_reserve,	   [WIRE_INFO] = on_info,
	[WIRE_SHARE] = on_object, [WIRE_IMPORT] = on_object,	   [WIRE_DROP] = on_object,
	[WIRE_EVENT] = on_event,  [WIRE_PROCESSES] = on_processes, [WIRE_ERROR] = on_error,
	[WIRE_PEER] = on_peer,	  [WIRE_STORE] = on_store,
};

/* A packet that is no message: answered when it has a header to answer to. */
static bool malformed(struct session *session, const void *packet, size_t size, const char *why)
{
	struct wire_header head = { 0 };

	if (size >= sizeof(head))
		memcpy(&head, packet, sizeof(head));
	log_of_programs(session->tenant->grant.uid, session->tenant->grant.id,
			"grant %s: %s sent a packet of %zu bytes (%s) that is %s: connection closed",
			session->tenant->grant.name, peer_text(session), size, wire_type_name(head.type), why);
	wire_head(&head, WIRE_WELCOME, sizeof(head), head.serial, WIRE_BAD);
	session_answer(session, &head, sizeof(head));
	return false;
}

bool session_message(struct session *session, const void *packet, size_t size)
{
	enum wire_fault fault = wire_check_request(packet, size);
	struct wire_header head;

	if (fault)
		return malformed(session, packet, size, wire_fault_text(fault));
	memcpy(&head, packet, sizeof(head));
	if (!session->client && head.type != WIRE_HELLO)
		return malformed(session, packet, size, "sent before HELLO");
	return handlers[head.type](session, packet) && !session->ending;
}

/*
 * Hears one message, if there is one. Value: false when there is none, or the session is no more. Descriptors that a
 * peer sends are never wanted: without room for them the kernel closes them.
 */
static bool hear_one(struct session *session)
{
	_Alignas(8) char packet[WIRE_MAX_REQUEST_BYTES + 1];
	ssize_t n = recv(session->fd, packet, sizeof(packet), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* 0: the end, or an empty packet: both are the end. */
	if (!session->ending && n > 0 && session_message(session, packet, (size_t)n))
		return true;
	session_free(session);
	return false;
}

/* Some messages take longer than others: the user's time is looked at between any two. */
static void on_readable(void *owner)
{
	struct session *session = owner;
	struct daemon *daemon = session->tenant->daemon;
	uid_t uid = session->tenant->grant.uid;
	bool more = true;

	for (int i = 0; more && i < PACKETS_PER_TURN && daemon_may_hear(daemon, uid); i++) {
		uint64_t since_ns = clock_now_ns();

		more = hear_one(session);
		daemon_heard(daemon, uid, since_ns);
	}
}

/* The one that has waited longest. */
static struct session *find_held(const struct tenant *tenant)
{
	struct session *found = NULL;

	for (struct session *s = tenant->sessions; s; s = s->next)
		if (s->held && !s->ending)
			found = s; /* the newest come first */
	return found;
}

bool session_let_begin(struct tenant *tenant)
{
	const uid_t uid = tenant->grant.uid;
	struct session *s;

	for (int i = 0; i < HELD_PER_LOOK && !lets_nobody_begin(tenant) && (s = find_held(tenant)) &&
			daemon_may_hear(tenant->daemon, uid);
	     i++) {
		uint64_t since_ns = clock_now_ns();
		struct wire_hello hello = *s->held;

		unhold(s);
		if (!on_hello(s, &hello))
			end_soon(s);
		daemon_heard(tenant->daemon, uid, since_ns);
	}
	return !lets_nobody_begin(tenant) && find_held(tenant);
}

unsigned int session_sweep(struct tenant *tenant, uint64_t now_ns)
{
	struct session *next;
	unsigned int waiting = 0;

	for (struct session *s = tenant->sessions; s; s = next) {
		next = s->next;
		if (s->client || s->held)
			continue;
		if (now_ns - s->began_ns < HELLO_NS) {
			waiting++;
			continue;
		}
		log_of_programs(tenant->grant.uid, tenant->grant.id,
				"grant %s: a connection said no HELLO for %llu s: closed", tenant->grant.name,
				HELLO_NS / 1000000000ull);
		session_free(s);
	}
	return waiting;
}
