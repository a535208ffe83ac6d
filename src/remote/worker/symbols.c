/*
 * symbols.c: see symbols.h. ELF: System V ABI, chapter 4. What is not in it was seen in what nvcc 13 and nvlink write:
 * linked code has its variables as STT_OBJECT, code that is still to be linked has them with a type of its own, 13,
 * both as local symbols, too; and in linked code several variables may have one name ("$str", of each file).
 */
#include "remote/worker/symbols.h"

#include "remote/worker/unpack.h"
#include "shim/image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_UNLINKED STT_LOPROC
#define ENTRIES_MOST 4096u
#define SYMBOLS_MOST (UINT64_C(1) << 20)
#define NAMES_MOST (UINT64_C(1) << 26) /* bytes, of all symbols of an entry: many may have one name */
#define UNPACK_ALL (UINT64_C(1) << 31) /* bytes, of all entries of an image */

struct reading {
	symbols_found found;
	void *arg;
	unsigned int member;
	uint64_t left; /* bytes that may be unpacked still */
	enum symbols_outcome outcome;
};

/* ---- lists ---- */

static bool add(struct symbols *s, const struct symbol *symbol, size_t length)
{
	const size_t room = s->room ? 2 * s->room : 64;
	struct symbol *more;
	char *name;

	if (length >= SYMBOL_NAME_MOST || length >= NAMES_MOST - s->name_bytes)
		return false;
	if (s->count == s->room) {
		more = s->count < SYMBOLS_MOST ? realloc(s->symbol, room * sizeof(*more)) : NULL;
		if (!more)
			return false;
		s->symbol = more;
		s->room = room;
	}
	name = strndup(symbol->name, length);
	if (!name)
		return false;
	s->symbol[s->count] = *symbol;
	s->symbol[s->count++].name = name;
	s->name_bytes += length + 1;
	return true;
}

static void empty(struct symbols *s)
{
	for (size_t i = 0; i < s->count; i++)
		free((char *)(uintptr_t)s->symbol[i].name);
	free(s->symbol);
	*s = (struct symbols){ .count = 0 };
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct symbol *)a)->name, ((const struct symbol *)b)->name);
}

static void sort(struct symbols *s)
{
	if (s->count)
		qsort(s->symbol, s->count, sizeof(*s->symbol), by_name);
	for (size_t i = 1; i < s->count; i++)
		if (!by_name(&s->symbol[i - 1], &s->symbol[i]))
			s->symbol[i - 1].shared = s->symbol[i].shared = true;
}

/* ---- PTX ---- */

static void add_ptx(void *arg, const char *name, size_t length)
{
	struct symbols *s = arg;

	s->complete &= add(s, &(struct symbol){ .name = name }, length);
}

/* A name that is told twice is one variable: as it is declared, and as it is defined. */
static void read_ptx(const char *text, struct symbols *s)
{
	s->complete = true;
	s->complete &= image_ptx_variables(text, add_ptx, s);
	sort(s);
	for (size_t i = 0; i < s->count; i++)
		s->symbol[i].shared = false;
}

/* ---- machine code ---- */

struct file {
	const uint8_t *data;
	uint64_t bytes;
	Elf64_Ehdr head;
	Elf64_Shdr names;
};

/* Whether it lies in the file. */
static bool is_in(const struct file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->bytes && bytes <= f->bytes - offset;
}

static bool section_at(const struct file *f, uint32_t i, Elf64_Shdr *ret)
{
	if (i >= f->head.e_shnum)
		return false;
	memcpy(ret, f->data + f->head.e_shoff + i * sizeof(*ret), sizeof(*ret));
	return true;
}

/* Of a table of texts. NULL: it lies outside, does not end, or is too long. */
static const char *text_at(const struct file *f, const Elf64_Shdr *table, uint32_t at)
{
	const char *text;
	uint64_t most;

	if (at >= table->sh_size || !is_in(f, table->sh_offset, table->sh_size))
		return NULL;
	text = (const char *)f->data + table->sh_offset + at;
	most = table->sh_size - at < SYMBOL_NAME_MOST ? table->sh_size - at : SYMBOL_NAME_MOST;
	return memchr(text, 0, most) ? text : NULL;
}

static bool file_begin(struct file *f)
{
	if (f->bytes < sizeof(f->head))
		return false;
	memcpy(&f->head, f->data, sizeof(f->head));
	return !memcmp(f->head.e_ident, ELFMAG, SELFMAG) && f->head.e_ident[EI_CLASS] == ELFCLASS64 &&
	       f->head.e_ident[EI_DATA] == ELFDATA2LSB && f->head.e_shentsize == sizeof(Elf64_Shdr) &&
	       is_in(f, f->head.e_shoff, (uint64_t)f->head.e_shnum * sizeof(Elf64_Shdr)) &&
	       section_at(f, f->head.e_shstrndx, &f->names);
}

enum place { PLACE_OTHER, PLACE_ZERO, PLACE_INITIAL, PLACE_UNKNOWN };

static enum place place_of(const struct file *f, const Elf64_Shdr *section)
{
	const char *name = text_at(f, &f->names, section->sh_name);

	if (!name)
		return PLACE_UNKNOWN;
	if (!strcmp(name, ".nv.global"))
		return PLACE_ZERO;
	if (strcmp(name, ".nv.global.init"))
		return strncmp(name, ".nv.global", 10) ? PLACE_OTHER : PLACE_UNKNOWN;
	return is_in(f, section->sh_offset, section->sh_size) ? PLACE_INITIAL : PLACE_UNKNOWN;
}

/* Where a symbol's variable is. False: it is one, but nobody knows where. */
static bool locate(const struct file *f, const Elf64_Sym *symbol, struct symbol *ret, bool *ret_written)
{
	const unsigned int type = ELF64_ST_TYPE(symbol->st_info);
	Elf64_Shdr section;
	enum place place;

	*ret_written = false;
	if ((type != STT_OBJECT && type != TYPE_UNLINKED) || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_shndx == SHN_ABS)
		return true;
	*ret = (struct symbol){ .bytes = symbol->st_size };
	*ret_written = true;
	if (symbol->st_shndx == SHN_COMMON)
		return true;
	if (!section_at(f, symbol->st_shndx, &section))
		return false;
	place = place_of(f, &section);
	*ret_written = place == PLACE_ZERO || place == PLACE_INITIAL;
	if (!*ret_written)
		return place == PLACE_OTHER;
	if (symbol->st_value > section.sh_size || symbol->st_size > section.sh_size - symbol->st_value)
		return false;
	ret->at = symbol->st_value;
	ret->section = symbol->st_shndx;
	ret->initial = place == PLACE_INITIAL ? f->data + section.sh_offset + symbol->st_value : NULL;
	return true;
}

static bool read_table(const struct file *f, const Elf64_Shdr *table, struct symbols *s)
{
	const uint64_t count = table->sh_size / sizeof(Elf64_Sym);
	struct symbol found;
	Elf64_Shdr texts;
	Elf64_Sym symbol;
	bool written;

	if (table->sh_entsize != sizeof(symbol) || !is_in(f, table->sh_offset, table->sh_size) ||
	    !section_at(f, table->sh_link, &texts))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		memcpy(&symbol, f->data + table->sh_offset + i * sizeof(symbol), sizeof(symbol));
		if (!locate(f, &symbol, &found, &written))
			return false;
		if (!written)
			continue;
		found.name = text_at(f, &texts, symbol.st_name);
		if (!found.name || !*found.name || !add(s, &found, strlen(found.name)))
			return false;
	}
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/*
 * Whether bytes of a section belong to no symbol, beyond what lies between two because of their alignment. `from`: the
 * first symbol of this section or a later one, and then of a later one.
 */
static bool has_holes(const struct symbols *s, uint32_t section, const Elf64_Shdr *head, size_t *from)
{
	const uint64_t align = head->sh_addralign ? head->sh_addralign : 1;
	uint64_t end = 0;
	bool hole = false;

	for (; *from < s->count && s->symbol[*from].section == section; ++*from) {
		const struct symbol *symbol = &s->symbol[*from];

		hole |= symbol->at > end && symbol->at - end >= align;
		if (symbol->at + symbol->bytes > end)
			end = symbol->at + symbol->bytes;
	}
	return hole || (head->sh_size > end && head->sh_size - end >= align);
}

/* Every byte that is written has a name; the symbols are sorted by their place. */
static bool is_covered(const struct file *f, const struct symbols *s)
{
	Elf64_Shdr section;
	size_t from = 0;

	while (from < s->count && !s->symbol[from].section)
		from++;
	for (uint32_t i = 1; section_at(f, i, &section); i++) {
		const enum place place = place_of(f, &section);

		if (place == PLACE_UNKNOWN || (place != PLACE_OTHER && has_holes(s, i, &section, &from)))
			return false;
	}
	return true;
}

static void read_machine(const uint8_t *data, uint64_t bytes, struct symbols *s)
{
	struct file f = { .data = data, .bytes = bytes };
	Elf64_Shdr section;

	s->complete = file_begin(&f);
	for (uint32_t i = 1; s->complete && section_at(&f, i, &section); i++)
		if (section.sh_type == SHT_SYMTAB)
			s->complete = read_table(&f, &section, s);
	if (s->complete && s->count)
		qsort(s->symbol, s->count, sizeof(*s->symbol), by_place);
	s->complete = s->complete && is_covered(&f, s);
	for (size_t i = 0; i < s->count; i++)
		if (f.head.e_type != ET_EXEC)
			s->symbol[i].section = 0; /* the linker places it */
	sort(s);
}

/* ---- entries ---- */

static void tell(struct reading *r, struct symbols *s)
{
	s->member = r->member;
	if (!s->complete)
		r->outcome = SYMBOLS_UNKNOWN;
	else
		r->found(r->arg, s);
	empty(s);
}

static void read_entry(struct reading *r, const struct image_entry *e, const uint8_t *at)
{
	struct symbols s = { .count = 0 };
	struct unpacked u;

	if (!unpack(e, at, r->left, &u)) {
		r->outcome = SYMBOLS_UNKNOWN;
	} else if (u.owned && image_takes_memory(u.data, u.bytes)) {
		r->outcome = SYMBOLS_HEAP;
	} else {
		r->left -= u.owned ? u.bytes : 0;
		if (e->kind == IMAGE_ENTRY_PTX)
			read_ptx((const char *)u.data, &s);
		else
			read_machine(u.data, u.bytes, &s);
		tell(r, &s);
	}
	unpack_free(&u);
}

static void read_fat(struct reading *r, const uint8_t *fat, uint64_t bytes)
{
	unsigned int count = 0;
	struct image_entry e;

	for (uint64_t at = IMAGE_FAT_HEADER_BYTES; r->outcome == SYMBOLS_ALL && at < bytes; at += e.bytes) {
		if (++count > ENTRIES_MOST || bytes - at < IMAGE_ENTRY_HEADER_BYTES ||
		    !image_entry_read(fat + at, bytes - at, &e) || e.kind == IMAGE_ENTRY_OTHER) {
			r->outcome = SYMBOLS_UNKNOWN;
			return;
		}
		read_entry(r, &e, fat + at);
	}
}

static void read_member(struct reading *r, enum image_kind kind, const void *member)
{
	struct symbols s = { .count = 0 };

	if (kind == IMAGE_TEXT)
		read_ptx(member, &s);
	else if (kind == IMAGE_ELF)
		read_machine(member, image_member_bytes(member), &s);
	else
		return read_fat(r, member, image_member_bytes(member));
	tell(r, &s);
}

enum symbols_outcome symbols_read(const struct image_view *v, symbols_found found, void *arg)
{
	struct reading r = { .found = found, .arg = arg, .left = UNPACK_ALL };

	for (; r.outcome == SYMBOLS_ALL && r.member < v->count; r.member++)
		read_member(&r, v->kind, v->list[r.member]);
	return r.outcome;
}
