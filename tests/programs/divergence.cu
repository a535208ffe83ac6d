/* Threads that go different ways: nested loops, early ends, switches through a table, and conditions within conditions. */
#include "program.h"

enum { N = 1024 };

#ifdef __CUDACC__
#define BOTH static __host__ __device__
#else
#define BOTH static
#endif

/* The same function on both sides. */
BOTH uint32_t wander(uint32_t x)
{
	uint32_t steps = 0, inner;

	while (x != 1 && steps < 200) {
		x = x % 2 ? 3 * x + 1 : x / 2;
		steps++;
		if (x % 11 == 5)
			continue;
		for (inner = 0; inner < x % 5; inner++) {
			if ((x ^ inner) % 7 == 3)
				break;
			steps += inner & 1;
		}
		switch (x % 8) {
		case 0: steps += 2; break;
		case 1: steps ^= 5; break;
		case 2: steps += x % 3; break;
		case 3: if (x > 1000) return steps * 31; break;
		case 4: x += 4; break;
		case 5: steps *= 3; break;
		case 6: x ^= 2; break;
		default: steps -= 1; break;
		}
	}
	return steps;
}

#ifdef __CUDACC__

KERNEL diverge(const uint32_t *x, uint32_t *z)
{
	int i = THREAD;
	uint32_t choice = x[i] % 4, r;

	z[i] = wander(x[i] % 100000 + 1);
	asm volatile("{\n\t.reg .u32 t;\n\ttable: .branchtargets A, B, C, D;\n\tbrx.idx %1, table;\n\tA: mov.u32 t, 10;\n\tbra.uni E;\n\t"
		     "B: mov.u32 t, 20;\n\tbra.uni E;\n\tC: mov.u32 t, 30;\n\tbra.uni E;\n\tD: mov.u32 t, 40;\n\tE: mov.u32 %0, t;\n\t}"
		     : "=r"(r) : "r"(choice));
	z[N + i] = r;
	if (i % 3 == 1)
		return;
	z[2 * N + i] = 1;
	if (i % 3 == 2)
		asm volatile("exit;");
	z[2 * N + i] = 2;
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static uint32_t x[N], z[N * 3];
	uint32_t *dz = DEVICE_ALLOC(uint32_t, N * 3);
	int i;

	for (i = 0; i < N; i++)
		x[i] = random32();
	LAUNCH(diverge, N / 128, 128, DEVICE_COPY(uint32_t, x), dz);
	BRING(z, dz);
	for (i = 0; i < N; i++) {
		CHECK(z[i] == wander(x[i] % 100000 + 1));
		CHECK(z[N + i] == (x[i] % 4 + 1) * 10);
		CHECK(z[2 * N + i] == (i % 3 == 1 ? 0u : i % 3 == 2 ? 1u : 2u));
	}
	return program_end();
}
