/*
 * counts.h: the guard's counts by grant, for meted to compare with the reports of the grant's programs.
 *
 * A front end writes one file per grant into a folder to which only root can write (GUARD_COUNTS): `mete-guard watch`
 * for the programs in the kernel and for dmem, the supervisor for its own tenant. Reading needs no capability. A file
 * that is being written, or whose folder others may write to, is not read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GUARD_COUNTS "/run/mete-guard"

enum guard_front { GUARD_FRONT_BPF, GUARD_FRONT_NOTIFY, GUARD_FRONT_DMEM, GUARD_FRONTS };

struct guard_count {
	uint32_t version, front;
	uint64_t grant;
	uint64_t written_ns;		/* CLOCK_BOOTTIME */
	uint64_t quota, used, peak;	/* bytes; quota: including the reserve for contexts */
	uint64_t channel_groups;	/* open now */
	uint64_t refused, killed;	/* calls; processes; totals */
	uint32_t last_reason, last_pid; /* enum guard_reason, of the last refusal */
	char cgroup[256];		/* of dmem; "" */
	uint64_t serial;		/* odd while the file is being written */
};

/* The folder: GUARD_COUNTS, or the value of METE_GUARD_COUNTS (never in a program with more rights than its user). */
const char *counts_folder(void);
/* "bpf", "notify", "dmem" */
const char *counts_front_name(uint32_t front);

/* Creates the folder if it is missing. Value: 0 or -errno. */
int counts_begin(void);
int counts_put(struct guard_count *count);
void counts_drop(uint64_t grant);
/* Value: 0; -ENOENT: the guard counts nothing for this grant; another -errno: the file cannot be trusted or read. */
int counts_get(uint64_t grant, struct guard_count *ret);
/* The age of a count. */
uint64_t counts_age_ns(const struct guard_count *count);
