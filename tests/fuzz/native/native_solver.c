/* native_solver.c: kernels of cuSOLVER. */
#include "libs/cusolver/solver.h"
#include "native.h"

static void make_solver(void *to, const struct plain *p)
{
	struct solver_work *work = to;
	struct solver_matrix m = { .ld = p->ld, .apart = 24 * 24 };

	*work = (struct solver_work){ .routine = p->choice % SOLVER_ROUTINES,
				      .type = (uint8_t)p->type,
				      .arrays = p->more >> 7,
				      .wide = p->more >> 6 & 1,
				      .uplo = "UL"[p->more & 1],
				      .side = "LR"[p->more >> 1 & 1],
				      .trans = "NTC"[p->more >> 2 & 1],
				      .diag = "NU"[p->more >> 3 & 1],
				      .job = "NVASO"[p->more % 5],
				      .job_more = "NVASO"[p->more / 5 % 5],
				      .itype = 1,
				      .m = p->m,
				      .n = p->n,
				      .k = p->k < p->n ? p->k : p->n,
				      .nrhs = p->k,
				      .batch = 1,
				      .a = m,
				      .b = m,
				      .c = m,
				      .values = address(2, 16384),
				      .values_more = address(2, 18432),
				      .tau = address(2, 20480),
				      .pivots = address(2, 24576),
				      .info = address(2, 28672) };
	if (work->routine == SOLVER_orgqr && p->n > p->m)
		work->n = p->m;
	work->a.at = address(0, 0);
	work->b.at = address(1, 0);
	work->c.at = address(2, 0);
}

#define W(member) F(struct solver_work, member)
static const struct field solver_fields[] = {
	W(routine), W(type),	W(arrays),   W(wide),	     W(conjugated), W(uplo),   W(side),	   W(trans),
	W(diag),    W(job),	W(job_more), W(itype),	     W(m),	    W(n),      W(k),	   W(nrhs),
	W(batch),   W(a.at),	W(a.ld),     W(a.apart),     W(b.at),	    W(b.ld),   W(b.apart), W(c.at),
	W(c.ld),    W(c.apart), W(values),   W(values_more), W(tau),	    W(pivots), W(info),	   W(values_apart),
};
#undef W

NATIVE_KERNEL(solver, solver_run)
