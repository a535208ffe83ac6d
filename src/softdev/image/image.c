/*
 * image.c: reads wrappers, fat binaries and PTX texts.
 *
 * The layouts were worked out from images that the vendor's compiler driver writes; all numbers are little-endian:
 *   wrapper  u32 0x466243b1, u32 version, pointer data, pointer aux. Version 1: data is a fat binary. Version 2
 * (relocatable device code): aux is a NULL-terminated array of fat binaries to be linked together. header   u32
 * 0xBA55ED50, u16 version, u16 header bytes, u64 bytes of the entries that follow. entry    see struct entry; the next
 * one starts at header bytes + payload bytes. Everything is copied out of the image before it is judged, so alignment
 * does not matter.
 */
#include "softdev/image/image.h"

#include "base/cleanup.h"
#include "base/reach.h"
#include "wire/soft_capability.h"

#include <lz4.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <zstd.h>

#define WRAPPER_MAGIC 0x466243b1u
#define HEADER_MAGIC 0xBA55ED50u
#define HEADER_BYTES 16u
#define ENTRY_BYTES 64u
#define WRAPPER_MEMBERS_MAX 65536u
#define ENTRIES_MAX 4096u
#define TEXT_BYTES_MAX ((uint64_t)1 << 29)

enum entry_kind { ENTRY_PTX = 1, ENTRY_ELF = 2, ENTRY_LTO = 8 };

#define ENTRY_LZ4 0x2000u
#define ENTRY_ZSTD 0x8000u
#define ENTRY_EXACT 0x100000u  /* sm_90a: this target only */
#define ENTRY_FAMILY 0x200000u /* sm_100f: this major only */

struct view {
	const uint8_t *data;
	size_t bytes;
};

struct entry {
	uint16_t kind;
	uint32_t head_bytes;
	uint64_t payload_bytes;
	uint32_t packed_bytes; /* 0: the payload is not compressed */
	uint32_t arch;
	uint64_t flags;
	uint64_t text_bytes;
	struct view name;
	struct view payload;
};

struct why {
	char *text;
	size_t bytes;
	bool chosen; /* the architecture is a linker's target, not a device's */
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct why *why, int outcome, const char *fmt, ...)
{
	va_list ap;

	if (why->text && why->bytes) {
		va_start(ap, fmt);
		vsnprintf(why->text, why->bytes, fmt, ap);
		va_end(ap);
	}
	return outcome;
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

/* Compares byte by byte and stops at the first difference: a text may end before the magic number would. */
static bool starts_with(const uint8_t *p, size_t bytes, const void *magic, size_t magic_bytes)
{
	const uint8_t *m = magic;

	for (size_t i = 0; i < magic_bytes; i++)
		if (i >= bytes || p[i] != m[i])
			return false;
	return true;
}

static bool starts_with32(const uint8_t *p, size_t bytes, uint32_t magic)
{
	uint8_t m[4] = { (uint8_t)magic, (uint8_t)(magic >> 8), (uint8_t)(magic >> 16), (uint8_t)(magic >> 24) };

	return starts_with(p, bytes, m, sizeof(m));
}

/* A text begins with a directive or a comment, blanks before it allowed. */
static bool looks_like_text(const uint8_t *p, size_t bytes)
{
	size_t i = 0;

	while (i < bytes && (p[i] == ' ' || (p[i] >= '\t' && p[i] <= '\r')))
		i++;
	if (i < bytes && p[i] == '.')
		return true;
	return i + 1 < bytes && p[i] == '/' && (p[i + 1] == '/' || p[i + 1] == '*');
}

static int append(struct image_ptx *ptx, struct image_text text)
{
	struct image_text *grown = realloc(ptx->text, (ptx->count + 1) * sizeof(*grown));

	if (!grown) {
		free(text.owned);
		return -ENOMEM;
	}
	ptx->text = grown;
	ptx->text[ptx->count++] = text;
	return 0;
}

/* Reads the entry at `offset` of the fat binary's entries. Value: 0, or IMAGE_INVALID. */
static int read_entry(struct view all, size_t offset, struct entry *ret, const struct why *why)
{
	const uint8_t *p = all.data + offset;
	size_t left = all.bytes - offset, end;
	uint32_t name_offset, name_bytes;
	struct entry e = { 0 };

	if (left < ENTRY_BYTES)
		return refuse(why, IMAGE_INVALID, "fat binary: %zu bytes at offset %zu are too few for an entry", left,
			      offset);
	e.kind = get16(p);
	e.head_bytes = get32(p + 4);
	e.payload_bytes = get64(p + 8);
	e.packed_bytes = get32(p + 16);
	e.arch = get32(p + 28);
	name_offset = get32(p + 32);
	name_bytes = get32(p + 36);
	e.flags = get64(p + 40);
	e.text_bytes = get64(p + 56);
	if (e.head_bytes < ENTRY_BYTES || __builtin_add_overflow(e.head_bytes, e.payload_bytes, &end) || end > left)
		return refuse(why, IMAGE_INVALID,
			      "fat binary: the entry at offset %zu claims %u + %llu bytes, %zu are left", offset,
			      e.head_bytes, (unsigned long long)e.payload_bytes, left);
	if (name_offset && name_bytes) {
		if (__builtin_add_overflow(name_offset, (size_t)name_bytes, &end) || end > e.head_bytes)
			return refuse(why, IMAGE_INVALID,
				      "fat binary: the name of the entry at offset %zu lies outside it", offset);
		e.name = (struct view){ p + name_offset, name_bytes };
	}
	if (e.packed_bytes > e.payload_bytes)
		return refuse(why, IMAGE_INVALID,
			      "fat binary: the entry at offset %zu claims %u compressed of %llu bytes", offset,
			      e.packed_bytes, (unsigned long long)e.payload_bytes);
	e.payload = (struct view){ p + e.head_bytes, (size_t)e.payload_bytes };
	*ret = e;
	return 0;
}

static bool entry_fits(const struct entry *e, uint32_t arch)
{
	if (e->flags & ENTRY_EXACT)
		return e->arch == arch;
	if (e->flags & ENTRY_FAMILY)
		return e->arch <= arch && e->arch / 10 == arch / 10;
	return e->arch <= arch;
}

/* A more specific target wins over a plain one of the same number. */
static uint64_t entry_rank(const struct entry *e)
{
	return (uint64_t)e->arch << 2 | (e->flags & ENTRY_EXACT ? 2 : e->flags & ENTRY_FAMILY ? 1 : 0);
}

/* Whether compressed data can hold what its entry claims: asked before memory is taken for that. */
static bool text_possible(const struct entry *e)
{
	unsigned long long says;

	if (e->flags & ENTRY_ZSTD) {
		says = ZSTD_getFrameContentSize(e->payload.data, e->packed_bytes);
		return says == ZSTD_CONTENTSIZE_UNKNOWN || says == e->text_bytes;
	}
	return e->text_bytes / 256 <= e->packed_bytes; /* LZ4 makes at most 255 bytes of one */
}

/* The text of an entry in memory of its own. Value: 0, IMAGE_INVALID or -ENOMEM. */
static int unpack(const struct entry *e, struct image_ptx *ptx, const struct why *why)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes, got;

	if (!e->packed_bytes) {
		bytes = strnlen((const char *)e->payload.data, e->payload.bytes);
		text = malloc(bytes + 1);
		if (!text)
			return -ENOMEM;
		memcpy(text, e->payload.data, bytes);
	} else {
		if (e->text_bytes > TEXT_BYTES_MAX)
			return refuse(why, IMAGE_INVALID, "fat binary: an entry claims a text of %llu bytes",
				      (unsigned long long)e->text_bytes);
		bytes = (size_t)e->text_bytes;
		if (!text_possible(e))
			return refuse(why, IMAGE_INVALID, "fat binary: %u bytes in an entry for sm_%u cannot hold %zu",
				      e->packed_bytes, e->arch, bytes);
		text = malloc(bytes + 1);
		if (!text)
			return -ENOMEM;
		if (e->flags & ENTRY_ZSTD) {
			got = ZSTD_decompress(text, bytes, e->payload.data, e->packed_bytes);
			if (ZSTD_isError(got) || got != bytes)
				return refuse(why, IMAGE_INVALID, "fat binary: damaged zstd data in an entry for sm_%u",
					      e->arch);
		} else if (e->flags & ENTRY_LZ4) {
			int n = e->packed_bytes > LZ4_MAX_INPUT_SIZE
					? -1
					: LZ4_decompress_safe((const char *)e->payload.data, text, (int)e->packed_bytes,
							      (int)bytes);

			if (n < 0 || (size_t)n != bytes)
				return refuse(why, IMAGE_INVALID, "fat binary: damaged LZ4 data in an entry for sm_%u",
					      e->arch);
		} else {
			return refuse(why, IMAGE_INVALID,
				      "fat binary: an entry for sm_%u is compressed in an unknown way (flags 0x%llx)",
				      e->arch, (unsigned long long)e->flags);
		}
		bytes = strnlen(text, bytes);
	}
	text[bytes] = 0;
	if (!looks_like_text((const uint8_t *)text, bytes))
		return refuse(why, IMAGE_INVALID, "fat binary: the PTX entry for sm_%u is not PTX", e->arch);
	return append(ptx, (struct image_text){ text, bytes, e->arch, steal_ptr(text) });
}

static bool same_name(struct view a, struct view b)
{
	return a.bytes == b.bytes && (!a.bytes || !memcmp(a.data, b.data, a.bytes));
}

/* Whether another PTX entry of the same name that fits the device comes before `mine` in rank. */
static bool beaten(struct view all, size_t mine_offset, const struct entry *mine, uint32_t arch)
{
	const struct why quiet = { 0 };
	struct entry e;

	for (size_t offset = HEADER_BYTES; offset < all.bytes; offset += e.head_bytes + (size_t)e.payload_bytes) {
		if (read_entry(all, offset, &e, &quiet))
			return false;
		if (e.kind != ENTRY_PTX || !entry_fits(&e, arch) || !same_name(e.name, mine->name))
			continue;
		if (entry_rank(&e) > entry_rank(mine) || (entry_rank(&e) == entry_rank(mine) && offset < mine_offset))
			return true;
	}
	return false;
}

/* `all`: header and entries, exactly. Adds the chosen texts. */
static int read_fat(struct view all, uint32_t arch, struct image_ptx *ptx, const struct why *why)
{
	uint32_t wanted = 0, seen_elf = 0, seen_lto = 0;
	char remedy[SOFT_REMEDY_BYTES];
	size_t before = ptx->count, count = 0;
	struct entry e;
	int r;

	for (size_t offset = HEADER_BYTES; offset < all.bytes; offset += e.head_bytes + (size_t)e.payload_bytes) {
		r = read_entry(all, offset, &e, why);
		if (r)
			return r;
		/* beaten() makes the choice quadratic in the entries: no compiler writes more than a few dozen. */
		if (++count > ENTRIES_MAX)
			return refuse(why, IMAGE_INVALID, "fat binary: more than %u entries", ENTRIES_MAX);
		seen_elf += e.kind == ENTRY_ELF;
		seen_lto += e.kind == ENTRY_LTO;
		if (e.kind != ENTRY_PTX)
			continue;
		if (!entry_fits(&e, arch)) {
			wanted = !wanted || e.arch < wanted ? e.arch : wanted;
			continue;
		}
		if (beaten(all, offset, &e, arch))
			continue;
		r = unpack(&e, ptx, why);
		if (r)
			return r;
	}
	if (ptx->count > before)
		return 0;
	if (wanted)
		return refuse(why, seen_elf ? IMAGE_NO_PTX : IMAGE_TOO_NEW,
			      "the image holds PTX for sm_%u, the %s is sm_%u: %s", wanted,
			      why->chosen ? "target" : "device", arch,
			      why->chosen ? soft_target_remedy(wanted, remedy)
					  : soft_capability_remedy(wanted, remedy));
	if (seen_elf)
		return refuse(why, IMAGE_NO_PTX,
			      "the image holds machine code only: build with PTX for this device (-gencode "
			      "arch=compute_%u,code=compute_%u)",
			      arch, arch);
	if (seen_lto)
		return refuse(why, IMAGE_NO_PTX, "the image holds intermediate code for linking only, no PTX");
	return refuse(why, IMAGE_NO_PTX, "the fat binary has no entries with PTX");
}

/* Bytes of a fat binary by its header, 0: they overflow or the header is of an unknown kind. */
static size_t fat_bytes(const uint8_t *p)
{
	size_t bytes;

	if (get16(p + 6) != HEADER_BYTES || __builtin_add_overflow(get64(p + 8), (uint64_t)HEADER_BYTES, &bytes))
		return 0;
	return bytes;
}

/*
 * Whether what read_fat() will look at is in memory: the entries up to the first bad one, and the texts in them. One
 * pass of its own, for read_fat() looks at entries many times.
 */
static bool fat_reachable(struct view all)
{
	const struct why quiet = { 0 };
	size_t count = 0;
	struct entry e;

	for (size_t offset = HEADER_BYTES; offset < all.bytes; offset += e.head_bytes + (size_t)e.payload_bytes) {
		if (all.bytes - offset < ENTRY_BYTES || ++count > ENTRIES_MAX)
			return true;
		if (!reach_bytes(all.data + offset, ENTRY_BYTES))
			return false;
		if (read_entry(all, offset, &e, &quiet))
			return true;
		if (!reach_bytes(all.data + offset, e.head_bytes) ||
		    (e.kind == ENTRY_PTX && !reach_bytes(e.payload.data, e.payload.bytes)))
			return false;
	}
	return true;
}

static int read_fat_unsized(const uint8_t *p, uint32_t arch, struct image_ptx *ptx, const struct why *why)
{
	size_t bytes;

	if (!p || !reach_bytes(p, HEADER_BYTES) || !starts_with32(p, 4, HEADER_MAGIC))
		return refuse(why, IMAGE_INVALID, "the wrapper does not point at a fat binary");
	bytes = fat_bytes(p);
	if (!bytes)
		return refuse(why, IMAGE_INVALID, "fat binary: unknown header (version %u, %u bytes)", get16(p + 4),
			      get16(p + 6));
	if (!fat_reachable((struct view){ p, bytes }))
		return refuse(why, IMAGE_INVALID, "fat binary: truncated, it claims %zu bytes", bytes);
	return read_fat((struct view){ p, bytes }, arch, ptx, why);
}

static int read_wrapper(const uint8_t *p, uint32_t arch, struct image_ptx *ptx, const struct why *why)
{
	const uint8_t *const *aux;
	const uint8_t *data;
	uint32_t version;
	int r, without = 0;

	if (!reach_bytes(p, 8 + 2 * sizeof(data)))
		return refuse(why, IMAGE_INVALID, "a truncated fat binary wrapper");
	version = get32(p + 4);
	memcpy(&data, p + 8, sizeof(data));
	memcpy(&aux, p + 8 + sizeof(data), sizeof(aux));
	if (version == 1 || (version == 2 && !aux))
		return read_fat_unsized(data, arch, ptx, why);
	if (version != 2)
		return refuse(why, IMAGE_INVALID, "fat binary wrapper: unknown version %u", version);
	for (size_t i = 0;; i++) {
		if (!reach_bytes(&aux[i], sizeof(aux[i])))
			return refuse(why, IMAGE_INVALID, "fat binary wrapper: the list of members is not in memory");
		if (!aux[i])
			break;
		if (i >= WRAPPER_MEMBERS_MAX)
			return refuse(why, IMAGE_INVALID, "fat binary wrapper: the list of members has no end");
		r = read_fat_unsized(aux[i], arch, ptx, why);
		if (r < 0 || r == IMAGE_INVALID)
			return r;
		without = r ? r : without;
	}
	/* A member without PTX (the device runtime library) does not spoil the others. */
	if (ptx->count)
		return 0;
	return without ? without : refuse(why, IMAGE_NO_PTX, "fat binary wrapper without members");
}

#define ELF_HEADER_BYTES 64u
#define ELF_MACHINE_CUDA 190u

static int read_elf(const uint8_t *p, const struct why *why)
{
	if (p[4] != 2 || get16(p + 18) != ELF_MACHINE_CUDA)
		return refuse(why, IMAGE_INVALID, "an ELF file that is not for a GPU");
	return refuse(why, IMAGE_NO_PTX,
		      "the image is machine code: the software device runs PTX (build with -gencode "
		      "arch=compute_XX,code=compute_XX)");
}

static size_t elf_bytes(const uint8_t *p)
{
	uint64_t sections = (uint64_t)get16(p + 60) * get16(p + 58), programs = (uint64_t)get16(p + 56) * get16(p + 54);
	uint64_t a, b;

	if (__builtin_add_overflow(get64(p + 40), sections, &a) || __builtin_add_overflow(get64(p + 32), programs, &b))
		return 0;
	return (size_t)(a > b ? a : b);
}

static int finish(int r, struct image_ptx *found, struct image_ptx *ret)
{
	if (r)
		image_ptx_deinit(found);
	else
		*ret = *found;
	return r;
}

int image_find_ptx(const void *image, uint32_t arch, struct image_ptx *ret, char *why_text, size_t why_bytes)
{
	const struct why why = { why_text, why_bytes, false };
	struct image_ptx found = { 0 };
	const uint8_t *p = image;
	size_t bytes;
	int r;

	if (!p || !reach_bytes(p, 1))
		return refuse(&why, IMAGE_INVALID, p ? "the image is not in memory" : "no image");
	if (!reach_bytes(p, 4) && !reach_text(image, &bytes))
		return refuse(&why, IMAGE_INVALID, "the image ends after less than four bytes");
	if (starts_with32(p, 4, WRAPPER_MAGIC))
		r = read_wrapper(p, arch, &found, &why);
	else if (starts_with32(p, 4, HEADER_MAGIC))
		r = read_fat_unsized(p, arch, &found, &why);
	else if (starts_with(p, 4, "\177ELF", 4))
		r = reach_bytes(p, ELF_HEADER_BYTES) ? read_elf(p, &why)
						     : refuse(&why, IMAGE_INVALID, "a truncated ELF file");
	else if (!reach_text(image, &bytes))
		r = refuse(&why, IMAGE_INVALID, "neither a fat binary nor a device ELF file nor a text that ends");
	else if (looks_like_text(p, bytes))
		r = append(&found, (struct image_text){ image, bytes, 0, NULL });
	else
		r = refuse(&why, IMAGE_INVALID, "neither PTX nor a fat binary nor a device ELF file");
	return finish(r, &found, ret);
}

static int find_bounded(const void *image, size_t bytes, uint32_t arch, struct image_ptx *ret, const struct why *why)
{
	struct image_ptx found = { 0 };
	const uint8_t *p = image;
	size_t claimed;
	char *copy;
	int r;

	if (starts_with32(p, bytes, WRAPPER_MAGIC)) {
		r = refuse(why, IMAGE_INVALID, "a fat binary wrapper holds addresses and cannot be read from a file");
	} else if (starts_with32(p, bytes, HEADER_MAGIC)) {
		claimed = bytes < HEADER_BYTES ? 0 : fat_bytes(p);
		if (!claimed || claimed > bytes)
			r = refuse(why, IMAGE_INVALID, "fat binary: truncated (%zu bytes of %zu)", bytes, claimed);
		else
			r = read_fat((struct view){ p, claimed }, arch, &found, why);
	} else if (starts_with(p, bytes, "\177ELF", 4)) {
		r = bytes < ELF_HEADER_BYTES ? refuse(why, IMAGE_INVALID, "a truncated ELF file") : read_elf(p, why);
	} else if (looks_like_text(p, bytes)) {
		bytes = strnlen(image, bytes);
		copy = malloc(bytes + 1);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, image, bytes);
		copy[bytes] = 0;
		r = append(&found, (struct image_text){ copy, bytes, 0, copy });
	} else {
		r = refuse(why, IMAGE_INVALID, "neither PTX nor a fat binary nor a device ELF file");
	}
	return finish(r, &found, ret);
}

int image_find_ptx_bounded(const void *image, size_t bytes, uint32_t arch, struct image_ptx *ret, char *why,
			   size_t why_bytes)
{
	return find_bounded(image, bytes, arch, ret, &(struct why){ why, why_bytes, false });
}

int image_find_ptx_linked(const void *image, size_t bytes, uint32_t arch, struct image_ptx *ret, char *why,
			  size_t why_bytes)
{
	return find_bounded(image, bytes, arch, ret, &(struct why){ why, why_bytes, true });
}

size_t image_bytes(const void *image)
{
	const uint8_t *p = image;

	if (!p)
		return 0;
	if (starts_with32(p, 4, WRAPPER_MAGIC)) {
		memcpy(&p, p + 8, sizeof(p));
		if (!p || !starts_with32(p, 4, HEADER_MAGIC))
			return 0;
	}
	if (starts_with32(p, 4, HEADER_MAGIC))
		return fat_bytes(p);
	if (starts_with(p, 4, "\177ELF", 4))
		return elf_bytes(p);
	return looks_like_text(p, SIZE_MAX) ? strlen((const char *)p) + 1 : 0;
}

void image_ptx_deinit(struct image_ptx *ptx)
{
	for (size_t i = 0; i < ptx->count; i++)
		free(ptx->text[i].owned);
	free(ptx->text);
	*ptx = (struct image_ptx){ 0 };
}
