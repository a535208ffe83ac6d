/* book.c: the file `accounts`: entries without gaps of meaning, mapped once for as many clients as there can be. */
#include "daemon/tenants/book.h"

#include "daemon/entry_file.h"
#include "daemon/log.h"
#include "daemon/runtime.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "accounts"
#define MAGIC 0x6b6f6f62u /* "book" */
#define VERSION 1u
#define ENTRIES 65536u /* of a sparse file: room is reserved as it is needed */
#define STEP 64u

struct head {
	struct entry_head head;
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

static const struct entry_kind kind = { .name = FILE_NAME,
					.magic = MAGIC,
					.version = VERSION,
					.entry_bytes = sizeof(struct book_entry),
					.bytes = sizeof(struct file) };

/* Room for the entries below `count`. */
static bool reserve(struct book *book, unsigned int count)
{
	if (count > book->room && entry_file_reserve(book->fd, offsetof(struct file, entry[count])))
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
	void *file;
	int r;

	if (!book)
		return NULL;
	r = entry_file_open(runtime, &kind, anew, &book->fd, &file);
	if (r) {
		log_line("%s/" FILE_NAME ": %s: a page that is damaged while meted is down will not be noticed; make "
			 "room, then restart meted",
			 runtime->dir, strerror(-r));
		free(book);
		return NULL;
	}
	book->file = file;
	book->used = count_used(book);
	if (!reserve(book, book->used))
		book->used = 0;
	return book;
}

void book_close(struct book *book)
{
	if (!book)
		return;
	entry_file_close(&kind, &book->fd, book->file);
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
