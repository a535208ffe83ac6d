/*
 * probe.h: finds the drivers of this machine and their devices.
 *
 * A vendor's library is never loaded into meted: it may hang, start threads, or crash the process. A short-lived child,
 * `meted --probe LIBNVML LIBCUDA`, opens it, queries it, prints one JSON object and the devices' sensor values
 * (sensors.h), and exits; see prober.c. It has ten seconds. A child that the driver holds in the kernel, so that it
 * does not exit when it is killed, is abandoned after two more seconds; no other child of that driver is started while
 * it exists. OpenCL's loader, with all drivers that it knows, gets a child of its own (`meted --probe-opencl
 * LIBOPENCL`, prober_opencl.c), and so does AMD's library (`meted --probe-hip LIBAMDHIP64`) and each that has CUDA's or
 * HIP's calls under other names (`meted --probe-shape NAME LIBRARY`; both prober_named.c). The latter are queried only
 * where the kernel has nodes of such a card, or a setting names a library. So are the runtimes of Ascend and of
 * Cambricon (`meted --probe-ascend LIBASCENDCL`, `meted --probe-cambricon LIBCNDRV`, prober_npu.c), and Level Zero's
 * loader (`meted --probe-levelzero LIBZE`, prober_levelzero.c).
 *
 * A card is one device, whatever its APIs. A HIP, Level Zero or OpenCL device with the UUID of one of NVIDIA's devices
 * or of a software device is that device, with its ledger and its turns; so is an OpenCL device with the UUID of a HIP
 * or Level Zero device. A card without a UUID gets one from its address on the PCI bus (base/hip_card.h). A part of a
 * card that its library shows as a device is a device as well (partition.h). If one library gives several devices the
 * same name, only the first is shared: the name would not tell which of them a program is given.
 */
#pragma once

#include "model/device.h"
#include "model/grant.h"
#include "model/shapes.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_MAX_DEVICES 64u
#define MACHINE_DRIVERS 10u

struct daemon;
struct probe;

enum driver_state {
	DRIVER_PENDING, /* not queried yet, or it has not answered */
	DRIVER_USABLE,	/* it has devices */
	DRIVER_JOINED,	/* all its devices belong to other kinds */
	DRIVER_OFF,	/* disabled by a setting */
	DRIVER_ABSENT,	/* there is neither such a card nor such a library */
	DRIVER_EMPTY,	/* the library is there but finds no device; the kernel shows no card */
	DRIVER_FAILED,	/* it died, hung, or does not report the cards that the kernel shows */
	DRIVER_STATES,
};

struct driver {
	enum device_kind kind;
	enum driver_state state;
	bool usable;			/* it has devices */
	char libcuda[GRANT_PATH_BYTES]; /* absolute paths; "": none. For other kinds: their own library */
	char libnvml[GRANT_PATH_BYTES];
	char version[64];
	char status[256]; /* one line: "2 devices", or what is missing and the remedy */
	char remedy[160]; /* of a driver that has failed, or finds no device */
};

/* The settings that name drivers. */
struct machine_options {
	const char *library[DEVICE_KINDS]; /* per kind: a library that the loader does not find; or NULL */
	const char *libnvml;		   /* NVIDIA's NVML, in the same way */
	bool left_out[DEVICE_KINDS];	   /* driver.no_KIND */
	bool soft_only;
};

struct machine {
	struct machine_options options;
	struct driver driver[MACHINE_DRIVERS];
	struct device device[MACHINE_MAX_DEVICES];
	unsigned int device_count;
	unsigned int running; /* probes */
	uint64_t asked_ns;    /* when the drivers last answered; 0: not yet */
	struct probe *probes;
	struct machine_wait *waiting;
	int stuck[MACHINE_DRIVERS]; /* pid of a probing child that was killed and does not exit; 0: none */
};

typedef void (*machine_fn)(void *owner);

/* Queries all drivers again and calls `fn` when they have answered. Joins a query that is already running. */
int machine_refresh(struct daemon *daemon, machine_fn fn, void *owner);

/*
 * The same, but calls `fn` as soon as the driver of `kind` has answered (0: the one that machine_driver() returns). The
 * drivers of OpenCL may take long to start.
 */
int machine_refresh_driver(struct daemon *daemon, enum device_kind kind, machine_fn fn, void *owner);

/* The state as a word of the control socket. */
const char *driver_state_name(enum driver_state state);

/* True while sensor values are being read and those of some device are older than 15 seconds. */
bool machine_sensors_pending(const struct daemon *daemon);

/*
 * True for a kind whose devices are each user's own: the software device (base/soft_dir.h). The system's meted sees
 * only root's; the driver's figures of memory and time do not describe the users' devices and are not reported.
 */
bool machine_is_per_user(const struct daemon *daemon, enum device_kind kind);

/*
 * Queries the drivers in the background if their answers are older than half a minute: for views that show their
 * figures.
 */
void machine_keep_fresh(struct daemon *daemon);

/* Removes the callbacks of `owner`. */
void machine_forget(struct daemon *daemon, const void *owner);

/* The environment of a child that opens a driver: it sees all devices, without the shim. The caller frees it. */
char **machine_environment(void);

/* Ends the children when meted exits. */
void machine_stop(struct daemon *daemon);

/* The driver of a kind; for kind 0 the first usable one in the order of device_kind_order. NULL: none. */
const struct driver *machine_driver(const struct machine *machine, enum device_kind kind);

/* The devices of a kind; `ret` has room for MACHINE_MAX_DEVICES. Value: their number. */
unsigned int machine_devices(const struct machine *machine, enum device_kind kind, struct device *ret);

/* The child's side: prints the answer and returns the exit status. "" for a library: the loader finds it. */
int prober_main(const char *libnvml, const char *libcuda);
int prober_opencl_main(const char *libopencl);
int prober_hip_main(const char *libhip);
int prober_levelzero_main(const char *libze);
int prober_shape_main(const char *name, const char *library);
int prober_ascend_main(const char *libascend);
int prober_cambricon_main(const char *libcambricon);

/* Called first in each of these children: keeps the output of libraries out of the answer. */
void prober_begin(void);
/*
 * Ends the children for OpenCL and HIP: prints the answer, with the library's file (NULL: none was opened) and the
 * error (NULL: none; taken over). The library's exit handlers are not run.
 */
_Noreturn void prober_end(json_t *answer, json_t *error, void *library);
