/*
 * state.h: what the files of the remote client's NVML share.
 *
 * state.c   start, end, handles, versions, words
 * device.c  what a device is, its memory, this process on it
 *
 * The devices are those of the workers or servers that METE_REMOTE names; the figures are the tenant's, as the worker's
 * shim says them. Nothing of the machine that the program runs on is shown, and nothing of a device's health
 * (temperature, power, clocks, utilisation): NVML_ERROR_NOT_SUPPORTED, never a made-up figure.
 */
#pragma once

#include "nvml_soft.h"
#include "remote/client/watch.h"

/*
 * Value: NVML_SUCCESS with the client's table, or the error for the caller: UNINITIALIZED, or the state of the
 * sessions.
 */
nvmlReturn_t state_enter(const struct watch_calls **ret);
/* The device behind a handle. NVML_ERROR_INVALID_ARGUMENT: not a handle. */
nvmlReturn_t state_device(const struct watch_calls *w, nvmlDevice_t handle, int *ret);
nvmlDevice_t state_handle(int device);
/* Converts the error of a query to a worker. */
nvmlReturn_t state_error(CUresult r);
/* Copies a text as NVML does: a buffer that is too small is an error, and nothing is written. */
nvmlReturn_t state_text(const char *text, char *ret, unsigned int room);
nvmlReturn_t state_number(unsigned int *ret, unsigned int value);
