/* anatomy_program.c: a program that is linked against a library of anatomy_library.c and calls the driver. */
#include <cuda.h>

int anatomy_library(void);

int main(void)
{
	CUgraphicsResource resource = 0;

	return anatomy_library() + (cuInit(0) != CUDA_SUCCESS) +
	       (cuGraphicsUnregisterResource(resource) == CUDA_SUCCESS);
}
