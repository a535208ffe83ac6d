/* quotas.c: quotas to the byte, and what a quota counts in. */
#include "ground.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int hold(uint64_t mib, uint64_t most)
{
	struct session s;
	int r;

	if (session_open(&s))
		return 2;
	r = expect(grab(&s, MIB(16), MIB(most)), mib);
	if (write(hold_fds[1], "x", 1) != 1)
		return 3;
	pause();
	return r;
}

static int hold_a(void)
{
	return hold(1024, 65536);
}
static int hold_b(void)
{
	return hold(2048, 65536);
}
static int hold_c(void)
{
	return hold(512, 65536);
}
static int hold_free(void)
{
	return hold(4096, 4096);
}

void case_quota(void)
{
	static const struct {
		const char *name;
		int (*body)(void);
	} rows[] = { { "a", hold_a }, { "b", hold_b }, { "c", hold_c }, { "", hold_free } };
	pid_t pids[4];
	char x;

	if (pipe(hold_fds))
		exit(1);
	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			signal(SIGTERM, SIG_DFL);
			enter(rows[i].name);
			_exit(rows[i].body());
		}
	}
	for (int i = 0; i < 4; i++)
		if (read(hold_fds[0], &x, 1) != 1)
			break;
	ok(truth().used == MIB(1024 + 2048 + 512 + 4096),
	   "three tenants have exactly their quotas beside one without (%llu MiB)", truth().used >> 20);
	ok(shown("a", "used_bytes") == MIB(1024) && shown("b", "used_bytes") == MIB(2048) &&
		   shown("c", "used_bytes") == MIB(512),
	   "... as the account has it");
	for (int i = 0; i < 4; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	close(hold_fds[0]);
	close(hold_fds[1]);
	clean("after their deaths");
}

static int body_granule(void)
{
	struct memory_parameters m = { .size = 1 };
	uint64_t got = 0;
	struct session s;
	uint32_t o;

	if (session_open(&s))
		return 2;
	m.words[6] = 1u << 23; /* pages of 4 KiB */
	if (grab(&s, MIB(1), MIB(511)) != MIB(511))
		return 3;
	/* The driver takes 64 KiB for each. */
	for (o = 0; got < MIB(64) && (m.size = 1, o = 0, !rm_alloc(s.fd, s.client, 2, &o, 0x40, &m)); got += 65536)
		;
	return truth().used == MIB(512) ? expect(got, 1) : 4;
}

static int body_frees(void)
{
	uint32_t first = 0, o = 0;
	struct session s;

	if (session_open(&s) || rm_memory(s.fd, s.client, &first, MIB(512)))
		return 2;
	if (rm_memory(s.fd, s.client, &o, 4096) != NO_MEMORY)
		return 3;
	if (rm_free(s.fd, s.client, first) || grab(&s, MIB(64), MIB(65536)) != MIB(512))
		return 4;
	/* The device takes all below it along. */
	if (rm_free(s.fd, s.client, 2) || truth().used)
		return 5;
	o = 2;
	if (rm_alloc(s.fd, s.client, s.client, &o, 0x80, NULL) || grab(&s, MIB(128), MIB(65536)) != MIB(512))
		return 6;
	if (rm_free(s.fd, s.client, s.client) || truth().used || session_on(&s, s.fd))
		return 7;
	if (grab(&s, MIB(256), MIB(65536)) != MIB(512))
		return 8;
	close(s.fd);
	if (truth().used || session_open(&s))
		return 9;
	return expect(grab(&s, MIB(512), MIB(65536)), 512);
}

void case_granule(void)
{
	ok(!as("c", body_granule), "exact to the driver's granule");
	ok(!as("c", body_frees), "free of memory, device, client and close give back, to the byte");
	clean("granule and frees");
}
