/*
 * anatomy.c: see anatomy.h. ELF: System V ABI, chapters 4 and 5. Where libraries are looked for: ld.so(8): DT_RPATH of
 * the file and of those that wanted it, LD_LIBRARY_PATH, DT_RUNPATH, the folders of /etc/ld.so.conf, the usual ones.
 * nvcc puts fat binaries into the sections .nv_fatbin and __nv_relfatbin, one after the other, aligned to 8.
 */
#include "cli/anatomy.h"

#include "base/cleanup.h"
#include "base/static_runtime.h"
#include "client/place.h"
#include "remote/image.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MOST 512u
#define SECTIONS_MOST 4096u
#define ENTRIES_MOST 200000u			/* of fat binaries, in a file */
#define TABLE_BYTES_MOST (64u << 20)		/* of a symbol table, of its texts, of a dynamic section */
#define SEARCH_BYTES_MOST (UINT64_C(256) << 20) /* of constants, in which the runtime is looked for */
#define PIECE_BYTES (1u << 20)
#define FOLDERS_MOST 256u

struct reading {
	int fd;
	uint64_t size;
	Elf64_Ehdr head;
	Elf64_Shdr *section; /* owned */
	size_t sections;
	char *names; /* of sections; owned */
	size_t names_bytes;
	struct anatomy_file *file;
};

static bool take(const struct reading *r, uint64_t offset, void *ret, size_t size)
{
	uint8_t *to = ret;

	if (offset > r->size || size > r->size - offset)
		return false;
	while (size) {
		ssize_t n = pread(r->fd, to, size, (off_t)offset);

		if (n <= 0)
			return false;
		to += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
}

/* A table of the file, with a NUL behind it. NULL: it is not all there, or too large. */
static void *take_table(const struct reading *r, uint64_t offset, uint64_t size)
{
	char *table = size <= TABLE_BYTES_MOST ? malloc(size + 1) : NULL;

	if (!table || !take(r, offset, table, size)) {
		free(table);
		return NULL;
	}
	table[size] = 0;
	return table;
}

static bool add_text(char ***list, size_t *count, const char *text, size_t most)
{
	char **more;

	for (size_t i = 0; i < *count; i++)
		if (!strcmp((*list)[i], text))
			return true;
	more = *count < most ? realloc(*list, (*count + 1) * sizeof(*more)) : NULL;
	if (!more)
		return false;
	*list = more;
	more[*count] = strdup(text);
	*count += more[*count] != NULL;
	return true;
}

/* ---- images ---- */

static void count_arch(struct anatomy_file *f, const struct image_entry *e)
{
	struct anatomy_arch a = { .arch = e->arch,
				  .machine = e->kind == IMAGE_ENTRY_MACHINE,
				  .exact = e->exact,
				  .family = e->family,
				  .count = 1 };

	for (size_t i = 0; i < f->arch_count; i++) {
		struct anatomy_arch *b = &f->arch[i];

		if (b->arch == a.arch && b->machine == a.machine && b->exact == a.exact && b->family == a.family) {
			b->count++;
			return;
		}
	}
	if (f->arch_count < ANATOMY_ARCHS)
		f->arch[f->arch_count++] = a;
}

/* One fat binary at `at`. Value: where it ends; 0: there is none. */
static uint64_t read_fat(const struct reading *r, uint64_t at, uint64_t end, unsigned int *entries)
{
	uint8_t header[IMAGE_ENTRY_HEADER_BYTES];
	struct image_entry e;
	uint64_t bytes;

	if (end - at < IMAGE_FAT_HEADER_BYTES || !take(r, at, header, IMAGE_FAT_HEADER_BYTES) ||
	    !image_fat_read(header, &bytes) || bytes > end - at - IMAGE_FAT_HEADER_BYTES)
		return 0;
	at += IMAGE_FAT_HEADER_BYTES;
	end = at + bytes;
	for (; at < end; at += e.bytes) {
		if (++*entries > ENTRIES_MOST || end - at < sizeof(header) || !take(r, at, header, sizeof(header)) ||
		    !image_entry_read(header, end - at, &e)) {
			r->file->damaged = true;
			break;
		}
		if (e.kind != IMAGE_ENTRY_OTHER)
			count_arch(r->file, &e);
	}
	return end;
}

static void read_images(const struct reading *r, const Elf64_Shdr *s)
{
	uint64_t at = s->sh_offset, end = s->sh_offset + s->sh_size, next;
	unsigned int entries = 0;

	if (s->sh_size > r->size || end > r->size) {
		r->file->damaged = true;
		return;
	}
	while (at < end && entries <= ENTRIES_MOST && (next = read_fat(r, at, end, &entries))) {
		r->file->images++;
		at = (next + 7) & ~UINT64_C(7);
	}
}

/* ---- constants ---- */

static void find_runtime(const struct reading *r, const Elf64_Shdr *s, uint64_t *searched)
{
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
	uint64_t at = s->sh_offset, end = s->sh_offset + s->sh_size;

	while (piece && at < end && end <= r->size && *searched < SEARCH_BYTES_MOST && !r->file->static_runtime) {
		size_t n = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;

		if (!take(r, at, piece, n))
			return;
		r->file->static_runtime = static_runtime_in(piece, n);
		*searched += n;
		if (n < PIECE_BYTES)
			return;
		at += n - STATIC_RUNTIME_ID_BYTES + 1;
	}
}

/* ---- symbols ---- */

static bool is_call(const char *name)
{
	static const char *const begins[] = { "cuda", "__cuda", "nvrtc", "nvml", "cublas", "nvJitLink", "__nvJitLink" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return name[0] == 'c' && name[1] == 'u' && isupper((unsigned char)name[2]);
}

static void read_symbols(const struct reading *r, const Elf64_Shdr *s)
{
	_cleanup_free_ Elf64_Sym *symbol = NULL;
	_cleanup_free_ char *texts = NULL;
	uint64_t texts_bytes;

	if (s->sh_link >= r->sections)
		return;
	texts_bytes = r->section[s->sh_link].sh_size;
	symbol = take_table(r, s->sh_offset, s->sh_size);
	texts = take_table(r, r->section[s->sh_link].sh_offset, texts_bytes);
	if (!symbol || !texts) {
		r->file->damaged = true;
		return;
	}
	for (uint64_t i = 0; i < s->sh_size / sizeof(*symbol); i++)
		if (symbol[i].st_shndx == SHN_UNDEF && symbol[i].st_name < texts_bytes &&
		    is_call(texts + symbol[i].st_name))
			add_text(&r->file->calls, &r->file->call_count, texts + symbol[i].st_name, 4096);
}

static void read_dynamic(const struct reading *r, const Elf64_Shdr *s)
{
	_cleanup_free_ Elf64_Dyn *entry = NULL;
	_cleanup_free_ char *texts = NULL;
	struct anatomy_file *f = r->file;
	uint64_t texts_bytes;

	if (s->sh_link >= r->sections)
		return;
	texts_bytes = r->section[s->sh_link].sh_size;
	entry = take_table(r, s->sh_offset, s->sh_size);
	texts = take_table(r, r->section[s->sh_link].sh_offset, texts_bytes);
	if (!entry || !texts) {
		f->damaged = true;
		return;
	}
	for (uint64_t i = 0; i < s->sh_size / sizeof(*entry) && entry[i].d_tag != DT_NULL; i++)
		f->library &= entry[i].d_tag != DT_FLAGS_1 || !(entry[i].d_un.d_val & DF_1_PIE);
	for (uint64_t i = 0; i < s->sh_size / sizeof(*entry) && entry[i].d_tag != DT_NULL; i++) {
		const char *text = entry[i].d_un.d_val < texts_bytes ? texts + entry[i].d_un.d_val : NULL;
		bool path = entry[i].d_tag == DT_RPATH || entry[i].d_tag == DT_RUNPATH;

		if (!text)
			continue;
		if (entry[i].d_tag == DT_NEEDED) {
			add_text(&f->needed, &f->needed_count, text, FILES_MOST);
			f->shared_runtime |= !strncmp(text, "libcudart.so", 12);
		} else if (path && (!f->folders || entry[i].d_tag == DT_RUNPATH)) {
			free(f->folders);
			f->folders = strdup(text);
			f->runpath = entry[i].d_tag == DT_RUNPATH;
		}
	}
}

/* ---- a file ---- */

static const char *section_name(const struct reading *r, const Elf64_Shdr *s)
{
	return s->sh_name < r->names_bytes ? r->names + s->sh_name : "";
}

static bool holds_images(const char *name)
{
	return !strcmp(name, ".nv_fatbin") || !strcmp(name, "__nv_relfatbin");
}

static void read_sections(struct reading *r)
{
	uint64_t searched = 0;

	for (size_t i = 0; i < r->sections; i++) {
		const Elf64_Shdr *s = &r->section[i];

		if (s->sh_type == SHT_DYNSYM)
			read_symbols(r, s);
		else if (s->sh_type == SHT_DYNAMIC)
			read_dynamic(r, s);
		else if (s->sh_type == SHT_PROGBITS && holds_images(section_name(r, s)))
			read_images(r, s);
		else if (s->sh_type == SHT_PROGBITS && s->sh_flags & SHF_ALLOC && !(s->sh_flags & SHF_EXECINSTR))
			find_runtime(r, s, &searched);
	}
}

static void read_elf(struct reading *r)
{
	Elf64_Ehdr *h = &r->head;
	Elf64_Shdr *names;

	if (!take(r, 0, h, sizeof(*h)) || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB)
		return;
	r->file->elf = true;
	r->file->library = h->e_type == ET_DYN;
	if (!h->e_shnum || h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shnum > SECTIONS_MOST ||
	    h->e_shstrndx >= h->e_shnum ||
	    !(r->section = take_table(r, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))) {
		r->file->damaged = true;
		return;
	}
	r->sections = h->e_shnum;
	names = &r->section[h->e_shstrndx];
	r->names = take_table(r, names->sh_offset, names->sh_size);
	r->names_bytes = r->names ? names->sh_size : 0;
	read_sections(r);
	free(r->section);
	free(r->names);
}

static bool is_known(const struct anatomy *a, const char *path)
{
	for (size_t i = 0; i < a->count; i++)
		if (!strcmp(a->file[i].path, path))
			return true;
	return false;
}

static int add_file(struct anatomy *a, const char *path, size_t from, struct fault *f)
{
	struct reading r = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) };
	_cleanup_close_ int fd = r.fd;
	struct anatomy_file *more;
	struct stat st;
	char real[PATH_MAX];

	if (fd < 0 || fstat(fd, &st))
		return fault_set(f, -errno, "%s: %s; check the path", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fault_set(f, -EINVAL, "%s: not a regular file; name a program or a library", path);
	if (realpath(path, real) && is_known(a, real))
		return 0;
	more = a->count < FILES_MOST ? realloc(a->file, (a->count + 1) * sizeof(*more)) : NULL;
	if (!more)
		return fault_set(f, -ENOMEM, "%s: it needs more than %u libraries, or there is no memory", path,
				 FILES_MOST);
	a->file = more;
	r.file = &more[a->count];
	r.size = (uint64_t)st.st_size;
	*r.file = (struct anatomy_file){ .from = from == SIZE_MAX ? a->count : from };
	snprintf(r.file->path, sizeof(r.file->path), "%s", realpath(path, real) ? real : path);
	a->count++;
	read_elf(&r);
	return 0;
}

/* ---- where libraries are ---- */

struct search {
	char *folder[FOLDERS_MOST]; /* of the system; owned */
	size_t count;
};

static void add_folder(struct search *s, const char *folder)
{
	if (s->count < FOLDERS_MOST && (s->folder[s->count] = strdup(folder)))
		s->count++;
}

static void read_conf(struct search *s, const char *pattern, int depth)
{
	glob_t found = { 0 };
	char line[PATH_MAX];

	if (depth < 4 && !glob(pattern, 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc; i++) {
			FILE *f = fopen(found.gl_pathv[i], "re");

			while (f && fgets(line, sizeof(line), f)) {
				line[strcspn(line, "#\n")] = 0;
				line[strcspn(line, " \t")] = *line == '/' ? 0 : line[strcspn(line, " \t")];
				if (*line == '/')
					add_folder(s, line);
				else if (!strncmp(line, "include ", 8) && line[8] == '/')
					read_conf(s, line + 8, depth + 1);
			}
			if (f)
				fclose(f);
		}
	globfree(&found);
}

static void search_init(struct search *s)
{
	static const char *const usual[] = { "/lib64", "/usr/lib64", "/lib", "/usr/lib" };

	*s = (struct search){ 0 };
	read_conf(s, "/etc/ld.so.conf", 0);
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		add_folder(s, usual[i]);
}

static void search_deinit(struct search *s)
{
	while (s->count)
		free(s->folder[--s->count]);
}

/* In one list of folders, whose $ORIGIN is `origin`'s folder. */
static bool find_in(const char *list, const char *origin, const char *name, char ret[PATH_MAX])
{
	int length = origin ? (int)(strrchr(origin, '/') - origin) : 0;

	for (const char *p = list; p && *p; p += strspn(p, ":;")) {
		size_t n = strcspn(p, ":;");
		const char *rest = NULL;
		bool fits;

		if (origin && !strncmp(p, "$ORIGIN", 7))
			rest = p + 7;
		else if (origin && !strncmp(p, "${ORIGIN}", 9))
			rest = p + 9;
		fits = rest ? path_join(ret, "%.*s%.*s/%s", length, origin, (int)(p + n - rest), rest, name)
			    : path_join(ret, "%.*s/%s", (int)n, p, name);
		if (n && fits && !access(ret, R_OK))
			return true;
		p += n;
	}
	return false;
}

/* DT_RPATH of the file and of those that wanted it; a file with a DT_RUNPATH has no other. */
static bool find_by_rpath(const struct anatomy *a, size_t of, const char *name, char ret[PATH_MAX])
{
	for (size_t i = of;; i = a->file[i].from) {
		const struct anatomy_file *f = &a->file[i];

		if (f->runpath && i == of)
			return false;
		if (f->folders && !f->runpath && find_in(f->folders, f->path, name, ret))
			return true;
		if (f->from == i)
			return false;
	}
}

static bool find_library(const struct anatomy *a, size_t of, const struct search *s, const char *name,
			 char ret[PATH_MAX])
{
	const struct anatomy_file *f = &a->file[of];

	if (strchr(name, '/'))
		return path_join(ret, "%s", name) && !access(ret, R_OK);
	if (find_by_rpath(a, of, name, ret) || find_in(getenv("LD_LIBRARY_PATH"), NULL, name, ret) ||
	    (f->runpath && find_in(f->folders, f->path, name, ret)))
		return true;
	for (size_t i = 0; i < s->count; i++)
		if (path_join(ret, "%s/%s", s->folder[i], name) && !access(ret, R_OK))
			return true;
	return false;
}

int anatomy_read(struct anatomy *a, const char *path, struct fault *f)
{
	struct search search;
	char found[PATH_MAX];
	int r;

	*a = (struct anatomy){ 0 };
	r = add_file(a, path, SIZE_MAX, f);
	if (r)
		return r;
	search_init(&search);
	for (size_t i = 0; i < a->count; i++)
		for (size_t n = 0; n < a->file[i].needed_count; n++) {
			const char *name = a->file[i].needed[n];
			struct fault none;

			if (!find_library(a, i, &search, name, found) || add_file(a, found, i, &none))
				add_text(&a->missing, &a->missing_count, name, FILES_MOST);
		}
	search_deinit(&search);
	return 0;
}

int anatomy_add(struct anatomy *a, const char *path, struct fault *f)
{
	return add_file(a, path, SIZE_MAX, f);
}

static void free_texts(char **list, size_t count)
{
	while (count)
		free(list[--count]);
	free(list);
}

void anatomy_deinit(struct anatomy *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free_texts(a->file[i].calls, a->file[i].call_count);
		free_texts(a->file[i].needed, a->file[i].needed_count);
		free(a->file[i].folders);
	}
	free_texts(a->missing, a->missing_count);
	free(a->file);
	*a = (struct anatomy){ 0 };
}
