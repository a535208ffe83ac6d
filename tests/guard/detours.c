/*
 * detours.c: other roads to a call: every operation of io_uring, descriptors that travel by a ring, calls that wait for
 * a page while their process moves or its tenant ends, other ways to open a node, programs of 32 bits, filters that
 * trace.
 */
#include "ground.h"
#include "ring.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define CLASS_MEMORY 0x40
#define OPERATION_CLOSE 19
#define OPERATION_COMMAND 46 /* IORING_OP_URING_CMD */
#define OPERATION_INSTALL 54 /* IORING_OP_FIXED_FD_INSTALL, Linux 6.8 */
#define OPERATIONS 80
#define SEND_FD 1 /* IORING_MSG_SEND_FD */

/* --- io_uring --- */

/* No operation on the node makes a call of the driver, by a descriptor or by a fixed one. */
static int body_operations(void)
{
	struct memory_parameters m = { .size = MIB(64) };
	unsigned long long before;
	struct session s;

	if (session_open(&s))
		return 2;
	before = truth().calls;
	for (unsigned int i = 0; i < 2 * OPERATIONS; i++) {
		struct alloc a = {
			.client = s.client, .parent = 2, .class = CLASS_MEMORY, .parameters = (uintptr_t)&m
		};
		struct io_uring_sqe e = { .opcode = (unsigned char)(i / 2),
					  .flags = i & 1 ? IOSQE_FIXED_FILE : 0,
					  .addr = (uintptr_t)&a,
					  .len = sizeof a };
		int fd = dup(s.fd), result;
		struct ring r;

		if (ring_open(&r, 0))
			return 3;
		e.fd = i & 1 ? 0 : fd;
		if (e.opcode == OPERATION_COMMAND)
			e.off = REQUEST(0x2b, sizeof a);
		if (syscall(__NR_io_uring_register, r.fd, IORING_REGISTER_FILES, &fd, 1))
			return 4;
		if (!ring_put(&r, &e))
			ring_answer(&r, 10, &result);
		ring_close(&r);
		if (e.opcode != OPERATION_CLOSE || i & 1)
			close(fd);
	}
	return truth().calls != before || truth().used ? 5 : expect(grab(&s, MIB(64), MIB(65536)), 512);
}

/* Opens a node into the first place of a ring's own table. Value: 0, or -errno. */
static int open_fixed(struct ring *r, const char *path)
{
	struct io_uring_sqe e = { .opcode = IORING_OP_OPENAT,
				  .fd = AT_FDCWD,
				  .addr = (uintptr_t)path,
				  .open_flags = O_RDWR,
				  .file_index = 1 };
	int result;

	return ring_put(r, &e) || ring_answer(r, 5000, &result) ? -EIO : result;
}

static int table_make(struct ring *r)
{
	int none = -1;

	return ring_open(r, 0) || syscall(__NR_io_uring_register, r->fd, IORING_REGISTER_FILES, &none, 1) ? -EIO : 0;
}

/* A file of a ring's own table as a descriptor, which kernels before 6.8 make none of. */
static int install(struct ring *r)
{
	struct io_uring_sqe e = { .opcode = OPERATION_INSTALL, .flags = IOSQE_FIXED_FILE };
	int result;

	return ring_put(r, &e) || ring_answer(r, 5000, &result) ? -EIO : result;
}

static int body_fixed_file(void)
{
	struct session s;
	struct ring r;
	int fd;

	if (table_make(&r) || open_fixed(&r, "/dev/standin1") != -EPERM || open_fixed(&r, "/dev/standin255"))
		return 2;
	enter("");
	fd = install(&r);
	if (fd < 0)
		return kernel_from(6, 8) ? 3 : 0;
	return session_on(&s, fd) ? 4 : expect(grab(&s, MIB(64), MIB(65536)), 512);
}

/* The tenant's file goes to a ring of a process outside. */
static struct ring outside;

static int body_to_ring(void)
{
	struct io_uring_sqe e = {
		.opcode = IORING_OP_MSG_RING, .fd = outside.fd, .addr = SEND_FD, .addr3 = 0, .file_index = 1
	};
	struct ring r;
	int result;

	if (table_make(&r) || open_fixed(&r, "/dev/standin255"))
		return 2;
	if (ring_put(&r, &e) || ring_answer(&r, 5000, &result))
		return 3;
	return result ? -result : 0;
}

/* And by a message that a ring sends. */
static int body_sent(void)
{
	char x = 'x', space[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { &x, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	struct io_uring_sqe e = {
		.opcode = IORING_OP_SENDMSG, .flags = IOSQE_ASYNC, .fd = passed[0], .addr = (uintptr_t)&m, .len = 1
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = node(CONTROL);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	return fd < 0 || ring_once(&e) != 1 ? 2 : 0;
}

/* What a tenant has opened is charged to it in a process outside. */
static void used_outside(int fd, const char *how)
{
	struct session s;
	bool good = fd >= 0 && !session_on(&s, fd) && grab(&s, MIB(64), MIB(65536)) == MIB(512) &&
		    shown("c", "used_bytes") == (long long)MIB(512);

	ok(good, "a tenant's file that %s is charged to the tenant outside", how);
	close(fd);
}

static void files_by_rings(void)
{
	int r, fd, told_of;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, passed) || table_make(&outside))
		exit(1);
	r = as("c", body_sent);
	if (ok(!r, "a ring sends a descriptor (%d)", r))
		used_outside(take_fd(passed[1]), "a ring has sent");
	r = as("c", body_to_ring);
	ok(!r, "a ring gives a file to a ring outside (%d)", r);
	/* The ring outside is told of it. */
	fd = r || ring_answer(&outside, 5000, &told_of) ? -1 : install(&outside);
	if (fd >= 0 || kernel_from(6, 8))
		used_outside(fd, "went from ring to ring");
	ring_close(&outside);
	close(passed[0]);
	close(passed[1]);
}

/* --- a device that the tenant has not, opened by a process outside --- */

static int body_other_device(void)
{
	int fd = take_fd(passed[1]);

	return fd < 0 ? 2 : reached(fd) ? 3 : 0;
}

static void other_device(void)
{
	int fd = node(1), r;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, passed))
		exit(1);
	send_fd(passed[0], fd);
	close(fd);
	r = as("c", body_other_device);
	ok(!r, "another's device that a process outside has opened is refused (%d)", r);
	close(passed[0]);
	close(passed[1]);
}

/* --- calls that wait for a page --- */

static int faults;
static char *late;
static void (*meanwhile)(void);
static uint64_t late_size;

/* Each fault: something happens meanwhile, and then the page is there. */
static void *serve(void *unused)
{
	static char page[PAGE] __attribute__((aligned(PAGE)));
	struct memory_parameters *m = (void *)page;
	struct uffd_msg msg;

	while (read(faults, &msg, sizeof msg) == sizeof msg) {
		struct uffdio_copy c = { .dst = (uintptr_t)late, .src = (uintptr_t)page, .len = PAGE };

		meanwhile();
		m->size = late_size;
		ioctl(faults, UFFDIO_COPY, &c);
	}
	return unused;
}

static int late_page(void (*what)(void), uint64_t size)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t t;

	meanwhile = what;
	late_size = size;
	late = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	r.range.start = (uintptr_t)late;
	r.range.len = PAGE;
	return faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &r) ||
	       pthread_create(&t, NULL, serve, NULL);
}

/* Memory by parameters that are not there yet. Where the programs are traced they wait for no page: refused. */
static int take_late(const struct session *s)
{
	uint32_t o = 0;

	madvise(late, PAGE, MADV_DONTNEED);
	return rm_alloc(s->fd, s->client, 2, &o, CLASS_MEMORY, late);
}

static void move_about(void)
{
	static unsigned int n;

	enter(n++ & 1 ? "b" : "");
}

/* The process moves between cgroups in mid-call, into another tenant's as well. */
static int body_moves(void)
{
	struct session s;
	uint64_t got = 0;

	if (session_open(&s) || late_page(move_about, MIB(64)))
		return 2;
	for (int i = 0; i < 20; i++)
		got += take_late(&s) ? 0 : MIB(64);
	if (shown("b", "used_bytes"))
		return 3;
	return traced() && !got ? 0 : expect(got, 512);
}

static struct session late_session;

static void free_device(void)
{
	rm_free(late_session.fd, late_session.client, 2);
}

/* What the memory is to be below is freed in mid-call. */
static int body_parent_goes(void)
{
	struct session *s = &late_session;
	uint32_t device;

	if (session_open(s) || late_page(free_device, MIB(64)))
		return 2;
	for (int i = 0; i < 20; i++) {
		take_late(s);
		device = 2;
		rm_alloc(s->fd, s->client, s->client, &device, 0x80, NULL);
		if (truth().used > MIB(512))
			return 3;
	}
	rm_free(s->fd, s->client, 2);
	device = 2;
	return truth().used || rm_alloc(s->fd, s->client, s->client, &device, 0x80, NULL)
		       ? 4
		       : expect(grab(s, MIB(64), MIB(65536)), 512);
}

static int told[2], go_on[2];

static void tenant_ends(void)
{
	char x = 'x';

	if (write(told[1], &x, 1) != 1 || read(go_on[0], &x, 1) != 1)
		_exit(5);
}

static int body_tenant_ends(void)
{
	struct session s;

	if (session_open(&s) || late_page(tenant_ends, MIB(64)))
		return 2;
	if (!take_late(&s))
		return 3;
	if (traced())
		tenant_ends();
	return rm_memory(s.fd, s.client, &(uint32_t){ 0 }, MIB(1)) ? 0 : 4;
}

/* The tenant is dropped in mid-call. */
static void dropped(void)
{
	const char *path = "/sys/fs/cgroup/late";
	int status;
	pid_t p;
	char x;

	if (pipe(told) || pipe(go_on))
		exit(1);
	mkdir(path, 0755);
	run((const char *[]){ "/mete-guard", "set", path, "--memory", "256M", NULL });
	p = fork();
	if (!p) {
		enter("late");
		_exit(body_tenant_ends());
	}
	if (read(told[0], &x, 1) == 1)
		run((const char *[]){ "/mete-guard", "drop", path, NULL });
	if (write(go_on[1], "x", 1) != 1)
		exit(1);
	waitpid(p, &status, 0);
	for (int i = 0; i < 200 && truth().used; i++)
		usleep(10000);
	ok((!status || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) && !truth().used,
	   "a tenant that is dropped in mid-call gets nothing (%x)", status);
	rmdir(path);
	close(told[0]);
	close(told[1]);
	close(go_on[0]);
	close(go_on[1]);
}

/* --- processes and nodes --- */

/* A child that shares the memory of its parent, begins its life in another cgroup and becomes another program. */
static int body_vfork(void)
{
	struct clone_args_0 {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
			set_tid_size, cgroup;
	} a = { .flags = CLONE_VM | CLONE_VFORK | 0x200000000ull /* CLONE_INTO_CGROUP */, .exit_signal = SIGCHLD };
	int status;
	long p;

	a.cgroup = (uint64_t)open("/sys/fs/cgroup/b", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Not by a function: the child's calls would lie where it returns to. */
	__asm__ volatile("syscall" : "=a"(p) : "a"(SYS_clone3), "D"(&a), "S"(sizeof a) : "memory", "rcx", "r11");
	if (!p) {
		execl("/cases", "cases", "--grab", "512", NULL);
		_exit(9);
	}
	if (p < 0 || waitpid((pid_t)p, &status, 0) != p)
		return 2;
	return status ? 3 : 0;
}

static int open_by_path(int minor)
{
	char path[64];
	int at, fd;

	snprintf(path, sizeof path, "/dev/standin%d", minor);
	at = open(path, O_PATH | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", at);
	fd = open(path, O_RDWR);
	close(at);
	return fd;
}

static int open_by_handle(int minor)
{
	struct {
		struct file_handle h;
		char room[128];
	} h = { .h.handle_bytes = 128 };
	int mount, dev = open("/dev", O_RDONLY | O_DIRECTORY), fd;
	char path[64];

	snprintf(path, sizeof path, "/dev/standin%d", minor);
	fd = name_to_handle_at(AT_FDCWD, path, &h.h, &mount, 0) ? -1 : open_by_handle_at(dev, &h.h, O_RDWR);
	close(dev);
	return fd;
}

/* A file system of nobody's tree, by the calls for mounts of Linux 5.2. */
static int open_detached(int minor)
{
	int fs = (int)syscall(SYS_fsopen, "tmpfs", 0), top, fd;

	if (fs < 0 || syscall(SYS_fsconfig, fs, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0))
		return -1;
	top = (int)syscall(SYS_fsmount, fs, 0, 0);
	mknodat(top, "node", S_IFCHR | 0666, makedev(standin_major(), (unsigned int)minor));
	fd = openat(top, "node", O_RDWR);
	close(top);
	close(fs);
	return fd;
}

/* However a node is opened, another's device is refused, and its own is charged. */
static int body_opens(void)
{
	static int (*const ways[])(int) = { open_by_path, open_by_handle, open_detached };
	struct session s;
	uint64_t got = 0;

	for (int i = 0; i < 3; i++) {
		if (reached(ways[i](1)))
			return 10 + i;
		if (session_on(&s, ways[i](CONTROL)))
			return 20 + i;
		got += grab(&s, MIB(32), i < 2 ? MIB(128) : MIB(65536));
	}
	return expect(got, 512);
}

/* A user namespace's own root makes no node. */
static int body_mknod(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return 2;
	mkdir("/tmp/own-fs", 0755);
	if (mount("own", "/tmp/own-fs", "tmpfs", 0, NULL))
		return 0;
	return mknod("/tmp/own-fs/node", S_IFCHR | 0666, makedev(standin_major(), 1)) &&
			       mknod("/tmp/own-fs/control", S_IFCHR | 0666, makedev(standin_major(), CONTROL))
		       ? 0
	       : reached(open("/tmp/own-fs/node", O_RDWR)) ? 3
							   : 0;
}

/* --- a program of 32 bits that lies in memory alone --- */

#define AT32 0x08048000u

struct program32 {
	Elf32_Ehdr head;
	Elf32_Phdr load;
	unsigned char code[64];
	struct alloc a __attribute__((aligned(8)));
	struct memory_parameters m;
};

static void put32(unsigned char **at, unsigned char first, uint32_t word)
{
	*(*at)++ = first;
	memcpy(*at, &word, sizeof word);
	*at += sizeof word;
}

/* ioctl(fd, NV_ESC_RM_ALLOC, &a), and its end with the error as status. */
static void code32(unsigned char *at, int fd)
{
	static const unsigned char call[] = { 0xcd, 0x80 }, negated[] = { 0x89, 0xc3, 0xf7, 0xdb };

	put32(&at, 0xb8, 54);
	put32(&at, 0xbb, (uint32_t)fd);
	put32(&at, 0xb9, (uint32_t)REQUEST(0x2b, sizeof(struct alloc)));
	put32(&at, 0xba, AT32 + offsetof(struct program32, a));
	memcpy(at, call, sizeof call);
	at += sizeof call;
	memcpy(at, negated, sizeof negated); /* mov ebx, eax; neg ebx */
	at += sizeof negated;
	put32(&at, 0xb8, 1);
	memcpy(at, call, sizeof call);
}

/* Value: the error of its call. */
static int run32(const struct session *s, uint64_t size)
{
	struct program32 p = {
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC,
			  .e_machine = EM_386,
			  .e_version = EV_CURRENT,
			  .e_entry = AT32 + offsetof(struct program32, code),
			  .e_phoff = offsetof(struct program32, load),
			  .e_ehsize = sizeof(Elf32_Ehdr),
			  .e_phentsize = sizeof(Elf32_Phdr),
			  .e_phnum = 1 },
		.load = { .p_type = PT_LOAD,
			  .p_vaddr = AT32,
			  .p_filesz = sizeof p,
			  .p_memsz = sizeof p,
			  .p_flags = PF_R | PF_W | PF_X,
			  .p_align = PAGE },
		.a = { .client = s->client,
		       .parent = 2,
		       .class = CLASS_MEMORY,
		       .parameters = AT32 + offsetof(struct program32, m) },
		.m = { .size = size },
	};
	int fd = (int)syscall(SYS_memfd_create, "program", 0), status;
	pid_t child;

	code32(p.code, s->fd);
	if (fd < 0 || write(fd, &p, sizeof p) != sizeof p)
		return -1;
	child = fork();
	if (!child) {
		fcntl(s->fd, F_SETFD, 0);
		syscall(SYS_execveat, fd, "", (char *[]){ NULL }, (char *[]){ NULL }, AT_EMPTY_PATH);
		_exit(255);
	}
	close(fd);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int body_memory_program(void)
{
	struct session s;
	int r;

	if (session_open(&s))
		return 2;
	r = run32(&s, MIB(64));
	if (r < 0 || r == 255 || (r && truth().used) || (!r && truth().used != MIB(64)))
		return 3;
	if (r && r != EPERM)
		return 4;
	run32(&s, MIB(4096));
	if (truth().used > MIB(64))
		return 5;
	return expect(grab(&s, MIB(64), MIB(65536)), r ? 512 : 448);
}

/* --- a filter that brings calls to a tracer, which changes them --- */

static int filter_tracing(void)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof rows / sizeof *rows, rows };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int traced_child(void)
{
	struct memory_parameters m = { .size = MIB(1) };
	struct session s;
	uint32_t o;

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	if (session_open(&s) || filter_tracing())
		return 2;
	for (int i = 0; i < 200; i++) {
		o = 0;
		m.size = MIB(1);
		if (!rm_alloc(s.fd, s.client, 2, &o, CLASS_MEMORY, &m) && truth().used > MIB(512))
			return 9;
		if (o)
			rm_free(s.fd, s.client, o);
	}
	return 0;
}

/* Each second allocation becomes one of 4 GiB. */
static void change(pid_t p, unsigned int n)
{
	struct user_regs_struct u;
	long pointer;

	ptrace(PTRACE_GETREGS, p, 0, &u);
	if ((u.rsi & 0xff) != 0x2b || !(n & 1))
		return;
	pointer = ptrace(PTRACE_PEEKDATA, p, (char *)u.rdx + offsetof(struct alloc, parameters), 0);
	if (pointer)
		ptrace(PTRACE_POKEDATA, p, (char *)pointer + offsetof(struct memory_parameters, size), MIB(4096));
}

static int body_tracing_filter(void)
{
	int status;
	pid_t p = fork();

	if (!p)
		_exit(traced_child());
	if (waitpid(p, &status, 0) != p || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL))
		return 2;
	for (unsigned int n = 0;; n++) {
		ptrace(PTRACE_CONT, p, 0, 0);
		if (waitpid(p, &status, 0) != p || !WIFSTOPPED(status))
			break;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8))
			change(p, n);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) == SIGKILL ? 0 : 3;
}

static void one(int (*body)(void), const char *what)
{
	int r;

	truth_reset(false);
	r = as("c", body);
	ok(!r && truth().peak <= MIB(512), "%s (%d)", what, r);
	for (int i = 0; i < 200 && (truth().used || shown("c", "used_bytes") > 0); i++)
		usleep(10000);
}

void case_detours(void)
{
	one(body_operations, "no operation of io_uring makes a call of the driver");
	other_device();
	one(body_opens, "nodes by handles, paths and detached mounts");
	one(body_mknod, "a node of a user namespace's own");
	one(body_memory_program, "a program of 32 bits that lies in memory alone");
	one(body_tracing_filter, "a filter of its own by which a tracer changes calls");
	if (front_notify) {
		clean("detours");
		return;
	}
	one(body_fixed_file, "a file in a ring's own table, as a descriptor elsewhere");
	files_by_rings();
	one(body_moves, "a process that changes its cgroup in mid-call, into another tenant's as well");
	one(body_parent_goes, "the device is freed in mid-call");
	dropped();
	one(body_vfork, "a child by vfork that is born in another tenant's cgroup");
	clean("detours");
}
