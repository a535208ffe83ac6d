/*
 * own_account.h: what this process holds of a device, from its account page (wire/page.h). The page belongs to the core
 * that the shim has loaded; a worker that drives a driver directly has none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Finds the core, after the shim was loaded and before the sandbox. */
void own_account_open(void);
/* In bytes, of the device with this UUID. WATCH_UNKNOWN: there is no account. Any thread. */
uint64_t own_account_bytes(const uint8_t uuid[16]);
/* False: nothing that this process takes is charged. */
bool own_account_there(void);
/* True if meted, which gives this process its memory, can be reached, or if nobody has to give it any. */
bool own_account_reached(void);
