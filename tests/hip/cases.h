/* cases.h: what the files of hip_cases (cases.c) share: the calls, the checks, and the cases in other files. */
#pragma once

#include "hip_table.h"

#include <stdbool.h>
#include <stdint.h>

#define LIVE 70000u
#define UNIT 512u

extern struct hip_table hip;

/* A check, as a line of TAP; and the plan at the end. Value: the exit status. */
__attribute__((format(printf, 2, 3))) void ok(bool good, const char *fmt, ...);
int done(void);
/* Ends the program with status 3 if a call that has to succeed did not. */
void need(hipError_t r, const char *what);
double now(void); /* seconds */
/* The bytes that are free on the current device. */
uint64_t room(void);

/* pool_cases.c */
int pools(uint64_t bytes);
int kept(uint64_t bytes);
int ended(uint64_t bytes);
int across(uint64_t bytes);

/* shared_cases.c */
int shared(const char *way, uint64_t bytes, bool dies);

/* kernel_cases.c */
int sum(unsigned int n);
int spin(double seconds);
int order(void);
