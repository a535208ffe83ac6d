/*
 * cases.h: what the files of levelzero_cases (cases.c) share: the calls, the checks, queues, and the cases in other
 * files.
 */
#pragma once

#include "levelzero_table.h"

#include <stdbool.h>
#include <stdint.h>

#define OOM ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
#define FOREVER UINT64_MAX

extern struct levelzero_table ze; /* the loader's */
extern ze_driver_handle_t driver;
extern ze_device_handle_t device;
extern ze_context_handle_t context;

/* A check, as a line of TAP; and the plan at the end. Value: the exit status. */
__attribute__((format(printf, 2, 3))) void ok(bool good, const char *fmt, ...);
int done(void);
/* Ends the program with status 3 if a call that has to succeed did not. */
void need(ze_result_t r, const char *what);
double now(void); /* seconds */
/* Finds the driver and the device, and makes the context. 0: there is a device. */
ze_result_t begin(void);
/* What sysman says of the device's memory: the bytes that are free. */
uint64_t room(void);

static const ze_device_mem_alloc_desc_t on_device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
static const ze_host_mem_alloc_desc_t on_host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
ze_result_t take_device(void **p, size_t bytes);
ze_result_t take_shared(void **p, size_t bytes);
ze_result_t drop_plain(void *p);

/* work_cases.c */
extern const ze_group_count_t one_group;
ze_command_queue_handle_t queue_new(uint32_t ordinal, uint32_t mode);
ze_command_list_handle_t list_new(void);
ze_command_list_handle_t immediate_new(uint32_t mode);
ze_event_handle_t event_new(void);
ze_kernel_handle_t kernel_new(const char *name);
/* Work that does not end before the event is signalled, on the list. */
void hold_up(ze_command_list_handle_t list, ze_event_handle_t event);
int sum(unsigned int n);
int order(void);
int spin(double seconds, const char *way);
int storm(double seconds, uint64_t bytes);

/* shared_cases.c */
int shared(uint64_t bytes, const char *way);
