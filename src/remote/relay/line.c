/* line.c: what all lines have in common, see line.h. */
#include "remote/relay/line.h"

#include "base/clock.h"

#include <errno.h>

ssize_t line_read(struct line *line, void *at, size_t bytes)
{
	ssize_t n;

	__atomic_store_n(&line->waits_since_ns, clock_now_ns(), __ATOMIC_RELAXED);
	n = line->ops->read(line, at, bytes);
	__atomic_store_n(&line->waits_since_ns, 0, __ATOMIC_RELAXED);
	return n;
}

int line_read_all(struct line *line, void *at, size_t bytes)
{
	uint8_t *to = at;
	ssize_t n;

	for (; bytes; to += n, bytes -= (size_t)n) {
		n = line_read(line, to, bytes);
		if (n <= 0)
			return n < 0 ? (int)n : -EPIPE;
	}
	return 0;
}

int line_write(struct line *line, const void *at, size_t bytes)
{
	struct iovec part = { (void *)(uintptr_t)at, bytes };

	return line->ops->write(line, &part, 1);
}

int line_write_two(struct line *line, const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	struct iovec parts[2] = { { (void *)(uintptr_t)a, a_bytes }, { (void *)(uintptr_t)b, b_bytes } };

	return line->ops->write(line, parts, 2);
}

uint64_t line_waited_ns(const struct line *line, uint64_t now_ns)
{
	uint64_t since = __atomic_load_n(&line->waits_since_ns, __ATOMIC_RELAXED);

	return since && since < now_ns ? now_ns - since : 0;
}

void line_close(struct line *line)
{
	if (line)
		line->ops->close(line);
}

void line_cleanup(struct line **line)
{
	line_close(*line);
}
