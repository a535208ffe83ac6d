/*
 * both_client.c: a program that uses CUDA and Vulkan at once: both_client BYTES. It takes half of BYTES by Vulkan and
 * half by CUDA, then shows that neither gets more, and that each gets what the other gives back. Says "good"; 77: there
 * is no Vulkan device.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static VkDevice vulkan_device(void)
{
	static const float priority = 1;
	VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO };
	VkDeviceQueueCreateInfo queues = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
					   .queueCount = 1,
					   .pQueuePriorities = &priority };
	VkDeviceCreateInfo make = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
				    .queueCreateInfoCount = 1,
				    .pQueueCreateInfos = &queues };
	VkPhysicalDevice physical;
	VkInstance instance;
	uint32_t count = 1;
	VkDevice device;

	if (vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS ||
	    vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || !count)
		exit(77);
	must(vkCreateDevice(physical, &make, NULL, &device) == VK_SUCCESS, "vkCreateDevice");
	return device;
}

static VkResult take(VkDevice device, uint64_t bytes, VkDeviceMemory *ret)
{
	VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = bytes };

	return vkAllocateMemory(device, &info, NULL, ret);
}

int main(int argc, char **argv)
{
	uint64_t half = argc > 1 ? strtoull(argv[1], NULL, 10) / 2 : 0;
	VkDevice device = vulkan_device();
	VkDeviceMemory memory, more;
	CUdeviceptr p, q;
	static const char empty[] = ".version 7.0\n.target sm_70\n.address_size 64\n";
	CUcontext context;
	CUmodule module;
	size_t left, total;

	must(cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
		     cuCtxSetCurrent(context) == CUDA_SUCCESS,
	     "a CUDA context");
	must(take(device, half, &memory) == VK_SUCCESS, "half by Vulkan");
	must(cuMemGetInfo(&left, &total) == CUDA_SUCCESS && left == half && total == 2 * half,
	     "CUDA sees what Vulkan has");
	/* Calls whose size the device's figure tells: it knows nothing of what Vulkan has. */
	must(cuModuleLoadData(&module, empty) == CUDA_SUCCESS && cuModuleUnload(module) == CUDA_SUCCESS, "a module");
	must(cuMemGetInfo(&left, &total) == CUDA_SUCCESS && left == half, "which changes nothing of it");
	must(cuMemAlloc(&p, half) == CUDA_SUCCESS, "half by CUDA");
	must(cuMemAlloc(&q, 1) == CUDA_ERROR_OUT_OF_MEMORY, "one byte more by CUDA");
	must(take(device, 1, &more) == VK_ERROR_OUT_OF_DEVICE_MEMORY, "one byte more by Vulkan");
	vkFreeMemory(device, memory, NULL);
	must(cuMemAlloc(&q, half) == CUDA_SUCCESS, "what Vulkan gave back, by CUDA");
	must(take(device, 1, &more) == VK_ERROR_OUT_OF_DEVICE_MEMORY, "and then none by Vulkan");
	must(cuMemFree(p) == CUDA_SUCCESS && take(device, half, &memory) == VK_SUCCESS,
	     "what CUDA gave back, by Vulkan");
	vkFreeMemory(device, memory, NULL);
	vkDestroyDevice(device, NULL);
	puts("good");
	return 0;
}
