/* pageable.c: see pageable.h. */
#include "remote/worker/pageable.h"

#include "remote/worker/refused.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UVM_INITIALIZE 0x30000001ul
#define UVM_INIT_FLAGS_DISABLE_HMM UINT64_C(1)

struct uvm_initialize { /* UVM_INITIALIZE_PARAMS */
	uint64_t flags;
	uint32_t status;
};

bool pageable_leave_out(unsigned long request, void *argument)
{
	struct uvm_initialize *p = argument;

	if (request != UVM_INITIALIZE || !p)
		return false;
	p->flags |= UVM_INIT_FLAGS_DISABLE_HMM;
	return true;
}

typedef int ioctl_call(int fd, unsigned long request, void *argument);

/* The driver's calls come here. What else looks at them (src/shim/rm) comes next. */
__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	static ioctl_call *_Atomic next;
	ioctl_call *call = next;
	void *argument;
	va_list ap;
	int r;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	pageable_leave_out(request, argument);
	if (!call) {
		*(void **)&call = dlsym(RTLD_NEXT, "ioctl");
		next = call;
	}
	r = call ? call(fd, request, argument) : (int)syscall(SYS_ioctl, fd, request, argument);
	refused_note(request, argument, r);
	return r;
}

bool pageable_reached(const struct cuda_table *driver, CUdevice device)
{
	int reached = 0;

	return driver->cuDeviceGetAttribute(&reached, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) ==
		       CUDA_SUCCESS &&
	       reached;
}
