/*
 * inside.h: how a container with a share looks from inside.
 *
 *   /run/mete            the grant's folder (daemon/tenants/container.h), read-only: grant.sock or wall.sock, settings;
 *   /run/mete/soft       the software device's folder, where it is the device
 *   /usr/lib/mete/...    mete's libraries, read-only: shim, soft, runtime, fronts, remote
 *   /dev/kfd, /dev/dri   of AMD's cards: the kernel's device, and the nodes of the card (amd.h); of the vendors' of
 *                        model/shapes.h the nodes that they have (shape_nodes.h)
 *   /dev/davinci*, ...   of Ascend's and Cambricon's cards: their nodes, and what their images lack (npu.h)
 *   /usr/lib/mete/driver NVIDIA's libcuda.so.1 and libnvidia-ml.so.1; at their usual places stands the shim
 *   /etc/ld.so.preload   names the shim, and after it what the image's own file names
 *   LIBDIR/libcuda.so    the shim again, for programs that open it by that name
 *
 * Little is said in environment variables: where the assembler of the software device is (ptxas), and where the layers
 * of OpenCL and Vulkan are, whose loaders read it nowhere else. The libraries are mounted by the runtime, as the CDI
 * file says; the rest by the hook, which knows the container and its image.
 */
#pragma once

#include "client/place.h"
#include "connect/cdi/image.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define INSIDE_LIB "/usr/lib/mete"
#define INSIDE_LAYER "libmete-opencl.so"
#define INSIDE_LEVELZERO_FACE "libmete-levelzero.so"
#define INSIDE_DRIVER INSIDE_LIB "/driver"
#define INSIDE_COREX_LIB "/usr/local/corex/lib64"

/* How the container's programs reach their device. */
enum inside_way {
	INSIDE_SHIM, /* the shim over NVIDIA's driver */
	INSIDE_SOFT, /* the shim over the software device */
	INSIDE_WALL, /* the remote client; no driver and no device is inside */
	INSIDE_HIP,  /* HIP's face over the image's own libamdhip64 */
	INSIDE_LEVELZERO, /* Level Zero's face over the image's own driver */
	INSIDE_MUSA, /* the same for libraries of model/shapes.h, over the image's own libraries */
	INSIDE_MACA,
	INSIDE_COREX, /* CUDA's shim over Iluvatar's library in the image */
	INSIDE_ASCEND, /* faces preloaded beside the image's own libraries */
	INSIDE_CAMBRICON,
	INSIDE_WAYS, /* one more than the last */
};

/* The way to devices of this kind without a wall. */
enum inside_way inside_way_of(const char *driver);

/* The kind of a way's devices, as an option names it; NULL: NVIDIA's, or a wall's. */
const char *inside_driver(enum inside_way way);

/* CDI's "mounts": the libraries. A new reference. */
json_t *inside_mounts(const struct place *place, enum inside_way way);
/*
 * Further environment variables of its programs; NULL: none. `soft`: it is a software device, behind a wall or not. A
 * new list.
 */
json_t *inside_environment(const struct place *place, enum inside_way way, bool soft);

/*
 * The contents of the file "settings" in the grant's folder; `spill`: its memory may leave the device. A new reference.
 */
json_t *inside_settings(enum inside_way way, bool spill);

/* The folder on this machine of the library that programs load. */
const char *inside_library_dir(const struct place *place, enum inside_way way);

/* Parts in addition to the driver's libraries. */
struct inside_parts {
	bool runtime; /* mete's runtime library can be loaded there: inside_judge() */
	bool soft;    /* it is the software device: fronts provide PTX (docs/frameworks.md) */
};

/* The text of the preload file: mete's libraries, then `own`, the image's. Value: false if it does not fit. */
bool inside_preload(const struct place *place, enum inside_way way, const struct inside_parts *parts, const char *own,
		    char *text, size_t size);

/*
 * Whether programs of the image can have a share in this way. Value: 0, or -ENOEXEC and the reason with the remedy.
 * *ret_runtime: mete's runtime library can be loaded there, and is included.
 */
int inside_judge(const struct place *place, enum inside_way way, const struct image *im, bool *ret_runtime,
		 struct fault *f);
