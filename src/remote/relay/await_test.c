/* await_test.c: bytes that are waited for: at once, late, told of before they come, never; and their end. */
#include "remote/relay/await.h"

#include "base/tap.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 1000u

static struct await await;
static int end[2];
static uint32_t got; /* atomic: bytes */
static ssize_t last;

static void *read_all(void *arg)
{
	uint8_t bytes[16];
	ssize_t n;

	while ((n = await_read(&await, end[0], bytes, sizeof(bytes))) > 0)
		__atomic_fetch_add(&got, (uint32_t)n, __ATOMIC_RELEASE);
	last = n;
	return arg;
}

static void begin(pthread_t *thread)
{
	is(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end), 0);
	is(await_init(&await), 0);
	__atomic_store_n(&got, 0, __ATOMIC_RELAXED);
	pthread_create(thread, NULL, read_all, NULL);
}

static void finish(pthread_t thread)
{
	close(end[1]);
	pthread_join(thread, NULL);
	is(last, 0);
	close(end[0]);
	await_deinit(&await);
}

static void wait_for(uint32_t bytes)
{
	while (__atomic_load_n(&got, __ATOMIC_ACQUIRE) < bytes)
		usleep(20);
}

/* Whatever is told, and when: each byte arrives. */
static void test_all(void)
{
	pthread_t thread;

	begin(&thread);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		if (i % 5)
			await_cause(&await);
		if (i % 3 == 0)
			usleep(i % 2 ? 50 : 400);
		if (write(end[1], "", 1) != 1)
			break;
		if (i % 7)
			wait_for(i + 1);
	}
	wait_for(ROUNDS);
	is(got, ROUNDS);
	finish(thread);
}

/* Told again and again, and nothing comes: the pipe does not fill up, nobody blocks, the end is seen. */
static void test_nothing_follows(void)
{
	pthread_t thread;

	begin(&thread);
	for (uint32_t i = 0; i < 50; i++) {
		await_cause(&await);
		usleep(100);
		is(write(end[1], "", 1), 1);
		wait_for(i + 1);
	}
	for (uint32_t i = 0; i < 100000; i++)
		await_cause(&await);
	finish(thread);
	is(got, 50);
}

/* Who is told of them is awake when they come: it has learnt how soon that is. */
static void test_learnt(void)
{
	uint32_t rounds = 0;
	pthread_t thread;

	begin(&thread);
	do {
		usleep(1000);
		await_cause(&await);
		usleep(100);
		if (write(end[1], "", 1) != 1)
			break;
		wait_for(++rounds);
	} while (rounds < 2000 && !__atomic_load_n(&await.sequel.wanted, __ATOMIC_RELAXED));
	ok(__atomic_load_n(&await.sequel.wanted, __ATOMIC_RELAXED));
	finish(thread);
}

int main(void)
{
	tap_begin();
	test_all();
	test_nothing_follows();
	test_learnt();
	return tap_end();
}
