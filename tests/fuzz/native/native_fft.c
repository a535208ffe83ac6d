/* native_fft.c: the kernel of cuFFT. */
#include "libs/cufft/fft.h"
#include "native.h"

static void make_fft(void *to, const struct plain *p)
{
	struct fft_pass *work = to;
	struct fft_side side = {
		.kind = p->choice % FFT_KINDS, .stride = 1, .step = 1, .apart = { p->ld, p->ld, p->ld }
	};

	*work = (struct fft_pass){ .wide = p->type & 1,
				   .backwards = p->type >> 1,
				   .turn = p->more & 1,
				   .n = p->m,
				   .whole = p->m,
				   .count = { p->n % 12 + 1, 1 + p->more % 3, 1 },
				   .in = side,
				   .out = side };
	work->out.kind = p->choice / 3 % FFT_KINDS;
	work->in.at = address(0, 0);
	work->out.at = address(1, 0);
}

#define S(side)                                                                                                        \
	F(struct fft_pass, side.at), F(struct fft_pass, side.kind), F(struct fft_pass, side.stride),                   \
		F(struct fft_pass, side.step), F(struct fft_pass, side.first), F(struct fft_pass, side.apart[0]),      \
		F(struct fft_pass, side.apart[1]), F(struct fft_pass, side.apart[2])
static const struct field fft_fields[] = {
	F(struct fft_pass, wide),
	F(struct fft_pass, backwards),
	F(struct fft_pass, turn),
	F(struct fft_pass, n),
	F(struct fft_pass, whole),
	F(struct fft_pass, count[0]),
	F(struct fft_pass, count[1]),
	F(struct fft_pass, count[2]),
	S(in),
	S(out),
};
#undef S

NATIVE_KERNEL(fft, fft_run)
