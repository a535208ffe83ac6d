/*
 * object_fuzz.c: fuzz target for the reader of what linkers get: an input is an archive, a host object, a fat binary or
 * anything else. Each piece lies within the input, whatever the input claims; what a piece says ends the reading.
 */
#include "fuzz.h"

#include "softdev/image/image.h"
#include "softdev/image/object.h"

struct pieces {
	const uint8_t *data;
	size_t length, count, most;
};

static int look(void *ctx, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	struct pieces *s = ctx;
	uint8_t sum = 0;

	check(p >= s->data && bytes <= s->length && (size_t)(p - s->data) <= s->length - bytes);
	for (size_t i = 0; i < bytes; i++)
		sum ^= p[i];
	object_has_lto(data, bytes);
	return ++s->count == s->most ? 1000 + (sum & 1) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	for (size_t most = 1; most < 4; most++) {
		struct pieces s = { .data = data, .length = length, .most = most };
		int r = object_each(data, length, look, &s);

		check(s.count <= most);
		check(s.count == most ? r >= 1000 : r == 0 || r == IMAGE_INVALID);
	}
	return 0;
}

#ifndef FUZZ_ENGINE
int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, "\x01\x02\x08\x10\x20\x40\x80\xff/`");
}
#endif
