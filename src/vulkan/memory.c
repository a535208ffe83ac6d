/*
 * memory.c: see memory.h.
 *
 * Charged is what is allocated from a heap that is local to the device, at the size that the program names. Imported
 * memory is charged as well: the driver keeps it for as long as the importer holds it, whatever the exporter does. Only
 * the program's own pages (host pointers) are no memory of the device's.
 */
#include "vulkan/memory.h"
#include "vulkan/chain.h"
#include "vulkan/start.h"
#include "core/account.h"
#include "core/charge.h"
#include "core/gate.h"
#include "core/records.h"

#include <stdlib.h>

/* Handles are the driver's own addresses, or small numbers of each device; the device's number keeps these apart. */
static uint64_t key_of(const struct device *d, uint64_t handle)
{
	return (handle ^ (uint64_t)d->number << 48) | 1ull << 63;
}

/* Charged, for the object `handle` that is there now. False: no memory for the record. Inside the gate. */
static bool keep(struct device *d, uint64_t handle, uint32_t units)
{
	struct record record = { .key = key_of(d, handle),
				 .context = d,
				 .units = units,
				 .size_units = units,
				 .kind = RECORD_ARRAY,
				 .flags = RECORD_EXACT,
				 .device = (uint8_t)d->index };

	if (!records_add(&record))
		return false;
	account_apart(d->index, units);
	return true;
}

/* The object is gone, or about to go. Value: what was charged for it and is to be given back when it has gone. */
static uint32_t let_go(struct device *d, uint64_t handle)
{
	struct record record = { 0 };

	if (records_take(key_of(d, handle), &record))
		account_apart(record.device, -(int64_t)record.units);
	return record.units;
}

/* ---- vkAllocateMemory ---- */

static bool is_local(const VkPhysicalDeviceMemoryProperties *memory, uint32_t type)
{
	return type < memory->memoryTypeCount &&
	       memory->memoryHeaps[memory->memoryTypes[type].heapIndex].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
}

static bool is_charged(const struct device *d, const VkMemoryAllocateInfo *info)
{
	return d->metered && is_local(&d->memory, info->memoryTypeIndex) &&
	       !chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo *pAllocateInfo,
						      const VkAllocationCallbacks *pAllocator, VkDeviceMemory *pMemory)
{
	struct device *d = device_of(device);
	struct charge c;
	VkResult r;

	if (!is_charged(d, pAllocateInfo))
		return d->next.vkAllocateMemory(device, pAllocateInfo, pAllocator, pMemory);
	if (charge_begin_units(&c, d->index, charge_units(d->index, pAllocateInfo->allocationSize)) != CHARGE_HELD)
		return VK_ERROR_OUT_OF_DEVICE_MEMORY;
	r = d->next.vkAllocateMemory(device, pAllocateInfo, pAllocator, pMemory);
	if (r == VK_SUCCESS && !keep(d, (uint64_t)*pMemory, c.units)) {
		d->next.vkFreeMemory(device, *pMemory, pAllocator);
		r = VK_ERROR_OUT_OF_HOST_MEMORY;
	}
	if (r == VK_SUCCESS)
		gate_leave();
	else
		charge_cancel(&c);
	return r;
}

/* The record goes first: from the driver's call on, the handle may be another thread's new memory. */
VKAPI_ATTR void VKAPI_CALL layer_vkFreeMemory(VkDevice device, VkDeviceMemory memory,
					      const VkAllocationCallbacks *pAllocator)
{
	struct device *d = device_of(device);
	uint32_t units;

	if (!d->metered || !memory) {
		d->next.vkFreeMemory(device, memory, pAllocator);
		return;
	}
	gate_enter();
	units = let_go(d, (uint64_t)memory);
	d->next.vkFreeMemory(device, memory, pAllocator);
	account_give(d->index, units);
	gate_leave();
}

/* ---- swapchains: their images are the driver's own allocations ---- */

/* What one image takes, as the driver says of one like it. 0: it does not say. */
static uint64_t image_bytes(struct device *d, const VkSwapchainCreateInfoKHR *info)
{
	VkImageCreateInfo like = { .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
				   .imageType = VK_IMAGE_TYPE_2D,
				   .format = info->imageFormat,
				   .extent = { info->imageExtent.width, info->imageExtent.height, 1 },
				   .mipLevels = 1,
				   .arrayLayers = info->imageArrayLayers,
				   .samples = VK_SAMPLE_COUNT_1_BIT,
				   .tiling = VK_IMAGE_TILING_OPTIMAL,
				   .usage = info->imageUsage };
	VkMemoryRequirements needs = { 0 };
	VkImage image;

	if (d->next.vkCreateImage(d->handle, &like, NULL, &image) != VK_SUCCESS)
		return 0;
	d->next.vkGetImageMemoryRequirements(d->handle, image, &needs);
	d->next.vkDestroyImage(d->handle, image, NULL);
	return needs.size;
}

static uint32_t images_of(struct device *d, VkSwapchainKHR chain, uint32_t least)
{
	uint32_t count = 0;

	if (!d->next.vkGetSwapchainImagesKHR ||
	    d->next.vkGetSwapchainImagesKHR(d->handle, chain, &count, NULL) != VK_SUCCESS || count < least)
		return least;
	return count;
}

/* Charges swapchains, `make` makes them. What the driver adds to the images that were asked for is charged as well. */
static VkResult charged(struct device *d, uint32_t count, const VkSwapchainCreateInfoKHR *infos,
			const VkAllocationCallbacks *allocator, VkSwapchainKHR *ret, bool shared)
{
	uint64_t one = 0, units = 0, more;
	struct charge c;
	VkResult r;

	for (uint32_t i = 0; i < count; i++)
		units += charge_units(d->index, image_bytes(d, &infos[i])) * infos[i].minImageCount;
	if (charge_begin_units(&c, d->index, units) != CHARGE_HELD)
		return VK_ERROR_OUT_OF_DEVICE_MEMORY;
	r = shared ? d->next.vkCreateSharedSwapchainsKHR(d->handle, count, infos, allocator, ret)
		   : d->next.vkCreateSwapchainKHR(d->handle, infos, allocator, ret);
	if (r != VK_SUCCESS) {
		charge_cancel(&c);
		return r;
	}
	for (uint32_t i = 0; i < count && r == VK_SUCCESS; i++) {
		one = charge_units(d->index, image_bytes(d, &infos[i]));
		more = one * (images_of(d, ret[i], infos[i].minImageCount) - infos[i].minImageCount);
		if ((more && (more > WIRE_MAX_UNITS || !charge_more(&c, (uint32_t)more))) ||
		    !keep(d, (uint64_t)ret[i], (uint32_t)(one * infos[i].minImageCount + more)))
			r = VK_ERROR_OUT_OF_DEVICE_MEMORY;
	}
	if (r == VK_SUCCESS) {
		gate_leave();
		return r;
	}
	for (uint32_t i = 0; i < count; i++) {
		let_go(d, (uint64_t)ret[i]);
		d->next.vkDestroySwapchainKHR(d->handle, ret[i], allocator);
		ret[i] = VK_NULL_HANDLE;
	}
	charge_cancel(&c);
	return r;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkCreateSwapchainKHR(VkDevice device, const VkSwapchainCreateInfoKHR *pCreateInfo,
							  const VkAllocationCallbacks *pAllocator,
							  VkSwapchainKHR *pSwapchain)
{
	struct device *d = device_of(device);

	return d->metered ? charged(d, 1, pCreateInfo, pAllocator, pSwapchain, false)
			  : d->next.vkCreateSwapchainKHR(device, pCreateInfo, pAllocator, pSwapchain);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkCreateSharedSwapchainsKHR(VkDevice device, uint32_t swapchainCount,
								 const VkSwapchainCreateInfoKHR *pCreateInfos,
								 const VkAllocationCallbacks *pAllocator,
								 VkSwapchainKHR *pSwapchains)
{
	struct device *d = device_of(device);

	return d->metered ? charged(d, swapchainCount, pCreateInfos, pAllocator, pSwapchains, true)
			  : d->next.vkCreateSharedSwapchainsKHR(device, swapchainCount, pCreateInfos, pAllocator,
								pSwapchains);
}

VKAPI_ATTR void VKAPI_CALL layer_vkDestroySwapchainKHR(VkDevice device, VkSwapchainKHR swapchain,
						       const VkAllocationCallbacks *pAllocator)
{
	struct device *d = device_of(device);
	uint32_t units;

	if (!d->metered || !swapchain) {
		d->next.vkDestroySwapchainKHR(device, swapchain, pAllocator);
		return;
	}
	gate_enter();
	units = let_go(d, (uint64_t)swapchain);
	d->next.vkDestroySwapchainKHR(device, swapchain, pAllocator);
	account_give(d->index, units);
	gate_leave();
}

/* ---- the end of a device ---- */

struct estate {
	const struct device *device;
	uint64_t units;
};

static bool is_of(const struct record *r, void *data)
{
	struct estate *estate = data;

	if (r->context != estate->device)
		return false;
	estate->units += r->units;
	return true;
}

void memory_device_gone(struct device *d)
{
	struct estate estate = { .device = d };

	if (!d->metered)
		return;
	gate_enter();
	records_sweep(is_of, &estate);
	account_apart(d->index, -(int64_t)estate.units);
	account_give(d->index, (uint32_t)estate.units);
	gate_leave();
}

/* ---- what the program is told ---- */

static void show_heaps(unsigned int device, VkPhysicalDeviceMemoryProperties *memory)
{
	uint64_t quota = account_quota_bytes(device);

	for (uint32_t i = 0; i < memory->memoryHeapCount; i++)
		if (memory->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT &&
		    memory->memoryHeaps[i].size > quota)
			memory->memoryHeaps[i].size = quota;
}

/* VK_EXT_memory_budget: a budget is what the process may hold of a heap, with what it holds already. */
static void show_budget(unsigned int device, const VkPhysicalDeviceMemoryProperties *memory,
			VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget)
{
	uint64_t quota, held, own = (uint64_t)account_held_units(device) * WIRE_UNIT_BYTES, most;

	account_info(device, &quota, &held);
	most = own + (held < quota ? quota - held : 0);
	for (uint32_t i = 0; i < memory->memoryHeapCount; i++)
		if (memory->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT && budget->heapBudget[i] > most)
			budget->heapBudget[i] = most;
}

VKAPI_ATTR void VKAPI_CALL layer_vkGetPhysicalDeviceMemoryProperties(
	VkPhysicalDevice physicalDevice, VkPhysicalDeviceMemoryProperties *pMemoryProperties)
{
	struct instance *i = instance_of(physicalDevice);
	unsigned int device;

	i->next.vkGetPhysicalDeviceMemoryProperties(physicalDevice, pMemoryProperties);
	if (start_is_metered() && start_device(i, physicalDevice, &device))
		show_heaps(device, pMemoryProperties);
}

VKAPI_ATTR void VKAPI_CALL layer_vkGetPhysicalDeviceMemoryProperties2(
	VkPhysicalDevice physicalDevice, VkPhysicalDeviceMemoryProperties2 *pMemoryProperties)
{
	struct instance *i = instance_of(physicalDevice);
	VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget;
	unsigned int device;

	i->next.vkGetPhysicalDeviceMemoryProperties2(physicalDevice, pMemoryProperties);
	if (!start_is_metered() || !start_device(i, physicalDevice, &device))
		return;
	show_heaps(device, &pMemoryProperties->memoryProperties);
	budget = (VkPhysicalDeviceMemoryBudgetPropertiesEXT *)(uintptr_t)chain_find(
		pMemoryProperties->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
	if (budget)
		show_budget(device, &pMemoryProperties->memoryProperties, budget);
}
