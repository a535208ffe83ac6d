/*
 * line.h: a byte stream between two ranks: shared memory if they are on one machine, or a socket. Reads and writes do
 * not block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line;

/* Creates a line on a connected socket, which the line owns, also after an error. NULL: no memory. */
struct line *line_new(int fd);
/* The same with shared memory, which this side creates and sends, or receives. NULL: errno. */
struct line *line_offer(int fd);
struct line *line_accept(int fd, int memory);
/* Sends a farewell, unless the line is `lost`, and closes. */
void line_free(struct line *l, bool lost);

/* Value: number of bytes transferred; 0: none at present; -1: the other rank is gone. */
long line_write(struct line *l, const void *from, size_t bytes);
long line_read(struct line *l, void *to, size_t bytes);
/* True if the other rank is gone without a farewell. Costs a system call. */
bool line_lost(struct line *l);
/* True if it has sent a farewell, and nothing is left to read. */
bool line_over(struct line *l);
/* A descriptor to poll; -1: shared memory, which has none. */
int line_fd(const struct line *l);
