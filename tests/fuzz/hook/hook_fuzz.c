/*
 * hook_fuzz.c: fuzz target for what the OCI hook, which runs as root, reads of a container: its state, its bundle's
 * config.json, and its image; and for CDI files, which other programs write.
 *
 * An input is a list of files: one byte that says which (enum part), two how long it is, the bytes. They are put in a
 * folder, and read as the hook reads them. What must hold: nothing outside them is read, names end and lead to nothing
 * outside the image, and what is preloaded fits.
 */
#include "../ptx/fuzz.h"
#include "base/cleanup.h"
#include "connect/cdi/image.h"
#include "connect/cdi/inside.h"
#include "connect/cdi/spec.h"
#include "connect/cdi/state.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);

enum part {
	PART_STATE,
	PART_CONFIG,
	PART_PRELOAD,
	PART_PROGRAM,
	PART_LOADER,
	PART_LIBC,	  /* a C library that defines this version */
	PART_INTERPRETER, /* a program that wants this loader */
	PART_LINK,	  /* two texts with a zero between: a link of that name in the image leads to the other */
	PART_JSON,	  /* CDI files */
	PART_YAML,
	PARTS
};

#define ELF_TEXT 0x400u

#define LINKS_MOST 16u

static char folder[64];
static int image_fd = -1; /* of the folder of the image */
static char links[LINKS_MOST][256];
static unsigned int link_count;

static const struct {
	const char *path;
	bool cdi;
} places[PARTS] = {
	[PART_PRELOAD] = { "etc/ld.so.preload", false }, [PART_PROGRAM] = { "bin/program", false },
	[PART_LOADER] = { "lib64/ld.so", false },	 [PART_LIBC] = { "lib64/libc.so.6", false },
	[PART_INTERPRETER] = { "bin/sh", false },	 [PART_CONFIG] = { "../config.json", false },
	[PART_JSON] = { "../cdi/one.json", true },	 [PART_YAML] = { "../cdi/two.yaml", true },
};

static void put(const char *path, const void *bytes, size_t size)
{
	_cleanup_close_ int fd = openat(image_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);

	check(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
}

/* With a loader's name, and the name of a version behind one entry of SHT_GNU_verdef. */
static void put_elf(const char *path, const char *interpreter, const char *version)
{
	static struct {
		Elf64_Ehdr head;
		Elf64_Phdr part;
		Elf64_Shdr section[2];
		Elf64_Verdef def;
		Elf64_Verdaux aux;
		char filled[ELF_TEXT];
		char interpreter[256], version[256];
	} elf;

	memset(&elf, 0, sizeof(elf));
	elf.head = (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
				 .e_type = ET_DYN,
				 .e_machine = EM_X86_64,
				 .e_phoff = offsetof(__typeof__(elf), part),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = !!*interpreter,
				 .e_shoff = offsetof(__typeof__(elf), section),
				 .e_shentsize = sizeof(Elf64_Shdr),
				 .e_shnum = 2 };
	elf.part = (Elf64_Phdr){ .p_type = PT_INTERP, .p_offset = offsetof(__typeof__(elf), interpreter) };
	elf.section[0] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = offsetof(__typeof__(elf), version) };
	elf.section[1] = (Elf64_Shdr){
		.sh_type = SHT_GNU_verdef, .sh_link = 0, .sh_info = 1, .sh_offset = offsetof(__typeof__(elf), def)
	};
	elf.def = (Elf64_Verdef){ .vd_aux = offsetof(__typeof__(elf), aux) - offsetof(__typeof__(elf), def) };
	snprintf(elf.interpreter, sizeof(elf.interpreter), "%s", interpreter);
	snprintf(elf.version, sizeof(elf.version), "%s", version);
	put(path, &elf, sizeof(elf));
}

static void put_link(const char *text, size_t size)
{
	char name[256] = "", to[256] = "";
	size_t length = strnlen(text, size);
	const char *target = text + length + 1;

	if (length >= size || length >= sizeof(name) || size - length - 1 >= sizeof(to))
		return;
	memcpy(name, text, length);
	memcpy(to, target, size - length - 1);
	/* Names of one folder, so that it can be removed again. */
	if (!*name || strchr(name, '/') || link_count == LINKS_MOST || symlinkat(to, image_fd, name))
		return;
	memcpy(links[link_count++], name, sizeof(name));
}

static void put_state(const char *bytes, size_t size)
{
	int fd = memfd_create("state", MFD_CLOEXEC);

	check(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && !lseek(fd, 0, SEEK_SET));
	check(dup2(fd, 0) == 0);
	close(fd);
	rewind(stdin);
	fflush(stdin);
}

static void put_part(enum part part, const char *bytes, size_t size)
{
	char text[256] = "";

	memcpy(text, bytes, size < sizeof(text) ? size : sizeof(text) - 1);
	if (part == PART_STATE)
		put_state(bytes, size);
	else if (part == PART_LINK)
		put_link(bytes, size);
	else if (part == PART_LIBC)
		put_elf(places[part].path, "", text);
	else if (part == PART_INTERPRETER)
		put_elf(places[part].path, text, "");
	else
		put(places[part].path, bytes, size);
}

static bool ends_here(const char *text, size_t size)
{
	return memchr(text, 0, size);
}

static void try_image(const char *root, const struct state_program *program)
{
	const struct inside_parts parts = { .runtime = true, .soft = true };
	const struct image_program p = { program->name, program->path };
	const struct place place = { .shim_dir = "/usr/lib/mete/shim" };
	char preload[8192];
	struct image im;
	struct fault f = { .text = "" };
	bool runtime;
	int r = image_open(&im, root, &p, &f);

	check(r <= 0 && (r == 0) == !*f.text);
	if (!r) {
		check(im.library_count <= IMAGE_LIBRARIES && ends_here(im.preload, sizeof(im.preload)));
		check(ends_here(im.program, sizeof(im.program)) && ends_here(im.loader, sizeof(im.loader)));
		for (unsigned int i = 0; i < im.library_count; i++)
			check(ends_here(im.library[i].libdir, IMAGE_PATH_BYTES) &&
			      ends_here(im.library[i].preload_file, IMAGE_NAME_BYTES));
		check(image_judge(&im, &(struct image_parts){ .first = "/proc/self/exe" }, &runtime, &f) <= 0);
		if (inside_preload(&place, INSIDE_SOFT, &parts, im.preload, preload, sizeof(preload)))
			check(ends_here(preload, sizeof(preload)));
	}
	image_close(&im);
}

static void try_container(void)
{
	static struct state state;
	static struct state_program program;
	struct fault f = { .text = "" };
	char name[64], root[PATH_MAX];
	json_t *labels;

	if (!state_read(&state, &f)) {
		check(*state.bundle == '/' && *state.id && ends_here(state.pod, sizeof(state.pod)));
		state_grant_name(&state, "share", name, sizeof(name));
		check(strlen(name) < sizeof(name) && !strchr(name, '/'));
		labels = state_labels(&state);
		check(labels);
		json_decref(labels);
	}
	f.text[0] = 0;
	if (state_root(folder, root, &program, &f))
		check(*f.text);
	/* The root that the file names may be anywhere on this machine: the folder's own is looked at. */
	snprintf(root, sizeof(root), "%s/rootfs", folder);
	try_image(root, &program);
}

static void try_specs(void)
{
	char path[sizeof(folder) + 8];
	struct fault f = { .text = "" };
	struct spec_list list;

	snprintf(path, sizeof(path), "%s/cdi", folder);
	check(!spec_list_read(&list, path, &f));
	for (size_t i = 0; i < list.count; i++) {
		check(ends_here(list.file[i].broken, sizeof(list.file[i].broken)));
		check(!list.file[i].spec == !!*list.file[i].broken);
		spec_list_find(&list, "mete.io/share", "small", NULL);
		if (list.file[i].spec)
			spec_list_rival(&list, &list.file[i], "small");
	}
	spec_list_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	bool cdi = false;

	put_state("", 0);
	for (size_t i = 0; i < PARTS; i++)
		if (places[i].path)
			unlinkat(image_fd, places[i].path, 0);
	while (length >= 3) {
		size_t size = data[1] | (size_t)data[2] << 8;
		enum part part = (enum part)(data[0] % PARTS);

		if (size > length - 3)
			size = length - 3;
		cdi |= places[part].cdi;
		put_part(part, (const char *)data + 3, size);
		data += 3 + size;
		length -= 3 + size;
	}
	try_container();
	if (cdi)
		try_specs();
	while (link_count)
		unlinkat(image_fd, links[--link_count], 0);
	return 0;
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (*folder && system(command))
		fprintf(stderr, "hook_fuzz: %s stays\n", folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const below[] = { "rootfs", "cdi", "rootfs/etc", "rootfs/bin", "rootfs/lib64" };
	char path[128];

	(void)argc;
	(void)argv;
	snprintf(folder, sizeof(folder), "%s/mete-hook-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	check(mkdtemp(folder));
	atexit(remove_folder);
	for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, below[i]);
		check(!mkdir(path, 0755));
	}
	snprintf(path, sizeof(path), "%s/rootfs", folder);
	image_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	check(image_fd >= 0);
	return 0;
}

#ifndef FUZZ_ENGINE
int main(int argc, char **argv)
{
	LLVMFuzzerInitialize(&argc, &argv);
	return fuzz_main(argc, argv, "{}[]\",:/\n #!&*-.");
}
#endif
