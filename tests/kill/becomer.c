/*
 * becomer.c: a program that takes device memory, and does what lines on its input say: "close" closes all of its
 * descriptors but the first three, "exec" becomes a shell that waits for a line, "again" becomes this program anew.
 *
 *   becomer BYTES
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	CUcontext context;
	CUdeviceptr p;
	CUresult r;
	char line[32];

	setvbuf(stdin, NULL, _IONBF, 0);
	r = argc == 2 ? cuInit(0) : CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		r = cuCtxCreate_v2(&context, 0, 0);
	if (r == CUDA_SUCCESS)
		r = cuMemAlloc_v2(&p, strtoull(argv[1], NULL, 0));
	printf("holds %d\n", r);
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		for (int fd = 3; fd < 4096 && !strcmp(line, "close\n"); fd++)
			close(fd);
		if (!strcmp(line, "exec\n"))
			execl("/bin/sh", "sh", "-c", "echo shell; read line", (char *)NULL);
		if (!strcmp(line, "again\n"))
			execv("/proc/self/exe", argv);
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
