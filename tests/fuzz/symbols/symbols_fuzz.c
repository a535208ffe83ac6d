/*
 * symbols_fuzz.c: fuzz target for the names of an image's variables (remote/worker/symbols.h): nothing outside the
 * image is read, no image takes long or more memory than it may, and what is told is whole.
 */
#include "../ptx/fuzz.h"
#include "remote/worker/symbols.h"

static volatile unsigned int fuzz_seen;

static void found(void *arg, const struct symbols *s)
{
	const struct image_view *v = arg;

	check(s->complete && s->member < v->count);
	for (size_t i = 0; i < s->count; i++) {
		check(*s->symbol[i].name && strlen(s->symbol[i].name) < SYMBOL_NAME_MOST);
		check(!i || strcmp(s->symbol[i - 1].name, s->symbol[i].name) <= 0);
		for (uint64_t k = 0; s->symbol[i].initial && k < s->symbol[i].bytes; k += 64)
			fuzz_seen += s->symbol[i].initial[k];
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct image_head head = { IMAGE_TEXT, 1 };
	const size_t padded = (length + 7) / 8 * 8;
	uint64_t bytes = length;
	struct image_view v;
	uint8_t *bundle = calloc(1, sizeof(head) + sizeof(bytes) + padded);

	check(bundle);
	for (; head.kind <= IMAGE_FAT; head.kind++) {
		memcpy(bundle, &head, sizeof(head));
		memcpy(bundle + sizeof(head), &bytes, sizeof(bytes));
		memcpy(bundle + sizeof(head) + sizeof(bytes), data, length);
		if (!image_view_init(&v, bundle, sizeof(head) + sizeof(bytes) + padded))
			continue;
		symbols_read(&v, found, &v);
		image_view_deinit(&v);
	}
	free(bundle);
	return 0;
}

#ifndef FUZZ_ENGINE
int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, "\177ELF\2\1.nv.global.init\1\2\x20\x80\x0d");
}
#endif
