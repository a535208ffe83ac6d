/*
 * layer.c: the way into the layer: what the Vulkan loader asks it for (Khronos, "Architecture of the Vulkan Loader
 * Interfaces", loader and layer interface version 2).
 */
#include "vulkan/objects.h"

#include <string.h>

enum level { LEVEL_GLOBAL, LEVEL_INSTANCE, LEVEL_DEVICE };

struct entry {
	const char *name;
	PFN_vkVoidFunction function;
	enum level level;
};

#include "vulkan_entries.h"

static const struct entry *entry_of(const char *name)
{
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (!strcmp(entries[i].name, name))
			return &entries[i];
	return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name);

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance(VkInstance instance, const char *name)
{
	const struct entry *e = entry_of(name);
	struct instance *i;

	if (!strcmp(name, "vkGetInstanceProcAddr"))
		return (PFN_vkVoidFunction)get_instance;
	if (!strcmp(name, "vkGetDeviceProcAddr"))
		return (PFN_vkVoidFunction)get_device;
	if (e && e->level == LEVEL_GLOBAL)
		return e->function;
	i = instance ? instance_of(instance) : NULL;
	if (!i)
		return NULL;
	/* What the driver does not have, or the program has not asked for, the layer does not have either. */
	return e && i->get(instance, name) ? e->function : i->get(instance, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name)
{
	const struct entry *e = entry_of(name);
	struct device *d = device ? device_of(device) : NULL;

	if (!strcmp(name, "vkGetDeviceProcAddr"))
		return (PFN_vkVoidFunction)get_device;
	if (!d)
		return NULL;
	return e && e->level == LEVEL_DEVICE && d->get(device, name) ? e->function : d->get(device, name);
}

#pragma GCC visibility push(default)
VKAPI_ATTR VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface)
{
	if (!interface || interface->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT)
		return VK_ERROR_INITIALIZATION_FAILED;
	if (interface->loaderLayerInterfaceVersion > 2)
		interface->loaderLayerInterfaceVersion = 2;
	interface->pfnGetInstanceProcAddr = get_instance;
	interface->pfnGetDeviceProcAddr = get_device;
	interface->pfnGetPhysicalDeviceProcAddr = NULL;
	return VK_SUCCESS;
}
#pragma GCC visibility pop
