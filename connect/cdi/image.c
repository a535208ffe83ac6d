/* image.c: see image.h. */
#include "connect/cdi/image.h"

#include "base/cleanup.h"
#include "connect/cdi/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void find_glibc(struct image *im)
{
	for (size_t i = 0; i < sizeof(libdirs) / sizeof(*libdirs) && im->libc != IMAGE_GLIBC; i++) {
		_cleanup_close_ int fd = -1;
		struct elf elf;
		char path[96];

		snprintf(path, sizeof(path), "%s/libc.so.6", libdirs[i]);
		fd = image_open_at(im, path, O_RDONLY);
		if (fd < 0 || elf_read(fd, &elf) || !elf.glibc_defined)
			continue;
		im->libc = IMAGE_GLIBC;
		im->glibc = elf.glibc_defined;
		im->machine = elf.machine;
		snprintf(im->libdir, sizeof(im->libdir), "%s", libdirs[i]);
	}
}

static void find_musl(struct image *im)
{
	for (size_t i = 0; i < sizeof(musl_loaders) / sizeof(*musl_loaders) && im->libc == IMAGE_NO_LIBC; i++) {
		_cleanup_close_ int fd = image_open_at(im, musl_loaders[i], O_RDONLY);
		struct elf elf;

		if (fd < 0 || elf_read(fd, &elf))
			continue;
		im->libc = IMAGE_MUSL;
		im->machine = elf.machine;
	}
}

static bool is_ours(const char *word, size_t length)
{
	static const char own[] = "/usr/lib/mete/";

	return length >= sizeof(own) - 1 && !memcmp(word, own, sizeof(own) - 1);
}

/* The file's words: the loader takes blanks and colons between them, and "#" begins a comment. */
static void read_preload(struct image *im)
{
	_cleanup_close_ int fd = image_open_at(im, IMAGE_PRELOAD, O_RDONLY | O_NONBLOCK);
	char text[sizeof(im->preload)];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	size_t used = 0;

	text[n < 0 ? 0 : n] = 0;
	for (char *comment = strchr(text, '#'); comment; comment = strchr(comment, '#'))
		memset(comment, ' ', strcspn(comment, "\n"));
	for (const char *word = text + strspn(text, " \t\n:"); *word; word += strspn(word, " \t\n:")) {
		size_t length = strcspn(word, " \t\n:");

		if (!is_ours(word, length))
			used += (size_t)snprintf(im->preload + used, sizeof(im->preload) - used, "%.*s\n", (int)length,
						 word);
		word += length;
	}
}

int image_open(struct image *im, const char *root, struct fault *f)
{
	*im = IMAGE_CLOSED;
	if (!realpath(root, im->root))
		return fault_set(f, -errno, "%s: %s; name the folder of an unpacked root file system", root,
				 strerror(errno));
	im->fd = open(im->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (im->fd < 0)
		return fault_set(f, -errno, "%s: %s; name the folder of an unpacked root file system", root,
				 strerror(errno));
	find_glibc(im);
	find_musl(im);
	read_preload(im);
	return 0;
}

void image_close(struct image *im)
{
	cleanup_close(&im->fd);
	im->fd = -1;
}

/* What a library of this machine needs; of one that cannot be read nothing, and then nothing is said against it. */
static struct elf needs_of(const char *library)
{
	_cleanup_close_ int fd = open(library, O_RDONLY | O_CLOEXEC);
	struct elf elf = { 0 };

	return fd < 0 || elf_read(fd, &elf) ? (struct elf){ 0 } : elf;
}

static bool image_has(const struct image *im, const char *library)
{
	char path[sizeof(im->libdir) + ELF_NAME_BYTES];
	bool there = false;

	for (size_t i = 0; i < sizeof(libdirs) / sizeof(*libdirs) && !there; i++) {
		_cleanup_close_ int fd = -1;

		snprintf(path, sizeof(path), "%s/%s", libdirs[i], library);
		fd = image_open_at(im, path, O_PATH);
		there = fd >= 0;
	}
	return there;
}

/*
 * The first of them that the image has not, put together from what some program needs; NULL: it has all. A library that
 * is to be preloaded and lacks one is left out by the loader, with a remark, and the program goes on without its share.
 */
static const char *image_lacks(const struct image *im, const struct elf *needs)
{
	for (unsigned int i = 0; i < needs->library_count; i++)
		if (!image_has(im, needs->libraries[i]))
			return needs->libraries[i];
	return NULL;
}

static int judge_kind(const struct image *im, struct fault *f)
{
	if (im->libc == IMAGE_MUSL)
		return fault_set(
			f, -ENOEXEC,
			"the image %s uses musl, and mete's libraries and CUDA's need glibc: use an image that has "
			"it (Debian's, Ubuntu's, Fedora's), not Alpine's",
			im->root);
	if (im->libc == IMAGE_NO_LIBC)
		return fault_set(
			f, -ENOEXEC,
			"the image %s has no C library (libc.so.6): statically linked programs cannot load a GPU's "
			"driver; use an image with glibc",
			im->root);
	if (im->machine != OUR_MACHINE)
		return fault_set(f, -ENOEXEC, "the image %s is for %s, this machine is %s: use an image for that",
				 im->root, machine_name(im->machine), machine_name(OUR_MACHINE));
	return 0;
}

/* One of mete's libraries, and what to do where it is too young for the image. */
static int judge_needs(const struct image *im, const struct elf *needs, const char *what, const char *remedy,
		       struct fault *f)
{
	const char *lacking = image_lacks(im, needs);
	char has[16], wanted[16];

	if (im->glibc < needs->glibc_needed)
		return fault_set(f, -ENOEXEC, "the image %s has glibc up to %s, and %s %s: %s", im->root,
				 elf_glibc_text(im->glibc, has), what, elf_glibc_text(needs->glibc_needed, wanted),
				 remedy);
	if (lacking)
		return fault_set(f, -ENOEXEC,
				 "the image %s has no %s, and %s it: copy it to %s from where the image's libc.so.6 is "
				 "from",
				 im->root, lacking, what, im->libdir);
	return 0;
}

int image_judge(const struct image *im, const struct image_parts *parts, bool *ret_runtime, struct fault *f)
{
	struct elf needs;
	int r = judge_kind(im, f);

	*ret_runtime = false;
	if (r)
		return r;
	needs = needs_of(parts->first);
	r = judge_needs(im, &needs, "mete's libraries need", "use a younger image", f);
	if (!r && parts->driver) {
		needs = needs_of(parts->driver);
		r = judge_needs(im, &needs, "the software device needs",
				"use a younger image, or a share behind a wall (--wall), where the device stays "
				"outside",
				f);
	}
	if (r)
		return r;
	needs = parts->runtime ? needs_of(parts->runtime) : (struct elf){ 0 };
	*ret_runtime = parts->runtime && im->glibc >= needs.glibc_needed && !image_lacks(im, &needs);
	return 0;
}
