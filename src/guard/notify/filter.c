/* filter.c: see filter.h. */
#include "guard/notify/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AT(field) ((unsigned int)offsetof(struct seccomp_data, field))
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif
#define I386_IOCTL 54
#define I386_SECCOMP 354
#define X32_BIT 0x40000000u

/* Numbers of the resource manager and of NVIDIA's Linux layer: 0x27 to 0x5f, and 200 and above. */
#define FIRST 0x27
#define LAST 0x5f
#define LINUX_FIRST 200

/*
 * Of terminals, with a number in that range and a size. The driver has no call of these numbers and sizes
 * (rm/interface.h): TIOCGPTN, TIOCSPTLCK, TIOCGDEV, TIOCGPKT, TIOCGPTLCK, TIOCGEXCL; TCGETS2, TCSETS2, TCSETSW2,
 * TCSETSF2, by which newer C libraries ask whether a file is a terminal (44 bytes).
 */
static const unsigned int terminals[] = { 0x80045430, 0x40045431, 0x80045432, 0x80045438, 0x80045439,
					  0x80045440, 0x802c542a, 0x402c542b, 0x402c542c, 0x402c542d };
#define TERMINALS (sizeof terminals / sizeof *terminals)

struct writer {
	struct sock_filter *step;
	size_t count;
};

static void add(struct writer *w, unsigned short code, unsigned int k, unsigned char yes, unsigned char no)
{
	/* filter_test.c knows how many there are. */
	if (w->count == FILTER_STEPS_MOST)
		__builtin_trap();
	w->step[w->count++] = (struct sock_filter)BPF_JUMP(code, k, yes, no);
}

static void load(struct writer *w, unsigned int at)
{
	add(w, BPF_LD | BPF_W | BPF_ABS, at, 0, 0);
}

static void give(struct writer *w, unsigned int value)
{
	add(w, BPF_RET | BPF_K, value, 0, 0);
}

/* What becomes of an ioctl that the driver could take. */
static void judge_ioctl(struct writer *w, unsigned int verdict)
{
	load(w, AT(args[1]));
	for (size_t i = 0; i < TERMINALS; i++) {
		add(w, BPF_JMP | BPF_JEQ | BPF_K, terminals[i], 0, 1);
		give(w, SECCOMP_RET_ALLOW);
	}
	add(w, BPF_JMP | BPF_JSET | BPF_K, 0x3fff0000, 1, 0); /* a size */
	give(w, SECCOMP_RET_ALLOW);
	add(w, BPF_ALU | BPF_AND | BPF_K, 0xff, 0, 0);
	add(w, BPF_JMP | BPF_JGE | BPF_K, LINUX_FIRST, 2, 0);
	add(w, BPF_JMP | BPF_JGT | BPF_K, LAST, 2, 0);
	add(w, BPF_JMP | BPF_JGE | BPF_K, FIRST, 0, 1);
	give(w, verdict);
	give(w, SECCOMP_RET_ALLOW);
}

/*
 * A second listener above this one could answer in its place once this one's supervisor has ended: a tenant installs
 * none. Filters without one it may install; the kernel takes the strictest.
 */
static void judge_seccomp(struct writer *w)
{
	load(w, AT(args[0]));
	add(w, BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_SET_MODE_FILTER, 1, 0);
	give(w, SECCOMP_RET_ALLOW);
	load(w, AT(args[1]));
	add(w, BPF_JMP | BPF_JSET | BPF_K, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1);
	give(w, SECCOMP_RET_ERRNO | EBUSY);
	give(w, SECCOMP_RET_ALLOW);
}

/* A branch: what `judge` writes for one number of a call. The jump over it is filled in behind. */
static size_t branch_begin(struct writer *w, unsigned int number)
{
	load(w, AT(nr));
	add(w, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 0);
	return w->count - 1;
}

static void branch_end(struct writer *w, size_t at)
{
	w->step[at].jf = (unsigned char)(w->count - at - 1);
}

size_t filter_write(struct sock_filter program[FILTER_STEPS_MOST])
{
	struct writer w = { program, 0 };
	size_t wide, at;

	load(&w, AT(arch));
	add(&w, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 0);
	wide = w.count - 1;
	load(&w, AT(nr));
	add(&w, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	give(&w, SECCOMP_RET_ERRNO | ENOSYS);
	at = branch_begin(&w, SYS_ioctl);
	judge_ioctl(&w, SECCOMP_RET_USER_NOTIF);
	branch_end(&w, at);
	at = branch_begin(&w, SYS_seccomp);
	judge_seccomp(&w);
	branch_end(&w, at);
	give(&w, SECCOMP_RET_ALLOW);
	branch_end(&w, wide);
	/* Calls of 32-bit code: the driver's libraries have no 32-bit form any more. */
	at = branch_begin(&w, I386_IOCTL);
	judge_ioctl(&w, SECCOMP_RET_ERRNO | EPERM);
	branch_end(&w, at);
	at = branch_begin(&w, I386_SECCOMP);
	judge_seccomp(&w);
	branch_end(&w, at);
	give(&w, SECCOMP_RET_ALLOW);
	return w.count;
}

static int listener_send(int socket, int fd)
{
	char x = 'l', space[CMSG_SPACE(sizeof fd)] = { 0 };
	struct iovec v = { &x, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	return sendmsg(socket, &m, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/*
 * A call that the supervisor has taken is not taken back by a signal, where the kernel can: it would be made, and made
 * again when the program goes on.
 */
static int filter_install(const struct sock_fprog *f)
{
	unsigned int flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, f);

	if (fd < 0 && errno == EINVAL)
		fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, f);
	return fd;
}

int notify_enter(int socket)
{
	struct sock_filter program[FILTER_STEPS_MOST];
	struct sock_fprog f = { (unsigned short)filter_write(program), program };
	int fd, r;
	char x;

	/* Without rights over the machine a filter is only for who gains none. */
	fd = filter_install(&f);
	if (fd < 0 && errno == EACCES) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
			return -errno;
		fd = filter_install(&f);
	}
	if (fd < 0)
		return -errno;
	r = listener_send(socket, fd);
	close(fd);
	if (r)
		return r;
	do
		r = (int)read(socket, &x, 1);
	while (r < 0 && errno == EINTR);
	return r == 1 && x == 'g' ? 0 : r < 0 ? -errno : -ECONNRESET;
}

int notify_accept(int socket)
{
	char x, space[CMSG_SPACE(sizeof(int))];
	struct iovec v = { &x, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	int fd = -ECONNRESET;

	if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}

int notify_go(int socket)
{
	return send(socket, "g", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}
