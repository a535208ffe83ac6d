/*
 * image.c: see image.h. The layout of fat binaries and of the sections of cubins is from the public description of the
 * formats; an ELF's sizes are those of its sections .nv.global*, .nv.constant3 and .bss-like ones of that name.
 *
 * An image comes without a length, and its headers may be damaged: what they point at is read only where something is
 * mapped, so that the driver's own error is what the program gets.
 *
 * The reader of PTX knows just enough: comments, strings and braces, and declarations of .global and .const variables,
 * of which functions may have some of their own. What it does not understand makes the need unknown, never smaller.
 */
#include "shim/image.h"

#include "wire/page.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAT_WRAPPER 0x466243b1u
#define FAT_HEADER 0xba55ed50u
#define FAT_PTX 1
#define FAT_ELF 2
#define FAT_COMPRESSED (0x2000u | 0x8000u)

struct sizes {
	bool known;
	uint64_t bytes, units;
	uint64_t external_units; /* of variables of another image, which a driver may take if there is none */
	image_variable found;	 /* told of names; or NULL */
	void *arg;
	bool constant; /* the variables that are read now lie in .const */
};

static void tell_name(struct sizes *s, const char *name, size_t length)
{
	if (s->found && !s->constant)
		s->found(s->arg, name, length);
}

#define PAGE 4096u

/* Every page of [p, p + bytes) is mapped. */
static bool readable(const void *p, uint64_t bytes)
{
	unsigned char resident[1024];
	uint64_t at = (uint64_t)(uintptr_t)p & ~(uint64_t)(PAGE - 1), end;
	int saved = errno;
	bool good = !__builtin_add_overflow((uint64_t)(uintptr_t)p, bytes, &end) && end < 1ull << 56;

	while (good && at < end) {
		uint64_t pages = (end - at + PAGE - 1) / PAGE;

		if (pages > sizeof resident)
			pages = sizeof resident;
		good = syscall(SYS_mincore, at, pages * PAGE, resident) == 0;
		at += pages * PAGE;
	}
	errno = saved;
	return good;
}

static void add_variable(struct sizes *s, uint64_t bytes)
{
	s->bytes += bytes;
	s->units += wire_units(bytes);
}

/* ---- PTX ---- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
	       c == '%' || c == '.';
}

/* Blanks and comments. */
static const char *skip_blank(const char *p)
{
	for (;;) {
		if (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r' || *p == '\v' || *p == '\f') {
			p++;
		} else if (p[0] == '/' && p[1] == '/') {
			while (*p && *p != '\n')
				p++;
		} else if (p[0] == '/' && p[1] == '*') {
			p += 2;
			while (*p && !(p[0] == '*' && p[1] == '/'))
				p++;
			p += *p ? 2 : 0;
		} else {
			return p;
		}
	}
}

/* A backslash before a quote: one reader takes the string to end there, another does not. */
static bool is_doubtful_string(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (p[0] == '\\' && p[1] == '"')
			return true;
	return false;
}

static const char *skip_string(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

/* From an opening bracket of any kind to behind its partner. */
static const char *skip_nested(const char *p)
{
	int depth = 0;

	do {
		p = skip_blank(p);
		if (*p == '{' || *p == '(' || *p == '[')
			depth++;
		else if (*p == '}' || *p == ')' || *p == ']')
			depth--;
		if (*p == '"')
			p = skip_string(p);
		else if (*p)
			p++;
	} while (*p && depth > 0);
	return p;
}

static bool word_is(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(p, word, n);
}

static size_t word_length(const char *p)
{
	size_t n = 0;

	while (is_word(p[n]) && (n == 0 || p[n] != '.'))
		n++;
	return n;
}

static const char *read_number(const char *p, uint64_t *ret)
{
	int base = 10;

	*ret = 0;
	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		base = 16;
		p += 2;
	}
	for (;; p++) {
		int digit = *p >= '0' && *p <= '9'		   ? *p - '0'
			    : base == 16 && *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
			    : base == 16 && *p >= 'A' && *p <= 'F' ? *p - 'A' + 10
								   : -1;

		if (digit < 0)
			break;
		*ret = *ret * (uint64_t)base + (uint64_t)digit;
	}
	while (*p == 'U' || *p == 'u')
		p++;
	return p;
}

/* Elements of an initialiser at its outermost level. */
static const char *count_elements(const char *p, uint64_t *ret)
{
	uint64_t n = 0;

	p = skip_blank(p + 1);
	while (*p && *p != '}') {
		n++;
		while (*p && *p != ',' && *p != '}')
			p = *p == '{' || *p == '(' || *p == '[' ? skip_nested(p) : skip_blank(p + 1);
		if (*p == ',')
			p = skip_blank(p + 1);
	}
	*ret = n;
	return *p ? p + 1 : p;
}

static unsigned int type_bytes(const char *p, size_t n)
{
	static const struct {
		const char *name;
		unsigned int bytes;
	} types[] = { { ".b8", 1 },	{ ".u8", 1 },  { ".s8", 1 },	{ ".b16", 2 },	  { ".u16", 2 },
		      { ".s16", 2 },	{ ".f16", 2 }, { ".bf16", 2 },	{ ".f16x2", 4 },  { ".b32", 4 },
		      { ".u32", 4 },	{ ".s32", 4 }, { ".f32", 4 },	{ ".b64", 8 },	  { ".u64", 8 },
		      { ".s64", 8 },	{ ".f64", 8 }, { ".b128", 16 }, { ".texref", 0 }, { ".samplerref", 0 },
		      { ".surfref", 0 } };

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (word_is(p, n, types[i].name))
			return types[i].bytes;
	return UINT32_MAX;
}

/* One name with its dimensions and initialiser. */
static const char *read_declarator(const char *p, uint64_t element, bool external, struct sizes *s)
{
	uint64_t count = 1, n;
	bool open = false;
	size_t length = word_length(p);

	if (!length) {
		s->known = false;
		return p;
	}
	tell_name(s, p, length);
	p = skip_blank(p + length);
	while (*p == '[') {
		p = skip_blank(p + 1);
		if (*p == ']') {
			open = true;
		} else {
			p = skip_blank(read_number(p, &n));
			if (__builtin_mul_overflow(count, n, &count))
				count = UINT64_MAX / WIRE_UNIT_BYTES;
		}
		if (*p != ']') {
			s->known = false;
			return p;
		}
		p = skip_blank(p + 1);
	}
	if (*p == '=') {
		p = skip_blank(p + 1);
		n = 1;
		if (*p == '{')
			p = count_elements(p, &n);
		else
			while (*p && *p != ',' && *p != ';')
				p = *p == '(' ? skip_nested(p) : skip_blank(p + 1);
		if (open)
			count *= n;
		p = skip_blank(p);
	} else if (open) {
		count = 0;
	}
	if (__builtin_mul_overflow(count, element, &count))
		count = UINT64_MAX / 2;
	if (external)
		s->external_units += wire_units(count);
	else
		add_variable(s, count);
	return p;
}

/* Behind ".global" or ".const". */
static const char *read_variables(const char *p, bool external, struct sizes *s)
{
	uint64_t element = UINT32_MAX, vector = 1;

	for (p = skip_blank(p); *p == '.'; p = skip_blank(p)) {
		size_t n = word_length(p);

		if (word_is(p, n, ".align")) {
			uint64_t ignored;

			p = read_number(skip_blank(p + n), &ignored);
			continue;
		}
		if (word_is(p, n, ".v2"))
			vector = 2;
		else if (word_is(p, n, ".v4"))
			vector = 4;
		else if (word_is(p, n, ".v8"))
			vector = 8;
		else if (!word_is(p, n, ".attribute") && !word_is(p, n, ".ptr"))
			element = type_bytes(p, n);
		p = skip_blank(p + n);
		if (*p == '(')
			p = skip_nested(p);
	}
	if (element == UINT32_MAX) {
		s->known = false;
		return p;
	}
	do {
		p = skip_blank(*p == ',' ? p + 1 : p);
		p = read_declarator(p, element * vector, external, s);
	} while (s->known && *p == ',');
	return p;
}

/*
 * From the opening brace of a body to behind its partner. In an instruction (ld.global.u32) the space belongs to the
 * word before it, in a declaration it does not.
 */
static const char *read_body(const char *p, struct sizes *s)
{
	const char *instruction_end = NULL;
	int depth = 0;

	do {
		size_t n = word_length(p = skip_blank(p));

		depth += (*p == '{') - (*p == '}');
		if (*p == '"') {
			s->known &= !is_doubtful_string(p);
			p = skip_string(p);
		} else if (!n) {
			p += *p != 0;
		} else if (p != instruction_end && (word_is(p, n, ".global") || word_is(p, n, ".const"))) {
			s->constant = word_is(p, n, ".const");
			p = read_variables(p + n, false, s);
		} else {
			if (!word_is(p, n, ".visible") && !word_is(p, n, ".weak"))
				instruction_end = p + n;
			p += n;
		}
	} while (s->known && *p && depth > 0);
	return p;
}

static struct sizes read_ptx(const char *p, image_variable found, void *arg)
{
	struct sizes s = { .known = true, .found = found, .arg = arg };
	bool external = false;

	while (s.known && *(p = skip_blank(p))) {
		size_t n;

		if (*p == '{') {
			p = read_body(p, &s);
			external = false;
		} else if (*p == '(' || *p == '[') {
			p = skip_nested(p);
			external = false;
		} else if (*p == '"') {
			s.known &= !is_doubtful_string(p);
			p = skip_string(p);
		} else if (!is_word(*p)) {
			external &= *p != ';';
			p++;
		} else {
			n = word_length(p);
			if (word_is(p, n, ".extern"))
				external = true;
			else if (word_is(p, n, ".visible") || word_is(p, n, ".weak") || word_is(p, n, ".common"))
				external = false;
			p += n;
			s.constant = word_is(p - n, n, ".const");
			if (word_is(p - n, n, ".global") || s.constant)
				p = read_variables(p, external, &s);
		}
	}
	return s;
}

static bool looks_like_ptx(const char *p)
{
	p = skip_blank(p);
	return !strncmp(p, ".version", 8);
}

/* ---- ELF ---- */

static bool is_written(const char *section)
{
	return !strcmp(section, ".nv.global") || !strcmp(section, ".nv.global.init");
}

static struct sizes read_elf(const void *image)
{
	const Elf64_Ehdr *e = image;
	const Elf64_Shdr *section, *names;
	struct sizes s = { 0 };

	if (!readable(image, sizeof *e) || e->e_ident[EI_CLASS] != ELFCLASS64 || !e->e_shoff ||
	    e->e_shentsize != sizeof *section || e->e_shstrndx >= e->e_shnum || e->e_shoff >> 40 ||
	    (e->e_shoff + (uintptr_t)image) % _Alignof(Elf64_Shdr))
		return s;
	section = (const void *)((const char *)image + e->e_shoff);
	names = &section[e->e_shstrndx];
	if (!readable(section, (uint64_t)e->e_shnum * sizeof *section) || names->sh_offset >> 40 ||
	    names->sh_size >> 40 || !names->sh_size ||
	    !readable((const char *)image + names->sh_offset, names->sh_size) ||
	    ((const char *)image)[names->sh_offset + names->sh_size - 1])
		return s;
	s.known = true;
	for (unsigned int i = 0; i < e->e_shnum; i++) {
		const char *name;

		if (section[i].sh_name >= names->sh_size)
			continue;
		name = (const char *)image + names->sh_offset + section[i].sh_name;
		if (is_written(name) || !strcmp(name, ".nv.constant3"))
			add_variable(&s, section[i].sh_size);
	}
	return s;
}

/* ---- fat binaries ---- */

struct fat_entry {
	uint16_t kind, version;
	uint32_t header_bytes;
	uint64_t payload_bytes;
	uint32_t compressed_bytes, unused;
	uint16_t minor, major;
	uint32_t arch, name_offset, name_bytes;
	uint64_t flags, uncompressed_bytes;
};

static void merge(struct image_need *need, const struct sizes *s, bool first)
{
	if (!s->known) {
		need->known = false;
		return;
	}
	if (first || s->bytes < need->least_bytes)
		need->least_bytes = s->bytes;
	if (first || s->units < need->least_units)
		need->least_units = s->units;
	if (first || s->units + s->external_units > need->most_units)
		need->most_units = s->units + s->external_units;
}

/* PTX in a fat binary is not always followed by a NUL within its payload: a copy would need memory, so it must be. */
static void read_fat(const unsigned char *header, struct image_need *need)
{
	struct fat_entry entry;
	uint64_t size, at = 16;
	bool first = true;

	need->known = readable(header, 16);
	if (!need->known)
		return;
	memcpy(&size, header + 8, sizeof size);
	need->known = size < 1ull << 40 && readable(header, 16 + size);
	while (need->known && at + sizeof entry <= 16 + size) {
		struct sizes s = { 0 };
		const unsigned char *payload;

		memcpy(&entry, header + at, sizeof entry);
		if (entry.header_bytes < sizeof entry || entry.header_bytes > 16 + size - at ||
		    entry.payload_bytes > 16 + size - at - entry.header_bytes) {
			need->known = false;
			return;
		}
		payload = header + at + entry.header_bytes;
		at += entry.header_bytes + entry.payload_bytes;
		if (entry.kind != FAT_PTX && entry.kind != FAT_ELF) {
			need->known = false;
			return;
		}
		if (!(entry.flags & FAT_COMPRESSED) && !entry.compressed_bytes) {
			if (entry.kind == FAT_ELF)
				s = read_elf(payload);
			else if (memchr(payload, 0, entry.payload_bytes))
				s = read_ptx((const char *)payload, NULL, NULL);
		}
		merge(need, &s, first);
		first = false;
	}
}

/* Byte by byte: an image may be as short as its first difference. */
static bool begins_with(const void *image, uint32_t magic)
{
	const unsigned char *byte = image;

	for (unsigned int i = 0; i < sizeof magic; i++)
		if (byte[i] != (unsigned char)(magic >> 8 * i))
			return false;
	return true;
}

static void read_wrapper(const void *image, struct image_need *need)
{
	const unsigned char *header;
	uint32_t version;

	need->known = readable(image, 24);
	if (!need->known)
		return;
	memcpy(&version, (const char *)image + 4, sizeof version);
	memcpy(&header, (const char *)image + 8, sizeof header);
	need->known = version == 1 && readable(header, 16) && begins_with(header, FAT_HEADER);
	if (need->known)
		read_fat(header, need);
}

void image_read(const void *image, struct image_need *ret)
{
	struct sizes s;

	memset(ret, 0, sizeof *ret);
	if (!image || !readable(image, 1))
		return;
	ret->known = true;
	if (looks_like_ptx(image)) {
		s = read_ptx(image, NULL, NULL);
		merge(ret, &s, true);
	} else if (begins_with(image, FAT_WRAPPER)) {
		read_wrapper(image, ret);
	} else if (begins_with(image, FAT_HEADER)) {
		read_fat(image, ret);
	} else if (begins_with(image, 0x464c457fu)) {
		s = read_elf(image);
		merge(ret, &s, true);
	} else {
		ret->known = false;
	}
}

bool image_ptx_variables(const char *text, image_variable found, void *arg)
{
	return looks_like_ptx(text) && read_ptx(text, found, arg).known;
}
