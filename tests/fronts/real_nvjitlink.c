/* real_nvjitlink.c: stands for NVIDIA's nvJitLink behind the front: it links anything to the text of REAL_PTX. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL __attribute__((visibility("default"))) int

struct link {
	char ptx[65536];
	int inputs;
};

CALL nvJitLinkVersion(unsigned *major, unsigned *minor);
CALL nvJitLinkCreate(struct link **ret, uint32_t count, const char **options);
CALL nvJitLinkDestroy(struct link **l);
CALL nvJitLinkAddData(struct link *l, int type, const void *data, size_t bytes, const char *name);
CALL nvJitLinkComplete(struct link *l);
CALL nvJitLinkGetLinkedPtxSize(struct link *l, size_t *ret);
CALL nvJitLinkGetLinkedPtx(struct link *l, char *ret);
CALL nvJitLinkGetErrorLogSize(struct link *l, size_t *ret);
CALL nvJitLinkGetErrorLog(struct link *l, char *ret);

static void say(const char *text)
{
	FILE *log = fopen(getenv("REAL_LOG"), "a");

	if (log) {
		fputs(text, log);
		fclose(log);
	}
}

CALL nvJitLinkVersion(unsigned *major, unsigned *minor)
{
	*major = 13;
	*minor = 5;
	return 0;
}

CALL nvJitLinkCreate(struct link **ret, uint32_t count, const char **options)
{
	for (uint32_t i = 0; i < count; i++) {
		say(options[i]);
		say(i + 1 < count ? " " : "\n");
	}
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : 6;
}

CALL nvJitLinkDestroy(struct link **l)
{
	free(*l);
	*l = NULL;
	return 0;
}

CALL nvJitLinkAddData(struct link *l, int type, const void *data, size_t bytes, const char *name)
{
	char line[64];

	snprintf(line, sizeof(line), "input of type %d\n", type);
	say(line);
	l->inputs++;
	return 0;
}

CALL nvJitLinkComplete(struct link *l)
{
	FILE *ptx = fopen(getenv("REAL_PTX"), "r");
	size_t n = ptx ? fread(l->ptx, 1, sizeof(l->ptx) - 1, ptx) : 0;

	l->ptx[n] = 0;
	return !ptx || fclose(ptx) || !l->inputs ? 6 : 0;
}

CALL nvJitLinkGetLinkedPtxSize(struct link *l, size_t *ret)
{
	*ret = strlen(l->ptx) + 1;
	return 0;
}

CALL nvJitLinkGetLinkedPtx(struct link *l, char *ret)
{
	strcpy(ret, l->ptx);
	return 0;
}

CALL nvJitLinkGetErrorLogSize(struct link *l, size_t *ret)
{
	*ret = sizeof("from the real one");
	return 0;
}

CALL nvJitLinkGetErrorLog(struct link *l, char *ret)
{
	strcpy(ret, "from the real one");
	return 0;
}
