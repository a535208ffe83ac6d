/* page.c: page files and the guard of their mappings. */
#include "daemon/tenants/page.h"

#include "base/cleanup.h"
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

static int map(int fd, struct page *ret)
{
	void *at = mmap(NULL, sizeof(struct wire_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	/* What is used of it is a few pages, far apart: on a disk the kernel would read what lies between as well. */
	madvise(at, sizeof(struct wire_page), MADV_RANDOM);
	*ret = (struct page){ .map = at, .next = pages };
	arbitrate_lock();
	pages = ret;
	arbitrate_unlock();
	return 0;
}

/* What the accounts and the first objects need. */
#define FIRST_BYTES 4096

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

int page_create(int dir_fd, const char *name, const struct wire_page *head, struct page *ret, int *ret_fd)
{
	_cleanup_close_ int fd = create_file(dir_fd, name);
	int r;

	if (fd < 0)
		return fd;
	r = ftruncate(fd, sizeof(*head)) ? -errno : -posix_fallocate(fd, 0, FIRST_BYTES);
	if (!r)
		r = reserve_turns(fd, head->device_count);
	if (!r)
		r = map(fd, ret);
	if (r) {
		unlinkat(dir_fd, name, 0);
		return r;
	}
	memcpy((char *)ret->map + sizeof(head->magic), (const char *)head + sizeof(head->magic),
	       offsetof(struct wire_page, account) - sizeof(head->magic));
	atomic_thread_fence(memory_order_release);
	ret->map->magic = head->magic;
	*ret_fd = steal_fd(&fd);
	return 0;
}

int page_reserve_objects(int dir_fd, const char *name, struct page *page)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (page->objects_reserved)
		return 0;
	fd = page_reopen(dir_fd, name);
	if (fd < 0)
		return fd;
	r = -posix_fallocate(fd, 0, offsetof(struct wire_page, turn));
	page->objects_reserved = !r;
	return r;
}

int page_reserve_trace(int dir_fd, const char *name, struct page *page)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (page->trace_reserved)
		return 0;
	fd = page_reopen(dir_fd, name);
	if (fd < 0)
		return fd;
	r = -posix_fallocate(fd, offsetof(struct wire_page, trace), sizeof(struct wire_trace));
	page->trace_reserved = !r;
	return r;
}

int page_reopen(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

int page_open(int dir_fd, const char *name, struct page *ret, int *ret_fd)
{
	_cleanup_close_ int fd = page_reopen(dir_fd, name);
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != sizeof(struct wire_page))
		return -EBADMSG;
	r = map(fd, ret);
	if (r)
		return r;
	r = ret->map->magic != WIRE_PAGE_MAGIC ? -EBADMSG : ret->map->version != WIRE_PAGE_VERSION ? -EPROTO : 0;
	if (r) {
		page_close(ret);
		return r;
	}
	atomic_store(&ret->map->trace.on, 0); /* whoever read it was our predecessor */
	*ret_fd = steal_fd(&fd);
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
}

void page_remove(int dir_fd, const char *name)
{
	unlinkat(dir_fd, name, 0);
}
