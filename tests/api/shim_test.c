/*
 * shim_test.c: generated entries and tables of a shim, over the tiny API (golden/tiny.toml).
 *
 * The test is the program and the shim at once: the exports tyInit, tyMix, ... come from tiny_shim_entry.S, the
 * driver's functions are the static ones here. What the first call carries must reach the driver whole, through
 * registers of both kinds and the stack, however many threads make their first call at the same moment.
 */
#include "base/tap.h"
#include "tiny_count.h"
#include "tiny_shim.h"

#include "tiny_client.h" /* behind the tables: it maps names */

#include <dlfcn.h>
#include <pthread.h>

#undef tyAlloc

static pthread_once_t once;
static int starts, asked_for, counted, allocs, refuse;
static bool spoil_registers;
static tyaddress freed;

static tyresult driver_init(unsigned int flags)
{
	return flags == 77 ? TY_OK : TY_INVALID;
}

static tyresult driver_alloc_v2(tyaddress *address, size_t size)
{
	*address = size * 2;
	return TY_OK;
}

static tyresult driver_alloc(unsigned int *address, unsigned int size)
{
	*address = size;
	return TY_OK;
}

static tyresult driver_free(tyaddress address)
{
	freed = address;
	return TY_OK;
}

static tyresult driver_mix(int a, double b, long c, float d, short e, unsigned char f, int g, int h, int i, double j,
			   typoint k)
{
	bool registers = a == -1 && b == 2.5 && c == 1L << 40 && d == -0.25f && e == -5 && f == 250;
	bool stack = g == 7 && h == 8 && i == 9 && j == 1e300 && k.x == 3.25 && k.y.number == 11 && k.count == 12;

	return registers && stack ? TY_OK : TY_INVALID;
}

static void *driver_find(void *arg, const char *symbol)
{
	static const struct {
		const char *symbol;
		void *function;
	} exports[] = {
		{"tyInit", (void *)driver_init},
		{"tyAlloc", (void *)driver_alloc},
		{"tyAlloc_v2", (void *)driver_alloc_v2},
		{"tyFree", (void *)driver_free},
		{"tyMix", (void *)driver_mix},
		{"tyUnknown", (void *)driver_mix},
		{"tyForeign", (void *)driver_free},
	};

	++*(int *)arg;
	for (size_t i = 0; i < sizeof(exports) / sizeof(*exports); i++)
		if (!strcmp(exports[i].symbol, symbol))
			return exports[i].function;
	return NULL;
}

static void start(void)
{
	int asked = 0;

	starts++;
	if (refuse)
		shim_refuse(TY_NO_MEMORY);
	else
		shim_bind(driver_find, &asked);
	asked_for = asked;
}

/* Leaves nothing of the caller's arguments in the registers that a function may use. */
static void spoil(void)
{
#ifdef __x86_64__
	__asm__ volatile("xor %%edi, %%edi\n xor %%esi, %%esi\n xor %%edx, %%edx\n xor %%ecx, %%ecx\n"
			 "xor %%r8d, %%r8d\n xor %%r9d, %%r9d\n xor %%r10d, %%r10d\n xor %%r11d, %%r11d\n"
			 "xor %%eax, %%eax\n pxor %%xmm0, %%xmm0\n pxor %%xmm1, %%xmm1\n pxor %%xmm2, %%xmm2\n"
			 "pxor %%xmm3, %%xmm3\n pxor %%xmm4, %%xmm4\n pxor %%xmm5, %%xmm5\n pxor %%xmm6, %%xmm6\n"
			 "pxor %%xmm7, %%xmm7\n"
			 :
			 :
			 : "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "rax", "xmm0", "xmm1", "xmm2", "xmm3",
			   "xmm4", "xmm5", "xmm6", "xmm7", "cc");
#endif
}

void **shim_start(void)
{
	pthread_once(&once, start);
	if (spoil_registers)
		spoil();
	return (void **)&shim_table;
}

void shim_count(int call)
{
	counted = call;
}

tyresult shim_tyAlloc_v2(tyaddress *address, size_t size)
{
	allocs++;
	return shim_real.tyAlloc_v2(address, size);
}

tyresult shim_tySubmit(tyqueue queue, const tybatch *batch, tynotify done, void *user)
{
	return shim_missing(TINY_CALL_tySubmit) ? shim_real.tySubmit(queue, batch, done, user) : TY_INVALID;
}

/* Puts everything back to where a fresh process is. */
static void forget(const struct tiny_table *fresh)
{
	shim_table = *fresh;
	memset(&shim_real, 0, sizeof(shim_real));
	once = (pthread_once_t)PTHREAD_ONCE_INIT;
	starts = counted = allocs = 0;
}

static tyresult mix(tyresult (*call)(int, double, long, float, short, unsigned char, int, int, int, double, typoint))
{
	typoint k = {.x = 3.25, .y.number = 11, .count = 12};

	return call(-1, 2.5, 1L << 40, -0.25f, -5, 250, 7, 8, 9, 1e300, k);
}

static void test_first_call(const struct tiny_table *fresh)
{
	spoil_registers = true;
	is(starts, 0);
	is(mix(tyMix), TY_OK);
	is(starts, 1);
	is(asked_for, TINY_CALL_COUNT);
	ok(shim_table.tyMix == driver_mix);
	is(mix(tyMix), TY_OK);
	is(starts, 1);
	/* A pointer to a lazy entry that somebody kept from before goes on to work. */
	is(mix(fresh->tyMix), TY_OK);
	is(fresh->tyInit(77), TY_OK);
	spoil_registers = false;
}

static void test_treatment(void)
{
	tyresult (*const tyAlloc_1)(unsigned int *, unsigned int) = shim_table.tyAlloc;
	tyaddress address = 0;
	unsigned int old = 0;
	void *table = NULL;

	is(tyInit(77), TY_OK);
	is(tyInit(78), TY_INVALID);
	is(tyAlloc_v2(&address, 21), TY_OK);
	is(address, 42);
	is(allocs, 1);
	is(tyFree(address), TY_OK);
	is(freed, 42 ^ 15);
	is(counted, TINY_CALL_tyFree);
	is(tyAlloc_1(&old, 17), TY_OK);
	is(old, 17 ^ 15);
	is(counted, TINY_CALL_tyAlloc);
	/* Refused although the driver has it; unknown to us and passed. */
	is(shim_table.tyForeign(&table), TY_NOT_SUPPORTED);
	ok(!shim_missing(TINY_CALL_tyForeign));
	is(mix((tyresult(*)(int, double, long, float, short, unsigned char, int, int, int, double, typoint))(void *)
		       shim_table.tyUnknown),
	   TY_OK);
}

static void test_missing(void)
{
	char byte = 0;

	ok(shim_missing(TINY_CALL_tyRead));
	ok(!shim_missing(TINY_CALL_tyInit));
	is(tyRead(&byte, 0, 1), TY_NOT_SUPPORTED);
	is(tySubmit(NULL, NULL, NULL, NULL), TY_NOT_SUPPORTED);
	is_str(tyName(TY_OK), "not supported");
}

static void test_refuse(void)
{
	tyaddress address = 5;

	refuse = 1;
	is(tyAlloc_v2(&address, 1), TY_NO_MEMORY);
	is(address, 5);
	is(tyFree(5), TY_NO_MEMORY);
	is(mix(tyMix), TY_NO_MEMORY);
	is_str(tyName(TY_OK), "not supported");
	is(starts, 1);
	refuse = 0;
}

#define THREADS 16
static pthread_barrier_t gate;

static void *race(void *arg)
{
	pthread_barrier_wait(&gate);
	return (void *)(uintptr_t)mix(tyMix);
}

static void test_race(const struct tiny_table *fresh)
{
	int bad = 0;

	for (int round = 0; round < 50; round++) {
		pthread_t thread[THREADS];

		forget(fresh);
		pthread_barrier_init(&gate, NULL, THREADS);
		for (int i = 0; i < THREADS; i++)
			pthread_create(&thread[i], NULL, race, NULL);
		for (int i = 0; i < THREADS; i++) {
			void *result;

			pthread_join(thread[i], &result);
			bad += result != NULL;
		}
		pthread_barrier_destroy(&gate);
		bad += starts != 1;
	}
	is(bad, 0);
}

/* Every symbol of the table is exported, and is its own entry. */
static void test_exports(void)
{
	void *self = dlopen(NULL, RTLD_NOW), *last = NULL;
	int bad = 0;

	for (int i = 0; i < TINY_CALL_COUNT; i++) {
		void *at = dlsym(self, tiny_call_name[i]);

		bad += !at || at == last;
		last = at;
	}
	is(bad, 0);
	ok(!dlsym(self, "shim_table"));
	ok(!dlsym(self, "shim_real"));
	dlclose(self);
}

int main(void)
{
	struct tiny_table fresh = shim_table;

	tap_begin();
	once = (pthread_once_t)PTHREAD_ONCE_INIT;
	test_first_call(&fresh);
	test_treatment();
	test_missing();
	forget(&fresh);
	test_refuse();
	forget(&fresh);
	test_race(&fresh);
	test_exports();
	return tap_end();
}
