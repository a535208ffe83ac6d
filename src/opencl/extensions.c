/* extensions.c: see extensions.h. */
#include "opencl/extensions.h"
#include "core/attach.h"
#include "opencl/layer.h"

#include <pthread.h>
#include <string.h>

#define DRIVERS 8u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct {
	const void *driver; /* NULL: not known which (clGetExtensionFunctionAddress) */
	void *real;
} found[OPENCL_EXTENSIONS][DRIVERS];

static const void *driver_of(const void *object)
{
	return object ? *(const void *const *)object : NULL;
}

void *extensions_real(enum opencl_call call, const void *object)
{
	const void *driver = driver_of(object);
	void *real = NULL;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < DRIVERS && found[call][i].real; i++)
		if (found[call][i].driver == driver || !real)
			real = found[call][i].real;
	pthread_mutex_unlock(&lock);
	return real;
}

/* False: no room; then the program gets the driver's own, and meted is told. */
static bool keep(unsigned int call, const void *driver, void *real)
{
	unsigned int i = 0;

	pthread_mutex_lock(&lock);
	while (i < DRIVERS && found[call][i].real && found[call][i].driver != driver)
		i++;
	if (i < DRIVERS) {
		found[call][i].driver = driver;
		found[call][i].real = real;
	}
	pthread_mutex_unlock(&lock);
	return i < DRIVERS;
}

static void *look_up(cl_platform_id platform, const char *name)
{
	return platform ? opencl_real.clGetExtensionFunctionAddressForPlatform(platform, name)
			: opencl_real.clGetExtensionFunctionAddress(name);
}

/* One that has a body of ours: that, and what the body calls, are looked up together. */
static void *ours(cl_platform_id platform, const char *name)
{
	void *real = look_up(platform, name), *body = NULL, *other;

	for (unsigned int i = 0; real && name && i < OPENCL_EXTENSIONS && !body; i++)
		if (!strcmp(name, extensions[i].name))
			body = extensions[i].body;
	if (!body)
		return real;
	for (unsigned int i = 0; i < OPENCL_EXTENSIONS; i++) {
		other = look_up(platform, extensions[i].name);
		if (other && !keep(i, driver_of(platform), other)) {
			attach_unknown(name, true);
			return real;
		}
	}
	return body;
}

void *CL_API_CALL face_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *func_name)
{
	return ours(platform, func_name);
}

void *CL_API_CALL face_clGetExtensionFunctionAddress(const char *func_name)
{
	return ours(NULL, func_name);
}
