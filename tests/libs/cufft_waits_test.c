/* cufft_waits_test.c: what cuFFT waits for behind a wall and over the network; see waits.h. */
#include "waits.h"

#include "cufft_table.h"

#include <dlfcn.h>

static struct cufft_table t;

static void transforms(CUdeviceptr data)
{
	cufftHandle plan = 0, wrong = 1234;
	uint64_t before = waits();
	size_t bytes[3] = { 0 };
	int bad = 0;

	is(t.cufftPlan1d(&plan, 256, CUFFT_C2C, 4), CUFFT_SUCCESS);
	WAITS(1, "a plan, which takes memory");
	before = waits();
	for (int i = 0; i < TIMES; i++) {
		bad += t.cufftSetStream(plan, NULL) != CUFFT_SUCCESS;
		bad += t.cufftExecC2C(plan, at(data), at(data), -1) != CUFFT_SUCCESS;
	}
	is(bad, 0);
	WAITS(0, "a hundred transforms");
	for (int i = 0; i < 3; i++)
		is(t.cufftGetSize1d(plan, 256, CUFFT_C2C, 4, &bytes[i]), CUFFT_SUCCESS);
	WAITS(1, "the same size, asked for three times");
	if (!soft_theirs()) /* NVIDIA's 12.0 needs none for so short a line */
		is(bytes[0], 256 * 4 * 8);
	is(bytes[2], bytes[0]);
	before = waits();
	is(t.cufftExecC2C(wrong, at(data), at(data), -1), CUFFT_INVALID_PLAN);
	is(t.cufftExecC2C(plan, at(data), at(data), 7), CUFFT_INVALID_VALUE);
	is(t.cufftExecZ2Z(plan, at(data), at(data), -1), CUFFT_INVALID_PLAN);
	is(t.cufftDestroy(plan), CUFFT_SUCCESS);
	is(t.cufftDestroy(plan), CUFFT_INVALID_PLAN);
	WAITS(0, "wrong arguments, and the end");
}

int main(void)
{
	CUdeviceptr data;

	for (int i = 0; i < CUFFT_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(RTLD_DEFAULT, cufft_call_name[i]);
	data = waits_begin();
	transforms(data);
	return waits_end();
}
