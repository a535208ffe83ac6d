/*
 * cudnn_sampler_test.c: cuDNN's spatial transformer against its definition: grids of affine maps, samples between four
 * elements and outside, and the gradients of all; two layouts, three types, refusals.
 */
#include "libs/cudnn_graphs.h"

enum { TF_N = 2, TF_C = 3, TF_HIGH = 5, TF_WIDE = 7, TF_ROWS = 4, TF_COLUMNS = 6 };

/* The value of the four elements around a place of x, and its slopes; outside lie zeros. */
static double sampled(const struct tensor *x, int n, int c, double across, double down, double slope[2])
{
	double column = (across + 1) / 2 * (TF_WIDE - 1), row = (down + 1) / 2 * (TF_HIGH - 1), sum = 0;
	int left = (int)floor(column), top = (int)floor(row);

	slope[0] = slope[1] = 0;
	for (int i = top; i <= top + 1; i++)
		for (int j = left; j <= left + 1; j++) {
			double v = i < 0 || j < 0 || i >= TF_HIGH || j >= TF_WIDE
					   ? 0
					   : x->value[((n * TF_C + c) * TF_HIGH + i) * TF_WIDE + j];

			sum += v * (1 - fabs(row - i)) * (1 - fabs(column - j));
			slope[0] += v * (1 - fabs(row - i)) * (j > left ? 1 : -1) * (TF_WIDE - 1) / 2;
			slope[1] += v * (1 - fabs(column - j)) * (i > top ? 1 : -1) * (TF_HIGH - 1) / 2;
		}
	return sum;
}

/* Adds the gradient of one sample to those of the elements around its place. */
static void scattered(double *dx, int n, int c, double across, double down, double slope)
{
	double column = (across + 1) / 2 * (TF_WIDE - 1), row = (down + 1) / 2 * (TF_HIGH - 1);

	for (int i = (int)floor(row); i <= (int)floor(row) + 1; i++)
		for (int j = (int)floor(column); j <= (int)floor(column) + 1; j++)
			if (i >= 0 && j >= 0 && i < TF_HIGH && j < TF_WIDE)
				dx[((n * TF_C + c) * TF_HIGH + i) * TF_WIDE + j] +=
					slope * (1 - fabs(row - i)) * (1 - fabs(column - j));
}

static double middle_of(int k, int count_)
{
	return -1 + 2.0 * k / (count_ - 1);
}

static void test_transformer(cudnnDataType_t type, bool last)
{
	static const int of_x[] = { TF_N, TF_C, TF_HIGH, TF_WIDE }, of_y[] = { TF_N, TF_C, TF_ROWS, TF_COLUMNS };
	static const int of_grid[] = { TF_N, TF_ROWS, TF_COLUMNS, 2 }, of_theta[] = { TF_N, 2, 3 };
	static struct tensor x, y, dy, dx, grid, dgrid, theta;
	static double wanted[MOST], wanted_dx[MOST], wanted_theta[MOST];
	double one = type == CUDNN_DATA_DOUBLE ? 1 : 0, two = 2, slope[2];
	float f_one = 1, f_two = 2;
	const void *alpha = type == CUDNN_DATA_DOUBLE ? (void *)&one : &f_one;
	const void *beta = type == CUDNN_DATA_DOUBLE ? (void *)&two : &f_two;
	cudnnSpatialTransformerDescriptor_t d;

	make(&x, type, last, 4, of_x);
	make(&dx, type, last, 4, of_x);
	make(&y, type, last, 4, of_y);
	make(&dy, type, last, 4, of_y);
	make(&grid, type, false, 4, of_grid);
	make(&dgrid, type, false, 4, of_grid);
	make(&theta, type, false, 3, of_theta);
	GOOD(t.cudnnCreateSpatialTransformerDescriptor(&d));
	REFUSED(t.cudnnSpatialTfGridGeneratorForward(handle, d, at(theta.memory), at(grid.memory)),
		CUDNN_STATUS_BAD_PARAM);
	if (is_ours)
		is(t.cudnnSetSpatialTransformerNdDescriptor(d, CUDNN_SAMPLER_BILINEAR, type, 3, of_y),
		   CUDNN_STATUS_NOT_SUPPORTED);
	GOOD(t.cudnnSetSpatialTransformerNdDescriptor(d, CUDNN_SAMPLER_BILINEAR, type, 4, of_y));

	GOOD(t.cudnnSpatialTfGridGeneratorForward(handle, d, at(theta.memory), at(grid.memory)));
	memset(wanted_theta, 0, sizeof(wanted_theta));
	for (int k = 0; k < count(&grid); k++) {
		int n = k / (TF_ROWS * TF_COLUMNS * 2), row = k / (TF_COLUMNS * 2) % TF_ROWS;
		double v[] = { middle_of(k / 2 % TF_COLUMNS, TF_COLUMNS), middle_of(row, TF_ROWS), 1 };

		wanted[k] = 0;
		for (int i = 0; i < 3; i++) {
			wanted[k] += theta.value[(n * 2 + k % 2) * 3 + i] * v[i];
			wanted_theta[(n * 2 + k % 2) * 3 + i] += dgrid.value[k] * v[i];
		}
	}
	same(&grid, wanted, "a grid of affine maps");
	store(&theta);
	GOOD(t.cudnnSpatialTfGridGeneratorBackward(handle, d, at(dgrid.memory), at(theta.memory)));
	same(&theta, wanted_theta, "the gradient of affine maps");

	for (int k = 0; k < count(&grid); k++)
		grid.value[k] = of_half(half_of(grid.value[k] * 1.4));
	store(&grid);
	memcpy(wanted_dx, dx.value, sizeof(wanted_dx));
	for (int k = 0; k < count(&dx); k++)
		wanted_dx[k] *= 2;
	for (int k = 0; k < count(&dgrid); k++)
		wanted_theta[k] = 2 * dgrid.value[k];
	for (int k = 0; k < count(&y); k++) {
		int n = k / (TF_C * TF_ROWS * TF_COLUMNS), c = k / (TF_ROWS * TF_COLUMNS) % TF_C;
		int pair = 2 * (n * TF_ROWS * TF_COLUMNS + k % (TF_ROWS * TF_COLUMNS));

		wanted[k] = sampled(&x, n, c, grid.value[pair], grid.value[pair + 1], slope) + 2 * y.value[k];
		scattered(wanted_dx, n, c, grid.value[pair], grid.value[pair + 1], dy.value[k]);
		wanted_theta[pair] += slope[0] * dy.value[k];
		wanted_theta[pair + 1] += slope[1] * dy.value[k];
	}
	GOOD(t.cudnnSpatialTfSamplerForward(handle, d, alpha, x.descriptor, at(x.memory), at(grid.memory), beta,
					    y.descriptor, at(y.memory)));
	same(&y, wanted, "samples");
	GOOD(t.cudnnSpatialTfSamplerBackward(handle, d, alpha, x.descriptor, at(x.memory), beta, dx.descriptor,
					     at(dx.memory), alpha, dy.descriptor, at(dy.memory), at(grid.memory), beta,
					     at(dgrid.memory)));
	same(&dx, wanted_dx, "the gradient of what was sampled");
	same(&dgrid, wanted_theta, "the gradient of the places");
	if (is_ours) /* NVIDIA's own takes a result of another shape */
		is(t.cudnnSpatialTfSamplerForward(handle, d, alpha, x.descriptor, at(x.memory), at(grid.memory), beta,
						  x.descriptor, at(y.memory)),
		   CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
	GOOD(t.cudnnDestroySpatialTransformerDescriptor(d));
	end(&x);
	end(&dx);
	end(&y);
	end(&dy);
	end(&grid);
	end(&dgrid);
	end(&theta);
}

int main(void)
{
	static const cudnnDataType_t types[] = { CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF };

	cudnn_begin();
	for (int type = 0; type < 3; type++)
		for (int last = 0; last < 2; last++)
			test_transformer(types[type], last);
	GOOD(t.cudnnDestroy(handle));
	return soft_end();
}
