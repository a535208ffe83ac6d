/* page.c: what is behind pages, and the guard of their mappings. */
#include "daemon/tenants/page.h"

#include "base/cleanup.h"
#include "daemon/log.h"
#include "daemon/runtime.h"
#include "daemon/tenants/holder.h"
#include "daemon/tenants/process.h"
#include "daemon/turns/arbitrate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct page *pages;

/*
 * The handler runs at an access to a page, in the loop's thread, which alone changes the list, or in the one that gives
 * turns, which has the lock then, under which the list is changed.
 */
static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;

	(void)context;
	for (struct page *p = pages; p; p = p->next) {
		uintptr_t start = (uintptr_t)p->map;

		if (at < start || at >= start + sizeof(*p->map))
			continue;
		if (mmap(p->map, sizeof(*p->map), PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0) == MAP_FAILED)
			break;
		p->broken = true;
		return;
	}
	signal(sig, SIG_DFL); /* not ours: the access is repeated and ends the process */
}

void page_guard(void)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

const char *page_name(uint64_t grant_id, pid_t pid, uint64_t start_time, char name[PAGE_NAME_BYTES])
{
	snprintf(name, PAGE_NAME_BYTES, "%" PRIx64 "-%d-%" PRIu64, grant_id, (int)pid, start_time);
	return name;
}

bool page_name_parse(const char *name, uint64_t *ret_grant_id, pid_t *ret_pid, uint64_t *ret_start_time)
{
	char again[PAGE_NAME_BYTES];
	uint64_t grant_id, start_time;
	int pid;

	if (sscanf(name, "%" SCNx64 "-%d-%" SCNu64, &grant_id, &pid, &start_time) != 3)
		return false;
	if (strcmp(page_name(grant_id, pid, start_time, again), name))
		return false;
	*ret_grant_id = grant_id;
	*ret_pid = pid;
	*ret_start_time = start_time;
	return true;
}

static int map(int fd, const char *name, struct page *ret)
{
	void *at = mmap(NULL, sizeof(struct wire_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	/* What is used of it is a few pages, far apart: on a disk the kernel would read what lies between as well. */
	madvise(at, sizeof(struct wire_page), MADV_RANDOM);
	*ret = (struct page){ .map = at, .sealed_fd = -1, .next = pages };
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	arbitrate_lock();
	pages = ret;
	arbitrate_unlock();
	return 0;
}

/* What the accounts and the first objects need. */
#define FIRST_BYTES 4096
/* For people, and for page_look_is_mapped(). */
#define SEALED_NAME "mete-page"

_Static_assert(offsetof(struct wire_page, object) + sizeof(struct wire_object) <= FIRST_BYTES, "accounts fit");

/* The room for the turns of its devices, and for the word that says whether launches are recorded. */
static int reserve_turns(int fd, unsigned int devices)
{
	struct wire_page *none = NULL;
	int r = posix_fallocate(fd, offsetof(struct wire_page, trace), offsetof(struct wire_trace, record));

	if (r)
		return -r;
	return devices ? -posix_fallocate(fd, offsetof(struct wire_page, turn), devices * sizeof(none->turn[0])) : 0;
}

/* An old file of that name is one that no client has: else it would have been recovered. */
static int create_file(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 && errno == EEXIST && !unlinkat(dir_fd, name, 0))
		fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

/* Without SEAL_SEAL the client could seal it against meted's next mapping. */
#define SEALS (F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

/* Hands a page to the holder; to another one, with all others, when that has died. */
static int hold(struct runtime *runtime, const char *name, int fd)
{
	int r = holder_keep(runtime, name, fd);

	if (!r)
		return 0;
	r = holder_connect(runtime);
	if (r)
		return r;
	log_line("the process that holds pages has ended: another one has been started");
	for (const struct page *p = pages; p && !r; p = p->next)
		r = p->sealed_fd < 0 ? 0 : holder_keep(runtime, p->name, p->sealed_fd);
	return r ? r : holder_keep(runtime, name, fd);
}

/* Of its full size. Value: the descriptor or -errno. */
static int create_sealed(struct runtime *runtime, const char *name)
{
	_cleanup_close_ int fd = memfd_create(SEALED_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0 || fchmod(fd, 0600) || ftruncate(fd, sizeof(struct wire_page)) || fcntl(fd, F_ADD_SEALS, SEALS))
		return -errno;
	r = hold(runtime, name, fd);
	return r ? r : steal_fd(&fd);
}

static int create(struct runtime *runtime, const char *name, bool *ret_sealed)
{
	_cleanup_close_ int fd = runtime->holder_fd >= 0 ? create_sealed(runtime, name) : -1;

	*ret_sealed = fd >= 0;
	if (fd >= 0)
		return steal_fd(&fd);
	if (runtime->system)
		log_peer(LOG_PAGES, "page %s is a file that its process can grow: there is nobody to hold sealed pages",
			 name);
	fd = create_file(runtime->pages_fd, name);
	if (fd >= 0 && ftruncate(fd, sizeof(struct wire_page)))
		return -errno;
	return steal_fd(&fd);
}

/* The room of a new page, and its mapping. */
static int fill(int fd, const char *name, unsigned int devices, struct page *ret)
{
	int r = -posix_fallocate(fd, 0, FIRST_BYTES);

	if (!r)
		r = reserve_turns(fd, devices);
	return r ? r : map(fd, name, ret);
}

int page_create(struct runtime *runtime, const char *name, const struct wire_page *head, struct page *ret, int *ret_fd)
{
	_cleanup_close_ int fd = -1, own_fd = -1;
	bool sealed;
	int r;

	fd = create(runtime, name, &sealed);
	if (fd < 0)
		return fd;
	own_fd = sealed ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	r = sealed && own_fd < 0 ? -errno : fill(fd, name, head->device_count, ret);
	if (r) {
		page_remove(runtime, name);
		return r;
	}
	ret->sealed_fd = steal_fd(&own_fd);
	memcpy((char *)ret->map + sizeof(head->magic), (const char *)head + sizeof(head->magic),
	       offsetof(struct wire_page, account) - sizeof(head->magic));
	atomic_thread_fence(memory_order_release);
	ret->map->magic = head->magic;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int reserve(const struct runtime *runtime, const struct page *page, size_t at, size_t bytes)
{
	_cleanup_close_ int fd = page_reopen(runtime, page);

	return fd < 0 ? fd : -posix_fallocate(fd, (off_t)at, (off_t)bytes);
}

int page_reserve_objects(const struct runtime *runtime, struct page *page)
{
	int r = page->objects_reserved ? 0 : reserve(runtime, page, 0, offsetof(struct wire_page, turn));

	page->objects_reserved = !r;
	return r;
}

int page_reserve_trace(const struct runtime *runtime, struct page *page)
{
	int r = page->trace_reserved
			? 0
			: reserve(runtime, page, offsetof(struct wire_page, trace), sizeof(struct wire_trace));

	page->trace_reserved = !r;
	return r;
}

/* In whole pages of the machine's: what else lies on the first and the last one stays. */
static void punch(int fd, size_t at, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), first = (at + page - 1) / page * page,
	       end = (at + bytes) / page * page;

	if (end > first)
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)first, (off_t)(end - first));
}

void page_release_trace(struct page *page)
{
	/* A file's process would get SIGBUS there, should the disk have filled up meanwhile. */
	if (page->sealed_fd < 0 || !page->trace_reserved)
		return;
	punch(page->sealed_fd, offsetof(struct wire_page, trace.record), sizeof(page->map->trace.record));
	page->trace_reserved = false;
}

static int open_file(const struct runtime *runtime, const char *name)
{
	int fd = openat(runtime->pages_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

int page_reopen(const struct runtime *runtime, const struct page *page)
{
	int fd;

	if (page->sealed_fd < 0)
		return open_file(runtime, page->name);
	fd = fcntl(page->sealed_fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

void page_look_begin(const struct page *page, struct page_look *ret)
{
	struct stat st = { 0 };

	*ret = (struct page_look){ .unknown = page->broken || !page->map };
	if (page->sealed_fd >= 0)
		ret->unknown |= fstat(page->sealed_fd, &st) != 0;
	ret->inode = st.st_ino;
	snprintf(ret->name, sizeof(ret->name), "%s", page->sealed_fd < 0 ? page->name : SEALED_NAME);
}

bool page_look_is_mapped(const struct page_look *look, pid_t pid)
{
	return look->unknown || process_has_mapped(pid, look->name, look->inode) != 0;
}

int page_open_to_read(const struct runtime *runtime, const struct page *page)
{
	char path[32];
	int fd;

	if (page->sealed_fd < 0 && runtime->system)
		return -EACCES;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", page->sealed_fd);
	fd = page->sealed_fd >= 0 ? open(path, O_RDONLY | O_CLOEXEC)
				  : openat(runtime->pages_fd, page->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

static int check_kind(int fd, bool sealed)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != sizeof(struct wire_page))
		return -EBADMSG;
	return sealed && fcntl(fd, F_GET_SEALS) != SEALS ? -EBADMSG : 0;
}

int page_open(struct runtime *runtime, const char *name, int take_sealed, struct page *ret)
{
	_cleanup_close_ int fd = take_sealed >= 0 ? take_sealed : open_file(runtime, name);
	int r;

	if (fd < 0)
		return fd;
	r = check_kind(fd, take_sealed >= 0);
	if (!r)
		r = map(fd, name, ret);
	if (r)
		return r;
	r = ret->map->magic != WIRE_PAGE_MAGIC ? -EBADMSG : ret->map->version != WIRE_PAGE_VERSION ? -EPROTO : 0;
	if (r) {
		page_close(ret);
		return r;
	}
	atomic_store(&ret->map->trace.on, 0); /* whoever read it was our predecessor */
	if (take_sealed >= 0)
		ret->sealed_fd = steal_fd(&fd);
	return 0;
}

void page_close(struct page *page)
{
	if (!page->map)
		return;
	arbitrate_lock();
	for (struct page **at = &pages; *at; at = &(*at)->next) {
		if (*at != page)
			continue;
		*at = page->next;
		break;
	}
	arbitrate_unlock();
	munmap(page->map, sizeof(*page->map));
	page->map = NULL;
	cleanup_close(&page->sealed_fd);
	page->sealed_fd = -1;
}

void page_remove(struct runtime *runtime, const char *name)
{
	unlinkat(runtime->pages_fd, name, 0);
	holder_drop(runtime, name);
}
