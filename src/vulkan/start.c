/* start.c: see start.h. */
#include "vulkan/start.h"
#include "base/own_note.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/faces.h"

#include <stdatomic.h>
#include <string.h>

OWN_NOTE("the Vulkan layer");

static _Atomic bool metered;

bool start(void)
{
	account_init();
	if (!attach_wanted() || start_is_metered())
		return true;
	if (!faces_join_as(face, "libmete-vulkan.so"))
		return false;
	switch (faces_begin(face)) {
	case FACES_METERED:
		atomic_store_explicit(&metered, true, memory_order_release);
		return true;
	case FACES_OPEN:
		return true;
	default:
		return false;
	}
}

bool start_is_metered(void)
{
	/* Acquire: pairs with the release in start(); the accounts are filled before. */
	return atomic_load_explicit(&metered, memory_order_acquire);
}

static bool find_uuid(const uint8_t uuid[VK_UUID_SIZE], unsigned int *ret_device)
{
	const struct wire_welcome *welcome = attach_welcome();

	for (unsigned int i = 0; i < welcome->device_count; i++)
		if (!memcmp(welcome->device[i].uuid, uuid, VK_UUID_SIZE)) {
			*ret_device = i;
			return true;
		}
	return false;
}

static bool find_soft(unsigned int *ret_device)
{
	for (unsigned int i = 0; i < account_count; i++)
		if (accounts[i].soft) {
			*ret_device = i;
			return true;
		}
	return false;
}

bool start_device(const struct instance *instance, VkPhysicalDevice physical, unsigned int *ret_device)
{
	VkPhysicalDeviceIDProperties id = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES };
	VkPhysicalDeviceProperties2 properties = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
						   .pNext = &id };

	if (instance->next.vkGetPhysicalDeviceProperties2)
		instance->next.vkGetPhysicalDeviceProperties2(physical, &properties);
	else
		instance->next.vkGetPhysicalDeviceProperties(physical, &properties.properties);
	if (properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
		return find_soft(ret_device);
	return find_uuid(id.deviceUUID, ret_device);
}

void start_forget(void)
{
	atomic_store_explicit(&metered, false, memory_order_relaxed);
}
