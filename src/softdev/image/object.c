/* object.c: see object.h. ELF: System V ABI, chapter 4; archives: ar(5). All numbers of ELF are little-endian here. */
#include "softdev/image/object.h"

#include "softdev/image/image.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FAT_MAGIC 0xBA55ED50u
#define FAT_HEAD 16u
#define ENTRY_HEAD 64u
#define ENTRY_LTO 8u
#define MACHINE_CUDA 190u
#define MEMBER_HEAD 60u
#define ARCHIVE_MAGIC "!<arch>\n"

struct view {
	const uint8_t *data;
	size_t bytes;
};

static uint64_t get(const uint8_t *p, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)p[i] << 8 * i;
	return value;
}

/* The part of `v` that a file's own numbers name. Value: false: it lies outside. */
static bool part(struct view v, uint64_t offset, uint64_t bytes, struct view *ret)
{
	if (offset > v.bytes || bytes > v.bytes - offset)
		return false;
	*ret = (struct view){ v.data + offset, (size_t)bytes };
	return true;
}

static bool is_fat(struct view v)
{
	return v.bytes >= FAT_HEAD && get(v.data, 4) == FAT_MAGIC && get(v.data + 6, 2) == FAT_HEAD;
}

/* Fat binaries one after another, with zeroes between them. */
static int each_fat(struct view v, object_piece piece, void *ctx)
{
	int r = 0;

	while (!r && v.bytes >= FAT_HEAD) {
		struct view fat;
		size_t step = 8;

		if (is_fat(v)) {
			uint64_t bytes = get(v.data + 8, 8);

			if (bytes > SIZE_MAX - FAT_HEAD || !part(v, 0, bytes + FAT_HEAD, &fat))
				return IMAGE_INVALID;
			r = piece(ctx, fat.data, fat.bytes);
			step = (fat.bytes + 7) / 8 * 8;
		} else if (get(v.data, 8)) {
			return IMAGE_INVALID;
		}
		if (step >= v.bytes)
			break;
		v = (struct view){ v.data + step, v.bytes - step };
	}
	return r;
}

static bool holds_fat(struct view names, uint32_t name)
{
	static const char *const section[] = { ".nv_fatbin", "__nv_relfatbin" };

	for (size_t i = 0; i < sizeof(section) / sizeof(*section); i++) {
		struct view text;

		if (part(names, name, strlen(section[i]) + 1, &text) && !memcmp(text.data, section[i], text.bytes))
			return true;
	}
	return false;
}

static int each_section(struct view file, object_piece piece, void *ctx)
{
	Elf64_Shdr s;
	Elf64_Ehdr head;
	struct view names, table, section;
	int r = 0;

	memcpy(&head, file.data, sizeof(head));
	if (!head.e_shoff)
		return 0;
	if (head.e_shentsize != sizeof(s) || !part(file, head.e_shoff, (uint64_t)head.e_shnum * sizeof(s), &table) ||
	    head.e_shstrndx >= head.e_shnum)
		return IMAGE_INVALID;
	memcpy(&s, table.data + head.e_shstrndx * sizeof(s), sizeof(s));
	if (!part(file, s.sh_offset, s.sh_size, &names))
		return IMAGE_INVALID;
	for (size_t i = 0; !r && i < head.e_shnum; i++) {
		memcpy(&s, table.data + i * sizeof(s), sizeof(s));
		if (s.sh_type == SHT_NOBITS || !holds_fat(names, s.sh_name))
			continue;
		r = part(file, s.sh_offset, s.sh_size, &section) ? each_fat(section, piece, ctx) : IMAGE_INVALID;
	}
	return r;
}

static int each_in_file(struct view v, object_piece piece, void *ctx)
{
	if (v.bytes >= sizeof(Elf64_Ehdr) && !memcmp(v.data, ELFMAG, SELFMAG)) {
		if (v.data[EI_CLASS] != ELFCLASS64 || v.data[EI_DATA] != ELFDATA2LSB)
			return IMAGE_INVALID;
		if (get(v.data + 18, 2) == MACHINE_CUDA)
			return piece(ctx, v.data, v.bytes);
		return each_section(v, piece, ctx);
	}
	return is_fat(v) ? each_fat(v, piece, ctx) : piece(ctx, v.data, v.bytes);
}

/* A number in the head of a member: digits and blanks. */
static bool number(const uint8_t *p, size_t bytes, uint64_t *ret)
{
	uint64_t n = 0;
	size_t i = 0;

	for (; i < bytes && p[i] >= '0' && p[i] <= '9'; i++)
		n = n * 10 + (p[i] - '0');
	*ret = n;
	return i > 0;
}

static int each_member(struct view archive, object_piece piece, void *ctx)
{
	size_t at = strlen(ARCHIVE_MAGIC);
	int r = 0;

	while (!r && at < archive.bytes) {
		struct view head, member;
		uint64_t bytes;

		if (!part(archive, at, MEMBER_HEAD, &head) || head.data[58] != '`' || head.data[59] != '\n' ||
		    !number(head.data + 48, 10, &bytes) || !part(archive, at + MEMBER_HEAD, bytes, &member))
			return IMAGE_INVALID;
		/* "/" is the table of symbols, "//" that of long names, "/123" a long name. */
		if (head.data[0] != '/' || (head.data[1] >= '0' && head.data[1] <= '9'))
			r = each_in_file(member, piece, ctx);
		at += MEMBER_HEAD + member.bytes + (member.bytes & 1);
	}
	return r;
}

int object_each(const void *data, size_t bytes, object_piece piece, void *ctx)
{
	const struct view v = { data, bytes };
	const size_t magic = strlen(ARCHIVE_MAGIC);

	if (bytes >= magic && !memcmp(data, ARCHIVE_MAGIC, magic))
		return each_member(v, piece, ctx);
	return each_in_file(v, piece, ctx);
}

bool object_has_lto(const void *data, size_t bytes)
{
	const struct view v = { data, bytes };
	struct view entry;

	if (!is_fat(v))
		return false;
	for (uint64_t at = FAT_HEAD; part(v, at, ENTRY_HEAD, &entry);) {
		uint64_t head = get(entry.data + 4, 4), payload = get(entry.data + 8, 8);

		if (get(entry.data, 2) == ENTRY_LTO)
			return true;
		if (head < ENTRY_HEAD || payload > v.bytes)
			return false;
		at += head + payload;
	}
	return false;
}
