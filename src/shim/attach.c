/*
 * attach.c: see attach.h.
 *
 * The descriptor lives where programs rarely look: close-on-exec and at a high number. A program that closes all
 * descriptors closes it nevertheless; so before each use the descriptor is compared with the socket that we made
 * (device and inode of sockfs, which are not reused while the socket lives).
 */
#include "shim/attach.h"
#include "base/setting.h"
#include "shim/log.h"
#include "wire/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES ((sizeof(struct wire_page) + 4095u) & ~4095u)

struct identity {
	uint64_t device, inode;
};

static struct {
	pthread_mutex_t
		lock; /* guards all below but `page`, which is also read without it, and what attach_init() sets */
	int fd;	      /* -1: not connected */
	struct identity socket;	   /* what `fd` is when nobody has tampered with it */
	struct identity page_file; /* what `page` maps */
	_Atomic uint64_t bell_device, bell_inode; /* what `doorbell` is; these three are also read without the lock */
	_Atomic int doorbell;			  /* -1: none */
	uint32_t version; /* of the protocol, in which meted is spoken to */
	uint32_t serial;
	uint32_t shut_out_s;
	int told; /* the error of attach_open() that the log knows already */
	char shut_out[sizeof(((struct wire_welcome *)NULL)->grant_name)]; /* the grant that may not begin */
	struct wire_welcome welcome;
	_Atomic(struct wire_page *) page;
	enum attach_library library; /* this and the rest: set once by attach_init() */
	const struct attach_hooks *hooks;
	bool open;	/* METE_OPEN=1 */
	char path[256]; /* METE_SOCKET; longer than any socket's path, so that one too long is reported as such */
} attach = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .doorbell = -1, .library = ATTACH_DRIVER };

/* The descriptors that come with WELCOME, in this order. */
enum { FD_PAGE, FD_DOORBELL, FDS };

static long kernel(long r)
{
	return r < 0 ? -errno : r;
}

/* The kernel's struct stat and the C library's are the same on the architectures that we build for. */
static int identify(int fd, struct identity *ret)
{
	struct stat st;

	if (fd < 0 || syscall(SYS_fstat, fd, &st) < 0)
		return -EBADF;
	ret->device = st.st_dev;
	ret->inode = st.st_ino;
	return 0;
}

static bool same(const struct identity *a, const struct identity *b)
{
	return a->device == b->device && a->inode == b->inode;
}

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

int attach_move_high(int fd)
{
	struct rlimit limit = { 0 };
	long floor, high;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return fd;
	floor = limit.rlim_cur > 4096 ? 3072 : (long)limit.rlim_cur * 3 / 4;
	high = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, floor);
	if (high < 0)
		return fd;
	syscall(SYS_close, fd);
	return (int)high;
}

/* Closes our descriptor, unless the program has closed it already and something else stands there now. */
static void disconnect_locked(void)
{
	struct identity is;

	if (identify(attach.fd, &is) == 0 && same(&is, &attach.socket))
		syscall(SYS_close, attach.fd);
	attach.fd = -1;
}

static bool connected_locked(void)
{
	struct identity is;

	if (attach.fd < 0)
		return false;
	if (identify(attach.fd, &is) == 0 && same(&is, &attach.socket))
		return true;
	attach.fd = -1;
	return false;
}

/* The one descriptor that came with a message, or -1. */
static int only_fd(struct msghdr *message)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

/*
 * In a worker, which can make no sockets: meted hands out connections to the grant through the worker's own connection
 * (wire/worker.h). Value: the descriptor or -errno.
 */
static int ask_connection(int control)
{
	struct worker_word word = { .type = WORKER_CONNECT, .version = WORKER_VERSION };
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = &word, .iov_len = sizeof word };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	long r;
	int fd;

	do
		r = kernel(syscall(SYS_sendmsg, control, &message, MSG_NOSIGNAL));
	while (r == -EINTR);
	message.msg_control = room;
	while (r >= 0) {
		message.msg_controllen = sizeof room;
		r = kernel(syscall(SYS_recvmsg, control, &message, MSG_CMSG_CLOEXEC));
		if (r != -EINTR)
			break;
		r = 0;
	}
	if (r < 0)
		return (int)r;
	fd = only_fd(&message);
	if (r == sizeof word && word.type == WORKER_CONNECTED && !word.status && fd >= 0)
		return fd;
	if (fd >= 0)
		syscall(SYS_close, fd);
	return r ? -ECONNREFUSED : -ECONNRESET;
}

static int connect_through_locked(int control)
{
	int fd = ask_connection(control), r;

	if (fd < 0)
		return fd;
	fd = attach_move_high(fd);
	r = identify(fd, &attach.socket);
	if (r < 0) {
		syscall(SYS_close, fd);
		return r;
	}
	attach.fd = fd;
	return 0;
}

static int connect_locked(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(path);
	long fd, r;

	disconnect_locked();
	if (!strncmp(path, "fd:", 3))
		return connect_through_locked(atoi(path + 3));
	if (length >= sizeof address.sun_path)
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, length + 1);
	fd = kernel(syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return (int)fd;
	fd = attach_move_high((int)fd);
	do
		r = kernel(syscall(SYS_connect, (int)fd, &address, sizeof address));
	while (r == -EINTR);
	if (r < 0 || (r = identify((int)fd, &attach.socket)) < 0) {
		syscall(SYS_close, (int)fd);
		return (int)r;
	}
	attach.fd = (int)fd;
	return 0;
}

static int send_locked(struct wire_header *request)
{
	struct iovec part = { .iov_base = request, .iov_len = request->size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	long r;

	do
		r = kernel(syscall(SYS_sendmsg, attach.fd, &message, MSG_NOSIGNAL));
	while (r == -EINTR);
	return r < 0 ? (int)r : 0;
}

static void close_fds(int fds[FDS])
{
	for (int i = 0; i < FDS; i++) {
		if (fds[i] >= 0)
			syscall(SYS_close, fds[i]);
		fds[i] = -1;
	}
}

/* One packet; descriptors that came with it go to ret_fds (-1: none) or are closed. Value: bytes, or -errno. */
static int receive_locked(void *buffer, size_t size, int *ret_fds)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FDS * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = buffer, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};
	int fds[FDS] = { -1, -1 };
	struct cmsghdr *c;
	long r;

	do {
		message.msg_controllen = sizeof control;
		r = kernel(syscall(SYS_recvmsg, attach.fd, &message, MSG_CMSG_CLOEXEC));
	} while (r == -EINTR);
	if (r < 0)
		return (int)r;
	c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(fds, CMSG_DATA(c), c->cmsg_len < CMSG_LEN(sizeof fds) ? sizeof(int) : sizeof fds);
	if (ret_fds)
		memcpy(ret_fds, fds, sizeof fds);
	else
		close_fds(fds);
	if (r == 0)
		return -ECONNRESET;
	if (message.msg_flags & MSG_TRUNC)
		return -EPROTO;
	return (int)r;
}

/* A request and its answer over the connection as it stands. Value: enum wire_status or -errno. */
static int exchange_locked(void *request, void *ret_answer, size_t answer_size, int *ret_fds)
{
	struct wire_header *ask = request, *got = ret_answer;
	int r;

	ask->serial = ++attach.serial;
	r = send_locked(ask);
	if (r < 0)
		return r;
	do {
		memset(ret_answer, 0, answer_size);
		r = receive_locked(ret_answer, answer_size, ret_fds);
		if (r < 0)
			return r;
		if ((size_t)r < sizeof *got || got->size != (uint32_t)r)
			return -EPROTO;
		if (got->serial != ask->serial && ret_fds)
			close_fds(ret_fds);
	} while (got->serial != ask->serial); /* the late answer to a request that was given up */
	return (int)got->status;
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

	if (kernel(syscall(SYS_pread64, fd, &head, sizeof head, 0L)) != (long)sizeof head ||
	    head.magic != WIRE_PAGE_MAGIC)
		return -EPROTO;
	if (head.version != WIRE_PAGE_VERSION)
		return -EPROTONOSUPPORT;
	return head.device_count > WIRE_MAX_DEVICES ? -EPROTO : 0;
}

/* Maps the page of a WELCOME, over the old one where there is one, so that pointers into it stay good. */
static int map_page_locked(int fd)
{
	struct wire_page *old = atomic_load_explicit(&attach.page, memory_order_relaxed);
	struct identity is;
	struct wire_page *page;
	int r;

	if (identify(fd, &is) < 0)
		return -EPROTO;
	if (old && same(&is, &attach.page_file))
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

/*
 * A thread that rings takes no lock. The new bell takes the old one's number in one step, so that nothing else ever
 * stands there; who sees the old one's identity with it just does not ring. meted looks by itself at whoever has said
 * HELLO.
 */
static void take_bell_locked(int fd)
{
	int old = attach_doorbell();
	struct identity is;

	if (identify(fd, &is) < 0)
		return;
	if (old >= 0)
		fd = (int)syscall(SYS_dup3, fd, old, O_CLOEXEC);
	else
		fd = attach_move_high((int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0));
	atomic_store_explicit(&attach.bell_device, is.device, memory_order_relaxed);
	atomic_store_explicit(&attach.bell_inode, is.inode, memory_order_relaxed);
	atomic_store_explicit(&attach.doorbell, fd, memory_order_release);
}

static void drop_bell_locked(void)
{
	int fd = attach_doorbell();

	atomic_store_explicit(&attach.doorbell, -1, memory_order_relaxed);
	if (fd >= 0)
		syscall(SYS_close, fd);
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
	default:
		return -EPROTO;
	}
}

static int say_hello_locked(struct wire_welcome *ret)
{
	int fds[FDS] = { -1, -1 }, r;
	struct wire_hello hello;

	hello_fill(&hello);
	r = exchange_locked(&hello, ret, sizeof *ret, fds);
	if (r == WIRE_OK && (ret->head.type != WIRE_WELCOME || ret->device_count > WIRE_MAX_DEVICES ||
			     fds[FD_PAGE] < 0 || fds[FD_DOORBELL] < 0))
		r = -EPROTO;
	if (r > 0)
		r = hello_error((enum wire_status)r);
	if (r == 0)
		r = map_page_locked(fds[FD_PAGE]);
	if (r == 0)
		take_bell_locked(fds[FD_DOORBELL]);
	close_fds(fds);
	return r;
}

int attach_doorbell(void)
{
	int fd = atomic_load_explicit(&attach.doorbell, memory_order_acquire);
	struct identity is;

	if (fd < 0 || identify(fd, &is) < 0 ||
	    is.device != atomic_load_explicit(&attach.bell_device, memory_order_relaxed) ||
	    is.inode != atomic_load_explicit(&attach.bell_inode, memory_order_relaxed))
		return -1;
	return fd;
}

void attach_ring(void)
{
	static const uint64_t one = 1;
	int saved = errno, fd = attach_doorbell();

	if (fd >= 0)
		syscall(SYS_write, fd, &one, sizeof one);
	errno = saved;
}

static bool holds_something(void)
{
	struct wire_page *page = atomic_load_explicit(&attach.page, memory_order_relaxed);

	for (unsigned int i = 0; page && i < page->device_count; i++)
		if (wire_held(atomic_load_explicit(&page->account[i].word, memory_order_relaxed)))
			return true;
	return false;
}

static int attach_locked(void)
{
	struct wire_welcome welcome;
	bool frozen = false;
	int r;

	attach.version = WIRE_VERSION;
	r = connect_locked(attach.path);
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
		r = connect_locked(attach.path);
		if (r == 0)
			r = say_hello_locked(&welcome);
	}
	if (frozen && attach.hooks->thaw)
		attach.hooks->thaw();
	attach.shut_out_s = attach_shut_out(r) ? welcome.wait_s : 0;
	if (attach_shut_out(r))
		memcpy(attach.shut_out, welcome.grant_name, sizeof attach.shut_out - 1);
	if (r < 0) {
		disconnect_locked();
		return r;
	}
	attach.welcome = welcome;
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
	return r == -EHOSTDOWN || r == -EKEYREJECTED;
}

bool attach_may_run_open(void)
{
	return attach.open;
}

static const char *remedy(int r)
{
	switch (-r) {
	case EPROTONOSUPPORT:
		return "meted and this library are of different versions; install both from one release";
	case EPROTO:
		return "whoever listens there is not meted, or is damaged; check METE_SOCKET";
	case EACCES:
	case EPERM:
		return "the socket belongs to another user; run under a grant of your own (mete run)";
	case EHOSTDOWN:
		return "a device of the grant is being taken out of service; wait for `mete uncordon`, or use another "
		       "device";
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
		log_line("grant %.63s is quarantined for %u s more, because its programs have faulted too often: wait, "
			 "or have the operator say `mete release %.63s`",
			 attach.shut_out, attach.shut_out_s, attach.shut_out);
	else if (attach_shut_out(r))
		log_line("grant %.63s: no program may begin now: %s", attach.shut_out, remedy(r));
	else
		log_line("cannot attach to meted at %s: %s; %s", attach.path, strerror(-r), remedy(r));
}

int attach_open(void)
{
	int saved = errno, told, r = 0;

	if (!attach_wanted())
		return -ENOENT;
	pthread_mutex_lock(&attach.lock);
	if (!atomic_load_explicit(&attach.page, memory_order_relaxed) || !connected_locked())
		r = attach_locked();
	told = attach.told;
	attach.told = r;
	pthread_mutex_unlock(&attach.lock);
	if (r < 0 && r != told)
		tell(r);
	errno = saved;
	return r;
}

/* Nothing is expected that nobody asked for: what can be read is an answer that came too late, or the end. */
static bool hung_up_locked(void)
{
	char byte;
	long r = kernel(syscall(SYS_recvfrom, attach.fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT, NULL, NULL));

	return r == 0 || (r < 0 && r != -EAGAIN && r != -EINTR);
}

bool attach_alive(void)
{
	bool alive = true;
	int saved = errno;

	if (!attach_wanted() || pthread_mutex_trylock(&attach.lock))
		return true;
	if (connected_locked() && hung_up_locked())
		disconnect_locked();
	if (!connected_locked())
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
	end.fd = connected_locked() ? attach.fd : -1;
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
int attach_ask_counted(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms,
		       _Atomic uint32_t *counter)
{
	uint64_t deadline = 0;
	unsigned int pause = 5;
	int saved = errno, r;

	if (!attach_wanted())
		return -ENOENT;
	for (;;) {
		pthread_mutex_lock(&attach.lock);
		r = connected_locked() ? 0 : attach_locked();
		if (r == 0) {
			if (counter)
				atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
			r = exchange_locked(request, ret_answer, answer_size, NULL);
			if (r < 0)
				disconnect_locked();
			if (r < 0 && counter)
				attach_uncount(counter);
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

int attach_ask(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms)
{
	return attach_ask_counted(request, ret_answer, answer_size, patience_ms, NULL);
}

/* One message that is not answered; a meted that speaks less than the version it came with is not told. */
static void tell_meted(struct wire_header *message, uint32_t since_version)
{
	int saved = errno;

	pthread_mutex_lock(&attach.lock);
	if (connected_locked() && attach.version >= since_version) {
		message->serial = ++attach.serial;
		send_locked(message);
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
		disconnect_locked();
	attach.fd = -1;
	drop_bell_locked();
	if (page)
		munmap(page, PAGE_BYTES);
	atomic_store_explicit(&attach.page, NULL, memory_order_release);
}
