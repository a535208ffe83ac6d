/*
 * vulkan_env.h: the environment by which a program's Vulkan goes through mete's layer.
 *
 * The Vulkan loader finds implicit layers below each folder of XDG_DATA_DIRS, and loads one whose manifest names a
 * variable that is set: METE_VULKAN=1. A folder of ours goes first; those that the user named, or the two that stand
 * for an unset variable (XDG Base Directory Specification), stay. A program that gains privileges when it starts is not
 * reached: the loader then looks at no variable.
 */
#pragma once

#include <stdbool.h>

/* Below the shim's folder, which may be called by another path (tenant_env_detour()), but ends so. */
#define VULKAN_ENV_FOLDER "/data"

/* `shim_dir`: the shim's folder, which the layer stands in. Without a layer nothing is set. False: no memory. */
bool vulkan_env_enter(const char *shim_dir);
/* Takes out what the above set. False: no memory. */
bool vulkan_env_leave(void);
