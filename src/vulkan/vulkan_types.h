/* vulkan_types.h: Khronos' headers, and what is generated from api/vulkan.toml. */
#pragma once

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "vulkan_calls.h"
