/* real_nvrtc.c: stands for NVIDIA's NVRTC behind the front: it writes its options to REAL_LOG and gives the text of
 * REAL_PTX. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL __attribute__((visibility("default"))) int

struct program {
	char ptx[65536];
	int real; /* an sm_ target: there would be machine code */
};

CALL nvrtcVersion(int *major, int *minor);
CALL nvrtcCreateProgram(struct program **ret, const char *source, const char *name, int count,
			const char *const *headers, const char *const *names);
CALL nvrtcDestroyProgram(struct program **p);
CALL nvrtcCompileProgram(struct program *p, int count, const char *const *options);
CALL nvrtcGetPTXSize(struct program *p, size_t *ret);
CALL nvrtcGetPTX(struct program *p, char *ret);
CALL nvrtcGetCUBINSize(struct program *p, size_t *ret);
CALL nvrtcGetCUBIN(struct program *p, char *ret);

CALL nvrtcVersion(int *major, int *minor)
{
	*major = 13;
	*minor = 5;
	return 0;
}

CALL nvrtcCreateProgram(struct program **ret, const char *source, const char *name, int count,
			const char *const *headers, const char *const *names)
{
	*ret = calloc(1, sizeof(**ret));
	return !*ret;
}

CALL nvrtcDestroyProgram(struct program **p)
{
	free(*p);
	*p = NULL;
	return 0;
}

CALL nvrtcCompileProgram(struct program *p, int count, const char *const *options)
{
	FILE *log = fopen(getenv("REAL_LOG"), "a"), *ptx = fopen(getenv("REAL_PTX"), "r");
	size_t n = ptx ? fread(p->ptx, 1, sizeof(p->ptx) - 1, ptx) : 0;

	for (int i = 0; log && i < count; i++) {
		fprintf(log, "%s%s", i ? " " : "", options[i]);
		p->real = p->real || strstr(options[i], "sm_");
	}
	if (log)
		fputc('\n', log);
	p->ptx[n] = 0;
	return !log || !ptx || fclose(log) || fclose(ptx);
}

CALL nvrtcGetPTXSize(struct program *p, size_t *ret)
{
	*ret = strlen(p->ptx) + 1;
	return 0;
}

CALL nvrtcGetPTX(struct program *p, char *ret)
{
	strcpy(ret, p->ptx);
	return 0;
}

CALL nvrtcGetCUBINSize(struct program *p, size_t *ret)
{
	*ret = p->real ? 4 : 0;
	return 0;
}

CALL nvrtcGetCUBIN(struct program *p, char *ret)
{
	memcpy(ret, "\177ELF", p->real ? 4 : 0);
	return 0;
}

/* What a library holds for other devices: a fat binary of machine code, as nvcc makes it, and one more. */
struct fat {
	unsigned magic;
	unsigned short version, header_bytes;
	unsigned long long bytes;
	unsigned short kind, unknown;
	unsigned entry_bytes;
	unsigned long long payload_bytes;
	unsigned rest[3], arch, more[8];
	char payload[64];
};
#define MACHINE_CODE                                                                                                   \
	{ 0xba55ed50, 1, 16, 64 + 64, 2, 0x101, 64, 64, { 0 }, 80, { 0 }, "\177ELF of another architecture" }
extern const struct fat machine_code[2];
__attribute__((visibility("default"))) const struct fat machine_code[2] = { MACHINE_CODE, MACHINE_CODE };
