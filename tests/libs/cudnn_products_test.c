/*
 * cudnn_products_test.c: products that are large enough for a layout of the second matrix's own: batches of float and
 * bfloat16, turned and with gaps, with a number that the result is multiplied with, against sums in double.
 */
#include "base/tap.h"
#include "libs/cudnn_graphs.h"

#include <stdio.h>

#define BATCH 2
#define SIZE (BATCH * 200 * 200)

static struct matrix {
	double value[SIZE]; /* as stored, with gaps */
	CUdeviceptr memory;
} a, b, c, wanted;

static uint16_t bfloat_of(double v)
{
	float f = (float)v;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double of_bfloat(uint16_t v)
{
	uint32_t bits = (uint32_t)v << 16;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static char raw[SIZE * 4];

static size_t bytes_of(cudnnDataType_t type)
{
	return type == CUDNN_DATA_BFLOAT16 ? 2 : 4;
}

static void put(struct matrix *m, cudnnDataType_t type)
{
	for (int i = 0; i < SIZE; i++) {
		uint16_t narrow = bfloat_of(m->value[i]);
		float f = (float)m->value[i];

		if (type == CUDNN_DATA_BFLOAT16)
			memcpy(raw + 2 * i, &narrow, 2);
		else
			memcpy(raw + 4 * i, &f, 4);
	}
	CU(cuMemcpyHtoD(m->memory, raw, SIZE * bytes_of(type)));
}

static void get(struct matrix *m, cudnnDataType_t type)
{
	CU(cuMemcpyDtoH(raw, m->memory, SIZE * bytes_of(type)));
	for (int i = 0; i < SIZE; i++) {
		uint16_t narrow;
		float f;

		memcpy(&narrow, raw + 2 * i, 2);
		if (type == CUDNN_DATA_FLOAT)
			memcpy(&f, raw + 4 * i, 4);
		m->value[i] = type == CUDNN_DATA_FLOAT ? (double)f : of_bfloat(narrow);
	}
}

struct product {
	const char *name;
	cudnnDataType_t from, to;
	int rows, columns, inner;
	int a[3], b[3], c[3]; /* strides */
	bool has_factor, is_read_twice;
};

#define FLOAT CUDNN_DATA_FLOAT
#define BFLOAT CUDNN_DATA_BFLOAT16

static const struct product products[] = {
	{ "float", FLOAT, FLOAT, 80, 90, 70, { 5600, 70, 1 }, { 6300, 90, 1 }, { 7200, 90, 1 }, false, false },
	{ "float, a factor", FLOAT, FLOAT, 80, 90, 70, { 5600, 70, 1 }, { 6300, 90, 1 }, { 7200, 90, 1 }, true, false },
	{ "float, turned",
	  FLOAT,
	  FLOAT,
	  150,
	  90,
	  70,
	  { 12000, 1, 160 },
	  { 6400, 1, 70 },
	  { 15000, 100, 1 },
	  true,
	  false },
	{ "float, a result of columns",
	  FLOAT,
	  FLOAT,
	  80,
	  90,
	  70,
	  { 5600, 70, 1 },
	  { 6300, 90, 1 },
	  { 7200, 1, 80 },
	  true,
	  false },
	{ "bfloat16", BFLOAT, BFLOAT, 80, 90, 70, { 5600, 70, 1 }, { 6300, 90, 1 }, { 7200, 90, 1 }, false, false },
	{ "bfloat16, B turned",
	  BFLOAT,
	  BFLOAT,
	  150,
	  90,
	  71,
	  { 12000, 80, 1 },
	  { 7000, 1, 77 },
	  { 15000, 100, 1 },
	  false,
	  false },
	{ "bfloat16, A turned",
	  BFLOAT,
	  BFLOAT,
	  150,
	  90,
	  70,
	  { 12000, 1, 160 },
	  { 6400, 90, 1 },
	  { 15000, 100, 1 },
	  false,
	  false },
	{ "bfloat16, gaps everywhere",
	  BFLOAT,
	  BFLOAT,
	  60,
	  80,
	  62,
	  { 16000, 220, 3 },
	  { 16000, 220, 2 },
	  { 16000, 220, 2 },
	  false,
	  false },
	{ "bfloat16 to float",
	  BFLOAT,
	  FLOAT,
	  80,
	  90,
	  70,
	  { 5600, 70, 1 },
	  { 6300, 90, 1 },
	  { 7200, 90, 1 },
	  false,
	  false },
	{ "bfloat16 to float, a factor",
	  BFLOAT,
	  FLOAT,
	  80,
	  90,
	  70,
	  { 5600, 70, 1 },
	  { 6300, 90, 1 },
	  { 7200, 90, 1 },
	  true,
	  false },
	{ "a factor of a result that another reads",
	  BFLOAT,
	  FLOAT,
	  80,
	  90,
	  70,
	  { 5600, 70, 1 },
	  { 6300, 90, 1 },
	  { 7200, 90, 1 },
	  true,
	  true },
};

static object tensor(int64_t id, cudnnDataType_t type, int rows, int columns, const int stride[3], bool is_virtual)
{
	const int dim[] = { BATCH, rows, columns };

	return graph_tensor(id, type, 3, dim, stride, is_virtual, false);
}

/* The product, and its result times a number, once or twice. */
static object plan_make(const struct product *p)
{
	static const int one[] = { 1, 1, 1 };
	object tensors[] = { tensor(1, p->from, p->rows, p->inner, p->a, false),
			     tensor(2, p->from, p->inner, p->columns, p->b, false),
			     tensor(3, p->to, p->rows, p->columns, p->c, false),
			     tensor(4, CUDNN_DATA_FLOAT, p->rows, p->columns, p->c, true),
			     graph_tensor(5, CUDNN_DATA_FLOAT, 3, one, NULL, false, true),
			     tensor(6, CUDNN_DATA_FLOAT, p->rows, p->columns, p->c, true) };
	object ops[3], plan;
	int64_t count_ = 1;

	ops[0] = matmul(tensors[0], tensors[1], tensors[p->has_factor ? 3 : 2]);
	if (p->has_factor)
		ops[count_++] = pointwise(CUDNN_POINTWISE_MUL, tensors[3], tensors[4], NULL,
					  tensors[p->is_read_twice ? 5 : 2], 0);
	if (p->is_read_twice)
		ops[count_++] = pointwise(CUDNN_POINTWISE_ADD, tensors[3], tensors[5], NULL, tensors[2], 0);
	plan = plan_of(ops, count_);
	for (size_t i = 0; i < sizeof(tensors) / sizeof(*tensors); i++)
		GOOD(t.cudnnBackendDestroyDescriptor(tensors[i]));
	return plan;
}

static double exact(const struct product *p, int i, int row, int column)
{
	double sum = 0;

	for (int k = 0; k < p->inner; k++)
		sum += a.value[i * p->a[0] + row * p->a[1] + k * p->a[2]] *
		       b.value[i * p->b[0] + k * p->b[1] + column * p->b[2]];
	return sum;
}

static void compare(const struct product *p, double factor)
{
	double wrong = 0, near = p->to == CUDNN_DATA_BFLOAT16 ? 8e-3 : 2e-5;
	int written = 0, spoilt = 0;

	memcpy(wanted.value, c.value, sizeof(wanted.value));
	for (int i = 0; i < BATCH; i++)
		for (int row = 0; row < p->rows; row++)
			for (int column = 0; column < p->columns; column++)
				wanted.value[i * p->c[0] + row * p->c[1] + column * p->c[2]] =
					factor * exact(p, i, row, column);
	get(&c, p->to);
	for (int i = 0; i < SIZE; i++) {
		bool gap = wanted.value[i] == 77;

		spoilt += gap && c.value[i] != 77;
		written += !gap;
		if (!gap)
			wrong = fmax(wrong, fabs(c.value[i] - wanted.value[i]) / (1 + fabs(wanted.value[i])));
	}
	tap_ok(wrong < near && written == BATCH * p->rows * p->columns, "%s: off by %g", p->name, wrong);
	tap_ok(!spoilt, "%s: what lies between is left as it was", p->name);
}

static void try(const struct product *p)
{
	float number = 0.25f;
	const int64_t ids[] = { 1, 2, 3, 5 };
	object plan = plan_make(p), pack;
	void *pointers[] = { at(a.memory), at(b.memory), at(c.memory), &number };
	CUdeviceptr workspace;

	if (!plan)
		return;
	for (int i = 0; i < SIZE; i++) {
		a.value[i] = of_bfloat(bfloat_of(random_number()));
		b.value[i] = of_bfloat(bfloat_of(random_number()));
		c.value[i] = 77;
	}
	put(&a, p->from);
	put(&b, p->from);
	put(&c, p->to);
	workspace = workspace_make(plan);
	pack = pack_of(p->has_factor ? 4 : 3, ids, pointers, at(workspace));
	GOOD(t.cudnnBackendExecute(handle, plan, pack));
	compare(p, p->is_read_twice ? 1 + (double)number : p->has_factor ? (double)number : 1);
	GOOD(t.cudnnBackendDestroyDescriptor(pack));
	GOOD(t.cudnnBackendDestroyDescriptor(plan));
	CU(cuMemFree(workspace));
}

int main(void)
{
	cudnn_begin();
	for (int i = 0; i < 3; i++)
		CU(cuMemAlloc(&((struct matrix *const[]){ &a, &b, &c })[i]->memory, SIZE * 4));
	for (size_t i = 0; i < sizeof(products) / sizeof(*products); i++)
		try(&products[i]);
	CU(cuMemFree(a.memory));
	CU(cuMemFree(b.memory));
	CU(cuMemFree(c.memory));
	GOOD(t.cudnnDestroy(handle));
	return soft_end();
}
