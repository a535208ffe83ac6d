/* demangle_test.c: names of kernels as reports show them, and names that are left as they are. */
#include "base/tap.h"
#include "softdev/demangle.h"

#include <string.h>

static const char *const known[][2] = {
	{ "_Z5scalePfi", "scale(float*, int)" },
	{ "_Z4waitPVi", "wait(int volatile*)" },
	{ "_Z4takeOiRKf", "take(int&&, float const&)" },
	{ "_ZN3own4fillIdEEvPT_S2_", "own::fill<double>(double*, double*)" },
	{ "_Z3mixI3oneLi16EEvPKT_S3_PS1_", "mix<one, 16>(one const*, one const*, one*)" },
	{ "_ZN3own3boxIfE3putEPKS1_", "own::box<float>::put(own::box<float> const*)" },
	{ "_Z4tileILi32ELin1EEvPfPKfii", "tile<32, -1>(float*, float const*, int, int)" },
	{ "_Z4sizeILj4ELb1EEvPi", "size<4u, true>(int*)" },
	{ "_Z4sortIL5order1EEvPi", "sort<(order)1>(int*)" },
	{ "_Z5applyPFvPiES_", "apply(void (*)(int*), int*)" },
	{ "_Z5applyPFffES0_PFvvE", "apply(float (*)(float), float (*)(float), void (*)())" },
	{ "_Z4pairI4cellIiEfEvT_T0_", "pair<cell<int>, float>(cell<int>, float)" },
	{ "_Z4pairIifEv4cellIT_ET0_", "pair<int, float>(cell<int>, float)" },
	{ "_Z4packIJifdEEvPKcDpT_", "pack<int, float, double>(char const*, int, float, double)" },
};

static const char *const unknown[] = { "plain", "_Z", "_Z9short", "_Z1fS_", "_Z1fT_", "_Z1fPF", "_Z1fILEEvv" };

int main(void)
{
	char text[512];

	tap_begin();
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const bool good = demangle(known[i][0], text, sizeof(text));

		tap_ok(good && !strcmp(text, known[i][1]), "%s is %s (%s)", known[i][0], known[i][1], good ? text : "-");
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		tap_ok(!demangle(unknown[i], text, sizeof(text)), "%s stays as it is", unknown[i]);
	return tap_end();
}
