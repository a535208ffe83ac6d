/* book.c: the file `accounts`: entries without gaps of meaning, mapped once for as many clients as there can be. */
#include "daemon/tenants/book.h"

#include "base/cleanup.h"
#include "daemon/log.h"
#include "daemon/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define FILE_NAME "accounts"
#define MAGIC 0x6b6f6f62u /* "book" */
#define VERSION 1u
#define ENTRIES 65536u /* of a sparse file: room is reserved as it is needed */
#define STEP 64u

struct head {
	uint32_t magic, version, entry_bytes, reserved;
	uint64_t unused[6];
};

struct file {
	struct head head;
	struct book_entry entry[ENTRIES];
};

struct book {
	int fd;
	struct file *file;
	unsigned int used; /* entries below it may be in use */
	unsigned int room; /* entries for which there is room on the disk */
	bool told;
};

static bool is_book(int fd)
{
	struct head head;
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size == sizeof(struct file) &&
	       pread(fd, &head, sizeof(head), 0) == sizeof(head) && head.magic == MAGIC && head.version == VERSION &&
	       head.entry_bytes == sizeof(struct book_entry);
}

static int create(const struct runtime *runtime)
{
	struct head head = { .magic = MAGIC, .version = VERSION, .entry_bytes = sizeof(struct book_entry) };
	_cleanup_close_ int fd = -1;

	unlinkat(runtime->dir_fd, FILE_NAME, 0);
	fd = openat(runtime->dir_fd, FILE_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct file)))
		return -errno;
	return pwrite(fd, &head, sizeof(head), 0) == sizeof(head) ? steal_fd(&fd) : -EIO;
}

static int open_file(const struct runtime *runtime, bool anew)
{
	_cleanup_close_ int fd = anew ? -1 : openat(runtime->dir_fd, FILE_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && is_book(fd) ? steal_fd(&fd) : create(runtime);
}

/* Room for the entries below `count`, so that a full disk is an answer and no SIGBUS. */
static bool reserve(struct book *book, unsigned int count)
{
	if (count > book->room && !posix_fallocate(book->fd, 0, (off_t)offsetof(struct file, entry[count])))
		book->room = count;
	return count <= book->room;
}

static unsigned int count_used(const struct book *book)
{
	off_t end = lseek(book->fd, 0, SEEK_DATA), last = 0;

	/* What has never been written to is not read either. */
	while (end >= 0 && (last = lseek(book->fd, end, SEEK_HOLE)) > 0 && (end = lseek(book->fd, last, SEEK_DATA)) > 0)
		;
	last = last > (off_t)sizeof(struct head) ? last - (off_t)sizeof(struct head) : 0;
	last = (last + (off_t)sizeof(struct book_entry) - 1) / (off_t)sizeof(struct book_entry);
	return last > ENTRIES ? ENTRIES : (unsigned int)last;
}

struct book *book_open(struct runtime *runtime, bool anew)
{
	struct book *book = calloc(1, sizeof(*book));

	if (!book)
		return NULL;
	book->fd = open_file(runtime, anew);
	book->file = book->fd < 0 ? MAP_FAILED
				  : mmap(NULL, sizeof(struct file), PROT_READ | PROT_WRITE, MAP_SHARED, book->fd, 0);
	if (book->file == MAP_FAILED) {
		log_line("%s/" FILE_NAME ": %s: a page that is damaged while meted is down will not be noticed; make "
			 "room, then restart meted",
			 runtime->dir, strerror(book->fd < 0 ? -book->fd : errno));
		book->file = NULL;
		book_close(book);
		return NULL;
	}
	book->used = count_used(book);
	if (!reserve(book, book->used))
		book->used = 0;
	return book;
}

void book_close(struct book *book)
{
	if (!book)
		return;
	if (book->file)
		munmap(book->file, sizeof(*book->file));
	cleanup_close(&book->fd);
	free(book);
}

struct book_entry *book_next(struct book *book, struct book_entry *last)
{
	unsigned int i = last ? (unsigned int)(last - book->file->entry) + 1 : 0;

	for (; i < book->used; i++)
		if (atomic_load_explicit(&book->file->entry[i].pid, memory_order_acquire) > 0)
			return &book->file->entry[i];
	return NULL;
}

struct book_entry *book_find(struct book *book, uint64_t grant_id, pid_t pid, uint64_t start_time)
{
	struct book_entry *e = NULL;

	while (book && (e = book_next(book, e)))
		if (e->pid == pid && e->start_time == start_time && e->grant_id == grant_id)
			return e;
	return NULL;
}

static struct book_entry *find_free(struct book *book)
{
	unsigned int i = 0;

	while (i < book->used && atomic_load_explicit(&book->file->entry[i].pid, memory_order_relaxed))
		i++;
	if (i == ENTRIES || (i == book->used && !reserve(book, i < book->room ? i + 1 : (i / STEP + 1) * STEP)))
		return NULL;
	if (i == book->used)
		book->used++;
	return &book->file->entry[i];
}

struct book_entry *book_add(struct book *book, uint64_t grant_id, pid_t pid, uint64_t start_time)
{
	struct book_entry *e = book ? find_free(book) : NULL;

	if (!e) {
		if (book && !book->told)
			log_line("no room for more in " FILE_NAME ": pages that are damaged while meted is down will "
				 "not be noticed; make room in the runtime directory");
		if (book)
			book->told = true;
		return NULL;
	}
	memset(e, 0, sizeof(*e));
	e->grant_id = grant_id;
	e->start_time = start_time;
	atomic_store_explicit(&e->pid, pid, memory_order_release);
	return e;
}

void book_remove(struct book_entry *entry)
{
	if (entry)
		atomic_store_explicit(&entry->pid, 0, memory_order_release);
}
