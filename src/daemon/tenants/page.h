/*
 * page.h: the files behind the pages of src/wire/page.h.
 *
 * Under a system's meted, a page is sealed memory: its client, which is another user, can neither extend nor truncate
 * it. A process that outlives meted holds it (holder.h). Under a user's own meted, and where there is no holder, a
 * page is a file in <runtime>/pages, where the client has the same rights anyway.
 *
 * The name of a page has the grant, and the pid and start time of its process. Its magic number is written last,
 * before the client gets it: a page without the number holds nothing. The space for the accounts and the turns is
 * reserved when the page is created, the space for objects when there are any: a full disk is then an error and no
 * SIGBUS. A client can truncate a file; meted then gets SIGBUS on its mapping. page_guard() puts an empty page in its
 * place and marks it as broken, so that the account continues with meted's own values.
 */
#pragma once

#include "wire/page.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PAGE_NAME_BYTES 64u

struct runtime;

struct page {
	struct wire_page *map; /* NULL: none */
	int sealed_fd;	       /* of sealed memory; -1: it is a file */
	char name[PAGE_NAME_BYTES];
	_Atomic bool broken;
	bool objects_reserved;
	bool trace_reserved;
	struct page *next; /* in the list of all mapped pages, for the guard */
};

/* Installs the SIGBUS handler. Called once, before the first page. */
void page_guard(void);

const char *page_name(uint64_t grant_id, pid_t pid, uint64_t start_time, char name[PAGE_NAME_BYTES]);

/* Value: true if page_name() makes such names. */
bool page_name_parse(const char *name, uint64_t *ret_grant_id, pid_t *ret_pid, uint64_t *ret_start_time);

/* Creates the page with the header of `head` and zeros after it, and maps it. ret_fd is for the client. */
int page_create(struct runtime *runtime, const char *name, const struct wire_page *head, struct page *ret, int *ret_fd);

/*
 * Maps an existing page: memory from the holder (take_sealed), or a file if that is -1. -EBADMSG: it is no page;
 * -EPROTO: it has another version.
 */
int page_open(struct runtime *runtime, const char *name, int take_sealed, struct page *ret);

/* Returns a descriptor of a mapped page for a client that connects again. */
int page_reopen(const struct runtime *runtime, const struct page *page);

/* What a thread needs to look for the page among the mappings of a process: mapped.h. */
struct page_look {
	char name[PAGE_NAME_BYTES];
	uint64_t inode; /* 0: the name suffices */
	bool unknown;	/* nothing can be told */
};

void page_look_begin(const struct page *page, struct page_look *ret);
/*
 * True if the process has the page mapped, as every program does after HELLO; a process that has executed another
 * program has not. True also if it cannot be determined. Takes as long as the process wants; in any thread.
 */
bool page_look_is_mapped(const struct page_look *look, pid_t pid);

/*
 * Returns a read-only descriptor for other processes of the tenant. -EACCES: the client could truncate the page under
 * them.
 */
int page_open_to_read(const struct runtime *runtime, const struct page *page);

/* Reserves the space for all objects of the page. */
int page_reserve_objects(const struct runtime *runtime, struct page *page);

/* Reserves the space for the records of launches; `trace.on` has its space from the start. */
int page_reserve_trace(const struct runtime *runtime, struct page *page);
/* Returns that space when nothing reads the records any more. A process that continues to write does not notice. */
void page_release_trace(struct page *page);

/* Unmaps the page; the file or memory remains. */
void page_close(struct page *page);

void page_remove(struct runtime *runtime, const char *name);
