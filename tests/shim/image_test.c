/* image_test.c: what the shim reads of an image's variables, and that damaged ones say nothing and break nothing. */
#include "base/tap.h"
#include "shim/image.h"

#include <elf.h>
#include <stdint.h>
#include <sys/mman.h>

#define HEAD ".version 8.0\n.target sm_50\n.address_size 64\n"

static struct image_need need;

/* Units of the text's variables, -1: not known. */
static long units(const char *text)
{
	image_read(text, &need);
	return need.known && need.least_units == need.most_units ? (long)need.most_units : -1;
}

static void ptx(void)
{
	is(units(HEAD), 0);
	is(units(HEAD ".visible .entry k(.param .u64 a) { .reg .b32 %r<3>; .shared .b8 s[4096]; ret; }"), 0);
	is(units(HEAD ".global .align 4 .b8 x[512];"), 1);
	is(units(HEAD ".global .align 4 .b8 x[513];"), 2);
	is(units(HEAD ".visible .global .f32 x; .const .u64 y[64];"), 2);
	is(units(HEAD ".global .u32 a[100], b, c[2][300];"), 1 + 1 + 5);
	is(units(HEAD ".global .v4 .f32 v[64];"), 2);
	is(units(HEAD ".extern .global .b8 big[1048576];\n.global .u8 one;"), -1);
	is(need.least_units, 1);
	is(need.most_units, 2049);
	is(units(HEAD ".global .align 1 .b8 text[] = {104, 101, 108, 108, 111, 0};"), 1);
	is(units(HEAD ".global .u32 t[2][300] = {{1, 2}, {3}};"), 5);
	is(units(HEAD ".global .u64 p = generic(q); .global .u32 q;"), 2);
	is(units(HEAD ".global .attribute(.managed) .align 8 .b8 m[1024];"), 2);
	is(units(HEAD "// .global .b8 no[512];\n/* .global .b8 no[512]; */ .global .b8 yes[0x200U];"), 1);
	is(units(HEAD ".file 1 \".global .b8 no[512];\"\n"), 0);
	is(units(HEAD ".func f() { { .global_thing: } }\n.const .b8 c[65536];"), 128);
	is(units("  // a comment first\n" HEAD ".global .s32 x[256];"), 2);
	is(units(HEAD ".global .texref t; .global .samplerref s;"), 0);
	/* a function's own */
	is(units(HEAD ".func f() { .global .align 4 .b8 x[513]; }"), 2);
	is(units(HEAD ".entry k() { .reg .b32 %r<3>; L: .weak .const .u64 y[64]; { .global .u32 a[100]; } ret; }"), 2);
	is(units(HEAD ".entry k() { ld.global.u32 %r1, [%rd1]; @%p1 st.global.v2.f32 [%rd1], {%f1, %f2}; }"), 0);
	is(units(HEAD ".entry k() { .loc 1 2 3\n.global .u32 a[200]; .visible.global .u32 b[200];.const .u8 c; }"), 5);
	is(units(HEAD ".entry k() { .global .u32 x[N]; }"), -1);
	/* what is a string to one reader is none to another */
	is(units(HEAD ".file 1 \"c:\\\"\n.global .b8 x[512];\n.file 2 \"d:\\\"\n"), -1);
	is(units(HEAD ".entry k() { .pragma \"a\\\"; .global .b8 x[512]; .pragma \"b\\\"; }"), -1);
	is(units(HEAD ".file 1 \"c:\\a\\b\"\n.global .b8 x[512];"), 1);
	/* not understood: not known, never less */
	is(units(HEAD ".global .b12345 x[512];"), -1);
	is(units(HEAD ".global .u32 x[N];"), -1);
	is(units(HEAD ".global .u32 x["), -1);
	is(units(HEAD ".global .u32"), -1);
	is(units(HEAD ".global"), -1);
	is(units("bytes"), -1);
	is(units(""), -1);
	image_read(HEAD ".global .b8 x[18446744073709551615];", &need);
	ok(!need.known || need.most_units > UINT32_MAX);
}

static void elf(void)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Shdr section[4];
		char names[64];
	} file = { .head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 },
			     .e_shoff = sizeof file.head,
			     .e_shentsize = sizeof file.section[0],
			     .e_shnum = 4,
			     .e_shstrndx = 1 },
		   .names = "\0.nv.global\0.nv.global.init\0.text" };

	file.section[1].sh_offset = (uint64_t)(file.names - (char *)&file);
	file.section[1].sh_size = sizeof file.names;
	file.section[2].sh_name = 1;
	file.section[2].sh_size = 1000;
	file.section[3].sh_name = 12;
	file.section[3].sh_size = 512;
	image_read(&file, &need);
	ok(need.known);
	is(need.least_bytes, 1512);
	file.section[1].sh_offset = 1ull << 45;
	image_read(&file, &need);
	ok(!need.known);
	file.head.e_shoff = 1ull << 38;
	image_read(&file, &need);
	ok(!need.known);
}

static void fat(void)
{
	static unsigned char image[4096] __attribute__((aligned(16)));
	struct {
		uint32_t magic, version;
		const void *data, *aux;
	} wrapper = { 0x466243b1, 1, image, NULL };
	uint64_t size = 2048, payload = 512;
	uint32_t magic = 0xba55ed50;
	uint16_t kind = 1;

	memcpy(image, &magic, 4);
	memcpy(image + 8, &size, 8);
	for (unsigned int at = 16, n = 0; n < 2; n++, at += 64 + 512) {
		uint32_t header = 64;

		memcpy(image + at, &kind, 2);
		memcpy(image + at + 4, &header, 4);
		memcpy(image + at + 8, &payload, 8);
		strcpy((char *)image + at + 64, n ? HEAD ".global .b8 x[5000];" : HEAD ".global .b8 x[500];");
	}
	size = 2 * (64 + 512);
	memcpy(image + 8, &size, 8);
	image_read(&wrapper, &need);
	ok(need.known);
	is(need.least_units, 1);
	is(need.most_units, 10);
	image_read(image, &need);
	is(need.most_units, 10);
	image[16 + 41] = 0x80; /* zstd: says nothing */
	image_read(image, &need);
	ok(!need.known);
	image[16 + 41] = 0;
	/* damaged in every byte of its headers: whatever comes, nothing breaks */
	for (unsigned int i = 0; i < 80; i++)
		for (unsigned int bit = 0; bit < 8; bit++) {
			image[i] ^= (unsigned char)(1u << bit);
			image_read(image, &need);
			image[i] ^= (unsigned char)(1u << bit);
		}
	size = 1ull << 39;
	memcpy(image + 8, &size, 8);
	image_read(image, &need);
	ok(!need.known);
	wrapper.data = (void *)8;
	image_read(&wrapper, &need);
	ok(!need.known);
}

static char names[256];

static void add_name(void *arg, const char *name, size_t length)
{
	size_t at = strlen(names);

	(void)arg;
	snprintf(names + at, sizeof(names) - at, "%.*s ", (int)length, name);
}

/* The names of what kernels can write; "?": the image does not say all of them. */
static const char *written(const char *image)
{
	*names = 0;
	return image_ptx_variables(image, add_name, NULL) ? names : "?";
}

static void named(void)
{
	ok(!strcmp(
		written(HEAD ".visible .global .u32 a, b[3] = {1}; .const .u64 c; .global .attribute(.managed) .u8 m;"),
		"a b m "));
	ok(!strcmp(written(HEAD ".entry k() { .global .u32 own; .const .u8 fixed; ld.global.u32 %r1, [a]; }"), "own "));
	ok(!strcmp(written(HEAD), ""));
	ok(!strcmp(written(HEAD ".global .u32 x[N];"), "?"));
	ok(!strcmp(written("\177ELF"), "?"));
}

int main(void)
{
	tap_begin();
	named();
	ptx();
	elf();
	fat();
	return tap_end();
}
