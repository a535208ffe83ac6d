/*
 * symbols_show.c: prints the variables that an image names, for symbols_test.py: a line for each entry, and its
 * variables as NAME:BYTES. symbols_show FILE
 */
#include "remote/worker/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST (1u << 30)

struct bytes {
	uint8_t *data;
	size_t count, room;
};

static void add(void *to, const void *data, size_t bytes)
{
	struct bytes *b = to;

	if (bytes > b->room - b->count)
		exit(2);
	memcpy(b->data + b->count, data, bytes);
	b->count += bytes;
}

static void show(void *arg, const struct symbols *s)
{
	(void)arg;
	printf("entry");
	for (size_t i = 0; i < s->count; i++)
		printf(" %s:%llu%s", s->symbol[i].name, (unsigned long long)s->symbol[i].bytes,
		       s->symbol[i].shared ? ":shared" : "");
	printf("\n");
}

int main(int argc, char **argv)
{
	static const char *const outcomes[] = {
		[SYMBOLS_ALL] = "all", [SYMBOLS_UNKNOWN] = "unknown", [SYMBOLS_HEAP] = "heap"
	};
	static const struct image_archs every;
	struct bytes file = { malloc(MOST), 0, MOST }, bundle = { malloc(MOST), 0, MOST };
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
	struct image_view view;

	if (!f || !file.data || !bundle.data)
		return 2;
	file.count = fread(file.data, 1, MOST - 1, f);
	fclose(f);
	file.data[file.count] = 0;
	if (!image_bundle(file.data, file.count + 1, &every, add, &bundle) ||
	    !image_view_init(&view, bundle.data, bundle.count)) {
		printf("none\n");
		return 1;
	}
	printf("%s\n", outcomes[symbols_read(&view, show, NULL)]);
	image_view_deinit(&view);
	free(file.data);
	free(bundle.data);
	return 0;
}
