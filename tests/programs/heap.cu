/* Memory that kernels allocate for themselves: lists, blocks that outlive a kernel, exhaustion, the limit's attribute. */
#include "program.h"

enum { N = 256 };

struct node {
	struct node *next;
	unsigned value;
};

#ifdef __CUDACC__

KERNEL lists(unsigned *z)
{
	struct node *head = NULL, *n;
	unsigned i, sum = 0;

	for (i = 0; i < 10; i++) {
		n = (struct node *)malloc(sizeof(*n));
		if (!n)
			break;
		n->next = head;
		n->value = i * threadIdx.x;
		head = n;
	}
	while (head) {
		n = head->next;
		sum += head->value;
		free(head);
		head = n;
	}
	z[threadIdx.x] = sum;
}

KERNEL keep(unsigned **kept)
{
	unsigned *words = (unsigned *)malloc(16 * sizeof(*words));

	for (int i = 0; words && i < 16; i++)
		words[i] = threadIdx.x * 100 + i;
	kept[threadIdx.x] = words;
}

KERNEL take(unsigned **kept, unsigned *z)
{
	unsigned sum = 0;

	for (int i = 0; kept[threadIdx.x] && i < 16; i++)
		sum += kept[threadIdx.x][i];
	free(kept[threadIdx.x]);
	z[threadIdx.x] = sum;
}

KERNEL too_much(int *z)
{
	void *p = malloc((size_t)1 << 40);

	*z = p == NULL ? 1 : 2;
	free(p);
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static unsigned z[N];
	unsigned *dz, **kept, i;
	int none[1], *dn;
	size_t limit = 0;

	CALL(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
	CALL(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
	CHECK(limit >= 16 << 20);
	dz = DEVICE_ALLOC(unsigned, N);
	kept = DEVICE_ALLOC(unsigned *, N);
	dn = DEVICE_ALLOC(int, 1);
	LAUNCH(lists, 1, N, dz);
	BRING(z, dz);
	for (i = 0; i < N; i++)
		CHECK(z[i] == 45 * i);
	LAUNCH(keep, 1, N, kept);
	LAUNCH(take, 1, N, kept, dz);
	BRING(z, dz);
	for (i = 0; i < N; i++)
		CHECK(z[i] == 1600 * i + 120);
	LAUNCH(too_much, 1, 1, dn);
	BRING(none, dn);
	CHECK(none[0] == 1);
	return program_end();
}
