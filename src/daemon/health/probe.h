/*
 * probe.h: finds the drivers of this machine and their devices.
 *
 * A vendor's library is never loaded into meted: it may hang, start threads, or crash the process. A short-lived
 * child, `meted --probe LIBNVML LIBCUDA`, opens it, queries it, prints one JSON object and the devices' sensor values
 * (sensors.h), and exits; see prober.c. It has ten seconds. One that the driver holds in the kernel, so that it does
 * not end when it is killed, is left after two more, and no other one is started while it is there. OpenCL's loader,
 * with all drivers that it knows, gets a child of its own (`meted --probe-opencl LIBOPENCL`, prober_opencl.c), and so
 * does AMD's library (`meted --probe-hip LIBAMDHIP64`) and each that has CUDA's or HIP's calls under other names
 * (`meted --probe-shape NAME LIBRARY`; both prober_named.c). The latter are asked only where the kernel has nodes of
 * such a card, or a library is named. So do the runtimes of Ascend and of Cambricon (`meted --probe-ascend
 * LIBASCENDCL`, `meted --probe-cambricon LIBCNDRV`, prober_npu.c), and Level Zero's loader (`meted --probe-levelzero
 * LIBZE`, prober_levelzero.c).
 *
 * A card is one device, whatever its APIs. A HIP, Level Zero or OpenCL device with the UUID of one of NVIDIA's devices
 * or of a software device is that device, with its ledger and its turns; so is an OpenCL device with the UUID of a HIP
 * or Level Zero device. A card without a UUID gets one from its address on the PCI bus (base/hip_card.h). A part of a
 * card that its library shows as a device is a device as well (partition.h). Of several devices that one library calls
 * the same, the first is shared: by the name nobody could tell which of them a program is given.
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
	DRIVER_PENDING, /* not asked yet, or it has not answered */
	DRIVER_USABLE,	/* it has devices */
	DRIVER_JOINED,	/* its devices are those of other kinds */
	DRIVER_OFF,	/* left out by a setting */
	DRIVER_ABSENT,	/* there is no such card, and no such library */
	DRIVER_EMPTY,	/* its library is there, and finds no device; the kernel shows no card */
	DRIVER_FAILED,	/* it died, hung, or does not answer for the cards that the kernel shows */
	DRIVER_STATES,
};

struct driver {
	enum device_kind kind;
	enum driver_state state;
	bool usable;			/* it has devices */
	char libcuda[GRANT_PATH_BYTES]; /* absolute paths; "": none. Of other kinds their own library */
	char libnvml[GRANT_PATH_BYTES];
	char version[64];
	char status[256]; /* one line: "2 devices", or what is missing and the remedy */
	char remedy[160]; /* of a driver that has failed, or finds nothing */
};

/* The options that name drivers. */
struct machine_options {
	const char *library[DEVICE_KINDS]; /* a kind's, where the loader does not find it; or NULL */
	const char *libnvml;		   /* NVIDIA's, in the same way */
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
	int stuck[MACHINE_DRIVERS]; /* the child that asked the driver, was killed and does not end; 0: none */
};

typedef void (*machine_fn)(void *owner);

/* Asks all drivers again and calls `fn` when they have answered; joins a question that is on its way. */
int machine_refresh(struct daemon *daemon, machine_fn fn, void *owner);

/*
 * The same, but `fn` is called when the driver of `kind` has answered (0: the one that machine_driver() takes),
 * whatever the others still do: OpenCL's drivers may take long to begin.
 */
int machine_refresh_driver(struct daemon *daemon, enum device_kind kind, machine_fn fn, void *owner);

/* The state in a word of the control socket. */
const char *driver_state_name(enum driver_state state);

/* What devices say of themselves is being asked for, and of some of them nothing is known of the last 15 seconds. */
bool machine_sensors_pending(const struct daemon *daemon);

/*
 * A software device is each user's own (base/soft_dir.h). The system's meted sees root's alone: what the driver says of
 * its memory and time is not of the users' devices, and is told to nobody.
 */
bool machine_is_per_user(const struct daemon *daemon, enum device_kind kind);

/* Asks them in the background when they have not been asked for half a minute: for what shows their figures. */
void machine_keep_fresh(struct daemon *daemon);

/* `owner` no longer waits. */
void machine_forget(struct daemon *daemon, const void *owner);

/* What a child that opens a driver is started with: it sees all devices, without the shim. The caller frees it. */
char **machine_environment(void);

/* meted is leaving: ends the children. */
void machine_stop(struct daemon *daemon);

/*
 * The driver of a kind; or for kind 0 the first usable one in the order of device_kind_order. NULL: none.
 */
const struct driver *machine_driver(const struct machine *machine, enum device_kind kind);

/* The devices of a kind, of which `ret` holds MACHINE_MAX_DEVICES. Value: how many. */
unsigned int machine_devices(const struct machine *machine, enum device_kind kind, struct device *ret);

/* The child's side: prints and returns its exit status. "" for a library: look where the loader looks. */
int prober_main(const char *libnvml, const char *libcuda);
int prober_opencl_main(const char *libopencl);
int prober_hip_main(const char *libhip);
int prober_levelzero_main(const char *libze);
int prober_shape_main(const char *name, const char *library);
int prober_ascend_main(const char *libascend);
int prober_cambricon_main(const char *libcambricon);

/* In each of these children, first: what libraries print is none of the answer. */
void prober_begin(void);
/*
 * How the children for OpenCL and HIP end: prints the answer, with the library's file (NULL: none was opened) and what
 * is wrong (NULL: nothing; taken over). The library's exit handlers are not run.
 */
_Noreturn void prober_end(json_t *answer, json_t *error, void *library);
