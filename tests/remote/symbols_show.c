/*
 * symbols_show.c: prints the variables that an image names, for symbols_test.py: a line for each entry, and its
 * variables as NAME:BYTES. symbols_show FILE
 */
#include "remote/worker/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST (1u << 30)

struct bytes {
	uint8_t *data;
	size_t count, room;
};

/* Room for any image. malloc() would write to all of it in a test: MALLOC_PERTURB_ is set there. */
static struct bytes bytes_init(void)
{
	void *data = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return (struct bytes){ data == MAP_FAILED ? NULL : data, 0, MOST };
}

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
	struct bytes file = bytes_init(), bundle = bytes_init();
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
	munmap(file.data, MOST);
	munmap(bundle.data, MOST);
	return 0;
}
