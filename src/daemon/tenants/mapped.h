/*
 * mapped.h: asks beside the loop whether a process still has its page mapped.
 *
 * Whoever reads /proc/PID/maps may wait for the process: it holds its list of mappings while it changes it, which can
 * take it as long as it likes (one page of a file system of its own is enough), and a list of 65530 mappings is long.
 * So a thread reads it, one at a time for a grant, two for a user, and THREADS for all. One that is held up holds up no
 * others than its own grant's, or its own user's.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct mapped;
struct page;

/* In the loop; `is` false: it has it mapped no more. True as well where nobody can say. */
typedef void (*mapped_fn)(void *owner, bool is);

struct mapped_whose {
	uint64_t grant_id;
	uid_t uid;
};

/* Begins to ask. NULL: not now; ask again later. */
struct mapped *mapped_ask(uv_loop_t *loop, const struct page *page, pid_t pid, const struct mapped_whose *whose,
			  mapped_fn fn, void *owner);
/* The answer is not wanted any more. NULL is allowed. */
void mapped_forget(struct mapped *mapped);
