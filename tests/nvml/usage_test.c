/*
 * usage_test.c: utilisation as the software device's NVML tells it, while "kernels" of this and of another process run
 * as the driver library reports them to the segment.
 */
#include "base/tap.h"
#include "nvml_types.h"
#include "softdev/segment.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *library;
static nvmlDevice_t device;

#define CALL(name, types, ...) ((nvmlReturn_t(*) types)dlsym(library, #name))(__VA_ARGS__)

static void sleep_ms(unsigned int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

static int busy_pct(void)
{
	nvmlUtilization_t u = { 0 };

	if (CALL(nvmlDeviceGetUtilizationRates, (nvmlDevice_t, nvmlUtilization_t *), device, &u) != NVML_SUCCESS)
		return -1;
	return (int)u.gpu;
}

/* What the interval says that ends now: the one before is closed first. */
static int busy_pct_over(unsigned int ms)
{
	sleep_ms(200);
	busy_pct();
	sleep_ms(ms);
	return busy_pct();
}

static int process_pct(pid_t pid)
{
	nvmlProcessUtilizationSample_t sample[8];
	unsigned int count = 8;

	if (CALL(nvmlDeviceGetProcessUtilization,
		 (nvmlDevice_t, nvmlProcessUtilizationSample_t *, unsigned int *, unsigned long long), device, sample,
		 &count, 0) != NVML_SUCCESS)
		return -1;
	for (unsigned int i = 0; i < count; i++)
		if (sample[i].pid == (unsigned int)pid)
			return (int)sample[i].smUtil;
	return -1;
}

/* Another process whose kernel runs until it is killed. */
static pid_t busy_process(void)
{
	struct segment_place p;
	char why[200], c;
	int ready[2];
	pid_t pid;

	if (pipe(ready))
		exit(1);
	pid = fork();
	if (pid == 0) {
		if (segment_attach(SEGMENT_DRIVER, &p, why, sizeof why))
			_exit(3);
		segment_context_add(&p, 0);
		segment_kernel_begin(&p, 0);
		if (write(ready[1], "r", 1) != 1)
			_exit(4);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		exit(1);
	close(ready[0]);
	return pid;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/mete-usage-XXXXXX", command[100], why[200];
	struct segment_place p;
	pid_t other;
	int pct;

	if (argc < 2 || !mkdtemp(dir))
		return 1;
	setenv("METE_SOFT_DIR", dir, 1);
	setenv("METE_SOFT_DEVICES", "1", 1);
	setenv("METE_SOFT_MEMORY", "16M", 1);
	library = dlopen(argv[1], RTLD_NOW);
	if (!library || segment_attach(SEGMENT_DRIVER, &p, why, sizeof why)) {
		printf("Bail out! %s\n", library ? why : dlerror());
		return 1;
	}
	tap_begin();
	is(CALL(nvmlInit_v2, (void)), NVML_SUCCESS);
	is(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, nvmlDevice_t *), 0, &device), NVML_SUCCESS);
	is(busy_pct(), 0);	       /* the first answer waits for an interval of its own */
	is(process_pct(getpid()), -1); /* without a context it is not on the device */

	segment_context_add(&p, 0);
	segment_kernel_begin(&p, 0);
	busy_pct_over(300); /* its interval began before the kernel */
	is(busy_pct_over(300), 100);
	is(busy_pct(), 100); /* asked again at once: the same interval's answer */
	segment_kernel_end(&p, 0);
	busy_pct_over(300);
	is(busy_pct_over(300), 0);

	sleep_ms(200);
	busy_pct();
	segment_kernel_begin(&p, 0);
	sleep_ms(200);
	segment_kernel_end(&p, 0);
	sleep_ms(200);
	pct = busy_pct();
	tap_ok(pct > 20 && pct < 80, "busy half of the time: %d %%", pct);

	is(process_pct(getpid()), 0);
	segment_kernel_begin(&p, 0);
	sleep_ms(400);
	segment_kernel_end(&p, 0);
	pct = process_pct(getpid());
	tap_ok(pct > 50 && pct <= 100, "this process had the device: %d %%", pct);

	other = busy_process();
	is(busy_pct_over(300), 100);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	is(busy_pct_over(300), 0); /* the dead compute no more */
	is(process_pct(other), -1);
	is(CALL(nvmlShutdown, (void)), NVML_SUCCESS);
	segment_detach(&p);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	ok(system(command) == 0);
	return tap_end();
}
