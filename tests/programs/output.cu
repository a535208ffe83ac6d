/* What kernels print: numbers of every kind, texts, and that all lines are there after synchronising. */
#include "program.h"
#include <unistd.h>

#ifdef __CUDACC__

KERNEL print(int x, double d, const char *text)
{
	if (threadIdx.x == 0 && blockIdx.x == 0) {
		printf("%d %u %x|%5d|%-5d|%05d\n", -x, x, x, x, x, x);
		printf("%.3f %e %g %c %s %%\n", d, d, d, 'q', text);
		printf("%lld %llx %s\n", (long long)x << 40, (unsigned long long)x << 40, "constant");
		printf("no arguments\n");
	}
	printf("thread %d\n", blockIdx.x * blockDim.x + threadIdx.x);
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static char text[65536], wanted[256];
	static const char word[] = "device";
	FILE *file = tmpfile();
	int old, i, lines = 0;
	size_t length;
	char *device_word;

	if (!file)
		SKIP("no temporary file");
	device_word = (char *)device_copy(word, sizeof(word));
	/* Everything that goes to standard output between here and there. */
	fflush(stdout);
	old = dup(1);
	dup2(fileno(file), 1);
	LAUNCH(print, 4, 64, 1234, 3.14159, device_word);
	SYNC();
	fflush(stdout);
	dup2(old, 1);
	rewind(file);
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = 0;
	snprintf(wanted, sizeof(wanted), "%d %u %x|%5d|%-5d|%05d\n", -1234, 1234, 1234, 1234, 1234, 1234);
	CHECK(strstr(text, wanted));
	snprintf(wanted, sizeof(wanted), "%.3f %e %g %c %s %%\n", 3.14159, 3.14159, 3.14159, 'q', word);
	CHECK(strstr(text, wanted));
	snprintf(wanted, sizeof(wanted), "%lld %llx constant\n", 1234ll << 40, 1234ull << 40);
	CHECK(strstr(text, wanted));
	CHECK(strstr(text, "no arguments\n"));
	for (i = 0; i < 256; i++) {
		snprintf(wanted, sizeof(wanted), "thread %d\n", i);
		CHECK(strstr(text, wanted));
	}
	for (i = 0; text[i]; i++)
		lines += text[i] == '\n';
	CHECK(lines == 4 + 256);
	return program_end();
}
