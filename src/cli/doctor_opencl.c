/*
 * doctor_opencl.c: whether OpenCL programs are metered here: mete's layer, and a loader that takes layers. The loader
 * is opened, which loads no vendor's driver; whether it takes layers, its file tells: the name of the variable is in
 * it.
 */
#include "base/cleanup.h"
#include "cli/doctor.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool takes_layers(const char *path)
{
	static const char word[] = "OPENCL_LAYERS";
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat is;
	bool found;
	void *text;

	if (fd < 0 || fstat(fd, &is) || is.st_size <= 0)
		return false;
	text = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return false;
	found = memmem(text, (size_t)is.st_size, word, sizeof(word) - 1);
	munmap(text, (size_t)is.st_size);
	return found;
}

/* The loader's file; "": none. */
static void find_loader(char path[PATH_MAX])
{
	void *loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map = NULL;

	*path = 0;
	if (loader && !dlinfo(loader, RTLD_DI_LINKMAP, &map) && map && !realpath(map->l_name, path))
		*path = 0;
	if (loader)
		dlclose(loader);
}

void doctor_check_opencl(struct doctor *d)
{
	char layer[PATH_MAX], loader[PATH_MAX];

	if (!*d->place.shim_dir || !path_join(layer, "%s/libmete-opencl.so", d->place.shim_dir))
		return;
	find_loader(loader);
	if (access(layer, R_OK))
		doctor_add(d, "opencl", *loader ? STATUS_WARNING : STATUS_NOTE,
			   "build mete on a machine with OpenCL's headers (Debian: opencl-headers, ocl-icd-opencl-dev)",
			   "OpenCL programs are not metered: this build lacks the layer libmete-opencl.so");
	else if (!*loader)
		doctor_add(d, "opencl", STATUS_NOTE, "install one for OpenCL programs (Debian: ocl-icd-libopencl1)",
			   "there is no OpenCL loader (libOpenCL.so.1)");
	else if (!takes_layers(loader))
		doctor_add(
			d, "opencl", STATUS_OK, NULL,
			"%s does not support layers: mete puts its own library before it in LD_LIBRARY_PATH. mete does "
			"not meter a program that opens the loader by its path",
			loader);
	else
		doctor_add(d, "opencl", STATUS_OK, NULL, "%s loads mete's layer, %s", loader, layer);
}
