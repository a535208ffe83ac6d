/* reach.c: see reach.h. The kernel reads a byte of every page for us and says how far it came. */
#include "base/reach.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGES = 64 };

bool reach_bytes(const void *p, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const int before = errno;
	uintptr_t at = (uintptr_t)p, end;
	bool all = true;

	if (__builtin_add_overflow(at, bytes, &end))
		return false;
	while (all && at < end) {
		char bin[PAGES];
		struct iovec from[PAGES], to = { bin, 0 };
		ssize_t n;

		for (; to.iov_len < PAGES && at < end; at = (at / page + 1) * page) {
			from[to.iov_len++] = (struct iovec){ (void *)at, 1 };
			if (at / page == UINTPTR_MAX / page) { /* the last page of all */
				end = at;
				break;
			}
		}
		n = process_vm_readv(getpid(), &to, 1, from, to.iov_len, 0);
		all = n < 0 ? errno != EFAULT : (size_t)n == to.iov_len;
	}
	errno = before;
	return all;
}

bool reach_text(const char *p, size_t *ret_bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const char *at = p, *nul;

	for (;;) {
		const size_t left = page - (uintptr_t)at % page;

		if (!reach_bytes(at, 1))
			return false;
		nul = memchr(at, 0, left);
		if (nul)
			break;
		at += left;
	}
	*ret_bytes = (size_t)(nul - p);
	return true;
}
