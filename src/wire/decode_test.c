/* decode_test.c: every way in which a packet is not a message, and the account word's arithmetic. */
#include "wire/decode.h"

#include "base/tap.h"

static struct wire_hello hello(void)
{
	struct wire_hello h = { .version = WIRE_VERSION, .command = "test" };

	wire_head(&h.head, WIRE_HELLO, sizeof(h), 1, WIRE_OK);
	return h;
}

static void test_faults(void)
{
	struct {
		struct wire_hello h;
		char more[8];
	} p = { .h = hello() };

	is(wire_check_request(&p, sizeof(p.h)), WIRE_FAULT_NONE);
	is(wire_check_request(&p, sizeof(p.h) - 1), WIRE_FAULT_SHORT);
	is(wire_check_request(&p, sizeof(p.h) + 1), WIRE_FAULT_LONG);
	is(wire_check_request(&p, sizeof(struct wire_header) - 1), WIRE_FAULT_SHORT);
	is(wire_check_request(&p, 0), WIRE_FAULT_SHORT);
	p.h.head.size++;
	is(wire_check_request(&p, sizeof(p.h)), WIRE_FAULT_SIZE);
	p.h = hello();
	p.h.head.type = 0;
	is(wire_check_request(&p, sizeof(p.h)), WIRE_FAULT_TYPE);
	p.h.head.type = 0xffffffff;
	is(wire_check_request(&p, sizeof(p.h)), WIRE_FAULT_TYPE);
	p.h.head.type = WIRE_WELCOME;
	is(wire_check_request(&p, sizeof(p.h)), WIRE_FAULT_DIRECTION);
	p.h = hello();
	p.h.head.status = 1;
	is(wire_check_request(&p, sizeof(p.h)), WIRE_FAULT_STATUS);
	p.h = hello();
	memset(p.h.command, 'x', sizeof(p.h.command));
	is(wire_check_request(&p, sizeof(p.h)), WIRE_FAULT_TEXT);
}

static void test_word(void)
{
	struct wire_account a = { 0 };

	ok(!wire_take(&a, 1));
	wire_grant(&a, WIRE_MAX_UNITS);
	is(wire_granted(a.word), WIRE_MAX_UNITS);
	is(a.word & WIRE_MOVED, 0);
	ok(wire_take(&a, WIRE_MAX_UNITS));
	ok(!wire_take(&a, 1));
	is(wire_recall(&a, 5), 0);
	wire_give(&a, 10);
	is(wire_recall(&a, 4), 4);
	is(wire_granted(a.word), WIRE_MAX_UNITS - 4);
	is(wire_held(a.word), WIRE_MAX_UNITS - 10);
	atomic_fetch_xor(&a.word, WIRE_MOVED);
	is(wire_granted(a.word), WIRE_MAX_UNITS - 4);
	is(wire_recall(&a, 100), 6);
	ok(a.word & WIRE_MOVED);
	is(wire_units(0), 0);
	is(wire_units(1), 1);
	is(wire_units(512), 1);
	is(wire_units(UINT64_MAX), (UINT64_MAX >> 9) + 1);
}

int main(void)
{
	tap_begin();
	test_faults();
	test_word();
	ok(!strcmp(wire_type_name(WIRE_DROP), "DROP"));
	ok(!strcmp(wire_type_name(99), "unknown"));
	return tap_end();
}
