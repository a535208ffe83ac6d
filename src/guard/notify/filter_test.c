/* filter_test.c: what the filter answers, by an interpreter of its own; and that the kernel takes it. */
#include "guard/notify/filter.h"

#include "base/tap.h"
#include "rm/interface.h"

#include <asm/termbits.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sock_filter program[FILTER_STEPS_MOST];
static size_t length;

/* The instructions that filters are made of. */
static uint32_t answer(const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (size_t i = 0; i < length; i++) {
		const struct sock_filter *f = &program[i];

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)d + f->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= f->k;
			break;
		case BPF_RET | BPF_K:
			return f->k;
		case BPF_JMP | BPF_JEQ | BPF_K:
			i += a == f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			i += a >= f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			i += a > f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			i += a & f->k ? f->jt : f->jf;
			break;
		default:
			return UINT32_MAX;
		}
	}
	return UINT32_MAX;
}

static uint32_t call(uint32_t arch, int number, uint64_t a, uint64_t b)
{
	struct seccomp_data d = { .nr = number, .arch = arch, .args = { a, b } };

	return answer(&d);
}

static uint32_t command(unsigned int c)
{
	return call(AUDIT_ARCH_X86_64, SYS_ioctl, 3, c);
}

static void test_numbers(void)
{
	unsigned int bad = 0;

	for (unsigned int n = 0; n < 256; n++) {
		bool drivers = (n >= 0x27 && n < 0x60) || n >= 200;

		/* The letter and the direction mean nothing to the driver, nor do they here. */
		for (unsigned int letter = 0; letter < 256; letter += 51)
			for (unsigned int direction = 0; direction < 4; direction++)
				bad += command(_IOC(direction, letter, n, 48)) !=
				       (drivers ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
		bad += command(_IOC(0, 'T', n, 0)) != SECCOMP_RET_ALLOW;
	}
	tap_ok(!bad, "every number that the driver has is brought, with any letter and direction (%u)", bad);
	bad = 0;
	for (unsigned int size = 1; size < 16384; size++)
		bad += command(_IOC(3u, 'F', RM_ESC_ALLOC, size)) != SECCOMP_RET_USER_NOTIF;
	tap_ok(!bad, "with any size (%u)", bad);
	tap_ok(call(AUDIT_ARCH_X86_64, SYS_ioctl, 3, UINT64_C(0xdeadbeef00000000) | RM_REQUEST(RM_ESC_ALLOC, 48)) ==
		       SECCOMP_RET_USER_NOTIF,
	       "the upper half of the register, which the kernel does not read, changes nothing");
	tap_ok(command(0x5413) == SECCOMP_RET_ALLOW && command(0x80045430) == SECCOMP_RET_ALLOW &&
		       command(0x541b) == SECCOMP_RET_ALLOW && command(0x8912) == SECCOMP_RET_ALLOW,
	       "terminals and sockets pass");
	tap_ok(command(TCGETS2) == SECCOMP_RET_ALLOW && command(TCSETSW2) == SECCOMP_RET_ALLOW &&
		       command(_IOC(3u, 'F', RM_ESC_CONTROL, 44)) == SECCOMP_RET_USER_NOTIF,
	       "what newer C libraries ask of a terminal passes too");
	tap_ok(command(_IOC(3u, 'T', 0x30, 4)) == SECCOMP_RET_USER_NOTIF, "but not what is nearly a terminal's");
}

static void test_other_ways(void)
{
	unsigned int alloc = RM_REQUEST(RM_ESC_ALLOC, 48);

	tap_ok(call(AUDIT_ARCH_I386, 54, 3, alloc) == (SECCOMP_RET_ERRNO | EPERM), "calls of 32-bit code are refused");
	tap_ok(call(AUDIT_ARCH_I386, 54, 3, 0x5413) == SECCOMP_RET_ALLOW, "but for those of terminals");
	tap_ok(call(AUDIT_ARCH_X86_64, 0x40000000 | 514, 3, alloc) == (SECCOMP_RET_ERRNO | ENOSYS), "x32 is not there");
	tap_ok(call(AUDIT_ARCH_X86_64, SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | 1) ==
			       (SECCOMP_RET_ERRNO | EBUSY) &&
		       call(AUDIT_ARCH_I386, 354, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER) ==
			       (SECCOMP_RET_ERRNO | EBUSY),
	       "a listener of the tenant's own is refused");
	tap_ok(call(AUDIT_ARCH_X86_64, SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1) == SECCOMP_RET_ALLOW &&
		       call(AUDIT_ARCH_X86_64, SYS_read, 3, 0) == SECCOMP_RET_ALLOW,
	       "filters without one, and other calls, pass");
}

/* In a child, for there is no way back. */
static void test_kernel(void)
{
	int status;
	pid_t p = fork();

	if (!p) {
		struct sock_fprog f = { (unsigned short)length, program };

		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &f) ? 1 : 0);
	}
	waitpid(p, &status, 0);
	tap_ok(!status, "the kernel takes the filter of %zu steps", length);
}

/* The program's side of test_signal(). */
static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	signals++;
}

static int call_under_signal(int socket)
{
	struct sigaction a = { .sa_handler = count_signal };
	uint32_t argument[12] = { 0 };

	sigaction(SIGUSR1, &a, NULL);
	if (notify_enter(socket))
		return 100;
	return ioctl(0, RM_REQUEST(RM_ESC_ALLOC, sizeof argument), argument) == 7 && signals == 1 ? 0 : 1;
}

/* The signal has been seen by the task: it waits with it, or has taken it. */
static bool signal_seen(pid_t p)
{
	char path[64], text[2048] = "", *pending;
	unsigned long long bits = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", p);
	f = fopen(path, "re");
	if (!f)
		return true;
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	pending = strstr(text, "\nShdPnd:");
	if (pending)
		sscanf(pending, "\nShdPnd: %llx", &bits);
	return !(bits >> (SIGUSR1 - 1) & 1) || strstr(text, "\nState:\tD");
}

static bool kernel_keeps_calls(void)
{
	/* No program is given: a flag that is known is looked past. */
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | 1u << 5, NULL) &&
	       errno != EINVAL;
}

static void test_signal(void)
{
	struct seccomp_notif n = { 0 };
	struct seccomp_notif_resp answer = { .val = 7 };
	int ends[2], listener, status = -1;
	bool sent;
	pid_t p;

	if (!kernel_keeps_calls() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return;
	p = fork();
	if (!p) {
		close(ends[0]);
		_exit(call_under_signal(ends[1]));
	}
	close(ends[1]);
	listener = notify_accept(ends[0]);
	sent = listener >= 0 && !notify_go(ends[0]) && !ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n);
	answer.id = n.id;
	if (sent) {
		kill(p, SIGUSR1);
		while (!signal_seen(p))
			usleep(1000);
		sent = !ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
	if (!sent)
		kill(p, SIGKILL);
	waitpid(p, &status, 0);
	tap_ok(sent && !status, "a signal does not take back a call that is being made (%#x)", (unsigned int)status);
	close(listener);
	close(ends[0]);
}

int main(void)
{
	tap_begin();
	length = filter_write(program);
	test_numbers();
	test_other_ways();
	test_kernel();
	test_signal();
	return tap_end();
}
