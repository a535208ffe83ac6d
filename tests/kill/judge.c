/*
 * judge.c: looks at a software device's own count all the time, and keeps the most that it saw.
 *
 *   judge NVML FILE   NVML: the software device's libnvidia-ml.so.1; FILE: a struct sight, shared with who asks
 *
 * A program of its own, because a sanitized library cannot be loaded into any Python.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define END UINT64_MAX

struct sight {
	_Atomic uint64_t asked;	   /* a number; END: no more */
	_Atomic uint64_t answered; /* `used` was read after this was asked */
	_Atomic uint64_t used, most, looks;
};

struct memory {
	unsigned long long total, free, used;
};

int main(int argc, char **argv)
{
	int (*init)(void), (*by_index)(unsigned int, void **), (*read_memory)(void *, struct memory *);
	void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL, *device;
	int fd = argc == 4 ? open(argv[2], O_RDWR) : -1;
	pid_t parent = getppid();
	struct memory memory;
	struct sight *s;

	if (!library || fd < 0)
		return 2;
	s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	*(void **)&by_index = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&read_memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
	if (s == MAP_FAILED || !init || !by_index || !read_memory || init() ||
	    by_index((unsigned int)atoi(argv[3]), &device))
		return 2;
	while (getppid() == parent) {
		uint64_t asked = atomic_load(&s->asked);

		if (asked == END)
			return 0;
		if (read_memory(device, &memory))
			return 1;
		if (memory.used > atomic_load(&s->most))
			atomic_store(&s->most, memory.used);
		atomic_store(&s->used, memory.used);
		atomic_fetch_add(&s->looks, 1);
		atomic_store(&s->answered, asked);
		usleep(500);
	}
	return 0;
}
