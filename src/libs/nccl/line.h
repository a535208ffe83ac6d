/*
 * line.h: a way for bytes between two ranks: memory that both share, where they are on one machine, or a socket.
 * Reading and writing take what can be taken now.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line;

/* Of a connected socket, which the line owns from then on, with an error as well. NULL: no memory. */
struct line *line_new(int fd);
/* The same with shared memory, which this side makes and sends, or receives. NULL: errno. */
struct line *line_offer(int fd);
struct line *line_accept(int fd, int memory);
/* Says goodbye, unless it is `lost`, and closes. */
void line_free(struct line *l, bool lost);

/* Bytes taken; 0: nothing now; -1: the other rank is gone. */
long line_write(struct line *l, const void *from, size_t bytes);
long line_read(struct line *l, void *to, size_t bytes);
/* Is the other rank gone without a goodbye? Costs a system call. */
bool line_lost(struct line *l);
/* Has it said goodbye, and is nothing left to read? */
bool line_over(struct line *l);
/* To wait for; -1: shared memory, of which nobody tells. */
int line_fd(const struct line *l);
