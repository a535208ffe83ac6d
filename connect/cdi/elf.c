/* elf.c: see elf.h. The file is mapped, and every offset in it is checked before it is followed. */
#include "connect/cdi/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define LIST_MOST 1000u /* entries of a list of versions; the C library itself has some dozens */

struct file {
	const uint8_t *bytes;
	size_t size;
};

/* `size` bytes at `offset`; NULL when the file has fewer, or they do not lie as records of that alignment do. */
static const void *at(const struct file *f, uint64_t offset, uint64_t size, unsigned int align)
{
	bool there = offset <= f->size && size <= f->size - offset;

	return there && (uintptr_t)(f->bytes + offset) % align == 0 ? f->bytes + offset : NULL;
}

#define RECORDS_AT(f, offset, record, count)                                                                           \
	at(f, offset, (uint64_t)(count) * sizeof(*(record)), _Alignof(__typeof__(*(record))))

/* A text that ends within the file; "" when it does not. */
static const char *text_at(const struct file *f, uint64_t offset)
{
	return offset < f->size && memchr(f->bytes + offset, 0, f->size - offset) ? (const char *)f->bytes + offset
										  : "";
}

static void take_version(const char *name, unsigned int *youngest)
{
	unsigned int major, minor;

	if (sscanf(name, "GLIBC_%u.%u", &major, &minor) == 2 && ELF_GLIBC(major, minor) > *youngest)
		*youngest = ELF_GLIBC(major, minor);
}

static void read_needed(const struct file *f, const Elf64_Shdr *section, uint64_t texts, struct elf *ret)
{
	uint64_t offset = section->sh_offset, next;
	const Elf64_Verneed *need;
	const Elf64_Vernaux *aux;

	for (unsigned int i = 0; i < section->sh_info && i < LIST_MOST; i++) {
		need = RECORDS_AT(f, offset, need, 1);
		if (!need)
			return;
		next = offset + need->vn_aux;
		for (unsigned int k = 0; k < need->vn_cnt && k < LIST_MOST; k++) {
			aux = RECORDS_AT(f, next, aux, 1);
			if (!aux)
				break;
			take_version(text_at(f, texts + aux->vna_name), &ret->glibc_needed);
			next += aux->vna_next;
		}
		offset += need->vn_next;
	}
}

static void read_defined(const struct file *f, const Elf64_Shdr *section, uint64_t texts, struct elf *ret)
{
	uint64_t offset = section->sh_offset;
	const Elf64_Verdaux *aux;
	const Elf64_Verdef *def;

	for (unsigned int i = 0; i < section->sh_info && i < LIST_MOST; i++) {
		def = RECORDS_AT(f, offset, def, 1);
		if (!def)
			return;
		aux = RECORDS_AT(f, offset + def->vd_aux, aux, 1);
		if (aux)
			take_version(text_at(f, texts + aux->vda_name), &ret->glibc_defined);
		offset += def->vd_next;
	}
}

static void read_libraries(const struct file *f, const Elf64_Shdr *section, uint64_t texts, struct elf *ret)
{
	const Elf64_Dyn *entry;
	uint64_t count = section->sh_size / sizeof(*entry);

	for (uint64_t i = 0; i < count && i < LIST_MOST && ret->library_count < ELF_LIBRARIES; i++) {
		entry = RECORDS_AT(f, section->sh_offset + i * sizeof(*entry), entry, 1);
		if (!entry || entry->d_tag == DT_NULL)
			return;
		if (entry->d_tag == DT_NEEDED)
			snprintf(ret->libraries[ret->library_count++], ELF_NAME_BYTES, "%s",
				 text_at(f, texts + entry->d_un.d_val));
	}
}

static void read_sections(const struct file *f, const Elf64_Ehdr *head, struct elf *ret)
{
	const Elf64_Shdr *sections = RECORDS_AT(f, head->e_shoff, sections, head->e_shnum);

	for (unsigned int i = 0; sections && i < head->e_shnum; i++) {
		const Elf64_Shdr *s = &sections[i];

		if (s->sh_link >= head->e_shnum)
			continue;
		if (s->sh_type == SHT_GNU_verneed)
			read_needed(f, s, sections[s->sh_link].sh_offset, ret);
		if (s->sh_type == SHT_GNU_verdef)
			read_defined(f, s, sections[s->sh_link].sh_offset, ret);
		if (s->sh_type == SHT_DYNAMIC)
			read_libraries(f, s, sections[s->sh_link].sh_offset, ret);
	}
}

static int read_file(const struct file *f, struct elf *ret)
{
	const Elf64_Ehdr *head = RECORDS_AT(f, 0, head, 1);
	const Elf64_Phdr *part;

	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_phentsize != sizeof(*part) ||
	    (head->e_shnum && head->e_shentsize != sizeof(Elf64_Shdr)))
		return -ENOEXEC;
	ret->machine = head->e_machine;
	part = RECORDS_AT(f, head->e_phoff, part, head->e_phnum);
	for (unsigned int i = 0; part && i < head->e_phnum; i++) {
		if (part[i].p_type == PT_INTERP)
			snprintf(ret->interpreter, sizeof(ret->interpreter), "%s", text_at(f, part[i].p_offset));
		ret->dynamic |= part[i].p_type == PT_DYNAMIC;
	}
	read_sections(f, head, ret);
	return 0;
}

int elf_read_bytes(const void *bytes, size_t size, struct elf *ret)
{
	struct file f = { .bytes = bytes, .size = size };

	*ret = (struct elf){ 0 };
	return read_file(&f, ret);
}

int elf_read(int fd, struct elf *ret)
{
	struct stat st;
	void *map;
	int r;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return -ENOEXEC;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	r = elf_read_bytes(map, (size_t)st.st_size, ret);
	munmap(map, (size_t)st.st_size);
	return r;
}

const char *elf_glibc_text(unsigned int version, char text[16])
{
	snprintf(text, 16, "%u.%u", version / 1000, version % 1000);
	return text;
}
