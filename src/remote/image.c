/*
 * image.c: see image.h. The layouts are those that the compiler driver writes; all numbers are little-endian. Every
 * header is copied out before it is judged: alignment does not matter, and nothing changes in between.
 */
#include "remote/image.h"

#include "base/reach.h"

#include <stdlib.h>
#include <string.h>

#define WRAPPER_MAGIC 0x466243b1u
#define FAT_MAGIC 0xba55ed50u
#define ELF_MAGIC 0x464c457fu
#define FAT_HEADER 16u
#define ELF_HEADER 64u
#define MOST_BYTES (UINT64_C(1) << 36)
#define MOST_ENTRIES 4096u /* choosing is quadratic in them */
#define MOST_MEMBERS 65536u

enum { ENTRY_PTX = 1, ENTRY_ELF = 2 };

#define ENTRY_LZ4 0x2000u
#define ENTRY_ZSTD 0x8000u
#define ENTRY_EXACT 0x100000u  /* sm_90a: this target only */
#define ENTRY_FAMILY 0x200000u /* sm_100f: this major only */

struct entry {
	uint16_t kind, version;
	uint32_t header_bytes;
	uint64_t payload_bytes;
	uint32_t packed_bytes, unused;
	uint16_t minor, major;
	uint32_t arch, name_offset, name_bytes;
	uint64_t flags, unused_too, unpacked_bytes;
};

_Static_assert(sizeof(struct entry) == 64, "as it lies in a fat binary");

static bool there(const void *p, uint64_t bytes, size_t bound)
{
	return bytes <= bound && (bound != SIZE_MAX || reach_bytes(p, bytes));
}

/* Byte by byte: an image may be as short as its first difference. */
static bool begins_with(const void *image, size_t bound, uint32_t magic)
{
	const uint8_t *byte = image;

	for (unsigned int i = 0; i < sizeof(magic); i++)
		if (!there(byte + i, 1, bound == SIZE_MAX ? bound : bound - i) || byte[i] != (uint8_t)(magic >> 8 * i))
			return false;
	return true;
}

/* ---- fat binaries ---- */

/* Header and entries. */
struct fat {
	const uint8_t *data;
	uint64_t bytes;
};

static bool fat_at(const void *p, size_t bound, struct fat *ret)
{
	uint64_t size;

	if (!p || !there(p, FAT_HEADER, bound) || !begins_with(p, bound, FAT_MAGIC))
		return false;
	memcpy(&size, (const uint8_t *)p + 8, sizeof(size));
	if (size > MOST_BYTES || !there(p, FAT_HEADER + size, bound))
		return false;
	*ret = (struct fat){ p, FAT_HEADER + size };
	return true;
}

/* The entry at `at`; false: there is none, or it is damaged. */
static bool fat_entry(const struct fat *f, uint64_t at, struct entry *ret, uint64_t *ret_next)
{
	uint64_t left = f->bytes - at;

	if (left < sizeof(*ret))
		return false;
	memcpy(ret, f->data + at, sizeof(*ret));
	if (ret->header_bytes < sizeof(*ret) || ret->header_bytes > left ||
	    ret->payload_bytes > left - ret->header_bytes)
		return false;
	if ((uint64_t)ret->name_offset + ret->name_bytes > ret->header_bytes)
		return false;
	*ret_next = at + ret->header_bytes + ret->payload_bytes;
	return true;
}

bool image_fat_read(const uint8_t header[IMAGE_FAT_HEADER_BYTES], uint64_t *ret_bytes)
{
	memcpy(ret_bytes, header + 8, sizeof(*ret_bytes));
	return begins_with(header, FAT_HEADER, FAT_MAGIC) && *ret_bytes <= MOST_BYTES;
}

/* What it says of how its payload is packed. False: it says that there is more than there is. */
static bool read_packing(const struct entry *e, struct image_entry *ret)
{
	ret->payload = e->header_bytes;
	ret->payload_bytes = e->packed_bytes ? e->packed_bytes : e->payload_bytes;
	ret->unpacked_bytes = e->packed_bytes ? e->unpacked_bytes : 0;
	if (!e->packed_bytes)
		ret->packing = e->flags & (ENTRY_LZ4 | ENTRY_ZSTD) ? IMAGE_PACKED_OTHERWISE : IMAGE_PLAIN;
	else if (e->flags & ENTRY_ZSTD)
		ret->packing = IMAGE_ZSTD;
	else
		ret->packing = e->flags & ENTRY_LZ4 ? IMAGE_LZ4 : IMAGE_PACKED_OTHERWISE;
	return e->packed_bytes <= e->payload_bytes;
}

bool image_entry_read(const uint8_t header[IMAGE_ENTRY_HEADER_BYTES], uint64_t left, struct image_entry *ret)
{
	struct entry e;

	memcpy(&e, header, sizeof(e));
	if (left < sizeof(e) || e.header_bytes < sizeof(e) || e.header_bytes > left ||
	    e.payload_bytes > left - e.header_bytes)
		return false;
	*ret = (struct image_entry){
		.kind = e.kind == ENTRY_PTX   ? IMAGE_ENTRY_PTX
			: e.kind == ENTRY_ELF ? IMAGE_ENTRY_MACHINE
					      : IMAGE_ENTRY_OTHER,
		.arch = e.arch,
		.exact = e.flags & ENTRY_EXACT,
		.family = e.flags & ENTRY_FAMILY,
		.bytes = e.header_bytes + e.payload_bytes,
	};
	return read_packing(&e, ret);
}

static bool entry_fits(const struct entry *e, uint32_t arch)
{
	if (e->flags & ENTRY_EXACT)
		return e->arch == arch;
	if (e->flags & ENTRY_FAMILY || e->kind == ENTRY_ELF)
		return e->arch <= arch && e->arch / 10 == arch / 10;
	return e->arch <= arch;
}

static bool same_name(const struct fat *f, uint64_t a_at, const struct entry *a, uint64_t b_at, const struct entry *b)
{
	return a->name_bytes == b->name_bytes &&
	       !memcmp(f->data + a_at + a->name_offset, f->data + b_at + b->name_offset, a->name_bytes);
}

/* Whether PTX of the same name for a newer target is there that the device could take, too. */
static bool entry_beaten(const struct fat *f, uint64_t at, const struct entry *e, uint32_t arch)
{
	struct entry other;
	uint64_t next;

	for (uint64_t o = FAT_HEADER; fat_entry(f, o, &other, &next); o = next)
		if (other.kind == ENTRY_PTX && other.arch > e->arch && entry_fits(&other, arch) &&
		    same_name(f, at, e, o, &other))
			return true;
	return false;
}

/* What no device could choose is left away; kinds that are not known here stay. */
static bool entry_kept(const struct fat *f, uint64_t at, const struct entry *e, const struct image_archs *archs)
{
	if (e->kind != ENTRY_PTX && e->kind != ENTRY_ELF)
		return true;
	for (unsigned int i = 0; i < archs->count; i++)
		if (entry_fits(e, archs->arch[i]) && (e->kind == ENTRY_ELF || !entry_beaten(f, at, e, archs->arch[i])))
			return true;
	return false;
}

/*
 * The bytes that stay, or all of them when the entries are damaged or none would be left: the driver says what is
 * wrong.
 */
static uint64_t fat_kept(const struct fat *f, const struct image_archs *archs)
{
	uint64_t at = FAT_HEADER, next, kept = FAT_HEADER;
	unsigned int count = 0;
	struct entry e;

	if (!archs->count)
		return f->bytes;
	for (; at < f->bytes; at = next) {
		if (++count > MOST_ENTRIES || !fat_entry(f, at, &e, &next))
			return f->bytes;
		if (entry_kept(f, at, &e, archs))
			kept += next - at;
	}
	return kept > FAT_HEADER ? kept : f->bytes;
}

static void put_padding(uint64_t bytes, image_sink sink, void *to)
{
	static const uint8_t zero[8];

	if (bytes % 8)
		sink(to, zero, 8 - bytes % 8);
}

static void put_fat(const struct fat *f, const struct image_archs *archs, image_sink sink, void *to)
{
	uint64_t kept = fat_kept(f, archs), size = kept - FAT_HEADER, next;
	uint8_t header[FAT_HEADER];
	struct entry e;

	sink(to, &kept, sizeof(kept));
	memcpy(header, f->data, sizeof(header));
	memcpy(header + 8, &size, sizeof(size));
	sink(to, header, sizeof(header));
	if (kept == f->bytes)
		sink(to, f->data + FAT_HEADER, f->bytes - FAT_HEADER);
	else
		for (uint64_t at = FAT_HEADER; at < f->bytes && fat_entry(f, at, &e, &next); at = next)
			if (entry_kept(f, at, &e, archs))
				sink(to, f->data + at, next - at);
	put_padding(kept, sink, to);
}

static void put_head(enum image_kind kind, uint32_t count, image_sink sink, void *to)
{
	struct image_head head = { kind, count };

	sink(to, &head, sizeof(head));
}

static bool put_one_fat(enum image_kind kind, const void *p, size_t bound, const struct image_archs *archs,
			image_sink sink, void *to)
{
	struct fat f;

	if (!fat_at(p, bound, &f))
		return false;
	put_head(kind, 1, sink, to);
	put_fat(&f, archs, sink, to);
	return true;
}

/* ---- wrappers ---- */

static bool put_list(const void *const *list, const struct image_archs *archs, image_sink sink, void *to)
{
	uint32_t count = 0;
	struct fat f;

	for (; reach_bytes(&list[count], sizeof(*list)) && list[count]; count++)
		if (count >= MOST_MEMBERS || !fat_at(list[count], SIZE_MAX, &f))
			return false;
	if (!reach_bytes(&list[count], sizeof(*list)))
		return false;
	put_head(IMAGE_LIST, count, sink, to);
	for (uint32_t i = 0; i < count; i++) {
		if (!fat_at(list[i], SIZE_MAX, &f))
			return false;
		put_fat(&f, archs, sink, to);
	}
	return true;
}

static bool put_wrapper(const void *image, const struct image_archs *archs, image_sink sink, void *to)
{
	const void *data, *const *list;
	uint32_t version;

	if (!reach_bytes(image, 24))
		return false;
	memcpy(&version, (const uint8_t *)image + 4, sizeof(version));
	memcpy(&data, (const uint8_t *)image + 8, sizeof(data));
	memcpy(&list, (const uint8_t *)image + 16, sizeof(list));
	if (version == 1 || (version == 2 && !list))
		return put_one_fat(IMAGE_WRAPPER, data, SIZE_MAX, archs, sink, to);
	return version == 2 && put_list(list, archs, sink, to);
}

/* ---- ELF and text ---- */

static uint64_t elf_bytes(const uint8_t *header)
{
	uint64_t sections, programs;
	uint16_t size, count;

	memcpy(&sections, header + 40, sizeof(sections));
	memcpy(&size, header + 58, sizeof(size));
	memcpy(&count, header + 60, sizeof(count));
	if (__builtin_add_overflow(sections, (uint64_t)size * count, &sections))
		return 0;
	memcpy(&programs, header + 32, sizeof(programs));
	memcpy(&size, header + 54, sizeof(size));
	memcpy(&count, header + 56, sizeof(count));
	if (__builtin_add_overflow(programs, (uint64_t)size * count, &programs))
		return 0;
	return sections > programs ? sections : programs;
}

static bool put_plain(enum image_kind kind, const void *data, uint64_t bytes, image_sink sink, void *to)
{
	put_head(kind, 1, sink, to);
	sink(to, &bytes, sizeof(bytes));
	sink(to, data, bytes);
	put_padding(bytes, sink, to);
	return true;
}

static bool put_elf(const void *image, size_t bound, image_sink sink, void *to)
{
	uint64_t bytes;

	if (!there(image, ELF_HEADER, bound))
		return false;
	bytes = elf_bytes(image);
	if (bytes < ELF_HEADER)
		bytes = ELF_HEADER; /* the header alone lets the driver say what is wrong */
	return bytes <= MOST_BYTES && there(image, bytes, bound) && put_plain(IMAGE_ELF, image, bytes, sink, to);
}

/* The text's length with its NUL; 0: there is no text. */
static uint64_t text_bytes(const char *p, size_t bound)
{
	const char *nul;
	size_t bytes;

	if (bound == SIZE_MAX)
		return reach_text(p, &bytes) ? bytes + 1 : 0;
	nul = memchr(p, 0, bound);
	return nul ? (uint64_t)(nul - p) + 1 : 0;
}

/* A text begins with a directive or a comment, blanks before it allowed. */
static bool looks_like_text(const char *p)
{
	while (*p == ' ' || (*p >= '\t' && *p <= '\r'))
		p++;
	return *p == '.' || (p[0] == '/' && (p[1] == '/' || p[1] == '*'));
}

bool image_bundle(const void *image, size_t bound, const struct image_archs *archs, image_sink sink, void *to)
{
	uint64_t bytes;

	if (!image || !there(image, 1, bound))
		return false;
	if (bound == SIZE_MAX && begins_with(image, bound, WRAPPER_MAGIC))
		return put_wrapper(image, archs, sink, to);
	if (begins_with(image, bound, FAT_MAGIC))
		return put_one_fat(IMAGE_FAT, image, bound, archs, sink, to);
	if (begins_with(image, bound, ELF_MAGIC))
		return put_elf(image, bound, sink, to);
	bytes = text_bytes(image, bound);
	return bytes && looks_like_text(image) && put_plain(IMAGE_TEXT, image, bytes, sink, to);
}

/* ---- the worker's side ---- */

static bool member_good(enum image_kind kind, const uint8_t *data, uint64_t bytes)
{
	struct fat f;

	if (!bytes)
		return false;
	if (kind == IMAGE_TEXT)
		return memchr(data, 0, bytes) == data + bytes - 1 && looks_like_text((const char *)data);
	if (kind == IMAGE_ELF)
		return bytes >= ELF_HEADER && begins_with(data, bytes, ELF_MAGIC) && elf_bytes(data) <= bytes;
	return fat_at(data, bytes, &f) && f.bytes == bytes;
}

bool image_view_init(struct image_view *v, const void *bundle, size_t bytes)
{
	const uint8_t *at = bundle;
	struct image_head head;
	uint64_t size;

	memset(v, 0, sizeof(*v));
	if (bytes < sizeof(head))
		return false;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	bytes -= sizeof(head);
	if (head.kind < IMAGE_TEXT || head.kind >= IMAGE_KINDS || head.count > MOST_MEMBERS ||
	    (head.kind != IMAGE_LIST && head.count != 1))
		return false;
	v->list = calloc(head.count + 1, sizeof(*v->list));
	if (!v->list)
		return false;
	for (uint32_t i = 0; i < head.count; i++) {
		if (bytes < sizeof(size))
			goto bad;
		memcpy(&size, at, sizeof(size));
		at += sizeof(size);
		bytes -= sizeof(size);
		if (size > bytes || (size + 7) / 8 * 8 > bytes || !member_good(head.kind, at, size))
			goto bad;
		v->list[i] = at;
		at += (size + 7) / 8 * 8;
		bytes -= (size + 7) / 8 * 8;
	}
	if (bytes)
		goto bad;
	v->kind = head.kind;
	v->count = head.count;
	v->wrapper.magic = WRAPPER_MAGIC;
	v->wrapper.version = head.kind == IMAGE_LIST ? 2 : 1;
	v->wrapper.data = head.kind == IMAGE_LIST ? NULL : v->list[0];
	v->wrapper.list = head.kind == IMAGE_LIST ? v->list : NULL;
	v->image = head.kind == IMAGE_WRAPPER || head.kind == IMAGE_LIST ? (const void *)&v->wrapper : v->list[0];
	return true;
bad:
	image_view_deinit(v);
	return false;
}

uint64_t image_member_bytes(const void *member)
{
	uint64_t bytes;

	memcpy(&bytes, (const uint8_t *)member - sizeof(bytes), sizeof(bytes));
	return bytes;
}

static bool is_name(uint8_t c)
{
	return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

bool image_takes_memory(const void *code, uint64_t bytes)
{
	static const char name[] = "malloc";
	const size_t length = sizeof(name) - 1;
	const uint8_t *end = (const uint8_t *)code + bytes, *at = code;

	while ((at = memmem(at, (size_t)(end - at), name, length))) {
		if ((at == code || !is_name(at[-1])) && (at + length == end || !is_name(at[length])))
			return true;
		at += length;
	}
	return false;
}

void image_view_deinit(struct image_view *v)
{
	free(v->list);
	memset(v, 0, sizeof(*v));
}
