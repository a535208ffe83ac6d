/*
 * vulkan_client.c: a Vulkan program for the tests of the layer. It uses the loader as any program does, and knows
 * nothing of mete.
 *
 *   hold BYTES COUNT          allocates up to COUNT blocks, says how many it has and what the budget is, and holds them
 *                             until its standard input ends
 *   churn THREADS MS BYTES    allocates and frees blocks of up to BYTES; says how many calls succeeded and were refused
 *   work MS MIB DEPTH         fills MIB of device memory again and again, DEPTH submissions at a time; says how often
 *   chain                     semaphores between submissions, both kinds, both versions of the call; says "good"
 *   devices THREADS COUNT     makes devices, has each do a little, and destroys them; says "good"
 *   idle COUNT MS             a submission waits for the program, which lets it go on after COUNT submissions on
 * another device and MS; another thread waits for its queue; says "good" group                     what vkCreateDevice
 * says of one device, and of two; the devices of the largest group cost COUNT LIVE           ns of an allocation with
 * its release, of a submission of nothing, and of one of a command buffer without commands, with LIVE allocations
 * beside
 *
 * Status: 0; 1: a call failed that should not have, named on standard error; 77: there is no Vulkan device.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		VkResult check_r = (call);                                                                             \
		if (check_r != VK_SUCCESS) {                                                                           \
			fprintf(stderr, "%s: %d\n", #call, (int)check_r);                                              \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static uint32_t local_type;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static VkDevice device_new(void)
{
	static const float priority = 1;
	VkDeviceQueueCreateInfo queues = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
					   .queueCount = 1,
					   .pQueuePriorities = &priority };
	VkPhysicalDeviceVulkan13Features features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
						      .synchronization2 = VK_TRUE };
	VkPhysicalDeviceVulkan12Features features2 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
						       .pNext = &features,
						       .timelineSemaphore = VK_TRUE };
	VkDeviceCreateInfo make = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
				    .pNext = &features2,
				    .queueCreateInfoCount = 1,
				    .pQueueCreateInfos = &queues };
	VkDevice made;

	CHECK(vkCreateDevice(physical, &make, NULL, &made));
	return made;
}

static void begin(void)
{
	VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3 };
	VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app };
	VkPhysicalDeviceMemoryProperties memory;
	uint32_t count = 1;
	VkResult r;

	r = vkCreateInstance(&info, NULL, &instance);
	if (r == VK_ERROR_INCOMPATIBLE_DRIVER)
		exit(77);
	CHECK(r);
	r = vkEnumeratePhysicalDevices(instance, &count, &physical);
	if ((r != VK_SUCCESS && r != VK_INCOMPLETE) || !count)
		exit(77);
	device = device_new();
	vkGetDeviceQueue(device, 0, 0, &queue);
	vkGetPhysicalDeviceMemoryProperties(physical, &memory);
	for (uint32_t i = memory.memoryTypeCount; i--;)
		if (memory.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
			local_type = i;
}

static void finish(void)
{
	vkDestroyDevice(device, NULL);
	vkDestroyInstance(instance, NULL);
}

static VkResult allocate(uint64_t bytes, VkDeviceMemory *ret)
{
	VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
				      .allocationSize = bytes,
				      .memoryTypeIndex = local_type };

	return vkAllocateMemory(device, &info, NULL, ret);
}

static uint64_t heap_bytes(void)
{
	VkPhysicalDeviceMemoryProperties2 memory = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2 };

	vkGetPhysicalDeviceMemoryProperties2(physical, &memory);
	return memory.memoryProperties.memoryHeaps[0].size;
}

static void hold(uint64_t bytes, unsigned int count)
{
	VkDeviceMemory *held = calloc(count, sizeof *held);
	unsigned int n = 0;
	VkResult r = VK_SUCCESS;
	char byte;

	while (n < count && (r = allocate(bytes, &held[n])) == VK_SUCCESS)
		n++;
	printf("%u %d %llu\n", n, (int)r, (unsigned long long)heap_bytes());
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	while (n--)
		vkFreeMemory(device, held[n], NULL);
	free(held);
}

/* ---- churn ---- */

static uint64_t churn_until_ns, churn_bytes;
static _Atomic unsigned int succeeded, refused;

static void *churn_thread(void *data)
{
	unsigned int seed = (unsigned int)(uintptr_t)data, n = 0;
	VkDeviceMemory held[16] = { 0 };

	while (now_ns() < churn_until_ns) {
		VkDeviceMemory *at = &held[n++ % 16];
		VkResult r;

		vkFreeMemory(device, *at, NULL);
		*at = VK_NULL_HANDLE;
		r = allocate((uint64_t)rand_r(&seed) % churn_bytes + 1, at);
		if (r == VK_SUCCESS)
			succeeded++;
		else if (r == VK_ERROR_OUT_OF_DEVICE_MEMORY)
			refused++;
		else
			CHECK(r);
	}
	for (n = 0; n < 16; n++)
		vkFreeMemory(device, held[n], NULL);
	return NULL;
}

static void churn(unsigned int threads, unsigned int ms, uint64_t bytes)
{
	pthread_t thread[64];

	churn_until_ns = now_ns() + ms * 1000000ull;
	churn_bytes = bytes;
	for (unsigned int i = 0; i < threads && i < 64; i++)
		pthread_create(&thread[i], NULL, churn_thread, (void *)(uintptr_t)(i + 1));
	for (unsigned int i = 0; i < threads && i < 64; i++)
		pthread_join(thread[i], NULL);
	printf("%u %u\n", succeeded, refused);
}

/* ---- work ---- */

static VkCommandBuffer fill_of(VkBuffer buffer)
{
	VkCommandPoolCreateInfo pool_info = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };
	VkCommandBufferAllocateInfo one = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
					    .commandBufferCount = 1 };
	VkCommandBufferBeginInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
					  .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT };
	VkCommandBuffer commands;

	CHECK(vkCreateCommandPool(device, &pool_info, NULL, &one.commandPool));
	CHECK(vkAllocateCommandBuffers(device, &one, &commands));
	CHECK(vkBeginCommandBuffer(commands, &info));
	if (buffer)
		vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, 0x6d657465);
	CHECK(vkEndCommandBuffer(commands));
	return commands;
}

static VkBuffer buffer_of(uint64_t bytes)
{
	VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
				    .size = bytes,
				    .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT };
	VkMemoryRequirements needs;
	VkDeviceMemory memory;
	VkBuffer buffer;

	CHECK(vkCreateBuffer(device, &info, NULL, &buffer));
	vkGetBufferMemoryRequirements(device, buffer, &needs);
	CHECK(allocate(needs.size, &memory));
	CHECK(vkBindBufferMemory(device, buffer, memory, 0));
	return buffer;
}

static void work(unsigned int ms, uint64_t mib, unsigned int depth)
{
	VkCommandBuffer commands = fill_of(buffer_of(mib << 20));
	VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				.commandBufferCount = 1,
				.pCommandBuffers = &commands };
	VkFenceCreateInfo fence_info = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	uint64_t until = now_ns() + ms * 1000000ull;
	unsigned int done = 0;
	VkFence fence;

	CHECK(vkCreateFence(device, &fence_info, NULL, &fence));
	printf("begun\n");
	fflush(stdout);
	while (now_ns() < until) {
		for (unsigned int i = 0; i < depth; i++)
			CHECK(vkQueueSubmit(queue, 1, &submit, i + 1 == depth ? fence : VK_NULL_HANDLE));
		CHECK(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX));
		CHECK(vkResetFences(device, 1, &fence));
		done += depth;
	}
	printf("%u\n", done);
	CHECK(vkDeviceWaitIdle(device));
	vkDestroyFence(device, fence, NULL);
}

/* ---- chain ---- */

static VkSemaphore semaphore_of(VkSemaphoreType type)
{
	VkSemaphoreTypeCreateInfo kind = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
					   .semaphoreType = type };
	VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &kind };
	VkSemaphore semaphore;

	CHECK(vkCreateSemaphore(device, &info, NULL, &semaphore));
	return semaphore;
}

/* Each round: one submission signals a binary and a timeline semaphore, another waits for both and signals the latter.
 */
static void chain_round(VkCommandBuffer commands, VkSemaphore binary, VkSemaphore timeline, uint64_t value)
{
	VkSemaphore both[2] = { binary, timeline };
	VkPipelineStageFlags stages[2] = { VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT };
	uint64_t first[2] = { 0, value }, second = value + 1;
	VkTimelineSemaphoreSubmitInfo values[2] = {
		{ .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
		  .signalSemaphoreValueCount = 2,
		  .pSignalSemaphoreValues = first },
		{ .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
		  .waitSemaphoreValueCount = 2,
		  .pWaitSemaphoreValues = first,
		  .signalSemaphoreValueCount = 1,
		  .pSignalSemaphoreValues = &second },
	};
	VkSubmitInfo submit[2] = {
		{ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		  .pNext = &values[0],
		  .commandBufferCount = 1,
		  .pCommandBuffers = &commands,
		  .signalSemaphoreCount = 2,
		  .pSignalSemaphores = both },
		{ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		  .pNext = &values[1],
		  .waitSemaphoreCount = 2,
		  .pWaitSemaphores = both,
		  .pWaitDstStageMask = stages,
		  .commandBufferCount = 1,
		  .pCommandBuffers = &commands,
		  .signalSemaphoreCount = 1,
		  .pSignalSemaphores = &timeline },
	};

	CHECK(vkQueueSubmit(queue, 2, submit, VK_NULL_HANDLE));
}

static void chain_round2(VkCommandBuffer commands, VkSemaphore timeline, uint64_t value)
{
	VkCommandBufferSubmitInfo run = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
					  .commandBuffer = commands };
	VkSemaphoreSubmitInfo before = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
					 .semaphore = timeline,
					 .value = value,
					 .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT };
	VkSemaphoreSubmitInfo after = before;
	VkSubmitInfo2 submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
				 .waitSemaphoreInfoCount = 1,
				 .pWaitSemaphoreInfos = &before,
				 .commandBufferInfoCount = 1,
				 .pCommandBufferInfos = &run,
				 .signalSemaphoreInfoCount = 1,
				 .pSignalSemaphoreInfos = &after };

	after.value = value + 1;
	CHECK(vkQueueSubmit2(queue, 1, &submit, VK_NULL_HANDLE));
}

static void chain(void)
{
	VkCommandBuffer commands = fill_of(buffer_of(4 << 20));
	VkSemaphore binary = semaphore_of(VK_SEMAPHORE_TYPE_BINARY),
		    timeline = semaphore_of(VK_SEMAPHORE_TYPE_TIMELINE);
	VkSemaphoreWaitInfo wait = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
				     .semaphoreCount = 1,
				     .pSemaphores = &timeline };
	uint64_t value = 0, is;

	wait.pValues = &value;
	for (int i = 0; i < 20; i++) {
		chain_round(commands, binary, timeline, value + 1);
		chain_round2(commands, timeline, value + 2);
		value += 3;
		CHECK(vkWaitSemaphores(device, &wait, UINT64_MAX));
	}
	CHECK(vkQueueWaitIdle(queue));
	CHECK(vkGetSemaphoreCounterValue(device, timeline, &is));
	puts(is == value ? "good" : "wrong");
	vkDestroySemaphore(device, binary, NULL);
	vkDestroySemaphore(device, timeline, NULL);
}

/* ---- devices ---- */

static VkCommandBuffer empty_of(VkDevice d, VkCommandPool *ret_pool)
{
	VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };
	VkCommandBufferAllocateInfo one = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
					    .commandBufferCount = 1 };
	VkCommandBufferBeginInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
					  .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT };
	VkCommandBuffer commands;

	CHECK(vkCreateCommandPool(d, &pool, NULL, ret_pool));
	one.commandPool = *ret_pool;
	CHECK(vkAllocateCommandBuffers(d, &one, &commands));
	CHECK(vkBeginCommandBuffer(commands, &info));
	CHECK(vkEndCommandBuffer(commands));
	return commands;
}

static unsigned int device_count;

static void *devices_thread(void *data)
{
	(void)data;
	for (unsigned int i = 0; i < device_count; i++) {
		VkDevice d = device_new();
		VkCommandPool pool;
		VkCommandBuffer commands = empty_of(d, &pool);
		VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
					.commandBufferCount = 1,
					.pCommandBuffers = &commands };
		VkQueue q;

		vkGetDeviceQueue(d, 0, 0, &q);
		for (int k = 0; k < 4; k++)
			CHECK(vkQueueSubmit(q, 1, &submit, VK_NULL_HANDLE));
		CHECK(vkQueueWaitIdle(q));
		vkDestroyCommandPool(d, pool, NULL);
		vkDestroyDevice(d, NULL);
	}
	return NULL;
}

static void devices(unsigned int threads, unsigned int count)
{
	pthread_t thread[64];

	device_count = count;
	for (unsigned int i = 0; i < threads && i < 64; i++)
		pthread_create(&thread[i], NULL, devices_thread, NULL);
	for (unsigned int i = 0; i < threads && i < 64; i++)
		pthread_join(thread[i], NULL);
	puts("good");
}

/* ---- idle ---- */

static void *idle_thread(void *data)
{
	(void)data;
	CHECK(vkQueueWaitIdle(queue));
	return NULL;
}

static void idle(unsigned int count, unsigned int ms)
{
	VkSemaphore timeline = semaphore_of(VK_SEMAPHORE_TYPE_TIMELINE);
	VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	uint64_t one = 1;
	VkTimelineSemaphoreSubmitInfo values = { .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
						 .waitSemaphoreValueCount = 1,
						 .pWaitSemaphoreValues = &one };
	VkSemaphoreSignalInfo signal = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
					 .semaphore = timeline,
					 .value = 1 };
	VkCommandPool pool[2];
	VkDevice other = device_new();
	VkCommandBuffer held = empty_of(device, &pool[0]), runs = empty_of(other, &pool[1]);
	VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				.pNext = &values,
				.waitSemaphoreCount = 1,
				.pWaitSemaphores = &timeline,
				.pWaitDstStageMask = &stage,
				.commandBufferCount = 1,
				.pCommandBuffers = &held };
	VkSubmitInfo more = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
			      .commandBufferCount = 1,
			      .pCommandBuffers = &runs };
	pthread_t thread;
	VkQueue q;

	vkGetDeviceQueue(other, 0, 0, &q);
	CHECK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
	pthread_create(&thread, NULL, idle_thread, NULL);
	for (unsigned int i = 0; i < count; i++) {
		CHECK(vkQueueSubmit(q, 1, &more, VK_NULL_HANDLE));
		if (i % 8 == 7)
			CHECK(vkQueueWaitIdle(q));
	}
	usleep(ms * 1000);
	CHECK(vkDeviceWaitIdle(other));
	CHECK(vkSignalSemaphore(device, &signal));
	pthread_join(thread, NULL);
	puts("good");
	vkDestroyCommandPool(device, pool[0], NULL);
	vkDestroyCommandPool(other, pool[1], NULL);
	vkDestroyDevice(other, NULL);
	vkDestroySemaphore(device, timeline, NULL);
}

/* ---- group ---- */

/* What vkCreateDevice says of a group of the device and itself, and how many devices the largest group has. */
static void group(void)
{
	static const float priority = 1;
	VkDeviceQueueCreateInfo queues = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
					   .queueCount = 1,
					   .pQueuePriorities = &priority };
	VkPhysicalDevice both[2] = { physical, physical };
	VkDeviceGroupDeviceCreateInfo several = { .sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO,
						  .pPhysicalDevices = both };
	VkDeviceCreateInfo make = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
				    .pNext = &several,
				    .queueCreateInfoCount = 1,
				    .pQueueCreateInfos = &queues };
	VkPhysicalDeviceGroupProperties groups[8] = { 0 };
	uint32_t count = 8, most = 0;
	VkResult r[2];

	for (int i = 0; i < 8; i++)
		groups[i].sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES;
	CHECK(vkEnumeratePhysicalDeviceGroups(instance, &count, groups));
	for (uint32_t i = 0; i < count; i++)
		most = groups[i].physicalDeviceCount > most ? groups[i].physicalDeviceCount : most;
	for (uint32_t i = 0; i < 2; i++) {
		VkDevice made = VK_NULL_HANDLE;

		several.physicalDeviceCount = i + 1;
		r[i] = vkCreateDevice(physical, &make, NULL, &made);
		if (r[i] == VK_SUCCESS)
			vkDestroyDevice(made, NULL);
	}
	printf("%d %d %u\n", r[0], r[1], most);
}

/* ---- cost ---- */

static double least_ns(void (*f)(void *), void *data, unsigned int count)
{
	double least = 1e18;

	for (int round = 0; round < 7; round++) {
		uint64_t from = now_ns();
		double ns;

		for (unsigned int i = 0; i < count; i++)
			f(data);
		ns = (double)(now_ns() - from) / count;
		least = ns < least ? ns : least;
	}
	return least;
}

static void allocate_free(void *data)
{
	VkDeviceMemory memory;

	CHECK(allocate(4096, &memory));
	vkFreeMemory(device, memory, NULL);
}

static void submit_empty(void *data)
{
	CHECK(vkQueueSubmit(queue, 0, NULL, VK_NULL_HANDLE));
}

static void submit_one(void *data)
{
	static unsigned int n;
	VkCommandBuffer *commands = data;
	VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				.commandBufferCount = 1,
				.pCommandBuffers = commands };

	CHECK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
	if (++n % 256 == 0)
		CHECK(vkQueueWaitIdle(queue));
}

static void cost(unsigned int count, unsigned int live)
{
	VkCommandBuffer commands = fill_of(VK_NULL_HANDLE);
	double pair, nothing, one;
	VkDeviceMemory memory;

	for (unsigned int i = 0; i < live; i++)
		CHECK(allocate(4096, &memory));
	pair = least_ns(allocate_free, NULL, count);
	nothing = least_ns(submit_empty, NULL, count);
	one = least_ns(submit_one, &commands, count);
	printf("%.1f %.1f %.1f\n", pair, nothing, one);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	unsigned long a[3] = { 0 };

	for (int i = 0; i < 3 && i + 2 < argc; i++)
		a[i] = strtoul(argv[i + 2], NULL, 10);
	begin();
	if (!strcmp(verb, "hold"))
		hold(a[0], (unsigned int)a[1]);
	else if (!strcmp(verb, "churn"))
		churn((unsigned int)a[0], (unsigned int)a[1], a[2]);
	else if (!strcmp(verb, "work"))
		work((unsigned int)a[0], a[1], (unsigned int)a[2]);
	else if (!strcmp(verb, "chain"))
		chain();
	else if (!strcmp(verb, "devices"))
		devices((unsigned int)a[0], (unsigned int)a[1]);
	else if (!strcmp(verb, "idle"))
		idle((unsigned int)a[0], (unsigned int)a[1]);
	else if (!strcmp(verb, "group"))
		group();
	else if (!strcmp(verb, "cost"))
		cost((unsigned int)a[0], (unsigned int)a[1]);
	finish();
	return 0;
}
