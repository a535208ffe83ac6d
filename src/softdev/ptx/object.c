/*
 * object.c: loads an object file of the compiler: one function, what it has of constants, no reference to anything
 * else. Everything that is read is checked, though it comes from the library or from the user's own folder: what does
 * not look as expected is refused, and nothing of it is run.
 */
#include "softdev/ptx/hot.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECTIONS_MAX 64u
#define BYTES_MAX ((size_t)16 << 20)
#define ALIGN_MAX 4096u

struct object {
	const uint8_t *bytes;
	size_t size;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *section;
	uint64_t at[SECTIONS_MAX]; /* in the mapping; ~0: not loaded */
	uint64_t size_loaded;
	const Elf64_Sym *symbol;
	uint64_t symbols;
	const char *names;
	uint64_t names_bytes;
	uint8_t *to;
};

static bool within(const struct object *o, uint64_t offset, uint64_t bytes)
{
	return offset <= o->size && bytes <= o->size - offset;
}

static bool head_read(struct object *o)
{
	o->head = (const Elf64_Ehdr *)(const void *)o->bytes;
	if (!within(o, 0, sizeof(*o->head)) || memcmp(o->head->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	if (o->head->e_ident[EI_CLASS] != ELFCLASS64 || o->head->e_type != ET_REL || o->head->e_machine != EM_X86_64)
		return false;
	if (o->head->e_shentsize != sizeof(Elf64_Shdr) || o->head->e_shnum > SECTIONS_MAX || o->head->e_shoff % 8)
		return false;
	if (!within(o, o->head->e_shoff, (uint64_t)o->head->e_shnum * sizeof(Elf64_Shdr)))
		return false;
	o->section = (const Elf64_Shdr *)(const void *)(o->bytes + o->head->e_shoff);
	return true;
}

/* Sections that the code needs: tables for exceptions are not among them. */
static bool is_loaded(const Elf64_Shdr *s)
{
	return s->sh_flags & SHF_ALLOC && (s->sh_type == SHT_PROGBITS || s->sh_type == SHT_NOBITS);
}

static bool sections_place(struct object *o)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < o->head->e_shnum; i++) {
		const Elf64_Shdr *s = &o->section[i];
		const uint64_t align = s->sh_addralign ? s->sh_addralign : 1;

		o->at[i] = ~0ull;
		if (s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL && !within(o, s->sh_offset, s->sh_size))
			return false;
		if (s->sh_type == SHT_SYMTAB) {
			if (s->sh_offset % 8 || s->sh_link >= o->head->e_shnum || o->symbol ||
			    !within(o, o->section[s->sh_link].sh_offset, o->section[s->sh_link].sh_size))
				return false;
			o->symbol = (const Elf64_Sym *)(const void *)(o->bytes + s->sh_offset);
			o->symbols = s->sh_size / sizeof(Elf64_Sym);
			o->names = (const char *)o->bytes + o->section[s->sh_link].sh_offset;
			o->names_bytes = o->section[s->sh_link].sh_size;
		}
		if (!is_loaded(s))
			continue;
		if (align > ALIGN_MAX || align & (align - 1) || s->sh_size > BYTES_MAX || s->sh_flags & SHF_WRITE)
			return false;
		end = (end + align - 1) & ~(align - 1);
		o->at[i] = end;
		end += s->sh_size;
		if (end > BYTES_MAX)
			return false;
	}
	o->size_loaded = end;
	return end && o->symbol && o->names_bytes && !o->names[o->names_bytes - 1];
}

/* Where a symbol lies in the mapping; ~0: it is not in this object. */
static uint64_t symbol_at(const struct object *o, const Elf64_Sym *s)
{
	const Elf64_Shdr *section;

	if (s->st_shndx >= o->head->e_shnum || o->at[s->st_shndx] == ~0ull)
		return ~0ull;
	section = &o->section[s->st_shndx];
	return s->st_value <= section->sh_size ? o->at[s->st_shndx] + s->st_value : ~0ull;
}

static bool relocate(struct object *o, const Elf64_Shdr *target, uint64_t base, const Elf64_Rela *r)
{
	const uint64_t symbol = ELF64_R_SYM(r->r_info), type = ELF64_R_TYPE(r->r_info);
	const uint64_t bytes = type == R_X86_64_64 ? 8 : 4;
	uint64_t from, value;
	int32_t near;

	if (symbol >= o->symbols || r->r_offset > target->sh_size || bytes > target->sh_size - r->r_offset)
		return false;
	from = symbol_at(o, &o->symbol[symbol]);
	if (from == ~0ull)
		return false;
	value = (uintptr_t)o->to + from + (uint64_t)r->r_addend;
	if (type == R_X86_64_64) {
		memcpy(o->to + base + r->r_offset, &value, 8);
		return true;
	}
	if (type != R_X86_64_PC32 && type != R_X86_64_PLT32)
		return false;
	value -= (uintptr_t)o->to + base + r->r_offset;
	near = (int32_t)(uint32_t)value;
	if ((uint64_t)(int64_t)near != value)
		return false;
	memcpy(o->to + base + r->r_offset, &near, 4);
	return true;
}

static bool sections_fill(struct object *o)
{
	for (uint32_t i = 0; i < o->head->e_shnum; i++) {
		const Elf64_Shdr *s = &o->section[i];

		if (o->at[i] != ~0ull && s->sh_type == SHT_PROGBITS)
			memcpy(o->to + o->at[i], o->bytes + s->sh_offset, s->sh_size);
	}
	for (uint32_t i = 0; i < o->head->e_shnum; i++) {
		const Elf64_Shdr *s = &o->section[i];
		const Elf64_Rela *r = (const Elf64_Rela *)(const void *)(o->bytes + s->sh_offset);

		if (s->sh_type == SHT_REL && s->sh_info < o->head->e_shnum && o->at[s->sh_info] != ~0ull)
			return false;
		if (s->sh_type != SHT_RELA || s->sh_info >= o->head->e_shnum || o->at[s->sh_info] == ~0ull)
			continue;
		if (s->sh_offset % 8)
			return false;
		/* what unwinds the stack refers to what is not loaded, and is not used */
		if (o->section[s->sh_info].sh_type != SHT_PROGBITS)
			continue;
		for (uint64_t k = 0; k < s->sh_size / sizeof(*r); k++)
			if (!relocate(o, &o->section[s->sh_info], o->at[s->sh_info], &r[k]))
				return false;
	}
	return true;
}

static uint8_t *find(const struct object *o, const char *name, uint64_t bytes)
{
	for (uint64_t i = 0; i < o->symbols; i++) {
		const Elf64_Sym *s = &o->symbol[i];
		const uint64_t at = symbol_at(o, s);

		if (s->st_name >= o->names_bytes || at == ~0ull || strcmp(o->names + s->st_name, name) != 0)
			continue;
		return at + bytes <= o->size_loaded ? o->to + at : NULL;
	}
	return NULL;
}

int object_load(const void *object, size_t bytes, uint32_t operations, struct machine *ret)
{
	struct object o = { .bytes = object, .size = bytes };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *run;

	if ((uintptr_t)object % 8 || !head_read(&o) || !sections_place(&o))
		return -EINVAL;
	*ret = (struct machine){ .map_bytes = (o.size_loaded + page - 1) / page * page };
	ret->env.hint = calloc(operations + 1u, 1);
	o.to = mmap(NULL, ret->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!ret->env.hint || o.to == MAP_FAILED) {
		free(ret->env.hint);
		return -ENOMEM;
	}
	ret->map = o.to;
	run = sections_fill(&o) ? find(&o, COMPILE_RUN_SYMBOL, 1) : NULL;
	ret->entries = find(&o, COMPILE_ENTRIES_SYMBOL, operations);
	if (!run || !ret->entries || mprotect(o.to, ret->map_bytes, PROT_READ | PROT_EXEC)) {
		object_unload(ret);
		return -EINVAL;
	}
	memcpy(&ret->run, &run, sizeof(run));
	return 0;
}

void object_unload(struct machine *m)
{
	if (m->map)
		munmap(m->map, m->map_bytes);
	free(m->env.hint);
	*m = (struct machine){ 0 };
}
