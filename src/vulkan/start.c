/* start.c: see start.h. */
#include "vulkan/start.h"
#include "base/own_note.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/faces.h"
#include "core/fork.h"
#include "core/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

OWN_NOTE("the Vulkan layer");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool begun;
static bool open_run; /* METE_OPEN: meted was out of reach when the program started */
static _Atomic bool metered;

static enum start_state start_locked(void)
{
	int r;

	if (!begun)
		account_init();
	begun = true;
	if (!attach_wanted() || open_run)
		return START_FREE;
	if (start_is_metered())
		return START_METERED;
	if (!faces_join(face)) {
		log_line("libmete-vulkan.so and libmete-core.so are of different releases; install mete whole");
		return START_FAILED;
	}
	r = account_attach();
	if (r == 0) {
		fork_watch();
		atomic_store_explicit(&metered, true, memory_order_release);
		return START_METERED;
	}
	if (attach_shut_out(r) || !attach_may_run_open())
		return START_FAILED;
	log_line("METE_OPEN=1: this program runs without a limit");
	open_run = true;
	return START_FREE;
}

enum start_state start(void)
{
	enum start_state state;
	int saved = errno;

	pthread_mutex_lock(&lock);
	state = start_locked();
	pthread_mutex_unlock(&lock);
	errno = saved;
	return state;
}

bool start_is_metered(void)
{
	/* Acquire: pairs with the release in start_locked(); the accounts are filled before. */
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
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	atomic_store_explicit(&metered, false, memory_order_relaxed);
}
