/*
 * image_test.c: images become bundles and come out of them again; damaged ones do not.
 */
#include "remote/image.h"

#include "base/tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct out {
	size_t bytes;
	_Alignas(8) uint8_t data[1 << 16];
};

static void add(void *to, const void *data, size_t bytes)
{
	struct out *o = to;

	if (bytes > sizeof(o->data) - o->bytes)
		abort();
	memcpy(o->data + o->bytes, data, bytes);
	o->bytes += bytes;
}

static const struct image_archs none, hopper = { 1, { 90 } };

/* A fat binary of entries for these targets. */
struct fat {
	size_t bytes;
	_Alignas(8) uint8_t data[8192];
};

static void put(uint8_t *p, unsigned int bytes, uint64_t value)
{
	for (unsigned int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

static void fat_begin(struct fat *f)
{
	memset(f, 0, sizeof(*f));
	put(f->data, 4, 0xba55ed50u);
	put(f->data + 4, 2, 1);
	put(f->data + 6, 2, 16);
	f->bytes = 16;
}

static void fat_add(struct fat *f, unsigned int kind, unsigned int arch, uint64_t flags, size_t payload)
{
	uint8_t *p = f->data + f->bytes;

	put(p, 2, kind);
	put(p + 4, 4, 64);
	put(p + 8, 8, payload);
	put(p + 28, 4, arch);
	put(p + 40, 8, flags);
	memset(p + 64, (int)arch, payload);
	f->bytes += 64 + payload;
	put(f->data + 8, 8, f->bytes - 16);
}

static struct out out;

static bool bundle(const void *image, size_t bound, const struct image_archs *archs)
{
	out.bytes = 0;
	return image_bundle(image, bound, archs, add, &out);
}

static const char text[] = " // a comment\n.version 7.0\n";

static void texts(void)
{
	unsigned int taken = 0;
	struct image_view v;

	tap_ok(bundle(text, SIZE_MAX, &none), "a text is an image");
	tap_ok(image_view_init(&v, out.data, out.bytes) && !strcmp(v.image, text), "and comes out whole");
	image_view_deinit(&v);
	tap_ok(!bundle("", SIZE_MAX, &none) && !bundle("noise", SIZE_MAX, &none), "other texts are none");
	tap_ok(!bundle(text, sizeof(text) - 1, &none), "a text without its NUL is none");
	tap_ok(!bundle(NULL, SIZE_MAX, &none), "nor is NULL");
	for (size_t cut = 0; cut < 40; cut += 8) {
		bundle(text, SIZE_MAX, &none);
		if (image_view_init(&v, out.data, cut)) {
			taken++;
			image_view_deinit(&v);
		}
	}
	is(taken, 0);
	bundle(text, SIZE_MAX, &none);
	out.data[sizeof(struct image_head) + 8 + sizeof(text) - 1] = 'x';
	tap_ok(!image_view_init(&v, out.data, out.bytes), "a text that does not end is refused");
}

static void choice(void)
{
	struct fat f;
	struct image_view v;
	size_t whole;

	fat_begin(&f);
	fat_add(&f, 1, 70, 0, 64); /* beaten by the next */
	fat_add(&f, 1, 80, 0, 128);
	fat_add(&f, 1, 100, 0, 256); /* too new */
	fat_add(&f, 2, 80, 0, 512); /* another major */
	fat_add(&f, 2, 90, 0, 1024);
	fat_add(&f, 2, 90, 0x100000, 32);
	fat_add(&f, 8, 50, 0, 16); /* of a kind that nobody here knows */
	tap_ok(bundle(f.data, SIZE_MAX, &none), "a fat binary is an image");
	whole = out.bytes;
	tap_ok(bundle(f.data, SIZE_MAX, &hopper) && whole - out.bytes == 3 * 64 + 64 + 256 + 512,
	       "what the device cannot choose is left away (%zu of %zu)", out.bytes, whole);
	tap_ok(image_view_init(&v, out.data, out.bytes), "what is left is a fat binary");
	image_view_deinit(&v);
	fat_begin(&f);
	fat_add(&f, 1, 100, 0, 256);
	tap_ok(bundle(f.data, SIZE_MAX, &hopper) && out.bytes == f.bytes + sizeof(struct image_head) + 8,
	       "where nothing would be left all stays");
	put(f.data + 16 + 8, 8, 100000);
	tap_ok(bundle(f.data, SIZE_MAX, &hopper) && out.bytes == f.bytes + sizeof(struct image_head) + 8,
	       "and where an entry is damaged");
}

static void wrappers(void)
{
	struct {
		uint32_t magic, version;
		const void *data;
		const void *const *list;
	} one = { 0x466243b1u, 1, NULL, NULL }, two = { 0x466243b1u, 2, NULL, NULL };
	const void *list[3] = { NULL };
	struct image_view v;
	struct fat f;

	fat_begin(&f);
	fat_add(&f, 1, 90, 0, 40);
	one.data = list[0] = list[1] = f.data;
	two.list = list;
	tap_ok(bundle(&one, SIZE_MAX, &none) && image_view_init(&v, out.data, out.bytes) && v.image == &v.wrapper &&
		       v.wrapper.version == 1 && !memcmp(v.wrapper.data, f.data, f.bytes),
	       "a wrapper comes out as a wrapper");
	image_view_deinit(&v);
	tap_ok(bundle(&two, SIZE_MAX, &none) && image_view_init(&v, out.data, out.bytes) && v.wrapper.version == 2 &&
		       !memcmp(v.wrapper.list[1], f.data, f.bytes) && !v.wrapper.list[2],
	       "a list as a list");
	image_view_deinit(&v);
	one.data = (void *)8;
	tap_ok(!bundle(&one, SIZE_MAX, &none), "one that points nowhere is no image");
}

/* Sizes that reach beyond what is mapped are found out. */
static void ends(void)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fat f;
	uint8_t *at;

	if (page == MAP_FAILED || mprotect(page + 4096, 4096, PROT_NONE)) {
		tap_ok(false, "memory");
		return;
	}
	fat_begin(&f);
	fat_add(&f, 1, 90, 0, 40);
	at = page + 4096 - f.bytes;
	memcpy(at, f.data, f.bytes);
	tap_ok(bundle(at, SIZE_MAX, &none), "an image at the end of memory");
	put(at + 8, 8, f.bytes - 16 + 8);
	tap_ok(!bundle(at, SIZE_MAX, &none), "one that claims more than there is");
	memset(page, 'x', 4096);
	page[0] = '.';
	tap_ok(!bundle(page, SIZE_MAX, &none), "a text without an end");
	memcpy(page + 4094, "\x7f" "E", 2);
	tap_ok(!bundle(page + 4094, SIZE_MAX, &none), "the beginning of a magic number");
	munmap(page, 8192);
}

/* Whatever a bundle holds, looking at it does no harm. */
static void noise(void)
{
	unsigned int random = 1, good = 0;
	struct image_view v;
	struct fat f;

	fat_begin(&f);
	fat_add(&f, 1, 90, 0, 40);
	for (unsigned int round = 0; round < 5000; round++) {
		bundle(f.data, SIZE_MAX, &none);
		for (unsigned int i = 0; i < 3; i++) {
			random = random * 1664525u + 1013904223u;
			out.data[(random >> 8) % 40] = (uint8_t)(random >> 24);
		}
		if (image_view_init(&v, out.data, out.bytes - (random >> 4) % 3 * 8))
			good++;
		image_view_deinit(&v);
	}
	tap_ok(good < 5000, "5000 bent bundles, %u taken", good);
}

int main(void)
{
	tap_begin();
	texts();
	choice();
	wrappers();
	ends();
	noise();
	return tap_end();
}
