/* blas_forged_test.c: cuBLAS's and cuBLASLt's kernels with forged parameters: see forged.h. */
#include "tests/libs/forged.h"

#include "libs/blas/blas.h"
#include "libs/blas/run.h"
#include "libs/blas/transform.h"

#define ROUNDS 60000

union params {
	char bytes[DEVICE_PARAM_BYTES];
	struct blas_work work;
	struct product product;
	struct transform transform;
};

static uint64_t at(uint64_t offset)
{
	return (uint64_t)(uintptr_t)forged_memory + offset;
}

/* ---- what was once possible ---- */

static void test_least_squares(void)
{
	union params p = { .work = { .body = BLAS_GELS,
				     .type = CUDA_R_32F,
				     .arrays = 1,
				     .m = 1,
				     .n = 8192,
				     .nrhs = 1,
				     .lda = 1,
				     .ldc = 1,
				     .batchSize = 1,
				     .Aarray = at(0),
				     .Carray = at(8),
				     .info = at(16),
				     .side = CUBLAS_SIDE_LEFT } };
	uint64_t *list = (uint64_t *)(void *)forged_memory;

	memset(forged_memory, 0, FORGED_ALLOWED);
	for (uint64_t i = 4; i < FORGED_ALLOWED / 4; i++)
		((float *)(void *)forged_memory)[i] = 1;
	list[0] = at(32 << 10);
	list[1] = at(FORGED_ALLOWED - 4);
	p.work.devInfoArray = p.work.info;
	for (uint8_t *t = &p.work.Atype; t <= &p.work.abType; t++)
		*t = 0;
	ok(forged_run(run_native, &p, 1, 2000) == FORGED_REFUSED);
}

static void test_transform(void)
{
	union params p = {
		.transform = { .body = BLAS_TRANSFORM,
			       .a = { .at = at(0), .ld = INT64_C(1) << 32, .type = CUDA_R_32F, .order = ORDER_ROWS },
			       .c = { .at = at(0), .ld = INT64_C(1) << 32, .type = CUDA_R_32F, .order = ORDER_ROWS },
			       .rows = (INT64_C(1) << 32) + 1,
			       .columns = 1,
			       .batches = 1,
			       .scale_type = CUDA_R_32F }
	};

	ok(forged_run(run_native, &p, 1, 2000) == FORGED_REFUSED);
}

/* A product of one column with a bias that has one number for each column, and is taken by rows. */
static union params product_with(uint32_t epilogue)
{
	union params p = { .product = { .body = BLAS_GEMM,
					.way = PRODUCT_DIRECT,
					.scale_type = CUDA_R_32F,
					.bias_type = CUDA_R_32F,
					.epilogue = epilogue,
					.m = 4096,
					.n = 1,
					.k = 1,
					.batch = 1,
					.ld = { 4096, 1, 4096, 4096 },
					.at = { at(0), at(0), at(0), at(0) },
					.bias = at(FORGED_ALLOWED - 4),
					.tile_rows = 16,
					.tile_columns = 16 } };

	return p;
}

static void test_bias(void)
{
	static const uint32_t epilogues[] = {
		EPILOGUE_BIAS | EPILOGUE_BGRADB,
		EPILOGUE_BGRAD | EPILOGUE_BGRADB,
		EPILOGUE_BGRADA | EPILOGUE_BGRADB,
	};
	union params p;

	for (size_t i = 0; i < sizeof(epilogues) / sizeof(*epilogues); i++) {
		p = product_with(epilogues[i]);
		ok(forged_run(run_native, &p, 1, 2000) == FORGED_REFUSED);
	}
	for (uint32_t e = EPILOGUE_BGRAD; e <= EPILOGUE_BGRADA; e *= EPILOGUE_BGRADA / EPILOGUE_BGRAD) {
		p = product_with(e);
		p.product.bias_across = 1;
		ok(forged_run(run_native, &p, 1, 2000) == FORGED_REFUSED);
	}
}

/* Bits are reached, and numbers are taken from there or put there. */
static void test_aux(void)
{
	static const uint32_t epilogues[] = { EPILOGUE_RELU | EPILOGUE_GELU | EPILOGUE_AUX,
					      EPILOGUE_RELU | EPILOGUE_DGELU };

	for (size_t i = 0; i < sizeof(epilogues) / sizeof(*epilogues); i++) {
		union params p = product_with(epilogues[i]);

		p.product.aux = at(FORGED_ALLOWED - 2);
		p.product.aux_type = CUDA_R_32F;
		ok(forged_run(run_native, &p, 1, 2000) == FORGED_REFUSED);
	}
}

/* A packed triangle of many more rows than the matrix has. */
static void test_packed(void)
{
	union params p = { .work = { .body = BLAS_TRMM,
				     .type = CUDA_R_32F,
				     .form = BLAS_PACKED,
				     .m = 4,
				     .n = 4000,
				     .lda = 4,
				     .ldb = 4,
				     .ldc = 4,
				     .A = at(FORGED_ALLOWED - 64),
				     .B = at(0),
				     .C = at(0),
				     .side = CUBLAS_SIDE_LEFT,
				     .alpha_value = { [3] = 0x40 } } };

	ok(forged_run(run_native, &p, 1, 2000) == FORGED_REFUSED);
}

/* ---- what nobody has thought of ---- */

static const uint8_t types[] = { CUDA_R_32F, CUDA_R_64F, CUDA_C_32F,	 CUDA_C_64F,	 CUDA_R_16F, CUDA_R_16BF,
				 CUDA_R_8I,  CUDA_R_32I, CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_64I, 77 };

static uint8_t any_type(void)
{
	return types[forged_below(sizeof(types))];
}

static void forge_work(struct blas_work *w)
{
	uint8_t type = types[forged_below(4)], other = forged_below(3) ? type : any_type();
	int64_t *numbers[] = { &w->m,	&w->n,	 &w->k,	   &w->kl,   &w->ku,	     &w->nrhs,	    &w->lda,
			       &w->ldb, &w->ldc, &w->incx, &w->incy, &w->batchCount, &w->batchSize, &w->lda_inv };
	uint64_t *addresses[] = { &w->AP,   &w->A, &w->B, &w->C, &w->x, &w->y,	&w->P,	&w->info, &w->result, &w->alpha,
				  &w->beta, &w->c, &w->s, &w->a, &w->b, &w->d1, &w->d2, &w->x1,	  &w->y1 };
	uint32_t body = (uint32_t)forged_below(BLAS_BODIES);

	memset(w, 0, sizeof(*w));
	w->body = body == BLAS_GEMM || body == BLAS_TRANSFORM ? BLAS_GELS : body;
	w->type = type;
	w->Atype = w->Btype = w->Ctype = w->alphaType = w->betaType = w->cType = w->sType = w->resultType = type;
	w->xType = other;
	w->yType = forged_below(2) ? other : type;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		*numbers[i] = forged_below(12) ? (int64_t)forged_below(12) : forged_number();
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++)
		*addresses[i] = forged_address();
	w->wide = forged_below(2);
	w->arrays = forged_below(2);
	w->conjugate = forged_below(2);
	w->hermitian = forged_below(2);
	w->form = (uint8_t)forged_below(3);
	w->in_device = forged_below(2);
	w->flag = forged_below(2);
	w->uplo = (int32_t)forged_below(2);
	w->diag = (int32_t)forged_below(2);
	w->side = (int32_t)forged_below(2);
	w->mode = (int32_t)forged_below(3);
	w->trans = (int32_t)forged_below(3);
	w->transa = (int32_t)forged_below(3);
	w->transb = (int32_t)forged_below(3);
	w->alpha_value[3] = w->beta_value[3] = 0x40;
}

static void forge_product(struct product *p)
{
	uint8_t type = types[forged_below(7)];
	bool mixed = !forged_below(6);

	memset(p, 0, sizeof(*p));
	p->body = BLAS_GEMM;
	p->way = type == CUDA_R_8I			     ? PRODUCT_INTEGER
		 : type == CUDA_R_16F || type == CUDA_R_16BF ? PRODUCT_FLOAT
							     : PRODUCT_DIRECT;
	p->scale_type = forged_below(8) ? (p->way == PRODUCT_DIRECT ? type : CUDA_R_32F) : any_type();
	p->op[0] = (uint8_t)forged_below(3);
	p->op[1] = (uint8_t)forged_below(3);
	p->arrays = !forged_below(4);
	p->bias_type = types[forged_below(8)];
	p->aux_type = types[forged_below(8)];
	p->bias_across = forged_below(2);
	p->epilogue = type_is_complex(type) ? EPILOGUE_NONE
					    : 1u << forged_below(10) | (forged_below(2) ? 1u << forged_below(10) : 0);
	p->m = (int64_t)forged_below(40);
	p->n = (int64_t)forged_below(40);
	p->k = (int64_t)forged_below(40);
	p->batch = (int64_t)forged_below(3);
	for (int i = 0; i < PRODUCT_MATRICES; i++) {
		p->type[i] = mixed ? any_type() : type;
		p->scale[i] = p->way == PRODUCT_DIRECT || forged_below(4) ? SCALE_NONE : (uint8_t)forged_below(3);
		p->ld[i] = 40 + (int64_t)forged_below(9);
		p->stride[i] = forged_below(3) ? (int64_t)forged_below(3000) : forged_number();
		p->at[i] = forged_address();
		p->scale_at[i] = forged_address();
	}
	p->alpha.place = (uint32_t)forged_below(p->way == PRODUCT_DIRECT ? 2 : 3);
	p->beta.place = (uint32_t)forged_below(2);
	p->alpha.address = forged_address();
	p->beta.address = forged_address();
	p->beta.value[3] = p->alpha.value[3] = 0x40;
	p->alpha_stride = (int64_t)forged_below(50);
	p->bias = forged_address();
	p->aux = forged_address();
	p->amax = forged_address();
	p->aux_scale = forged_below(2) ? 0 : forged_address();
	p->aux_amax = forged_address();
	p->bias_stride = forged_below(3) ? 0 : forged_number();
	p->aux_ld = forged_below(3) ? 40 : forged_number();
	p->aux_stride = forged_below(3) ? 0 : forged_number();
	p->tile_rows = (uint32_t)(1 + forged_below(20));
	p->tile_columns = (uint32_t)(1 + forged_below(20));
	if (!forged_below(6))
		*(&p->m + forged_below(4)) = forged_number();
	if (!forged_below(6))
		p->ld[forged_below(4)] = forged_number();
}

static void forge_transform(struct transform *t)
{
	struct transform_matrix *matrices[] = { &t->a, &t->b, &t->c };

	memset(t, 0, sizeof(*t));
	t->body = BLAS_TRANSFORM;
	for (int i = 0; i < 3; i++) {
		matrices[i]->at = forged_address();
		matrices[i]->ld = forged_below(4) ? (int64_t)forged_below(50) : forged_number();
		matrices[i]->stride = forged_number();
		matrices[i]->type = any_type();
		matrices[i]->order = (uint8_t)forged_below(3);
		matrices[i]->turned = (uint8_t)forged_below(2);
	}
	t->rows = forged_below(4) ? (int64_t)forged_below(50) : forged_number();
	t->columns = forged_below(4) ? (int64_t)forged_below(50) : forged_number();
	t->batches = 1 + (int64_t)forged_below(3);
	t->alpha[3] = t->beta[3] = 0x40;
	t->alpha_at = forged_below(2) ? 0 : forged_address();
	t->beta_at = forged_below(2) ? 0 : forged_address();
	t->scale_type = CUDA_R_32F;
}

/* What lies in the memory: numbers, and addresses for arrays of them. */
static void fill(void)
{
	uint64_t *words = (uint64_t *)(void *)forged_memory;

	for (uint64_t i = 0; i < 1024; i++)
		words[i] = forged_below(3) ? forged_address() : forged_random();
}

/* Much to do of little memory: one element as a vector, columns that overlap, columns of nothing. */
static void test_little(void)
{
	static const uint32_t vectors[] = { BLAS_DOT, BLAS_AXPY, BLAS_COPY, BLAS_SWAP, BLAS_SCAL };
	union params p = { .work = { .n = INT64_C(1) << 40, .x = at(0), .y = at(64) } };

	memset(forged_memory, 0, FORGED_ALLOWED);
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		p.work.body = vectors[i];
		ok(forged_any(run_native, &p) != FORGED_LONG);
	}
	p = (union params){ .work = { .body = BLAS_GEAM,
				      .m = 8000,
				      .n = 8000,
				      .lda = 1,
				      .ldb = 1,
				      .ldc = 1,
				      .A = at(0),
				      .B = at(0),
				      .C = at(0) } };
	p.work.alpha_value[3] = p.work.beta_value[3] = 0x40;
	ok(forged_run(run_native, &p, 1, 2000) == FORGED_REFUSED);
	p.work.m = 0;
	p.work.n = INT64_C(1) << 40;
	ok(forged_run(run_native, &p, 1, 2000) == FORGED_REFUSED);
	forged_endless = 0;
}

/* A system of which each step is told: it takes the third power of its rows. */
static void test_steps(void)
{
	uint64_t *list = (uint64_t *)(void *)forged_memory;
	union params p = { .work = { .body = BLAS_GETRF,
				     .type = CUDA_R_32F,
				     .arrays = 1,
				     .n = 120,
				     .lda = 120,
				     .batchSize = 1,
				     .Aarray = at(0),
				     .info = at(8) } };

	for (uint64_t i = 4; i < FORGED_ALLOWED / 4; i++)
		((float *)(void *)forged_memory)[i] = (float)(i % 7) - 3;
	list[0] = at(16);
	forged_goes_on = 3;
	ok(forged_run(run_native, &p, 1, 2000) == FORGED_DONE && forged_goes_on < 0);
	forged_goes_on = INT64_MAX;
}

static void test_any(const char *what, int kind)
{
	int escaped = 0, done = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t state = forged_state;
		enum forged_end end;
		union params p;

		memset(&p, 0, sizeof(p));
		if (!(i % 64))
			fill();
		if (kind == 0)
			forge_work(&p.work);
		else if (kind == 1)
			forge_product(&p.product);
		else
			forge_transform(&p.transform);
		end = forged_any(run_native, &p);
		done += end == FORGED_DONE;
		if ((end == FORGED_ESCAPED && escaped++ < 8) || end == FORGED_LONG)
			printf("# %s: body %u, round %d, state %llu, end %d\n", what, p.work.body, i,
			       (unsigned long long)state, end);
	}
	printf("# %s: %d of %d were executed\n", what, done, ROUNDS);
	tap_ok(!escaped, "%s: %d of %d touch what they must not", what, escaped, ROUNDS);
	tap_ok(!forged_endless, "%s: %d of %d cannot be stopped", what, forged_endless, ROUNDS);
	tap_ok(done > ROUNDS / 100, "%s: not all of them are refused", what);
}

int main(void)
{
	tap_begin();
	forged_begin();
	test_least_squares();
	test_transform();
	test_bias();
	test_aux();
	test_packed();
	test_little();
	test_steps();
	test_any("routines", 0);
	test_any("products", 1);
	test_any("transformations", 2);
	return tap_end();
}
