/* lt_attributes_test.c: which descriptions a worker believes. */
#include "base/tap.h"
#include "libs/blas/lt_description.h"

static struct lt_description description(uint32_t kind)
{
	return (struct lt_description){ .kind = kind };
}

static void add(struct lt_description *d, uint32_t number, uint32_t bytes, uint64_t value)
{
	struct lt_attribute *a = &d->attributes[d->count++];

	*a = (struct lt_attribute){ .number = number, .bytes = bytes };
	memcpy(a->value, &value, sizeof(value));
}

static void test_forms(void)
{
	unsigned int addresses = 0;

	for (uint32_t number = 0; number < 64; number++)
		addresses += lt_attribute_form(LT_PRODUCT, number) == LT_ADDRESS;
	is(addresses, 10);
	is(lt_attribute_form(LT_PRODUCT, CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR), LT_UNKNOWN);
	is(lt_attribute_form(LT_PRODUCT, 9), LT_UNKNOWN);
	for (uint32_t number = 27; number <= 30; number++)
		is(lt_attribute_form(LT_PRODUCT, number), LT_UNKNOWN);
	is(lt_attribute_form(LT_LAYOUT, UINT32_MAX), LT_UNKNOWN);
	is(lt_attribute_form(0, 0), LT_UNKNOWN);
	is(lt_attribute_form(LT_TRANSFORM + 1, 0), LT_UNKNOWN);
}

/* All of a kind at once is good; with any of them again, or in another size, it is not. */
static void test_kind(uint32_t kind)
{
	struct lt_description all = description(kind), other;

	for (uint32_t number = 0; number < 64; number++)
		if (lt_attribute_form(kind, number))
			add(&all, number, (uint32_t)lt_form_bytes(lt_attribute_form(kind, number)), 0);
	ok(all.count > 0 && all.count < LT_ATTRIBUTES);
	ok(lt_description_good(&all));
	for (uint32_t i = 0; i < all.count; i++) {
		other = all;
		add(&other, all.attributes[i].number, all.attributes[i].bytes, 1);
		tap_ok(!lt_description_good(&other), "kind %u: attribute %u twice", kind, all.attributes[i].number);
		other = all;
		other.attributes[i].bytes = all.attributes[i].bytes == 8 ? 4 : 8;
		tap_ok(!lt_description_good(&other), "kind %u: attribute %u in a foreign size", kind,
		       all.attributes[i].number);
	}
}

/* The library takes the last of two, and of eight bytes the four that it knows: here alpha would be of this process. */
static void test_pointer_mode(void)
{
	struct lt_description twice = description(LT_PRODUCT), wide = description(LT_PRODUCT);

	add(&twice, CUBLASLT_MATMUL_DESC_POINTER_MODE, 4, LT_POINTERS_DEVICE);
	ok(!lt_alpha_here(&twice) && lt_description_good(&twice));
	add(&twice, CUBLASLT_MATMUL_DESC_POINTER_MODE, 4, LT_POINTERS_HOST);
	ok(!lt_alpha_here(&twice) && !lt_description_good(&twice));
	add(&wide, CUBLASLT_MATMUL_DESC_POINTER_MODE, 8, UINT64_C(1) << 32);
	ok(!lt_alpha_here(&wide) && !lt_description_good(&wide));
}

int main(void)
{
	tap_begin();
	test_forms();
	for (uint32_t kind = LT_PRODUCT; kind <= LT_TRANSFORM; kind++)
		test_kind(kind);
	test_pointer_mode();
	return tap_end();
}
