/*
 * image_test.c: the reader of program images: what the compiler driver writes (the corpus of the fuzz target), and images made
 * here, good and damaged.
 */
#include "base/tap.h"
#include "softdev/image/image.h"

#include <lz4.h>
#include <sys/mman.h>
#include <zstd.h>

#define TEXT_75 ".version 8.0 .target sm_75 .address_size 64 "
#define TEXT_90 ".version 8.0 .target sm_90 .address_size 64 "

enum { RAW, LZ4, ZSTD };

static _Alignas(8) uint8_t image[1 << 16];
static size_t image_length;
static char why[200];

static void put(size_t at, uint64_t v, size_t bytes)
{
	memcpy(image + at, &v, bytes);
}

static void begin(void)
{
	memset(image, 0, sizeof(image));
	put(0, 0xBA55ED50u, 4);
	put(4, 1, 2);
	put(6, 16, 2);
	image_length = 16;
}

/* An entry of `kind` for `arch`; value: where it begins. */
static size_t add(unsigned kind, unsigned arch, uint64_t flags, const char *text, int packing)
{
	const size_t at = image_length, bytes = strlen(text) + 1;
	char *payload = (char *)image + at + 64;
	size_t packed = 0;

	if (packing == LZ4)
		packed = (size_t)LZ4_compress_default(text, payload, (int)bytes, 4096);
	else if (packing == ZSTD)
		packed = ZSTD_compress(payload, 4096, text, bytes, 3);
	else
		memcpy(payload, text, bytes);
	put(at, kind, 2);
	put(at + 2, 0x101, 2);
	put(at + 4, 64, 4);
	put(at + 8, ((packed ? packed : bytes) + 7) & ~7ull, 8);
	put(at + 16, packed, 4);
	put(at + 28, arch, 4);
	put(at + 40, flags | (packing == LZ4 ? 0x2000 : packing == ZSTD ? 0x8000 : 0), 8);
	put(at + 56, packed ? bytes : 0, 8);
	image_length += 64 + (((packed ? packed : bytes) + 7) & ~(size_t)7);
	put(8, image_length - 16, 8);
	return at;
}

static int find(const void *p, uint32_t arch, struct image_ptx *ret)
{
	why[0] = 0;
	return image_find_ptx(p, arch, ret, why, sizeof(why));
}

/* The one text in an image, or what the refusal was. */
static const char *only(const void *p, uint32_t arch)
{
	static char text[512];
	struct image_ptx ptx;
	int r = find(p, arch, &ptx);

	if (r)
		snprintf(text, sizeof(text), "outcome %d", r);
	else
		snprintf(text, sizeof(text), "%s%s", ptx.text[0].text, ptx.count == 1 ? "" : " and more");
	if (!r)
		image_ptx_deinit(&ptx);
	return text;
}

static void test_packing(void)
{
	for (int packing = RAW; packing <= ZSTD; packing++) {
		begin();
		add(1, 75, 0x11, TEXT_75, packing);
		is_str(only(image, 90), TEXT_75);
		is(image_bytes(image), image_length);
	}
}

static void test_choice(void)
{
	begin();
	add(2, 90, 0x11, "machine code", RAW);
	is_str(only(image, 90), "outcome 1");
	ok(strstr(why, "machine code only") != NULL);
	add(1, 75, 0x11, TEXT_75, ZSTD);
	add(1, 90, 0x11, TEXT_90, LZ4);
	is_str(only(image, 90), TEXT_90);
	is_str(only(image, 120), TEXT_90);
	is_str(only(image, 89), TEXT_75);
	is_str(only(image, 70), "outcome 1"); /* machine code beside PTX for newer devices */
	ok(strstr(why, "sm_75") && strstr(why, "sm_70")); /* the nearest: METE_SOFT_CC=7.5 is the remedy */
	begin();
	add(1, 90, 0x11, TEXT_90, RAW);
	is_str(only(image, 70), "outcome 2");
	begin();
	add(1, 90, 0x100011, TEXT_90, RAW);
	add(1, 75, 0x11, TEXT_75, RAW);
	is_str(only(image, 90), TEXT_90);
	is_str(only(image, 100), TEXT_75);
	begin();
	add(8, 90, 0x11, "intermediate", RAW);
	is_str(only(image, 90), "outcome 1");
	begin();
	is_str(only(image, 90), "outcome 1");
}

static void test_wrappers(void)
{
	static _Alignas(8) uint8_t first[4096];
	struct {
		uint32_t magic, version;
		const void *data;
		const void *aux;
	} wrapper = { 0x466243b1u, 1, image, NULL };
	const void *list[] = { first, image, NULL };
	struct image_ptx ptx;

	begin();
	add(1, 75, 0x11, TEXT_75, RAW);
	memcpy(first, image, sizeof(first));
	begin();
	add(1, 90, 0x11, TEXT_90, ZSTD);
	is_str(only(&wrapper, 90), TEXT_90);
	is(image_bytes(&wrapper), image_length);
	wrapper.version = 2;
	wrapper.aux = list;
	is(find(&wrapper, 90, &ptx), IMAGE_OK);
	is(ptx.count, 2);
	is_str(ptx.text[0].text, TEXT_75);
	is_str(ptx.text[1].text, TEXT_90);
	image_ptx_deinit(&ptx);
	wrapper.version = 7;
	is_str(only(&wrapper, 90), "outcome 3");
	wrapper.version = 1;
	wrapper.data = NULL;
	is_str(only(&wrapper, 90), "outcome 3");
	wrapper.data = "hello, this is no fat binary";
	is_str(only(&wrapper, 90), "outcome 3");
}

static void test_others(void)
{
	uint8_t elf[64] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, [18] = 190 };
	struct image_ptx ptx;

	is_str(only(elf, 90), "outcome 1");
	elf[18] = 62;
	is_str(only(elf, 90), "outcome 3");
	is_str(only(" \t/* remark */ " TEXT_75, 90), " \t/* remark */ " TEXT_75);
	is_str(only("", 90), "outcome 3");
	is_str(only("x", 90), "outcome 3");
	is_str(only("\177EL", 90), "outcome 3");
	is(find(NULL, 90, &ptx), IMAGE_INVALID);
}

/* Every size in the headers, made absurd; and every cut. */
static void test_damage(void)
{
	static const uint64_t absurd[] = { 0, 1, 63, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, ~0ull, ~0ull - 64 };
	struct image_ptx ptx;
	int bad = 0, cuts = 0;

	for (int packing = RAW; packing <= ZSTD; packing++) {
		size_t at;

		begin();
		at = add(1, 75, 0x11, TEXT_75, packing);
		for (size_t i = 0; i < 8; i++) {
			static const uint8_t field[][2] = { { 4, 4 }, { 8, 8 }, { 16, 4 }, { 56, 8 }, { 32, 4 } };

			for (size_t k = 0; k < 5; k++) {
				uint8_t keep[8];

				memcpy(keep, image + at + field[k][0], 8);
				put(at + field[k][0], absurd[i], field[k][1]);
				if (!image_find_ptx_bounded(image, image_length, 90, &ptx, why, sizeof(why)))
					image_ptx_deinit(&ptx);
				else
					bad++;
				memcpy(image + at + field[k][0], keep, 8);
			}
		}
		for (size_t n = 0; n < image_length; n++) {
			uint8_t *cut = malloc(n ? n : 1);

			memcpy(cut, image, n);
			why[0] = 0;
			cuts += image_find_ptx_bounded(cut, n, 90, &ptx, why, sizeof(why)) != IMAGE_INVALID || !*why;
			free(cut);
		}
	}
	ok(bad > 40);
	is(cuts, 0);
	begin();
	add(1, 75, 0x11, TEXT_75, ZSTD);
	image[80] ^= 0x55;
	is(find(image, 90, &ptx), IMAGE_INVALID);
	begin();
	add(1, 75, 0x11, "no text", RAW);
	is(find(image, 90, &ptx), IMAGE_INVALID);
	ok(strstr(why, "is not PTX") != NULL);
}

/* Images that claim more than is in memory: the bytes in front of a page that cannot be read. */
static void test_memory_ends(void)
{
	const size_t page = 65536;
	uint8_t *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct image_ptx ptx = { 0 };
	int found = 0, r;

	ok(p != MAP_FAILED && !mprotect(p + page, page, PROT_NONE));
	begin();
	add(1, 75, 0, TEXT_75, RAW);
	add(1, 90, 0, TEXT_90, LZ4);
	put(8, image_length - 16, 8);
	for (size_t n = 0; n <= image_length; n++) {
		memcpy(p + page - n, image, n);
		r = image_find_ptx(p + page - n, 90, &ptx, why, sizeof(why));
		found += r == IMAGE_OK;
		if (r != (n < image_length ? IMAGE_INVALID : IMAGE_OK))
			tap_ok(0, "%zu of %zu bytes: %d", n, image_length, r);
		image_ptx_deinit(&ptx);
	}
	is(found, 1);
	put(8, (uint64_t)1 << 40, 8); /* and one that claims a terabyte behind good entries */
	memcpy(p + page - image_length, image, image_length);
	is(image_find_ptx(p + page - image_length, 90, &ptx, why, sizeof(why)), IMAGE_INVALID);
	memset(p, '.', page); /* a text without an end */
	is(image_find_ptx(p, 90, &ptx, why, sizeof(why)), IMAGE_INVALID);
	is(image_find_ptx(p + page, 90, &ptx, why, sizeof(why)), IMAGE_INVALID);
	is(image_find_ptx((void *)8, 90, &ptx, why, sizeof(why)), IMAGE_INVALID);
	put(0, 0x466243b1u, 4); /* wrappers whose pointers lead nowhere */
	for (uint64_t version = 1; version < 3; version++) {
		put(4, version, 4);
		put(8, (uintptr_t)(p + page), 8);
		put(16, (uintptr_t)(p + page - 4), 8);
		is(image_find_ptx(image, 90, &ptx, why, sizeof(why)), IMAGE_INVALID);
	}
	munmap(p, 2 * page);
}

int main(void)
{
	tap_begin();
	test_packing();
	test_choice();
	test_wrappers();
	test_others();
	test_damage();
	test_memory_ends();
	return tap_end();
}
