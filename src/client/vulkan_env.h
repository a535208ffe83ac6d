/*
 * vulkan_env.h: the environment that puts mete's layer into a program's Vulkan.
 *
 * The Vulkan loader finds implicit layers below each folder of XDG_DATA_DIRS, and loads one whose manifest names a
 * variable that is set: METE_VULKAN=1. mete's folder is put first. The user's folders remain, or else the two that an
 * unset variable means (XDG Base Directory Specification). A program that gains privileges when it starts is not
 * reached, because the loader then reads no variable.
 */
#pragma once

#include <stdbool.h>

/* A folder in the shim's folder, which may be named by another path (tenant_env_detour()) with the same end. */
#define VULKAN_ENV_FOLDER "/data"

/*
 * Sets the variables; nothing is set if the layer is not installed in the shim's folder `shim_dir`. False: no memory.
 */
bool vulkan_env_enter(const char *shim_dir);
/* Removes what vulkan_env_enter() set. False: no memory. */
bool vulkan_env_leave(void);
