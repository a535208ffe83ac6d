/*
 * page.h: the files behind the pages of src/wire/page.h.
 *
 * A page is a file in <runtime>/pages, named by grant, pid and start time of its process. Its magic number is written
 * last and the client gets it after that: a file without it holds nothing. The room for the accounts and the turns is
 * reserved on the disk when the file is made, the room for objects when there are any: a full disk is an error and no
 * SIGBUS.
 * The client has a descriptor of the file and can cut it short; meted then does meet SIGBUS on its mapping:
 * page_guard() puts an empty page in its place and marks it broken, so that the account goes on with meted's own
 * figures.
 */
#pragma once

#include "wire/page.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PAGE_NAME_BYTES 64u

struct page {
	struct wire_page *map; /* NULL: none */
	_Atomic bool broken;
	bool objects_reserved;
	bool trace_reserved;
	struct page *next; /* all mapped pages, for the guard */
};

/* Installs the handler of SIGBUS. Once, before the first page. */
void page_guard(void);

const char *page_name(uint64_t grant_id, pid_t pid, uint64_t start_time, char name[PAGE_NAME_BYTES]);

/* Value: true when `name` is one that page_name() makes. */
bool page_name_parse(const char *name, uint64_t *ret_grant_id, pid_t *ret_pid, uint64_t *ret_start_time);

/* Makes the file with the header of `head` and everything after it zero; maps it. ret_fd is for the client. */
int page_create(int dir_fd, const char *name, const struct wire_page *head, struct page *ret, int *ret_fd);

/* Maps a file that is there. -EBADMSG: it is not a page of this version. */
int page_open(int dir_fd, const char *name, struct page *ret, int *ret_fd);

/* A descriptor of a mapped page's file for a client that connects again. */
int page_reopen(int dir_fd, const char *name);

/* Reserves the room for all objects of the page. */
int page_reserve_objects(int dir_fd, const char *name, struct page *page);

/* Reserves the room for the records of launches; `trace.on` has its room from the beginning. */
int page_reserve_trace(int dir_fd, const char *name, struct page *page);

/* Unmaps; the file stays. */
void page_close(struct page *page);

void page_remove(int dir_fd, const char *name);
