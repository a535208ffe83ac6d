/*
 * elf.c: see elf.h. The file may be anybody's: it is read piece by piece and never mapped, so that it may shrink
 * meanwhile; every piece has a bound, and so has their number.
 */
#include "connect/cdi/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEPS_MOST 20000u   /* pieces that are read of one file; libraries of distributions need some hundreds */
#define SECTIONS_MOST 4096u /* a linked file has some dozens */
#define PARTS_MOST 256u
#define VERSION_BYTES 32u

struct file {
	const uint8_t *bytes; /* NULL: it is read from `fd` */
	int fd;
	size_t size;
	unsigned int steps;
};

/* What there is of `size` bytes at `offset`. Value: how many were copied; 0 also when too much has been read. */
static size_t take_some(struct file *f, uint64_t offset, void *ret, size_t size)
{
	ssize_t n;

	if (offset >= f->size || ++f->steps > STEPS_MOST)
		return 0;
	if (size > f->size - offset)
		size = f->size - offset;
	if (f->bytes) {
		memcpy(ret, f->bytes + offset, size);
		return size;
	}
	n = pread(f->fd, ret, size, (off_t)offset);
	return n < 0 ? 0 : (size_t)n;
}

static bool take(struct file *f, uint64_t offset, void *ret, size_t size)
{
	return take_some(f, offset, ret, size) == size;
}

/* A text, as much of it as fits; "" when the file ends before it. */
static void take_text(struct file *f, uint64_t offset, char *ret, size_t size)
{
	size_t n = take_some(f, offset, ret, size - 1);

	ret[n] = 0;
	if (n < size - 1 && strlen(ret) == n)
		*ret = 0;
}

static void take_version(const char *name, unsigned int *youngest)
{
	unsigned int major, minor;

	if (sscanf(name, "GLIBC_%u.%u", &major, &minor) == 2 && ELF_GLIBC(major, minor) > *youngest)
		*youngest = ELF_GLIBC(major, minor);
}

static void read_needed(struct file *f, const Elf64_Shdr *section, uint64_t texts, struct elf *ret)
{
	uint64_t offset = section->sh_offset, next;
	char name[VERSION_BYTES];
	Elf64_Verneed need;
	Elf64_Vernaux aux;

	for (unsigned int i = 0; i < section->sh_info && take(f, offset, &need, sizeof(need)); i++) {
		next = offset + need.vn_aux;
		for (unsigned int k = 0; k < need.vn_cnt && take(f, next, &aux, sizeof(aux)); k++) {
			take_text(f, texts + aux.vna_name, name, sizeof(name));
			take_version(name, &ret->glibc_needed);
			next += aux.vna_next;
		}
		offset += need.vn_next;
	}
}

static void read_defined(struct file *f, const Elf64_Shdr *section, uint64_t texts, struct elf *ret)
{
	uint64_t offset = section->sh_offset;
	char name[VERSION_BYTES];
	Elf64_Verdaux aux;
	Elf64_Verdef def;

	for (unsigned int i = 0; i < section->sh_info && take(f, offset, &def, sizeof(def)); i++) {
		if (take(f, offset + def.vd_aux, &aux, sizeof(aux))) {
			take_text(f, texts + aux.vda_name, name, sizeof(name));
			take_version(name, &ret->glibc_defined);
		}
		offset += def.vd_next;
	}
}

static void read_libraries(struct file *f, const Elf64_Shdr *section, uint64_t texts, struct elf *ret)
{
	uint64_t count = section->sh_size / sizeof(Elf64_Dyn);
	Elf64_Dyn entry;

	for (uint64_t i = 0; i < count && ret->library_count < ELF_LIBRARIES; i++) {
		if (!take(f, section->sh_offset + i * sizeof(entry), &entry, sizeof(entry)) || entry.d_tag == DT_NULL)
			return;
		if (entry.d_tag == DT_NEEDED)
			take_text(f, texts + entry.d_un.d_val, ret->libraries[ret->library_count++], ELF_NAME_BYTES);
	}
}

static void read_section(struct file *f, const Elf64_Ehdr *head, const Elf64_Shdr *s, struct elf *ret)
{
	bool wanted = s->sh_type == SHT_GNU_verneed || s->sh_type == SHT_GNU_verdef || s->sh_type == SHT_DYNAMIC;
	Elf64_Shdr texts;

	if (!wanted || s->sh_link >= head->e_shnum ||
	    !take(f, head->e_shoff + (uint64_t)s->sh_link * sizeof(texts), &texts, sizeof(texts)))
		return;
	if (s->sh_type == SHT_GNU_verneed)
		read_needed(f, s, texts.sh_offset, ret);
	if (s->sh_type == SHT_GNU_verdef)
		read_defined(f, s, texts.sh_offset, ret);
	if (s->sh_type == SHT_DYNAMIC)
		read_libraries(f, s, texts.sh_offset, ret);
}

static void read_parts(struct file *f, const Elf64_Ehdr *head, struct elf *ret)
{
	Elf64_Phdr part;

	for (unsigned int i = 0; i < head->e_phnum && i < PARTS_MOST; i++) {
		if (!take(f, head->e_phoff + i * sizeof(part), &part, sizeof(part)))
			return;
		if (part.p_type == PT_INTERP)
			take_text(f, part.p_offset, ret->interpreter, sizeof(ret->interpreter));
		ret->dynamic |= part.p_type == PT_DYNAMIC;
	}
}

static int read_file(struct file *f, struct elf *ret)
{
	Elf64_Ehdr head;
	Elf64_Shdr section;

	*ret = (struct elf){ 0 };
	if (!take(f, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    head.e_phentsize != sizeof(Elf64_Phdr) || (head.e_shnum && head.e_shentsize != sizeof(section)))
		return -ENOEXEC;
	ret->machine = head.e_machine;
	read_parts(f, &head, ret);
	for (unsigned int i = 0; i < head.e_shnum && i < SECTIONS_MOST; i++)
		if (take(f, head.e_shoff + i * sizeof(section), &section, sizeof(section)))
			read_section(f, &head, &section, ret);
	return f->steps > STEPS_MOST ? -ENOEXEC : 0;
}

int elf_read_bytes(const void *bytes, size_t size, struct elf *ret)
{
	return read_file(&(struct file){ .bytes = bytes, .fd = -1, .size = size }, ret);
}

int elf_read(int fd, struct elf *ret)
{
	struct stat st;

	*ret = (struct elf){ 0 };
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	return read_file(&(struct file){ .fd = fd, .size = (size_t)st.st_size }, ret);
}

const char *elf_glibc_text(unsigned int version, char text[16])
{
	snprintf(text, 16, "%u.%u", version / 1000, version % 1000);
	return text;
}
