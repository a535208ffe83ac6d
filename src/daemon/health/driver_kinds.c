/* driver_kinds.c: see driver_kinds.h. */
#include "daemon/health/driver_kinds.h"

#include "daemon/health/nodes.h"

#include <stdio.h>
#include <stdlib.h>

/* The loader has drivers that it is told of, and passes that on to its child. */
static bool has_levelzero(void)
{
	const char *named = getenv("ZE_ENABLE_ALT_DRIVERS");

	return (named && *named && !getenv("METE_SOCKET")) || nodes_have_intel();
}

const struct driver_kind driver_kinds[MACHINE_DRIVERS] = {
	{ .kind = DEVICE_NVIDIA,
	  .option = "--probe",
	  .vendor = "NVIDIA",
	  .node = "/dev/nvidiactl",
	  .remedy = "install the user part of NVIDIA's driver, of the version of the kernel's module" },
	{ .kind = DEVICE_SOFT, .option = "--probe", .remedy = "install all of mete" },
	{ .kind = DEVICE_HIP,
	  .option = "--probe-hip",
	  .may_be_anothers = true,
	  .may_be_left_out = true,
	  .vendor = "AMD",
	  .node = "/dev/kfd",
	  .remedy = "install ROCm's HIP runtime, or name it: driver.libhip (--libhip)" },
	{ .kind = DEVICE_MUSA, .option = "--probe-shape", .may_be_anothers = true, .card_first = true },
	{ .kind = DEVICE_MACA, .option = "--probe-shape", .may_be_anothers = true, .card_first = true },
	{ .kind = DEVICE_COREX, .option = "--probe", .may_be_anothers = true, .card_first = true },
	{ .kind = DEVICE_ASCEND,
	  .option = "--probe-ascend",
	  .may_be_anothers = true,
	  .card_first = true,
	  .may_be_left_out = true,
	  .vendor = "Ascend",
	  .node = "/dev/davinci_manager",
	  .remedy = "install CANN, or name its library: driver.libascend (--libascend)" },
	{ .kind = DEVICE_CAMBRICON,
	  .option = "--probe-cambricon",
	  .may_be_anothers = true,
	  .card_first = true,
	  .may_be_left_out = true,
	  .vendor = "Cambricon",
	  .node = "/dev/cambricon_ctl",
	  .remedy = "install CNToolkit, or name its library: driver.libcambricon (--libcambricon)" },
	{ .kind = DEVICE_LEVELZERO,
	  .option = "--probe-levelzero",
	  .may_be_anothers = true,
	  .card_first = true,
	  .may_be_left_out = true,
	  .vendor = "Intel",
	  .has_card = has_levelzero,
	  .where = "/dev/dri/renderD* of such a card",
	  .remedy = "install Intel's compute runtime and Level Zero's loader (Debian: libze1)" },
	{ .kind = DEVICE_OPENCL,
	  .option = "--probe-opencl",
	  .may_be_anothers = true,
	  .may_be_left_out = true,
	  .remedy = "install a vendor's OpenCL driver (an .icd file in /etc/OpenCL/vendors)" },
};

_Static_assert(MACHINE_DRIVERS == sizeof(device_kind_order) / sizeof(*device_kind_order), "a driver for each kind");

static const struct shape_row *shape_of(const struct driver_kind *k)
{
	return shape_named(device_kind_name(k->kind));
}

unsigned int driver_kind_place(enum device_kind kind)
{
	unsigned int i = 0;

	while (driver_kinds[i].kind != kind)
		i++;
	return i;
}

const char *driver_kind_vendor(const struct driver_kind *k)
{
	return shape_of(k) ? shape_of(k)->vendor : k->vendor;
}

const char *driver_kind_where(const struct driver_kind *k)
{
	return k->where ? k->where : shape_of(k) ? shape_of(k)->nodes[0] : k->node;
}

bool driver_kind_has_card(const struct driver_kind *k)
{
	if (k->has_card)
		return k->has_card();
	return driver_kind_where(k) && nodes_match(driver_kind_where(k));
}

void driver_kind_remedy(const struct driver_kind *k, bool died, char *text, size_t size)
{
	const char *name = device_kind_name(k->kind);

	if (!died && shape_of(k))
		snprintf(text, size, "%s, or name its library: driver.lib%s (--lib%s)", shape_of(k)->remedy, name,
			 name);
	else if (!died)
		snprintf(text, size, "%s", k->remedy);
	else if (k->may_be_left_out)
		snprintf(text, size,
			 "mend or reinstall that driver; driver.no_%s (--no-%s) leaves it out until then", name, name);
	else
		snprintf(text, size, "mend or reinstall that driver; meted asks it again");
}

const char *driver_state_name(enum driver_state state)
{
	static const char *const names[DRIVER_STATES] = {
		[DRIVER_PENDING] = "pending", [DRIVER_USABLE] = "usable", [DRIVER_JOINED] = "joined",
		[DRIVER_OFF] = "off",	      [DRIVER_ABSENT] = "absent", [DRIVER_EMPTY] = "empty",
		[DRIVER_FAILED] = "failed",
	};

	return names[state];
}
