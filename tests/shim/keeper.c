/*
 * keeper.c: a stand-in for meted that keeps one grant, for tests of the shim over the real protocol.
 *
 * keeper SOCKET FOLDER QUOTA[:GRANULE[:soft]]...   one device per word, sizes in bytes, with the UUIDs of driver.c, or
 *                                                  those of the software device
 *
 * Pages are files in FOLDER, so a keeper that is killed and started again finds what clients hold. Answers to SIGUSR1
 * by writing what is held to FOLDER/held, one line per device: granted, held, in objects, in bytes. SIGTERM ends it.
 */
#include "wire/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS_MAX 256
#define OBJECTS_MAX 256

struct client {
	int fd; /* -1: a free place */
	pid_t pid;
	struct wire_page *page;
	bool all[WIRE_MAX_DEVICES];  /* was given all that was left, and is still measuring */
	struct wire_reserve waiting; /* type 0: nothing */
};

struct object {
	uint8_t key[WIRE_KEY_BYTES];
	uint32_t device, units;
	bool by[CLIENTS_MAX];
	bool used;
};

static struct wire_device devices[WIRE_MAX_DEVICES];
static unsigned int device_count;
static struct client clients[CLIENTS_MAX];
static struct object objects[OBJECTS_MAX];
static const uint8_t soft_uuid[16] = { 'm', 'e', 't', 'e', 0, 0, 0x40, 0, 0x80 };
static const char *folder;
static volatile sig_atomic_t report, stop;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		report = 1;
	else
		stop = 1;
}

static uint64_t quota(unsigned int d)
{
	return devices[d].quota_bytes / WIRE_UNIT_BYTES;
}

static uint64_t word(const struct client *c, unsigned int d)
{
	return atomic_load(&c->page->account[d].word);
}

static uint64_t in_objects(unsigned int d)
{
	uint64_t units = 0;

	for (int i = 0; i < OBJECTS_MAX; i++)
		if (objects[i].used && objects[i].device == d)
			units += objects[i].units;
	return units;
}

static uint64_t total(unsigned int d, bool held)
{
	uint64_t units = in_objects(d);

	for (int i = 0; i < CLIENTS_MAX; i++)
		if (clients[i].page)
			units += held ? wire_held(word(&clients[i], d)) : wire_granted(word(&clients[i], d));
	return units;
}

static bool settling(const struct client *c, unsigned int d)
{
	return c->all[d] && atomic_load(&c->page->account[d].measuring) > 0;
}

static void answer(struct client *c, void *message, size_t size, uint32_t type, uint32_t serial, uint32_t status)
{
	struct wire_header *h = message;

	h->type = type;
	h->size = (uint32_t)size;
	h->serial = serial;
	h->status = status;
	send(c->fd, message, size, MSG_NOSIGNAL);
}

/* 1: answered; 0: has to wait for somebody who measures. */
static int reserve(struct client *c, const struct wire_reserve *q)
{
	struct wire_account *a = &c->page->account[q->device];
	struct wire_reserved r = { 0 };
	uint64_t credit = wire_granted(atomic_load(&a->word)) - wire_held(atomic_load(&a->word));
	uint64_t promised = total(q->device, false), free_units, need, want;
	bool all = q->flags & WIRE_RESERVE_ALL, somebody = false;

	if (!q->need_units && !all) /* settled: the rest goes back */
		credit -= wire_recall(a, credit > q->want_units ? (uint32_t)credit - q->want_units : 0);
	need = q->need_units > credit ? q->need_units - credit : 0;
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (clients[i].page && &clients[i] != c && settling(&clients[i], q->device))
			somebody = true;
	if (all && somebody)
		return 0;
	free_units = quota(q->device) > promised ? quota(q->device) - promised : 0;
	for (int i = 0; i < CLIENTS_MAX && (all || free_units < need); i++)
		if (clients[i].page && &clients[i] != c && !settling(&clients[i], q->device))
			free_units += wire_recall(&clients[i].page->account[q->device],
						  all ? UINT32_MAX : (uint32_t)(need - free_units));
	if (free_units < need) {
		if (somebody)
			return 0;
		r.credit_units = (uint32_t)credit;
		answer(c, &r, sizeof r, WIRE_RESERVED, q->head.serial, WIRE_NO_ROOM);
		return 1;
	}
	want = q->want_units > credit ? q->want_units - credit : 0;
	if (all || want > free_units)
		want = free_units;
	if (want < need)
		want = need;
	wire_grant(a, (uint32_t)want);
	if (all)
		c->all[q->device] = true;
	r.credit_units = (uint32_t)(credit + want);
	answer(c, &r, sizeof r, WIRE_RESERVED, q->head.serial, WIRE_OK);
	return 1;
}

static void retry(void)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		for (unsigned int d = 0; clients[i].page && d < device_count; d++)
			if (!atomic_load(&clients[i].page->account[d].measuring))
				clients[i].all[d] = false;
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (clients[i].page && clients[i].waiting.head.type && reserve(&clients[i], &clients[i].waiting))
			clients[i].waiting.head.type = 0;
}

static bool hello(struct client *c, const struct wire_hello *h)
{
	struct wire_welcome w = { .device_count = device_count, .grant_name = "test" };
	struct ucred peer;
	socklen_t size = sizeof peer;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	char path[256];
	struct iovec part = { &w, sizeof w };
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
	};
	struct cmsghdr *cm = CMSG_FIRSTHDR(&m);
	int fd, fds[2];

	if (h->version != WIRE_VERSION) {
		answer(c, &w, sizeof w, WIRE_WELCOME, h->head.serial, WIRE_WRONG_VERSION);
		return false;
	}
	getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	c->pid = peer.pid;
	snprintf(path, sizeof path, "%s/page-%d-%u", folder, (int)peer.pid, h->library);
	w.resumed = access(path, F_OK) == 0;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (sizeof(struct wire_page) + 4095) & ~4095u) < 0)
		return false;
	c->page = mmap(NULL, sizeof(struct wire_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (w.resumed && c->page->image != h->image) {
		memset(c->page->account, 0, sizeof c->page->account);
		w.resumed = 0;
	}
	for (unsigned int d = 0; d < device_count; d++) {
		if (!w.resumed && h->held_units[d])
			atomic_store(&c->page->account[d].word, wire_word(h->held_units[d], h->held_units[d]));
		atomic_store(&c->page->account[d].quota_bytes, devices[d].quota_bytes);
	}
	c->page->magic = WIRE_PAGE_MAGIC;
	c->page->version = WIRE_PAGE_VERSION;
	c->page->device_count = device_count;
	c->page->pid = peer.pid;
	c->page->image = h->image;
	w.host_pid = peer.pid;
	memcpy(w.device, devices, sizeof devices);
	w.head = (struct wire_header){ WIRE_WELCOME, sizeof w, h->head.serial, WIRE_OK };
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof fds);
	fds[0] = fd;
	snprintf(path, sizeof path, "%s/bell", folder); /* a doorbell that only a test hears */
	mkfifo(path, 0600);
	fds[1] = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	memcpy(CMSG_DATA(cm), fds, sizeof fds);
	sendmsg(c->fd, &m, MSG_NOSIGNAL);
	close(fds[0]);
	close(fds[1]);
	return true;
}

static struct object *find_object(const uint8_t *key)
{
	for (int i = 0; i < OBJECTS_MAX; i++)
		if (objects[i].used && !memcmp(objects[i].key, key, WIRE_KEY_BYTES))
			return &objects[i];
	return NULL;
}

static void let_go(struct object *o, struct client *c)
{
	o->by[c - clients] = false;
	o->used = false;
	for (int i = 0; i < CLIENTS_MAX; i++)
		o->used |= o->by[i];
}

static void on_object(struct client *c, const struct wire_object_request *q)
{
	struct object *o = find_object(q->key);
	struct wire_shared s = { .device = q->device };
	uint32_t status = WIRE_OK;

	if (q->head.type == WIRE_SHARE && !o) {
		for (o = objects; o->used; o++)
			;
		*o = (struct object){ .device = q->device, .units = q->units, .used = true };
		memcpy(o->key, q->key, WIRE_KEY_BYTES);
		/* both halves in one step, and the mark */
		atomic_fetch_sub(&c->page->account[q->device].word, (uint64_t)q->units << 32 | q->units);
		atomic_fetch_xor(&c->page->account[q->device].word, WIRE_MOVED);
	}
	if (q->head.type == WIRE_IMPORT && !o)
		status = WIRE_UNKNOWN_OBJECT;
	if (o) {
		s.device = o->device;
		s.units = o->units;
		if (q->head.type == WIRE_DROP)
			let_go(o, c);
		else
			o->by[c - clients] = true;
		s.last = !o->used;
	}
	answer(c, &s, sizeof s, WIRE_SHARED, q->head.serial, status);
}

static void gone(struct client *c)
{
	char path[256];

	close(c->fd);
	if (c->page) {
		for (int i = 0; i < OBJECTS_MAX; i++)
			if (objects[i].used && objects[i].by[c - clients])
				let_go(&objects[i], c);
		/* A process that only lost its descriptor comes back for its page. */
		if (kill(c->pid, 0) < 0) {
			snprintf(path, sizeof path, "%s/page-%d-1", folder, (int)c->pid);
			unlink(path);
		}
		munmap(c->page, sizeof(struct wire_page));
	}
	memset(c, 0, sizeof *c);
	c->fd = -1;
}

/* One line for each device error that a client tells of: the file grows by it at once. */
static void note_error(const struct wire_error *e)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/errors", folder);
	f = fopen(path, "a");
	if (!f)
		return;
	fprintf(f, "%u %u\n", e->device, e->error);
	fclose(f);
}

static void message(struct client *c)
{
	union {
		struct wire_header head;
		struct wire_hello hello;
		struct wire_reserve reserve;
		struct wire_info info;
		struct wire_object_request object;
		struct wire_event event;
		struct wire_error error;
		char room[1024];
	} in;
	struct wire_info_is is = { 0 };
	struct wire_processes_are none = { 0 };
	ssize_t n = recv(c->fd, &in, sizeof in, 0);

	if (n < (ssize_t)sizeof in.head || in.head.size != (uint32_t)n || (!c->page && in.head.type != WIRE_HELLO)) {
		gone(c);
		return;
	}
	switch (in.head.type) {
	case WIRE_HELLO:
		if (!hello(c, &in.hello))
			gone(c);
		break;
	case WIRE_RESERVE:
		if (!reserve(c, &in.reserve))
			c->waiting = in.reserve;
		break;
	case WIRE_INFO:
		is.quota_bytes = devices[in.info.device].quota_bytes;
		is.held_bytes = total(in.info.device, true) * WIRE_UNIT_BYTES;
		answer(c, &is, sizeof is, WIRE_INFO_IS, in.head.serial, WIRE_OK);
		break;
	case WIRE_SHARE:
	case WIRE_IMPORT:
	case WIRE_DROP:
		on_object(c, &in.object);
		break;
	case WIRE_EVENT:
		fprintf(stderr, "# event of %d: %s\n", (int)c->pid, in.event.text);
		break;
	case WIRE_ERROR:
		note_error(&in.error);
		break;
	case WIRE_PROCESSES:
		answer(c, &none, 24, WIRE_PROCESSES_ARE, in.head.serial, WIRE_OK);
		break;
	}
}

static void write_report(void)
{
	char path[256], done[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/held.new", folder);
	snprintf(done, sizeof done, "%s/held", folder);
	f = fopen(path, "w");
	for (unsigned int d = 0; f && d < device_count; d++)
		fprintf(f, "%llu %llu %llu\n", (unsigned long long)total(d, false) * WIRE_UNIT_BYTES,
			(unsigned long long)total(d, true) * WIRE_UNIT_BYTES,
			(unsigned long long)in_objects(d) * WIRE_UNIT_BYTES);
	if (f)
		fclose(f);
	rename(path, done);
	report = 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct pollfd polls[CLIENTS_MAX + 1];
	int listener;

	if (argc < 4)
		return 2;
	folder = argv[2];
	snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[1]);
	for (int i = 3; i < argc; i++) {
		struct wire_device *d = &devices[device_count];
		char *end;

		memset(d->uuid, 0xd0 + (int)device_count, sizeof d->uuid);
		d->quota_bytes = strtoull(argv[i], &end, 0);
		d->granule_bytes = *end == ':' ? (uint32_t)strtoul(end + 1, &end, 0) : WIRE_UNIT_BYTES;
		d->flags = !strcmp(end, ":soft") ? WIRE_DEVICE_SOFT : 0;
		d->total_bytes = 16ull << 30;
		device_count += d->quota_bytes > 0; /* 0: a device that is not in the grant */
		if (!d->quota_bytes)
			memset(d, 0, sizeof *d);
		else
			memset(d->uuid, 0xd0 + i - 3, sizeof d->uuid);
		if (d->flags & WIRE_DEVICE_SOFT) {
			memcpy(d->uuid, soft_uuid, sizeof soft_uuid);
			d->uuid[15] = (uint8_t)(i - 3);
		}
	}
	for (int i = 0; i < CLIENTS_MAX; i++)
		clients[i].fd = -1;
	signal(SIGUSR1, on_signal);
	signal(SIGTERM, on_signal);
	unlink(address.sun_path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(listener, (void *)&address, sizeof address) < 0 || listen(listener, 256) < 0) {
		perror(argv[1]);
		return 1;
	}
	while (!stop) {
		polls[CLIENTS_MAX] = (struct pollfd){ .fd = listener, .events = POLLIN };
		for (int i = 0; i < CLIENTS_MAX; i++)
			polls[i] = (struct pollfd){ .fd = clients[i].fd, .events = POLLIN };
		poll(polls, CLIENTS_MAX + 1, 1);
		if (report)
			write_report();
		for (int i = 0; i < CLIENTS_MAX; i++)
			if (polls[i].revents)
				message(&clients[i]);
		if (polls[CLIENTS_MAX].revents) {
			int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), i = 0;

			while (i < CLIENTS_MAX && clients[i].fd >= 0)
				i++;
			if (i < CLIENTS_MAX)
				clients[i].fd = fd;
			else
				close(fd);
		}
		retry();
	}
	return 0;
}
