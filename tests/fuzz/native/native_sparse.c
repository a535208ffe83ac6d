/* native_sparse.c: kernels of cuSPARSE. */
#include "libs/cusparse/sparse.h"
#include "native.h"

static void make_sparse(void *to, const struct plain *p)
{
	struct sparse_dense dense = { .down = 1, .across = p->ld, .rows = p->m, .columns = p->n };
	struct sparse_work *w = to;

	*w = (struct sparse_work){ .kernel = p->choice % SPARSE_KERNELS,
				   .type = p->type,
				   .batch = 1,
				   .a = { .rows_at = address(0, 0),
					  .columns_at = address(1, 0),
					  .values_at = address(2, 0),
					  .rows = p->m,
					  .columns = p->n,
					  .nnz = p->k,
					  .coordinates = p->more & 1,
					  .wide_rows = p->more >> 1 & 1,
					  .wide_columns = p->more >> 2 & 1,
					  .base = p->more >> 3 & 1,
					  .turned = p->more >> 4 & 1,
					  .conjugated = p->more >> 5 & 1,
					  .upper = p->more >> 6 & 1,
					  .unit = p->more >> 7 },
				   .b = dense,
				   .c = dense,
				   .alpha.value = { 1, 0 },
				   .beta.value = { 0, 0 } };
	w->b.at = address(0, 8192);
	w->c.at = address(1, 8192);
	if (w->a.turned) {
		w->c.rows = p->n;
		w->c.columns = p->m;
	}
	if (w->kernel == SPARSE_SPMM) {
		w->b.rows = w->a.turned ? p->m : p->n;
		w->b.columns = w->c.columns = 3;
	} else if (w->kernel == SPARSE_SDDMM) {
		w->b.rows = w->c.rows;
		w->b.columns = w->c.rows = 3;
	} else if (w->kernel == SPARSE_SPSV) {
		w->a.columns = w->c.rows = w->b.rows = p->m;
		w->b.columns = w->c.columns = 3;
		w->a.coordinates = 0;
	} else if (w->kernel == SPARSE_COUNT) {
		w->a.coordinates = 0;
	}
}

#define W(member) F(struct sparse_work, member)
#define D(name)                                                                                                        \
	W(name.at), W(name.down), W(name.across), W(name.rows), W(name.columns), W(name.apart), W(name.conjugated)
static const struct field sparse_fields[] = {
	W(kernel),	W(type),	   W(batch),	    W(a.rows_at),      W(a.columns_at),
	W(a.values_at), W(a.rows),	   W(a.columns),    W(a.nnz),	       W(a.coordinates),
	W(a.wide_rows), W(a.wide_columns), W(a.base),	    W(a.turned),       W(a.conjugated),
	W(a.upper),	W(a.unit),	   W(a.rows_apart), W(a.values_apart), D(b),
	D(c),		W(alpha.address),  W(beta.address),
};
#undef D
#undef W

NATIVE_KERNEL(sparse, sparse_run)
