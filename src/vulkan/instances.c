/* instances.c: instances, and the physical devices that a program under a grant sees. */
#include "vulkan/chain.h"
#include "vulkan/start.h"
#include "core/attach.h"
#include "core/log.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PHYSICAL 64u

static const char properties2[] = VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME;

/* The loader's link to the next layer; the chain is the loader's own memory, which a layer is to move on. */
static VkLayerInstanceCreateInfo *link_of(const VkInstanceCreateInfo *info)
{
	for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
		VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)(uintptr_t)s;

		if (s->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO)
			return link;
	}
	return NULL;
}

static void resolve(struct instance *i)
{
#define NEEDED(name) i->next.name = (PFN_##name)i->get(i->handle, #name);
#define ALSO(name, other)                                                                                              \
	NEEDED(name)                                                                                                   \
	if (!i->next.name)                                                                                             \
		i->next.name = (PFN_##name)i->get(i->handle, other);
	VULKAN_INSTANCE_CALLS(NEEDED, ALSO)
#undef NEEDED
#undef ALSO
}

/* A program of Vulkan 1.0 may not have asked for what tells a device's UUID. NULL: no memory. */
static const char **extensions_with(const VkInstanceCreateInfo *info, uint32_t *ret_count)
{
	const char **names = malloc((info->enabledExtensionCount + 1) * sizeof *names);
	uint32_t n = info->enabledExtensionCount;
	bool has = false;

	if (!names)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		names[i] = info->ppEnabledExtensionNames[i];
		has |= !strcmp(names[i], properties2);
	}
	names[n] = properties2;
	*ret_count = n + !has;
	return names;
}

static VkResult create(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *allocator, VkInstance *ret,
		       PFN_vkCreateInstance next)
{
	VkInstanceCreateInfo more = *info;
	const char **names = extensions_with(info, &more.enabledExtensionCount);
	VkResult r;

	if (!names)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	more.ppEnabledExtensionNames = names;
	r = next(&more, allocator, ret);
	free(names);
	return r;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkCreateInstance(const VkInstanceCreateInfo *pCreateInfo,
						      const VkAllocationCallbacks *pAllocator, VkInstance *pInstance)
{
	VkLayerInstanceCreateInfo *link = link_of(pCreateInfo);
	struct instance *i;
	VkResult r;

	if (!link || !link->u.pLayerInfo || !start())
		return VK_ERROR_INITIALIZATION_FAILED;
	i = calloc(1, sizeof *i);
	if (!i)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	i->get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	r = create(pCreateInfo, pAllocator, pInstance, (PFN_vkCreateInstance)i->get(NULL, "vkCreateInstance"));
	if (r != VK_SUCCESS) {
		free(i);
		return r;
	}
	i->handle = *pInstance;
	resolve(i);
	if (!handles_add(handles_key(i->handle), i)) {
		i->next.vkDestroyInstance(i->handle, pAllocator);
		free(i);
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	}
	return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL layer_vkDestroyInstance(VkInstance instance, const VkAllocationCallbacks *pAllocator)
{
	const void *key = instance ? handles_key(instance) : NULL;
	struct instance *i = key ? handles_find(key) : NULL;

	if (!i)
		return;
	handles_remove(key);
	i->next.vkDestroyInstance(instance, pAllocator);
	free(i);
}

/* Keeps those of the list that belong to the grant, in order. Value: how many. */
static uint32_t keep_granted(const struct instance *i, VkPhysicalDevice *list, uint32_t count)
{
	unsigned int index;
	uint32_t kept = 0;

	for (uint32_t n = 0; n < count; n++)
		if (start_device(i, list[n], &index))
			list[kept++] = list[n];
	return kept;
}

/* Once: the program will say that there is no device, and its user wants to know why. */
static void tell_hidden(uint32_t there, uint32_t kept)
{
	static _Atomic bool told;

	if (there && !kept && !atomic_exchange(&told, true))
		log_line("none of the %u Vulkan devices of this machine is a device of the grant '%s'; ask for another "
			 "device, or install the Vulkan driver of that one",
			 there, attach_welcome()->grant_name);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkEnumeratePhysicalDevices(VkInstance instance, uint32_t *pPhysicalDeviceCount,
								VkPhysicalDevice *pPhysicalDevices)
{
	struct instance *i = instance_of(instance);
	VkPhysicalDevice all[MOST_PHYSICAL];
	uint32_t count = MOST_PHYSICAL, room = *pPhysicalDeviceCount, there;
	VkResult r;

	if (!start_is_metered())
		return i->next.vkEnumeratePhysicalDevices(instance, pPhysicalDeviceCount, pPhysicalDevices);
	r = i->next.vkEnumeratePhysicalDevices(instance, &count, all);
	if (r != VK_SUCCESS && r != VK_INCOMPLETE)
		return r;
	there = count;
	count = keep_granted(i, all, count);
	tell_hidden(there, count);
	*pPhysicalDeviceCount = count;
	if (!pPhysicalDevices)
		return VK_SUCCESS;
	if (room < count)
		*pPhysicalDeviceCount = room;
	memcpy(pPhysicalDevices, all, *pPhysicalDeviceCount * sizeof *all);
	return room < count ? VK_INCOMPLETE : VK_SUCCESS;
}

/*
 * Each device is a group of its own: memory of a device of several would be in all of them, in as many instances as the
 * program asks for with each allocation (vkCreateDevice refuses such a device).
 */
VKAPI_ATTR VkResult VKAPI_CALL layer_vkEnumeratePhysicalDeviceGroups(VkInstance instance,
								     uint32_t *pPhysicalDeviceGroupCount,
								     VkPhysicalDeviceGroupProperties *pGroups)
{
	struct instance *i = instance_of(instance);
	VkPhysicalDeviceGroupProperties *all;
	uint32_t count = MOST_PHYSICAL, room = *pPhysicalDeviceGroupCount, kept = 0;
	VkResult r;

	if (!start_is_metered())
		return i->next.vkEnumeratePhysicalDeviceGroups(instance, pPhysicalDeviceGroupCount, pGroups);
	all = calloc(MOST_PHYSICAL, sizeof *all);
	if (!all)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	for (uint32_t n = 0; n < MOST_PHYSICAL; n++)
		all[n].sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES;
	r = i->next.vkEnumeratePhysicalDeviceGroups(instance, &count, all);
	for (uint32_t n = 0; (r == VK_SUCCESS || r == VK_INCOMPLETE) && n < count; n++) {
		all[n].physicalDeviceCount = keep_granted(i, all[n].physicalDevices, all[n].physicalDeviceCount);
		for (uint32_t k = 0; k < all[n].physicalDeviceCount; k++, kept++) {
			if (!pGroups || kept >= room)
				continue;
			pGroups[kept].physicalDeviceCount = 1;
			pGroups[kept].physicalDevices[0] = all[n].physicalDevices[k];
			pGroups[kept].subsetAllocation = VK_FALSE;
		}
	}
	free(all);
	if (r != VK_SUCCESS && r != VK_INCOMPLETE)
		return r;
	*pPhysicalDeviceGroupCount = pGroups && room < kept ? room : kept;
	return pGroups && room < kept ? VK_INCOMPLETE : VK_SUCCESS;
}
