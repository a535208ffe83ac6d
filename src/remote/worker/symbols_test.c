/*
 * symbols_test.c: the variables that images name: machine code with local, shared and unlinked symbols, PTX, and fat
 * binaries of both, packed in either way; and images that say what is not so.
 */
#include "remote/worker/symbols.h"

#include "base/tap.h"

#include <elf.h>
#include <lz4.h>
#include <zstd.h>

#define TYPE_UNLINKED STT_LOPROC

/* ---- images ---- */

struct image {
	uint64_t bytes;
	uint8_t data[1 << 16];
};

static const char names[] = "\0.nv.global\0.nv.global.init\0.symtab\0.strtab\0a\0b\0$str\0k\0.nv.constant3";
enum { GLOBAL = 1, INIT = 12, SYMTAB = 28, STRTAB = 36, A = 44, B = 46, STR = 48, K = 53, CONSTANT = 55 };
enum { S_GLOBAL = 1, S_INIT, S_CONSTANT, S_SYMTAB, S_STRTAB, SECTIONS };
#define SYMBOLS 8u

struct machine {
	Elf64_Ehdr head;
	Elf64_Shdr section[SECTIONS];
	Elf64_Sym symbol[SYMBOLS];
	char names[80];
	uint8_t initial[32];
};

static Elf64_Sym object(uint32_t name, unsigned int type, unsigned int section, uint64_t at, uint64_t bytes)
{
	return (Elf64_Sym){ .st_name = name,
			    .st_info = ELF64_ST_INFO(STB_LOCAL, type),
			    .st_shndx = (uint16_t)section,
			    .st_value = at,
			    .st_size = bytes };
}

/* .nv.global: a (12 bytes), 4 for alignment, b (8); .nv.global.init: two of the name $str; a constant, a function. */
static struct machine machine(void)
{
	struct machine m = { .head = { .e_type = ET_EXEC,
				       .e_shoff = offsetof(struct machine, section),
				       .e_shentsize = sizeof(Elf64_Shdr),
				       .e_shnum = SECTIONS,
				       .e_shstrndx = S_STRTAB },
			     .initial = "onetwo" };

	memcpy(m.head.e_ident, ELFMAG, SELFMAG);
	m.head.e_ident[EI_CLASS] = ELFCLASS64;
	m.head.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(m.names, names, sizeof(names));
	m.section[S_GLOBAL] =
		(Elf64_Shdr){ .sh_name = GLOBAL, .sh_type = SHT_NOBITS, .sh_size = 24, .sh_addralign = 8 };
	m.section[S_INIT] = (Elf64_Shdr){ .sh_name = INIT,
					  .sh_type = SHT_PROGBITS,
					  .sh_offset = offsetof(struct machine, initial),
					  .sh_size = 6,
					  .sh_addralign = 1 };
	m.section[S_CONSTANT] = (Elf64_Shdr){ .sh_name = CONSTANT, .sh_type = SHT_PROGBITS, .sh_size = 4 };
	m.section[S_SYMTAB] = (Elf64_Shdr){ .sh_name = SYMTAB,
					    .sh_type = SHT_SYMTAB,
					    .sh_offset = offsetof(struct machine, symbol),
					    .sh_size = sizeof(m.symbol),
					    .sh_entsize = sizeof(Elf64_Sym),
					    .sh_link = S_STRTAB };
	m.section[S_STRTAB] = (Elf64_Shdr){ .sh_name = STRTAB,
					    .sh_type = SHT_STRTAB,
					    .sh_offset = offsetof(struct machine, names),
					    .sh_size = sizeof(m.names) };
	m.symbol[1] = object(B, STT_OBJECT, S_GLOBAL, 16, 8);
	m.symbol[2] = object(A, STT_OBJECT, S_GLOBAL, 0, 12);
	m.symbol[3] = object(STR, STT_OBJECT, S_INIT, 0, 3);
	m.symbol[4] = object(STR, STT_OBJECT, S_INIT, 3, 3);
	m.symbol[5] = object(K, STT_OBJECT, S_CONSTANT, 0, 4);
	m.symbol[6] = object(K, STT_FUNC, S_GLOBAL, 0, 4);
	return m;
}

static void put(uint8_t *p, unsigned int bytes, uint64_t value)
{
	for (unsigned int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

enum { PTX = 1, MACHINE = 2 };

static void fat_begin(struct image *f)
{
	memset(f, 0, sizeof(*f));
	put(f->data, 4, 0xba55ed50u);
	put(f->data + 4, 2, 1);
	put(f->data + 6, 2, 16);
	f->bytes = 16;
}

static size_t pack(enum image_packing packing, const void *data, size_t bytes, uint8_t *to, size_t room)
{
	if (packing == IMAGE_ZSTD)
		return ZSTD_compress(to, room, data, bytes, 3);
	if (packing == IMAGE_LZ4)
		return (size_t)LZ4_compress_default(data, (char *)to, (int)bytes, (int)room);
	memcpy(to, data, bytes);
	return bytes;
}

/* Value: where the entry begins. */
static uint8_t *fat_add(struct image *f, unsigned int kind, enum image_packing packing, const void *data, size_t bytes)
{
	static const uint64_t flags[] = { [IMAGE_PLAIN] = 0x11, [IMAGE_LZ4] = 0x2011, [IMAGE_ZSTD] = 0x8011 };
	uint8_t *p = f->data + f->bytes;
	const size_t packed = pack(packing, data, bytes, p + 64, sizeof(f->data) - f->bytes - 64);
	const size_t padded = (packed + 7) / 8 * 8;

	put(p, 2, kind);
	put(p + 4, 4, 64);
	put(p + 8, 8, padded);
	put(p + 16, 4, packing == IMAGE_PLAIN ? 0 : packed);
	put(p + 28, 4, 90);
	put(p + 40, 8, flags[packing]);
	put(p + 56, 8, packing == IMAGE_PLAIN ? 0 : bytes);
	f->bytes += 64 + padded;
	put(f->data + 8, 8, f->bytes - 16);
	return p;
}

/* ---- what is told ---- */

static char told[1024];

static void tell(void *arg, const struct symbols *s)
{
	(void)arg;
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "[%u", s->member);
	for (size_t i = 0; i < s->count; i++) {
		const struct symbol *symbol = &s->symbol[i];

		snprintf(told + strlen(told), sizeof(told) - strlen(told), " %s:%d%s%s", symbol->name,
			 (int)symbol->bytes, symbol->shared ? "s" : "", symbol->section ? "" : "?");
		if (symbol->initial)
			snprintf(told + strlen(told), sizeof(told) - strlen(told), "=%.3s", symbol->initial);
	}
	strcat(told, "]");
}

static const char *read_bundle(const struct image *bundle)
{
	static const char *const outcomes[] = { [SYMBOLS_UNKNOWN] = "unknown", [SYMBOLS_HEAP] = "heap" };
	enum symbols_outcome r;
	struct image_view v;

	*told = 0;
	if (!image_view_init(&v, bundle->data, bundle->bytes))
		return "none";
	r = symbols_read(&v, tell, NULL);
	image_view_deinit(&v);
	return r == SYMBOLS_ALL ? told : outcomes[r];
}

static void add(struct image *bundle, const void *data, uint64_t bytes)
{
	memcpy(bundle->data + bundle->bytes, data, bytes);
	bundle->bytes += bytes;
}

static const char *read_members(enum image_kind kind, const struct image *const *member, uint32_t count)
{
	static _Alignas(8) struct image bundle;
	const struct image_head head = { kind, count };

	memset(&bundle, 0, sizeof(bundle));
	add(&bundle, &head, sizeof(head));
	for (uint32_t i = 0; i < count; i++) {
		add(&bundle, &member[i]->bytes, sizeof(member[i]->bytes));
		add(&bundle, member[i]->data, (member[i]->bytes + 7) / 8 * 8);
	}
	return read_bundle(&bundle);
}

static const char *read_one(enum image_kind kind, const void *data, uint64_t bytes)
{
	static struct image image;
	const struct image *const member = &image;

	memset(&image, 0, sizeof(image));
	add(&image, data, bytes);
	return read_members(kind, &member, 1);
}

static const char *read_machine(const struct machine *m)
{
	return read_one(IMAGE_ELF, m, sizeof(*m));
}

#define LOCAL "[0 $str:3s=one $str:3s=two a:12 b:8]"
static const char ptx[] = ".version 7.0\n.target sm_70\n.visible .global .u32 a[3]; .const .u32 k; .global .u64 b;\n";

/* ---- cases ---- */

static void machine_code(void)
{
	struct machine m = machine();

	is_str(read_machine(&m), LOCAL);
	m.head.e_type = ET_REL; /* to be linked: nobody knows where it comes to lie */
	for (unsigned int i = 1; i < 5; i++)
		m.symbol[i].st_info = ELF64_ST_INFO(STB_LOCAL, TYPE_UNLINKED);
	is_str(read_machine(&m), "[0 $str:3s?=one $str:3s?=two a:12? b:8?]");
	m = machine();
	m.symbol[7] = object(K, STT_OBJECT, SHN_COMMON, 4, 40);
	is_str(read_machine(&m), "[0 $str:3s=one $str:3s=two a:12 b:8 k:40?]");
	m = machine();
	m.symbol[7] = object(K, STT_OBJECT, SHN_UNDEF, 0, 4); /* of another file */
	is_str(read_machine(&m), LOCAL);
}

/* What nobody could save whole: bytes that have no name, and names that lead outside. */
static void machine_code_damaged(void)
{
	struct machine m = machine();

	m.symbol[1].st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
	is_str(read_machine(&m), "unknown");
	m = machine();
	m.section[S_GLOBAL].sh_size = 1 << 20;
	is_str(read_machine(&m), "unknown");
	m = machine();
	m.section[S_SYMTAB].sh_type = SHT_PROGBITS; /* stripped */
	is_str(read_machine(&m), "unknown");
	m = machine();
	m.symbol[2].st_size = 1 << 20;
	is_str(read_machine(&m), "unknown");
	m = machine();
	m.symbol[2].st_shndx = SECTIONS;
	is_str(read_machine(&m), "unknown");
	m = machine();
	m.symbol[2].st_name = sizeof(m.names);
	is_str(read_machine(&m), "unknown");
	m = machine();
	m.section[S_INIT].sh_offset = UINT64_MAX - 2;
	is_str(read_machine(&m), "unknown");
	m = machine();
	m.section[S_SYMTAB].sh_offset = sizeof(m) - 8;
	is_str(read_machine(&m), "unknown");
	m = machine();
	m.head.e_ident[EI_CLASS] = ELFCLASS32;
	is_str(read_machine(&m), "unknown");
	m = machine();
	memset(m.names + A, 'x', sizeof(m.names) - A); /* the table does not end */
	is_str(read_machine(&m), "unknown");
}

static void fat(void)
{
	static const enum image_packing packing[] = { IMAGE_PLAIN, IMAGE_LZ4, IMAGE_ZSTD };
	static struct image f, other;
	const struct image *const both[] = { &f, &other };
	const struct machine m = machine();

	is_str(read_one(IMAGE_TEXT, ptx, sizeof(ptx)), "[0 a:0? b:0?]");
	for (unsigned int i = 0; i < 3; i++) {
		fat_begin(&f);
		fat_add(&f, MACHINE, packing[i], &m, sizeof(m));
		fat_add(&f, PTX, packing[(i + 1) % 3], ptx, sizeof(ptx) - 1); /* without its NUL */
		is_str(read_one(IMAGE_FAT, f.data, f.bytes), LOCAL "[0 a:0? b:0?]");
	}
	fat_begin(&other);
	fat_add(&other, PTX, IMAGE_LZ4, ptx, sizeof(ptx));
	is_str(read_members(IMAGE_LIST, both, 2), LOCAL "[0 a:0? b:0?][1 a:0? b:0?]");
}

static const char *read_packed(enum image_packing packing, unsigned int at, unsigned int bytes, uint64_t value)
{
	static struct image f;
	uint8_t *entry;

	fat_begin(&f);
	entry = fat_add(&f, PTX, packing, ptx, sizeof(ptx));
	put(entry + at, bytes, value);
	return read_one(IMAGE_FAT, f.data, f.bytes);
}

enum { KIND = 0, PACKED = 16, FLAGS = 40, UNPACKED = 56 };

static void packed_damaged(void)
{
	static const uint64_t sizes[] = { 0,	   1,	    sizeof(ptx) - 1,   sizeof(ptx) + 1,
					  1 << 20, 1 << 28, UINT64_C(1) << 40, UINT64_MAX };

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		is_str(read_packed(IMAGE_LZ4, UNPACKED, 8, sizes[i]), "unknown");
		is_str(read_packed(IMAGE_ZSTD, UNPACKED, 8, sizes[i]), "unknown");
	}
	is_str(read_packed(IMAGE_LZ4, FLAGS, 8, 0x11), "unknown"); /* packed in no way that is known */
	is_str(read_packed(IMAGE_PLAIN, FLAGS, 8, 0x8011), "unknown");
	is_str(read_packed(IMAGE_LZ4, FLAGS, 8, 0x8011), "unknown");
	is_str(read_packed(IMAGE_ZSTD, PACKED, 4, 9), "unknown");
	is_str(read_packed(IMAGE_ZSTD, PACKED, 4, UINT32_MAX), "unknown");
	is_str(read_packed(IMAGE_ZSTD, KIND, 2, 8), "unknown");
}

static void count_all(void *arg, const struct symbols *s)
{
	*(size_t *)arg += s->count;
}

/* Many symbols whose names are one text of 4000 bytes: what is kept of them is bounded, and not by the image's size. */
static void long_names(void)
{
	enum { NAME = 4000, MANY = 20000 };
	static struct {
		struct image_head head;
		uint64_t bytes;
		Elf64_Ehdr elf;
		Elf64_Shdr section[3];
		char name[NAME + 8];
		Elf64_Sym symbol[MANY];
	} b = { .head = { IMAGE_ELF, 1 } };
	const uint64_t from = offsetof(typeof(b), elf);
	struct image_view v;
	size_t count = 0;

	b.bytes = sizeof(b) - from;
	b.elf = machine().head;
	b.elf.e_shoff = offsetof(typeof(b), section) - from;
	b.elf.e_shnum = 3;
	b.elf.e_shstrndx = 2;
	b.section[1] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
				     .sh_offset = offsetof(typeof(b), symbol) - from,
				     .sh_size = sizeof(b.symbol),
				     .sh_entsize = sizeof(Elf64_Sym),
				     .sh_link = 2 };
	b.section[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(typeof(b), name) - from,
				     .sh_size = sizeof(b.name) };
	memset(b.name + 1, 'n', NAME);
	for (unsigned int i = 0; i < MANY; i++)
		b.symbol[i] = object(1, STT_OBJECT, SHN_COMMON, 4, 4);
	ok(image_view_init(&v, &b, sizeof(b)));
	ok(symbols_read(&v, count_all, &count) == SYMBOLS_UNKNOWN && !count);
	image_view_deinit(&v);
	b.section[1].sh_size /= 4;
	ok(image_view_init(&v, &b, sizeof(b)));
	ok(symbols_read(&v, count_all, &count) == SYMBOLS_ALL && count == MANY / 4);
	image_view_deinit(&v);
}

/* A frame of some KiB that holds 2 GiB: nothing of it is unpacked. */
static void bomb(void)
{
	static uint8_t zero[1 << 16];
	static struct image f;
	uint8_t *entry;

	fat_begin(&f);
	entry = fat_add(&f, MACHINE, IMAGE_ZSTD, zero, sizeof(zero));
	put(entry + UNPACKED, 8, UINT64_C(1) << 31);
	put(entry + 64 + 4, 1, 0xa0); /* its frame says eight bytes of size */
	put(entry + 64 + 5, 8, UINT64_C(1) << 31);
	is_str(read_one(IMAGE_FAT, f.data, f.bytes), "unknown");
}

static void heap(void)
{
	static const char text[] = ".version 7.0\n.extern .func malloc;\n";
	static struct image f;

	fat_begin(&f);
	fat_add(&f, PTX, IMAGE_ZSTD, text, sizeof(text));
	is_str(read_one(IMAGE_FAT, f.data, f.bytes), "heap");
}

/* Every bit of it: whatever comes, nothing breaks (under the sanitizers). */
static void bits(void)
{
	struct machine m = machine();
	unsigned int known = 0;

	for (size_t i = 0; i < 8 * sizeof(m); i++) {
		((uint8_t *)&m)[i / 8] ^= (uint8_t)(1u << i % 8);
		known += *read_machine(&m) == '[';
		((uint8_t *)&m)[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	ok(known > 0 && known < 8 * sizeof(m));
}

int main(void)
{
	tap_begin();
	machine_code();
	machine_code_damaged();
	fat();
	packed_damaged();
	bomb();
	long_names();
	heap();
	bits();
	return tap_end();
}
