/* handover_times.c: see handover_times.h. */
#include "daemon/upgrade/handover_times.h"

/* What turns have come to, in this order: new values follow at the end. */
enum times {
	TIMES_SHARE,
	TIMES_ENGINE,
	TIMES_CHARGED,
	TIMES_LAG,
	TIMES_WANTED,
	TIMES_WAITED,
	TIMES_LONGEST,
	TIMES_BYPASSED,
	TIMES_ARREARS,
	TIMES_BY_CLOCK,
	TIMES_TOKENS,
	TIMES_PUT_OFF,
	TIMES_PUT_OFF_FREE,
	TIMES_PUT_OFF_FROM,
	TIMES,
};

json_t *handover_times_write(unsigned int share, enum wire_engine engine, const struct place_totals *p)
{
	const json_int_t value[TIMES] = {
		[TIMES_SHARE] = share,
		[TIMES_ENGINE] = engine,
		[TIMES_CHARGED] = (json_int_t)p->charged_ns,
		[TIMES_LAG] = p->lag_ns,
		[TIMES_WANTED] = (json_int_t)p->wanted_ns,
		[TIMES_WAITED] = (json_int_t)p->waited_ns,
		[TIMES_LONGEST] = (json_int_t)p->longest_ns,
		[TIMES_BYPASSED] = (json_int_t)p->bypassed,
		[TIMES_ARREARS] = p->rights.arrears_ns,
		[TIMES_BY_CLOCK] = p->rights.by_clock_ns,
		[TIMES_TOKENS] = p->rights.tokens_ns,
		[TIMES_PUT_OFF] = (json_int_t)p->rights.put_off_ns,
		[TIMES_PUT_OFF_FREE] = (json_int_t)p->rights.put_off_free_ns,
		[TIMES_PUT_OFF_FROM] = (json_int_t)p->rights.put_off_from_ns,
	};
	json_t *one = json_array();

	for (unsigned int i = 0; i < TIMES; i++)
		json_array_append_new(one, json_integer(value[i]));
	return one;
}

/* What a meted does not tell that is older than this value is 0. */
static bool read_numbers(const json_t *one, unsigned int shares, json_int_t value[TIMES])
{
	for (unsigned int i = 0; i < TIMES; i++) {
		const json_t *v = json_array_get(one, i);

		if (v && !json_is_integer(v))
			return false;
		value[i] = json_integer_value(v);
		if (value[i] < 0 && i != TIMES_LAG && i != TIMES_ARREARS && i != TIMES_BY_CLOCK && i != TIMES_TOKENS)
			return false;
	}
	return json_array_size(one) > TIMES_CHARGED && value[TIMES_SHARE] < (json_int_t)shares &&
	       value[TIMES_ENGINE] < (json_int_t)WIRE_ENGINES;
}

bool handover_times_read(const json_t *one, unsigned int shares, unsigned int *ret_share, enum wire_engine *ret_engine,
			 struct place_totals *ret)
{
	json_int_t value[TIMES];

	if (!read_numbers(one, shares, value))
		return false;
	*ret_share = (unsigned int)value[TIMES_SHARE];
	*ret_engine = (enum wire_engine)value[TIMES_ENGINE];
	*ret = (struct place_totals){
		.charged_ns = (uint64_t)value[TIMES_CHARGED],
		.lag_ns = value[TIMES_LAG],
		.wanted_ns = (uint64_t)value[TIMES_WANTED],
		.waited_ns = (uint64_t)value[TIMES_WAITED],
		.longest_ns = (uint64_t)value[TIMES_LONGEST],
		.bypassed = (uint64_t)value[TIMES_BYPASSED],
		.rights = { .arrears_ns = value[TIMES_ARREARS],
			    .by_clock_ns = value[TIMES_BY_CLOCK],
			    .tokens_ns = value[TIMES_TOKENS],
			    .put_off_ns = (uint64_t)value[TIMES_PUT_OFF],
			    .put_off_free_ns = (uint64_t)value[TIMES_PUT_OFF_FREE],
			    .put_off_from_ns = (uint64_t)value[TIMES_PUT_OFF_FROM] },
	};
	return true;
}
