/* image.c: see image.h. */
#include "connect/cdi/image.h"

#include "base/cleanup.h"
#include "client/place.h"
#include "connect/cdi/elf.h"
#include "connect/cdi/loader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where distributions keep libc.so.6: the loader's own folders. */
static const char *const libdirs[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
};

static const char *const musl_loaders[] = { "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1" };

static const struct {
	uint16_t machine;
	const char *name;
} machines[] = {
	{ EM_X86_64, "x86-64" }, { EM_AARCH64, "aarch64" }, { EM_386, "32-bit x86" }, { EM_ARM, "32-bit ARM" }
};

#if defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_X86_64
#endif

static const char *machine_name(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i].machine == machine)
			return machines[i].name;
	return "another processor";
}

int image_open_at(const struct image *im, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC), .resolve = RESOLVE_IN_ROOT };
	int fd;

	if (flags & O_CREAT)
		how.mode = 0644;
	fd = (int)syscall(SYS_openat2, im->fd, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

/* Opening a device or a pipe does something, or waits: what it is, is looked at before. */
int image_open_plain(const struct image *im, const char *path)
{
	_cleanup_close_ int fd = image_open_at(im, path, O_PATH);
	char link[32];
	struct stat st;
	int plain;

	if (fd < 0)
		return steal_fd(&fd);
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	plain = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return plain < 0 ? -errno : plain;
}

/* Programs of which an image has one, by whose loader it is told. */
static const struct image_program shells[] = { { "/bin/sh", "" }, { "/usr/bin/env", "" }, { "/bin/bash", "" } };

/* The C library of a folder, if there is one; the same as another one's is none. Value: whether there is one more. */
static bool add_glibc(struct image *im, const char *libdir, const char *preload_file)
{
	struct image_library *l = &im->library[im->library_count];
	char path[IMAGE_PATH_BYTES + 16];
	_cleanup_close_ int fd = -1;
	struct elf elf;

	snprintf(path, sizeof(path), "%s/libc.so.6", libdir);
	fd = image_open_plain(im, path);
	if (im->library_count == IMAGE_LIBRARIES || fd < 0 || elf_read(fd, &elf) || !elf.glibc_defined)
		return false;
	*l = (struct image_library){ .glibc = elf.glibc_defined, .machine = elf.machine };
	snprintf(l->libdir, sizeof(l->libdir), "%s", libdir);
	snprintf(l->preload_file, sizeof(l->preload_file), "%s", preload_file);
	im->library_count++;
	im->libc = IMAGE_GLIBC;
	return true;
}

static void find_glibc(struct image *im)
{
	for (size_t i = 0; i < sizeof(libdirs) / sizeof(*libdirs) && !im->library_count; i++)
		add_glibc(im, libdirs[i], IMAGE_PRELOAD);
}

static bool same_file(const struct image *im, const char *libdir, const char *other)
{
	char path[IMAGE_PATH_BYTES + 16];
	struct stat st[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		_cleanup_close_ int fd = -1;

		snprintf(path, sizeof(path), "%s/libc.so.6", i ? other : libdir);
		fd = image_open_at(im, path, O_PATH);
		if (fd < 0 || fstat(fd, &st[i]))
			return false;
	}
	return st[0].st_dev == st[1].st_dev && st[0].st_ino == st[1].st_ino;
}

/* The C library of a program that names a loader of its own. Value: whether the program says which it is. */
static bool find_own(struct image *im, const struct image_program *program)
{
	struct loader loader;

	loader_find(im, program->name, program->path, &loader);
	if (!*loader.program)
		return false;
	memcpy(im->program, loader.program, sizeof(im->program));
	memcpy(im->loader, loader.asked, sizeof(im->loader));
	if (*loader.dir && !(im->library_count && same_file(im, im->library[0].libdir, loader.dir)))
		add_glibc(im, loader.dir, loader.preload);
	return *loader.asked;
}

static void find_musl(struct image *im)
{
	for (size_t i = 0; i < sizeof(musl_loaders) / sizeof(*musl_loaders) && im->libc == IMAGE_NO_LIBC; i++) {
		_cleanup_close_ int fd = image_open_plain(im, musl_loaders[i]);
		struct elf elf;

		if (fd >= 0 && !elf_read(fd, &elf))
			im->libc = IMAGE_MUSL;
	}
}

static void find_libraries(struct image *im, const struct image_program *program)
{
	bool known;

	find_glibc(im);
	known = program && find_own(im, program);
	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells) && !known && !im->library_count; i++)
		known = find_own(im, &shells[i]);
	find_musl(im);
}

static bool is_ours(const char *word, size_t length)
{
	static const char own[] = "/usr/lib/mete/";

	return length >= sizeof(own) - 1 && !memcmp(word, own, sizeof(own) - 1);
}

/*
 * The file's words: the loader takes blanks and colons between them, and "#" begins a comment. Each gets a line of its
 * own. False: there are more than there is room for.
 */
static bool read_preload(struct image *im, const char *path)
{
	_cleanup_close_ int fd = image_open_plain(im, path);
	size_t used = strlen(im->preload);
	char text[sizeof(im->preload)];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));

	if (n >= (ssize_t)sizeof(text))
		return false;
	text[n < 0 ? 0 : n] = 0;
	for (char *comment = strchr(text, '#'); comment; comment = strchr(comment, '#'))
		memset(comment, ' ', strcspn(comment, "\n"));
	for (const char *word = text + strspn(text, " \t\n:"); *word; word += strspn(word, " \t\n:")) {
		size_t length = strcspn(word, " \t\n:");

		if (used + length + 2 > sizeof(im->preload))
			return false;
		if (!is_ours(word, length))
			used += (size_t)snprintf(im->preload + used, sizeof(im->preload) - used, "%.*s\n", (int)length,
						 word);
		word += length;
	}
	return true;
}

int image_open(struct image *im, const char *root, const struct image_program *program, struct fault *f)
{
	*im = IMAGE_CLOSED;
	if (!realpath(root, im->root))
		return fault_set(f, -errno, "%s: %s; name the folder of an unpacked root file system", root,
				 strerror(errno));
	im->fd = open(im->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (im->fd < 0)
		return fault_set(f, -errno, "%s: %s; name the folder of an unpacked root file system", root,
				 strerror(errno));
	find_libraries(im, program);
	for (unsigned int i = 0; i < im->library_count; i++)
		if ((!i || strcmp(im->library[i].preload_file, im->library[0].preload_file)) &&
		    !read_preload(im, im->library[i].preload_file))
			return fault_set(f, -E2BIG,
					 "the image %s names more than %zu bytes of libraries in %s: name fewer",
					 im->root, sizeof(im->preload), im->library[i].preload_file);
	return 0;
}

void image_close(struct image *im)
{
	cleanup_close(&im->fd);
	im->fd = -1;
}

static bool lies_beside(const char *library, const char *name)
{
	char path[PATH_MAX];
	const char *slash = strrchr(library, '/');

	return slash && path_join(path, "%.*s/%s", (int)(slash - library), library, name) && !access(path, F_OK);
}

/*
 * What a library of this machine needs of an image: not what lies beside it, for the whole folder goes along. Of one
 * that cannot be read nothing, and then nothing is said against it.
 */
static struct elf needs_of(const char *library)
{
	_cleanup_close_ int fd = open(library, O_RDONLY | O_CLOEXEC);
	struct elf elf = { 0 };
	unsigned int kept = 0;

	if (fd < 0 || elf_read(fd, &elf))
		return (struct elf){ 0 };
	for (unsigned int i = 0; i < elf.library_count; i++)
		if (!lies_beside(library, elf.libraries[i]))
			memmove(elf.libraries[kept++], elf.libraries[i], ELF_NAME_BYTES);
	elf.library_count = kept;
	return elf;
}

static bool lies_in(const struct image *im, const char *folder, const char *library)
{
	char path[IMAGE_PATH_BYTES + ELF_NAME_BYTES];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", folder, library);
	fd = image_open_at(im, path, O_PATH);
	return fd >= 0;
}

/* A C library of a usual folder is one of several that the loader looks into. */
static bool image_has(const struct image *im, const struct image_library *l, const char *library)
{
	bool usual = false;

	if (lies_in(im, l->libdir, library))
		return true;
	for (size_t i = 0; i < sizeof(libdirs) / sizeof(*libdirs); i++)
		usual |= !strcmp(libdirs[i], l->libdir);
	for (size_t i = 0; usual && i < sizeof(libdirs) / sizeof(*libdirs); i++)
		if (lies_in(im, libdirs[i], library))
			return true;
	return false;
}

/* The core lies beside the library that needs it, in mete's own folder. */
static bool is_own(const char *library)
{
	return !strncmp(library, "libmete-", 8);
}

/*
 * The first of them that the image has not, put together from what some program needs; NULL: it has all. A library that
 * is to be preloaded and lacks one is left out by the loader, with a remark, and the program goes on without its share.
 */
static const char *image_lacks(const struct image *im, const struct image_library *l, const struct elf *needs)
{
	for (unsigned int i = 0; i < needs->library_count; i++)
		if (!is_own(needs->libraries[i]) && !image_has(im, l, needs->libraries[i]))
			return needs->libraries[i];
	return NULL;
}

/* There is no C library in the image; what its program says to that. */
static int judge_none(const struct image *im, struct fault *f)
{
	static const char remedy[] = "statically linked programs cannot load a GPU's driver; use an image with glibc";

	if (im->libc == IMAGE_MUSL)
		return fault_set(
			f, -ENOEXEC,
			"the image %s uses musl, and mete's libraries and CUDA's need glibc: use an image that has "
			"it (Debian's, Ubuntu's, Fedora's), not Alpine's",
			im->root);
	if (*im->program && *im->loader)
		return fault_set(f, -ENOEXEC,
				 "the image %s has no C library (libc.so.6) beside %s, by which its program %s is "
				 "loaded; use an image with glibc",
				 im->root, im->loader, im->program);
	if (*im->program)
		return fault_set(f, -ENOEXEC,
				 "the image %s has no C library (libc.so.6), and its program %s is linked statically: "
				 "%s",
				 im->root, im->program, remedy);
	return fault_set(f, -ENOEXEC, "the image %s has no C library (libc.so.6): %s", im->root, remedy);
}

static int judge_kind(const struct image *im, const struct image_library *l, struct fault *f)
{
	if (l->machine != OUR_MACHINE)
		return fault_set(f, -ENOEXEC, "the image %s is for %s, this machine is %s: use an image for that",
				 im->root, machine_name(l->machine), machine_name(OUR_MACHINE));
	if (!*l->preload_file)
		return fault_set(f, -ENOEXEC,
				 "the image %s: %s, by which its program %s is loaded, reads no file that says what is "
				 "to be loaded first, as glibc's does; use an image with the loader of glibc",
				 im->root, im->loader, im->program);
	return 0;
}

/* One of mete's libraries, and what to do where it is too young for the image. */
static int judge_needs(const struct image *im, const struct image_library *l, const struct elf *needs, const char *what,
		       const char *remedy, struct fault *f)
{
	const char *lacking = image_lacks(im, l, needs);
	char has[16], wanted[16];

	if (l->glibc < needs->glibc_needed)
		return fault_set(f, -ENOEXEC, "the image %s has glibc up to %s, and %s %s: %s", im->root,
				 elf_glibc_text(l->glibc, has), what, elf_glibc_text(needs->glibc_needed, wanted),
				 remedy);
	if (lacking)
		return fault_set(f, -ENOEXEC,
				 "the image %s has no %s, and %s it: copy it to %s from where the image's libc.so.6 is "
				 "from",
				 im->root, lacking, what, l->libdir);
	return 0;
}

static int judge_library(const struct image *im, const struct image_library *l, const struct image_parts *parts,
			 bool *runtime, struct fault *f)
{
	struct elf needs = needs_of(parts->first);
	int r = judge_kind(im, l, f);

	if (!r)
		r = judge_needs(im, l, &needs, "mete's libraries need", "use a younger image", f);
	if (!r && parts->driver) {
		needs = needs_of(parts->driver);
		r = judge_needs(im, l, &needs, "the software device needs",
				"use a younger image, or a share behind a wall (--wall), where the device stays "
				"outside",
				f);
	}
	needs = parts->runtime ? needs_of(parts->runtime) : (struct elf){ 0 };
	*runtime &= !r && parts->runtime && l->glibc >= needs.glibc_needed && !image_lacks(im, l, &needs);
	return r;
}

int image_judge(const struct image *im, const struct image_parts *parts, bool *ret_runtime, struct fault *f)
{
	int r = im->library_count ? 0 : judge_none(im, f);

	*ret_runtime = !r;
	for (unsigned int i = 0; !r && i < im->library_count; i++)
		r = judge_library(im, &im->library[i], parts, ret_runtime, f);
	*ret_runtime &= !r;
	return r;
}
