/* sobol.c: direction numbers of Sobol's sequences, from polynomials and their first numbers (sobol_numbers.h). */
#include "libs/curand/rand.h"

static const struct {
	uint32_t polynomial; /* its bits, the highest one included; 0: of the first dimension, which needs none */
	uint32_t first[18];
} numbers[RAND_DIMENSIONS] = {
#include "libs/curand/sobol_numbers.h"
};

void sobol_directions64(uint32_t dimension, uint64_t ret[64])
{
	uint32_t polynomial = numbers[dimension].polynomial;
	int degree = polynomial ? 31 - __builtin_clz(polynomial) : 0;

	for (int i = 0; i < 64; i++) {
		if (!degree || i < degree) {
			ret[i] = (uint64_t)(degree ? numbers[dimension].first[i] : 1) << (63 - i);
			continue;
		}
		ret[i] = ret[i - degree] ^ ret[i - degree] >> degree;
		for (int k = 1; k < degree; k++)
			if (polynomial >> (degree - k) & 1)
				ret[i] ^= ret[i - k];
	}
}

void sobol_directions32(uint32_t dimension, uint32_t ret[32])
{
	uint64_t wide[64];

	sobol_directions64(dimension, wide);
	for (int i = 0; i < 32; i++)
		ret[i] = (uint32_t)(wide[i] >> 32);
}
