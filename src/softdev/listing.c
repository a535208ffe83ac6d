/* listing.c: see listing.h. */
#include "softdev/listing.h"

#include <stdio.h>
#include <string.h>

#define INLINED_MOST 32u

struct piece {
	const char *p;
	size_t bytes;
};

static bool next_line(struct piece *rest, struct piece *ret)
{
	const char *end;

	if (!rest->bytes)
		return false;
	end = memchr(rest->p, '\n', rest->bytes);
	ret->p = rest->p;
	ret->bytes = end ? (size_t)(end - rest->p) : rest->bytes;
	rest->bytes -= end ? ret->bytes + 1 : ret->bytes;
	rest->p += end ? ret->bytes + 1 : ret->bytes;
	return true;
}

static struct piece trimmed(struct piece line)
{
	for (size_t i = 0; i + 1 < line.bytes; i++)
		if (line.p[i] == '/' && line.p[i + 1] == '/')
			line.bytes = i;
	while (line.bytes && strchr(" \t\r", line.p[0])) {
		line.p++;
		line.bytes--;
	}
	while (line.bytes && strchr(" \t\r", line.p[line.bytes - 1]))
		line.bytes--;
	return line;
}

static bool begins(struct piece line, const char *word)
{
	const size_t n = strlen(word);

	return line.bytes > n && !memcmp(line.p, word, n) && strchr(" \t", line.p[n]);
}

/* The words of a line as text, for sscanf. */
static const char *copied(struct piece line, char *to, size_t room)
{
	snprintf(to, room, "%.*s", (int)(line.bytes < room ? line.bytes : room - 1), line.p);
	return to;
}

bool listing_line(const char *text, size_t bytes, uint32_t line, char *ret, size_t room)
{
	struct piece rest = { text, strnlen(text, bytes) }, now;
	size_t n = 0;

	for (uint32_t i = 0; i < line; i++)
		if (!next_line(&rest, &now))
			return false;
	if (!line)
		return false;
	now = trimmed(now);
	for (size_t i = 0; i < now.bytes && n + 1 < room; i++) {
		const bool blank = now.p[i] == '\t' || now.p[i] == ' ';

		if (!blank || (n && ret[n - 1] != ' '))
			ret[n++] = blank ? ' ' : now.p[i];
	}
	ret[n] = 0;
	return n;
}

/* .file 1 "/src/scale.cu" */
static bool file_name(const char *text, size_t bytes, unsigned file, char *ret, size_t room)
{
	struct piece rest = { text, strnlen(text, bytes) }, now;
	char words[1024], name[512];
	unsigned number;

	while (next_line(&rest, &now)) {
		now = trimmed(now);
		if (!begins(now, ".file") ||
		    sscanf(copied(now, words, sizeof(words)), ".file %u \"%511[^\"]\"", &number, name) != 2 ||
		    number != file)
			continue;
		snprintf(ret, room, "%s", name);
		return true;
	}
	return false;
}

struct loc {
	unsigned file, line, column;
	unsigned outer[3]; /* where it was inlined: file, line, column; file 0: it was not */
};

/* .loc 2 206 3, function_name $name, inlined_at 1 26 30 */
static bool loc_read(struct piece line, struct loc *ret)
{
	char words[256];
	const char *inlined;

	*ret = (struct loc){ 0 };
	if (!begins(line, ".loc") ||
	    sscanf(copied(line, words, sizeof(words)), ".loc %u %u %u", &ret->file, &ret->line, &ret->column) < 2)
		return false;
	inlined = strstr(words, "inlined_at");
	if (!inlined || sscanf(inlined, "inlined_at %u %u %u", &ret->outer[0], &ret->outer[1], &ret->outer[2]) != 3)
		ret->outer[0] = 0;
	return true;
}

/* The last .loc before a line in its function; with `at`, the last one that names that place. File 0: there is none. */
static struct loc last_loc(const char *text, size_t bytes, uint32_t line, const unsigned *at)
{
	struct piece rest = { text, strnlen(text, bytes) }, now;
	struct loc found = { 0 }, l;

	for (uint32_t i = 0; i < line && next_line(&rest, &now); i++) {
		now = trimmed(now);
		if (begins(now, ".entry") || begins(now, ".func") || begins(now, ".visible") || begins(now, ".weak"))
			found.file = 0; /* another function */
		if (loc_read(now, &l) && (!at || (l.file == at[0] && l.line == at[1] && l.column == at[2])))
			found = l;
	}
	return found;
}

static bool place_text(const char *text, size_t bytes, unsigned file, unsigned line, char *ret, size_t room)
{
	char name[512];

	if (!file || !file_name(text, bytes, file, name, sizeof(name)))
		return false;
	snprintf(ret, room, "%s:%u", name, line);
	return true;
}

bool listing_source(const char *text, size_t bytes, uint32_t line, char *ret, size_t room)
{
	const struct loc l = last_loc(text, bytes, line, NULL);

	return place_text(text, bytes, l.file, l.line, ret, room);
}

bool listing_inlined(const char *text, size_t bytes, uint32_t line, char *ret, size_t room)
{
	struct loc l = last_loc(text, bytes, line, NULL), outer;

	if (!l.file || !l.outer[0])
		return false;
	for (unsigned depth = 0; depth < INLINED_MOST; depth++) { /* what it was inlined into may be inlined itself */
		outer = last_loc(text, bytes, line, l.outer);
		if (!outer.file || !outer.outer[0])
			break;
		l = outer;
	}
	return place_text(text, bytes, l.outer[0], l.outer[1], ret, room);
}
