/* sites.c: see sites.h. x86-64 alone: a direct call is E8 and four bytes of distance, a direct jump E9 and the same. */
#include "guard/bpf/sites.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL 0xe8
#define JUMP 0xe9
#define BREAKPOINT 0xcc /* in the place of a call's first byte, where there is a probe already: of the set before */
#define BRANCH_BYTES 5
#define BODY_MOST 65536u
#define PIECE 4096u
#define HEAD 16u

struct function {
	uint64_t at;
	bool part; /* a piece of another function, which the compiler has put elsewhere (NAME.cold) */
};

struct functions {
	struct function *function;
	size_t count, room;
	uint64_t callee; /* 0: not there */
};

__attribute__((format(printf, 3, 4))) static int say(char *why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, SITES_WHY, fmt, ap);
	va_end(ap);
	return r;
}

static int functions_add(struct functions *f, uint64_t at, const char *name)
{
	if (f->count == f->room) {
		size_t room = f->room ? 2 * f->room : 1024;
		struct function *more = realloc(f->function, room * sizeof *more);

		if (!more)
			return -ENOMEM;
		f->function = more;
		f->room = room;
	}
	f->function[f->count++] = (struct function){ at, strchr(name, '.') != NULL };
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = ((const struct function *)a)->at, y = ((const struct function *)b)->at;

	return x < y ? -1 : x > y;
}

/* A module's functions by address. */
static int functions_read(const char *kallsyms, const char *module, const char *callee, struct functions *f)
{
	_cleanup_fclose_ FILE *file = fopen(kallsyms, "re");
	char line[1024], name[512], of[128], in[130];
	unsigned long long at;
	char type;
	int r = 0;

	if (!file)
		return -errno;
	snprintf(in, sizeof in, "[%.126s]", module);
	while (!r && fgets(line, sizeof line, file)) {
		if (sscanf(line, "%llx %c %511s %127s", &at, &type, name, of) != 4 || strcmp(of, in) || !at ||
		    (type != 't' && type != 'T'))
			continue;
		if (!strcmp(name, callee))
			f->callee = at;
		r = functions_add(f, at, name);
	}
	if (f->count)
		qsort(f->function, f->count, sizeof *f->function, compare);
	return r;
}

/*
 * endbr64, where the kernel is built with it, or what the kernel writes over it in functions that are only called
 * directly (gen_endbr_poison() of arch/x86/include/asm/ibt.h, of two versions); then the five bytes that tracing
 * changes: nothing, or a call.
 */
static bool has_entry(const uint8_t head[HEAD])
{
	static const uint8_t landings[][4] = { { 0xf3, 0x0f, 0x1e, 0xfa },
					       { 0x66, 0x0f, 0x1f, 0x00 },
					       { 0x0f, 0x1f, 0x40, 0xd6 } };
	static const uint8_t nothing[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	const uint8_t *at = head;

	for (size_t i = 0; at == head && i < sizeof landings / sizeof *landings; i++)
		if (!memcmp(head, landings[i], sizeof *landings))
			at = head + sizeof *landings;
	return !memcmp(at, nothing, sizeof nothing) || *at == CALL;
}

/* Value: how many there are now, or -errno. */
static int scan(const uint8_t *code, size_t size, uint64_t at, uint64_t callee, struct site ret[SITES_MOST], int count)
{
	for (size_t i = 0; i + BRANCH_BYTES <= size; i++) {
		int32_t distance;

		if (code[i] != CALL && code[i] != JUMP && code[i] != BREAKPOINT)
			continue;
		memcpy(&distance, code + i + 1, sizeof distance);
		if (at + i + BRANCH_BYTES + (uint64_t)(int64_t)distance != callee)
			continue;
		if (code[i] == JUMP)
			return -ENOTSUP;
		if (count == SITES_MOST)
			return -E2BIG;
		ret[count++] = (struct site){ at + i, at + i + BRANCH_BYTES };
	}
	return count;
}

/* What can be read of a function's code. */
static size_t body_read(sites_read read, void *of, uint64_t at, size_t size, uint8_t *body)
{
	size_t have = 0;

	while (have < size) {
		size_t piece = size - have < PIECE ? size - have : PIECE;

		if (read(of, at + have, body + have, piece))
			break;
		have += piece;
	}
	return have;
}

int sites_find(const char *kallsyms, const char *module, const char *callee, sites_read read, void *of,
	       struct site ret[SITES_MOST], char *why)
{
	struct functions f = { 0 };
	uint8_t *body = malloc(BODY_MOST);
	size_t seen = 0;
	int r = body ? functions_read(kallsyms, module, callee, &f) : -ENOMEM;

	for (size_t i = 0; r >= 0 && f.callee && i < f.count; i++) {
		uint64_t at = f.function[i].at, end = i + 1 < f.count ? f.function[i + 1].at : at + PIECE;
		uint8_t head[HEAD];

		if (end <= at || read(of, at, head, sizeof head))
			continue;
		seen++;
		if (!f.function[i].part && !has_entry(head))
			continue;
		r = scan(body, body_read(read, of, at, end - at < BODY_MOST ? end - at : BODY_MOST, body), at, f.callee,
			 ret, r);
	}
	free(body);
	free(f.function);
	if (r == -ENOTSUP)
		return say(why, r, "the driver %s jumps to %s instead of calling it", module, callee);
	if (!r && !seen)
		return say(why, -EPERM, "the code of the driver %s cannot be %s", module,
			   f.callee ? "read" : "found in /proc/kallsyms (no CAP_SYSLOG?)");
	if (r < 0)
		return say(why, r, "the calls of %s in the driver %s cannot be found (%s)", callee, module,
			   strerror(-r));
	return r ? r : say(why, -ENOENT, "no function of the driver %s that can be traced calls %s", module, callee);
}
