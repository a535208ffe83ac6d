/*
 * handover_test.c: what a meted leaves is written only if the next one could read it: else there is a line, and the
 * meted that has it goes on.
 */
#include "daemon/upgrade/handover.h"

#include "base/tap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEEP 3000u /* levels: more than are read */
#define LARGE (1u << 20)

/* Value: what handover_write() says; of what was written, the part is read as it was. */
static int write_and_read(json_t *take_part, char *error, size_t size)
{
	struct handover *h = handover_new(), *read = NULL;
	int file;

	handover_put(h, "part", json_incref(take_part));
	file = handover_write(h, error, size);
	if (file >= 0) {
		tap_ok(!handover_read(file, &read) && json_equal(handover_get(read, "part"), take_part),
		       "what is written can be read");
		handover_free(read);
	}
	handover_free(h);
	json_decref(take_part);
	return file < 0 ? file : 0;
}

static json_t *deep(unsigned int levels)
{
	json_t *part = json_array();

	while (--levels)
		part = json_pack("[o]", part);
	return part;
}

static bool is_line(const char *error)
{
	return strlen(error) > 20 && !strchr(error, '\n') && strstr(error, "restart meted");
}

static void test_deep(void)
{
	char error[400] = "";

	tap_ok(!write_and_read(deep(100), error, sizeof(error)), "a hundred levels are written");
	tap_ok(write_and_read(deep(DEEP), error, sizeof(error)) == -EBADMSG && is_line(error),
	       "what is too deep to be read is not: %s", error);
}

static void test_zero(void)
{
	char error[400] = "";

	tap_ok(!write_and_read(json_stringn("a\0b", 3), error, sizeof(error)), "a zero byte is written");
}

static void test_large(void)
{
	char *text = malloc(LARGE + 1), error[400] = "";
	size_t most = handover_most;
	json_t *part;

	memset(text, 'a', LARGE);
	text[LARGE] = 0;
	part = json_string_nocheck(text);
	free(text);
	tap_ok(!write_and_read(json_incref(part), error, sizeof(error)), "a long part is written");
	handover_most = LARGE;
	tap_ok(write_and_read(part, error, sizeof(error)) == -EFBIG && is_line(error),
	       "what is too large to be read is not: %s", error);
	handover_most = most;
}

int main(void)
{
	tap_begin();
	test_deep();
	test_zero();
	test_large();
	return tap_end();
}
