/* symbols.c: see symbols.h. The format is that of the System V ABI with the GNU hash section. */
#include "shim/symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

/* The dynamic linker has added the base to the addresses in the dynamic section, or has not: both are in use. */
static const void *address(const struct link_map *map, uintptr_t value)
{
	return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

void symbols_open(struct symbols *s, void *handle)
{
	const struct link_map *map = NULL;
	bool versions = false;

	memset(s, 0, sizeof *s);
	s->handle = handle;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map)
		return;
	s->base = map->l_addr;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_GNU_HASH)
			s->hash = address(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_SYMTAB)
			s->table = address(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			s->names = address(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_VERDEF)
			versions = true; /* then a name may stand there twice: dlsym() knows the default */
	}
	if (!s->table || !s->names || versions)
		s->hash = NULL;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static const ElfW(Sym) * find(const struct symbols *s, const char *name)
{
	uint32_t buckets = s->hash[0], first = s->hash[1], words = s->hash[2], h = hash_of(name), i;
	const ElfW(Addr) *bloom = (const void *)&s->hash[4];
	const uint32_t *bucket = (const uint32_t *)&bloom[words], *chain = &bucket[buckets];
	const ElfW(Sym) *table = s->table;

	if (!buckets)
		return NULL;
	for (i = bucket[h % buckets]; i >= first && i; i++) {
		if ((chain[i - first] | 1) == (h | 1) && !strcmp(s->names + table[i].st_name, name))
			return &table[i];
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

void *symbols_find(const struct symbols *s, const char *name)
{
	const ElfW(Sym) *symbol = s->hash ? find(s, name) : NULL;

	if (symbol && symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
		return (void *)(s->base + symbol->st_value);
	return dlsym(s->handle, name);
}
