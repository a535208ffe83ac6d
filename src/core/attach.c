/* attach.c: see attach.h. */
#include "core/attach.h"

#include "base/connect_remedy.h"
#include "base/setting.h"
#include "core/bell.h"
#include "core/connection.h"
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * meted answers HELLO within some 100 us. A process that sleeps meanwhile has to wait for a core again: where many
 * begin at once, behind all of them.
 */
#define LOOK_NS 200000u
#define WAITED_MS 1000u /* nobody waits that long for an answer to HELLO whom meted does not let wait */
#define PAGE_BYTES ((sizeof(struct wire_page) + 4095u) & ~4095u)

#define UNKNOWN_NAMES 32u
#define UNKNOWN_BYTES 64u

static struct {
	/* Guards all below but `page`, which is also read without it, and what attach_init() sets. */
	pthread_mutex_t lock;
	struct connection connection;
	struct file_identity page_file; /* what `page` maps */
	uint32_t version;		/* of the protocol, in which meted is spoken to */
	uint32_t shut_out_s;
	int told; /* the error of attach_open() that the log knows already */
	struct {
		char name[UNKNOWN_BYTES];
		bool given; /* the driver has it */
		bool told;
	} unknown[UNKNOWN_NAMES]; /* calls that the program asked for */
	uint32_t unknown_count;
	char shut_out[sizeof(((struct wire_welcome *)NULL)->grant_name)]; /* the grant that may not begin */
	struct wire_welcome welcome;
	_Atomic(struct wire_page *) page;
	enum attach_library library; /* this and the rest: set once by attach_init() */
	const struct attach_hooks *hooks;
	bool open;	/* METE_OPEN=1 */
	char path[256]; /* METE_SOCKET; longer than any socket's path, so that one too long is reported as such */
} attach = { .lock = PTHREAD_MUTEX_INITIALIZER, .connection.fd = -1, .library = ATTACH_DRIVER };

/* The descriptors that come with WELCOME, in this order. */
enum { FD_PAGE, FD_DOORBELL };

static void sleep_ms(unsigned int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	syscall(SYS_nanosleep, &t, NULL);
}

static uint64_t now_ms(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t image_id(void)
{
	const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM);
	uint64_t hash = 0xcbf29ce484222325u;

	if (!random)
		return 0;
	for (int i = 0; i < 16; i++)
		hash = (hash ^ random[i]) * 0x100000001b3u;
	return hash ? hash : 1;
}

/* The process's name is its first thread's. */
static void read_command(char *ret, size_t size)
{
	long fd, n;

	if (size >= 16 && syscall(SYS_gettid) == syscall(SYS_getpid) &&
	    syscall(SYS_prctl, PR_GET_NAME, ret, 0, 0, 0) == 0)
		return;
	fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/comm", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	n = syscall(SYS_read, (int)fd, ret, size - 1);
	if (n > 0 && ret[n - 1] == '\n')
		ret[n - 1] = 0;
	syscall(SYS_close, (int)fd);
}

static void hello_fill(struct wire_hello *hello)
{
	struct wire_page *page = atomic_load_explicit(&attach.page, memory_order_relaxed);

	memset(hello, 0, sizeof *hello);
	hello->head.type = WIRE_HELLO;
	hello->head.size = sizeof *hello;
	hello->version = attach.version;
	hello->library = attach.library;
	hello->image = image_id();
	read_command(hello->command, sizeof hello->command);
	for (unsigned int i = 0; page && i < page->device_count && i < WIRE_MAX_DEVICES; i++)
		hello->held_units[i] = wire_held(atomic_load_explicit(&page->account[i].word, memory_order_relaxed));
}

/*
 * Is it a page as we know them? Looked at before it is mapped: what lies at the old one's place stays there otherwise.
 * Value: 0, -EPROTO: it is none; -EPROTONOSUPPORT: it is one of another release.
 */
static int check_page(int fd)
{
	struct {
		uint32_t magic, version, device_count;
	} head;

	if (syscall(SYS_pread64, fd, &head, sizeof head, 0L) != (long)sizeof head || head.magic != WIRE_PAGE_MAGIC)
		return -EPROTO;
	if (head.version != WIRE_PAGE_VERSION)
		return -EPROTONOSUPPORT;
	return head.device_count > WIRE_MAX_DEVICES ? -EPROTO : 0;
}

/* Maps the page of a WELCOME, over the old one where there is one, so that pointers into it stay good. */
static int map_page_locked(int fd)
{
	struct wire_page *old = atomic_load_explicit(&attach.page, memory_order_relaxed);
	struct file_identity is;
	struct wire_page *page;
	int r;

	if (file_identify(fd, &is) < 0)
		return -EPROTO;
	if (old && file_same(&is, &attach.page_file))
		return 0;
	r = check_page(fd);
	if (r < 0)
		return r;
	page = mmap(old, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | (old ? MAP_FIXED : 0), fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	attach.page_file = is;
	atomic_store_explicit(&attach.page, page, memory_order_release);
	return 0;
}

static int hello_error(enum wire_status status)
{
	switch (status) {
	case WIRE_WRONG_VERSION:
		return -EPROTONOSUPPORT;
	case WIRE_OUT_OF_SERVICE:
		return -EHOSTDOWN;
	case WIRE_QUARANTINED:
		return -EKEYREJECTED;
	case WIRE_UNGUARDED:
		return -ENOKEY;
	default:
		return -EPROTO;
	}
}

static int say_hello_locked(struct wire_welcome *ret)
{
	int fds[CONNECTION_FDS] = { -1, -1 }, r;
	struct wire_hello hello;

	hello_fill(&hello);
	attach.connection.look_ns = LOOK_NS;
	r = connection_ask(&attach.connection, &hello, ret, sizeof *ret, fds);
	attach.connection.look_ns = 0;
	if (r == WIRE_OK && (ret->head.type != WIRE_WELCOME || ret->device_count > WIRE_MAX_DEVICES ||
			     fds[FD_PAGE] < 0 || fds[FD_DOORBELL] < 0))
		r = -EPROTO;
	if (r > 0)
		r = hello_error((enum wire_status)r);
	if (r == 0)
		r = map_page_locked(fds[FD_PAGE]);
	if (r == 0)
		bell_take(fds[FD_DOORBELL]);
	connection_close_fds(fds);
	return r;
}

static bool holds_something(void)
{
	struct wire_page *page = atomic_load_explicit(&attach.page, memory_order_relaxed);

	for (unsigned int i = 0; page && i < page->device_count; i++)
		if (wire_held(atomic_load_explicit(&page->account[i].word, memory_order_relaxed)))
			return true;
	return false;
}

/* Of a client without a device meted hears nothing. */
static void tell_unknown_locked(void)
{
	for (uint32_t i = 0; i < attach.unknown_count && attach.welcome.device_count; i++) {
		struct wire_event event = { .head = { .type = WIRE_EVENT, .size = sizeof event },
					    .kind = WIRE_EVENT_UNKNOWN_CALL };

		if (attach.unknown[i].told)
			continue;
		snprintf(event.text, sizeof event.text, "%s: this release does not know the call%s",
			 attach.unknown[i].name,
			 attach.unknown[i].given ? " and does not meter it" : ", nor does the driver");
		event.head.serial = ++attach.connection.serial;
		connection_send(&attach.connection, &event.head);
		attach.unknown[i].told = true;
	}
}

static int attach_locked(void)
{
	struct wire_welcome welcome;
	bool frozen = false;
	int r;

	attach.version = WIRE_VERSION;
	r = connection_open(&attach.connection, attach.path);
	/*
	 * After a restart meted usually has the page, and nothing moves. When it has not, the new one starts from what
	 * HELLO says, and that must not change on the way: so the accounts rest when there is something to lose.
	 */
	if (r == 0 && holds_something() && attach.hooks && attach.hooks->freeze) {
		attach.hooks->freeze();
		frozen = true;
	}
	if (r == 0)
		r = say_hello_locked(&welcome);
	/* An older meted: it is spoken to as it speaks. A newer one speaks our version. */
	while (r == -EPROTONOSUPPORT && attach.version > WIRE_VERSION_OLDEST) {
		attach.version--;
		r = connection_open(&attach.connection, attach.path);
		if (r == 0)
			r = say_hello_locked(&welcome);
	}
	if (frozen && attach.hooks->thaw)
		attach.hooks->thaw();
	attach.shut_out_s = attach_shut_out(r) ? welcome.wait_s : 0;
	if (attach_shut_out(r))
		memcpy(attach.shut_out, welcome.grant_name, sizeof attach.shut_out - 1);
	if (r < 0) {
		connection_close(&attach.connection);
		return r;
	}
	attach.welcome = welcome;
	tell_unknown_locked();
	return 0;
}

void attach_init(enum attach_library library, const struct attach_hooks *hooks)
{
	const char *path = setting_get("METE_SOCKET"), *word = setting_get("METE_OPEN");

	attach.library = library;
	attach.hooks = hooks;
	attach.open = word && !strcmp(word, "1");
	snprintf(attach.path, sizeof attach.path, "%s", path ? path : "");
	log_init();
}

bool attach_wanted(void)
{
	return attach.path[0];
}

bool attach_shut_out(int r)
{
	return r == -EHOSTDOWN || r == -EKEYREJECTED || r == -ENOKEY;
}

bool attach_may_run_open(void)
{
	return attach.open;
}

static const char *remedy(int r)
{
	if (connect_remedy(r))
		return connect_remedy(r);
	switch (-r) {
	case EPROTONOSUPPORT:
		return "meted and this library are of different versions; install both from one release";
	case EPROTO:
		return "whoever listens there is not meted, or is damaged; check METE_SOCKET";
	case EPERM:
		return "this worker has no client yet, and is not metered before; nothing is to be done";
	case EACCES:
		return "the socket belongs to another user; run under a grant of your own (mete run)";
	case EHOSTDOWN:
		return "a device of the grant is being taken out of service; wait for `mete uncordon`, or use another "
		       "device";
	case ENOKEY:
		return "this node guards every grant (guard.grants: required), and the guard does not hold this "
		       "process: start it by `mete run`, or in the grant's container";
	case ENAMETOOLONG:
		return "the path is too long for a socket; set METE_RUNTIME_DIR to a shorter one";
	default:
		return "start meted, or run under 'mete run'; METE_OPEN=1 would run without a limit";
	}
}

/* What meted said of the grant, where it said something, is clearer than an errno. */
static void tell(int r)
{
	if (r == -EKEYREJECTED)
		log_line("grant %.63s is quarantined for %u s more, because its programs have faulted too often "
			 "(`mete show %.63s` counts them, `mete events` lists them): wait, or have the operator say "
			 "`mete release %.63s`",
			 attach.shut_out, attach.shut_out_s, attach.shut_out, attach.shut_out);
	else if (attach_shut_out(r))
		log_line("grant %.63s: no program may begin now: %s", attach.shut_out, remedy(r));
	else
		log_line("cannot attach to meted at %s: %s; %s", attach.path, strerror(-r), remedy(r));
}

static int open_once(void)
{
	int r = 0;

	pthread_mutex_lock(&attach.lock);
	if (!atomic_load_explicit(&attach.page, memory_order_relaxed) || !connection_stands(&attach.connection))
		r = attach_locked();
	pthread_mutex_unlock(&attach.lock);
	return r;
}

/*
 * meted lets a program of a suspended tenant wait for its answer, for as long as that takes. If meted ends meanwhile,
 * it is away from then on.
 */
static int open_patiently(void)
{
	uint64_t deadline = now_ms() + CONNECT_PATIENCE_MS;

	for (;;) {
		uint64_t began = now_ms(), now;
		int r = open_once();

		if (!connect_is_away(r))
			return r;
		now = now_ms();
		if (now - began >= WAITED_MS)
			deadline = now + CONNECT_PATIENCE_MS;
		if (now >= deadline)
			return r;
		sleep_ms(20);
	}
}

int attach_open(void)
{
	int saved = errno, told, r;

	if (!attach_wanted())
		return -ENOENT;
	r = open_patiently();
	pthread_mutex_lock(&attach.lock);
	told = attach.told;
	attach.told = r;
	pthread_mutex_unlock(&attach.lock);
	if (r < 0 && r != told)
		tell(r);
	errno = saved;
	return r;
}

bool attach_alive(void)
{
	bool alive = true;
	int saved = errno;

	if (!attach_wanted() || pthread_mutex_trylock(&attach.lock))
		return true;
	if (connection_stands(&attach.connection) && connection_hung_up(&attach.connection))
		connection_close(&attach.connection);
	if (!connection_stands(&attach.connection))
		alive = attach_locked() == 0;
	pthread_mutex_unlock(&attach.lock);
	errno = saved;
	return alive;
}

bool attach_wait_end(unsigned int patience_ms)
{
	struct timespec t = { .tv_sec = patience_ms / 1000, .tv_nsec = (long)(patience_ms % 1000) * 1000000 };
	struct pollfd end = { .events = POLLRDHUP };
	int saved = errno;
	bool ended;

	pthread_mutex_lock(&attach.lock);
	end.fd = connection_stands(&attach.connection) ? attach.connection.fd : -1;
	pthread_mutex_unlock(&attach.lock);
	/* What comes in is an answer that another thread waits for. */
	ended = end.fd < 0 || syscall(SYS_ppoll, &end, 1, &t, NULL, 0) > 0;
	errno = saved;
	return ended;
}

struct wire_page *attach_page(void)
{
	return atomic_load_explicit(&attach.page, memory_order_acquire);
}

const struct wire_welcome *attach_welcome(void)
{
	return &attach.welcome;
}

/*
 * While a request waits for its answer it keeps the lock, and meted may let it wait for those whose `counter` is
 * raised: so nobody raises it before it has the lock, and nobody waits for the lock with it raised and unanswered.
 */
static int ask(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms, _Atomic uint32_t *counter,
	       int *ret_fds)
{
	uint64_t deadline = 0;
	unsigned int pause = 5;
	int saved = errno, r;

	if (!attach_wanted())
		return -ENOENT;
	for (;;) {
		pthread_mutex_lock(&attach.lock);
		r = connection_stands(&attach.connection) ? 0 : attach_locked();
		if (r == 0) {
			if (counter)
				atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
			r = connection_ask(&attach.connection, request, ret_answer, answer_size, ret_fds);
			if (r < 0)
				connection_close(&attach.connection);
			if (r < 0 && counter)
				attach_uncount(counter);
			if (r < 0 && ret_fds)
				connection_close_fds(ret_fds);
		}
		pthread_mutex_unlock(&attach.lock);
		if (r >= 0 || r == -EPROTONOSUPPORT)
			break;
		if (!deadline)
			deadline = now_ms() + patience_ms;
		if (now_ms() >= deadline)
			break;
		sleep_ms(pause);
		pause = pause < 20 ? pause + 5 : 20;
	}
	errno = saved;
	return r;
}

int attach_ask_counted(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms,
		       _Atomic uint32_t *counter)
{
	return ask(request, ret_answer, answer_size, patience_ms, counter, NULL);
}

int attach_ask(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms)
{
	return ask(request, ret_answer, answer_size, patience_ms, NULL, NULL);
}

int attach_ask_fd(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms, int *ret_fd)
{
	int fds[CONNECTION_FDS] = { -1, -1 };
	int r = ask(request, ret_answer, answer_size, patience_ms, NULL, fds);

	*ret_fd = fds[0];
	fds[0] = -1;
	connection_close_fds(fds);
	return r;
}

/* One message that is not answered; a meted that speaks less than the version it came with is not told. */
static void tell_meted(struct wire_header *message, uint32_t since_version)
{
	int saved = errno;

	pthread_mutex_lock(&attach.lock);
	if (connection_stands(&attach.connection) && attach.version >= since_version) {
		message->serial = ++attach.connection.serial;
		connection_send(&attach.connection, message);
	}
	pthread_mutex_unlock(&attach.lock);
	errno = saved;
}

void attach_fault(uint32_t device, uint32_t error)
{
	struct wire_error fault = { .head = { .type = WIRE_ERROR, .size = sizeof fault },
				    .device = device,
				    .error = error };

	tell_meted(&fault.head, 3);
}

void attach_unknown(const char *name, bool given)
{
	int saved = errno;
	uint32_t i = 0;

	pthread_mutex_lock(&attach.lock);
	while (i < attach.unknown_count && strncmp(attach.unknown[i].name, name, UNKNOWN_BYTES - 1) != 0)
		i++;
	if (i == attach.unknown_count && i < UNKNOWN_NAMES) {
		snprintf(attach.unknown[i].name, UNKNOWN_BYTES, "%s", name);
		attach.unknown[i].given = given;
		attach.unknown[i].told = false;
		attach.unknown_count++;
		if (connection_stands(&attach.connection))
			tell_unknown_locked();
	}
	pthread_mutex_unlock(&attach.lock);
	errno = saved;
}

void attach_event(uint32_t device, const char *fmt, ...)
{
	struct wire_event event = { .head = { .type = WIRE_EVENT, .size = sizeof event }, .device = device };
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(event.text, sizeof event.text, fmt, ap);
	va_end(ap);
	tell_meted(&event.head, WIRE_VERSION_OLDEST);
	errno = saved;
}

void attach_forget(bool keep_socket)
{
	struct wire_page *page = atomic_load_explicit(&attach.page, memory_order_relaxed);
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	attach.lock = unlocked; /* whoever held it is not in this process */
	if (!keep_socket)
		connection_close(&attach.connection);
	attach.connection.fd = -1;
	attach.unknown_count = 0;
	bell_drop();
	if (page)
		munmap(page, PAGE_BYTES);
	atomic_store_explicit(&attach.page, NULL, memory_order_release);
}
