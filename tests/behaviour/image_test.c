/*
 * image_test.c: fat binaries as compilers write them, and images that are no images.
 *
 * The files come from images/make.py: the kernels of basic.ptx stored raw, as an LZ4 block and as a zstd frame. Cut off
 * and overwritten copies must be refused with an error, never with a crash; the size of an image is not passed to the
 * driver, so what the headers promise is all that it may read. The copies lie at the end of a mapping, so that reading
 * beyond a whole image is noticed.
 */
#include "kit.h"
#include "basic_ptx.h"

#include <sys/mman.h>

struct wrapper {
	unsigned int magic, version;
	const void *data;
	const void *const *more;
};

#define WRAPPER_MAGIC 0x466243b1u

static const char *const whole[] = { "raw", "lz4", "zstd", "several" };

/* The file's bytes, directly before an inaccessible page. */
static unsigned char *load(const char *name, size_t *ret_size, unsigned char **ret_map, size_t *ret_mapped)
{
	const char *folder = getenv("METE_TEST_IMAGES");
	size_t page = 4096, room;
	unsigned char *map, *data;
	char path[4096];
	long size;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s.fatbin", folder ? folder : "images", name);
	f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) <= 0 || fseek(f, 0, SEEK_SET)) {
		printf("Bail out! %s cannot be read; METE_TEST_IMAGES names its folder\n", path);
		exit(1);
	}
	room = ((size_t)size + page - 1) / page * page;
	map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || mprotect(map + room, page, PROT_NONE)) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	/* Entries start at multiples of 8 in real images; sizes here are multiples of 8 as well. */
	data = map + room - (size_t)size;
	if (fread(data, 1, (size_t)size, f) != (size_t)size)
		exit(1);
	fclose(f);
	*ret_size = (size_t)size;
	*ret_map = map;
	*ret_mapped = room + page;
	return data;
}

/* The module holds `add`, and it adds. */
static void use(CUmodule m, CUdeviceptr p, const char *what)
{
	unsigned int host[128], wrong = 0;

	works(cuMemsetD32(p, 1, 128));
	works(kit_launch(kit_kernel(m, "add"), p, 128, 41, NULL));
	works(cuMemcpyDtoH(host, p, sizeof host));
	for (int i = 0; i < 128; i++)
		wrong += host[i] != 42;
	tap_ok(wrong == 0, "a kernel from %s runs", what);
}

static void good(CUdeviceptr p)
{
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
		unsigned char *map;
		size_t size, mapped;
		void *image = load(whole[i], &size, &map, &mapped);
		const void *list[] = { image, NULL };
		struct wrapper one = { WRAPPER_MAGIC, 1, image, NULL }, two = { WRAPPER_MAGIC, 2, image, list };
		CUfunction none;
		CUmodule m;

		printf("# %s\n", whole[i]);
		needs(cuModuleLoadData(&m, image));
		use(m, p, whole[i]);
		answers(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, m, "well"));
		works(cuModuleUnload(m));
		needs(cuModuleLoadFatBinary(&m, image));
		use(m, p, "cuModuleLoadFatBinary");
		works(cuModuleUnload(m));
		if (kit.soft) { /* NVIDIA's driver takes its runtime's wrappers by another way */
			needs(cuModuleLoadData(&m, &one));
			use(m, p, "a wrapper");
			works(cuModuleUnload(m));
			needs(cuModuleLoadData(&m, &two));
			use(m, p, "a wrapper with a list");
			works(cuModuleUnload(m));
		}
		munmap(map, mapped);
	}
}

static void unsuitable(void)
{
	unsigned char *map;
	size_t size, mapped;
	void *image = load("too_new", &size, &map, &mapped);
	CUmodule m;

	answers(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&m, image));
	munmap(map, mapped);
}

/* Headers that promise less than there was: the entry is cut, the image is broken. */
static void cut(void)
{
	int accepted = 0, tried = 0;

	for (size_t i = 0; i < 3; i++) {
		unsigned char *map, *copy;
		size_t size, mapped;
		unsigned char *image = load(whole[i], &size, &map, &mapped);

		copy = malloc(size + 64);
		for (size_t keep = 0; keep + 80 < size; keep += size / 40 / 8 * 8 + 8) {
			unsigned long long rest = keep;
			CUmodule m;

			memcpy(copy, image, size);
			memset(copy + 16 + keep, 0xa5, size - 16 - keep);
			memcpy(copy + 8, &rest, sizeof rest);
			tried++;
			if (cuModuleLoadData(&m, copy) == CUDA_SUCCESS) {
				accepted++;
				cuModuleUnload(m);
			}
		}
		free(copy);
		munmap(map, mapped);
	}
	tap_ok(accepted == 0, "%d images cut short are refused (%d accepted)", tried, accepted);
}

/* Single bytes changed: any answer, no crash; and the driver works on. */
static void bent(CUdeviceptr p)
{
	unsigned int random = 1, refused = 0;
	CUmodule m;

	for (size_t i = 0; i < 3; i++) {
		unsigned char *map;
		size_t size, mapped;
		unsigned char *image = load(whole[i], &size, &map, &mapped);

		for (int round = 0; round < 300; round++) {
			size_t at;
			unsigned char was;

			random = random * 1664525u + 1013904223u;
			/* Not the header's size: the driver would be told to read what is not ours. */
			at = 80 + (random >> 8) % (size - 80);
			was = image[at];
			image[at] ^= (unsigned char)(1 + (random & 0x7f));
			if (cuModuleLoadData(&m, image) == CUDA_SUCCESS)
				cuModuleUnload(m);
			else
				refused++;
			image[at] = was;
		}
		munmap(map, mapped);
	}
	tap_ok(refused > 0, "900 bent images: %u refused, no crash", refused);
	needs(cuModuleLoadData(&m, basic_ptx));
	use(m, p, "PTX after all that");
	works(cuModuleUnload(m));
}

static void noise(void)
{
	unsigned char junk[4096];
	unsigned int random = 7;
	CUmodule m;
	int accepted = 0;

	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof junk; i++) {
			random = random * 1664525u + 1013904223u;
			junk[i] = (unsigned char)(random >> 24);
		}
		junk[sizeof junk - 1] = 0; /* as text it ends here */
		accepted += cuModuleLoadData(&m, junk) == CUDA_SUCCESS;
	}
	is(accepted, 0);
	ok(cuModuleLoadData(&m, "") != CUDA_SUCCESS);
}

int main(void)
{
	CUdeviceptr p;

	kit_begin();
	needs(cuMemAlloc(&p, 4096));
	good(p);
	unsuitable();
	if (kit.soft) {
		cut();
		bent(p);
		noise();
	} else {
		kit_skip("broken images", "a real driver reads what the headers promise, and may crash");
	}
	works(cuMemFree(p));
	return kit_end();
}
