/*
 * hungry.c: takes all the device memory it may have, to the last byte, and shows that one byte more is refused.
 *
 * It asks for pieces of shrinking size, down to single bytes, until every size is refused. Then nothing may be free but
 * what no allocation can use (a driver hands out memory in granules: 512 bytes on the software device, 2 MiB on
 * NVIDIA's), one more byte must fail with CUDA_ERROR_OUT_OF_MEMORY and change nothing, every piece must keep what was
 * written to it, and after freeing all of it, as much must be free as in the beginning.
 */
#include "example.h"
#include "stamp_ptx.h"

#define PAGE_BYTES 4096u

struct piece {
	CUdeviceptr address;
	size_t bytes;
	struct piece *next;
};

struct hoard {
	struct piece *first;
	size_t count;
	size_t bytes;
	size_t limit; /* take no more than this, 0: all there is */
};

static size_t free_now(size_t *total)
{
	size_t free_bytes, total_bytes;

	must(cuMemGetInfo(&free_bytes, &total_bytes));
	if (total)
		*total = total_bytes;
	return free_bytes;
}

/* One more piece; false when the device has no room for it. */
static bool hoard_add(struct hoard *h, size_t bytes)
{
	CUdeviceptr address;
	CUresult r = cuMemAlloc(&address, bytes);
	struct piece *p;

	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		return false;
	must(r);
	p = malloc(sizeof *p);
	if (!p) {
		printf("hungry: no memory on the host\nFAIL\n");
		exit(1);
	}
	*p = (struct piece){ .address = address, .bytes = bytes, .next = h->first };
	h->first = p;
	h->count++;
	h->bytes += bytes;
	return true;
}

static void hoard_fill(struct hoard *h)
{
	size_t largest = free_now(NULL);

	for (size_t bytes = largest; bytes; bytes /= 2)
		while ((!h->limit || h->bytes + bytes <= h->limit) && hoard_add(h, bytes))
			;
}

/* Marks every page of every piece, then counts the pages whose mark is gone. */
static unsigned int hoard_verify(struct hoard *h, CUfunction stamp, CUfunction verify, CUdeviceptr lost)
{
	unsigned int words = PAGE_BYTES / 4, seed, count;
	unsigned long long pages;

	must(cuMemsetD32(lost, 0, 1));
	for (int pass = 0; pass < 2; pass++) {
		seed = 1;
		for (struct piece *p = h->first; p; p = p->next) {
			void *mark[] = { &p->address, &pages, &words, &seed };
			void *look[] = { &lost, &p->address, &pages, &words, &seed };

			pages = p->bytes / PAGE_BYTES;
			if (pages)
				must(cuLaunchKernel(pass ? verify : stamp, (unsigned int)((pages + 255) / 256), 1, 1,
						    256, 1, 1, 0, NULL, pass ? look : mark, NULL));
			must(cuCtxSynchronize());
			seed += (unsigned int)pages;
		}
	}
	must(cuMemcpyDtoH(&count, lost, sizeof count));
	return count;
}

static void hoard_free(struct hoard *h)
{
	while (h->first) {
		struct piece *p = h->first;

		must(cuMemFree(p->address));
		h->first = p->next;
		free(p);
	}
}

int main(int argc, char **argv)
{
	struct example e = {
		.name = "hungry",
		.sizes = "[TOUCH [LIMIT]]",
		.size = { 256 << 20, 0 },
		.what = "Takes all device memory it may have (at most LIMIT) and shows that one byte more is refused.\n"
			"Pages are written and verified when at most TOUCH bytes (default 256M) are held."
	};
	size_t total, total_after, before, full, after, largest_left;
	struct hoard h = { 0 };
	CUfunction stamp, verify;
	CUdeviceptr lost, more;
	char name[256] = "";
	bool good = true;
	CUresult r;

	example_options(&e, argc, argv);
	h.limit = e.size[1];
	example_begin(&e);
	must(cuDeviceGetName(name, sizeof name, e.dev));
	largest_left = strstr(name, "software device") ? 0 : 2 << 20;
	/* The kernels' module and their counter stay; what they take is not this program's to fill. */
	must(cuMemAlloc(&lost, 4));
	stamp = example_kernel(stamp_ptx, "stamp");
	verify = example_kernel(stamp_ptx, "verify");

	before = free_now(&total);
	hoard_fill(&h);
	full = free_now(NULL);
	printf("hungry: holds %zu bytes in %zu pieces; %zu of %zu bytes are free\n", h.bytes, h.count, full, total);
	if (!h.limit && full > largest_left) {
		printf("hungry: %zu bytes are free, yet no piece of any size was given\n", full);
		good = false;
	}
	if (!h.limit) {
		r = cuMemAlloc(&more, 1);
		after = free_now(NULL);
		printf("hungry: one byte more: %s; %zu bytes are free\n", r ? example_error(r) : "given", after);
		good = good && r == CUDA_ERROR_OUT_OF_MEMORY && after == full;
	}
	if (h.bytes <= e.size[0]) {
		unsigned int n = hoard_verify(&h, stamp, verify, lost);

		printf("hungry: every page written and read back, %u lost\n", n);
		good = good && n == 0;
	}
	example_sleep(e.hold > e.seconds ? e.hold : e.seconds);
	hoard_free(&h);
	after = free_now(&total_after);
	printf("hungry: all freed; %zu of %zu bytes are free (%zu of %zu in the beginning)\n", after, total_after,
	       before, total);
	good = good && total_after - after == total - before; /* the share may have been changed meanwhile */
	must(cuMemFree(lost));
	return example_end(&e, good);
}
