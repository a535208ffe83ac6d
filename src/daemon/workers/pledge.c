/* pledge.c: see pledge.h. */
#include "daemon/workers/pledge.h"

#include "daemon/tenants/account.h"
#include "daemon/tenants/tenant.h"

static uint32_t whole_units(uint64_t bytes)
{
	uint64_t units = wire_units(bytes);

	return units < WIRE_MAX_UNITS ? (uint32_t)units : WIRE_MAX_UNITS;
}

static void give_back(struct pledge *pledge, struct tenant *tenant, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		account_unpledge(tenant, i, pledge->units[i]);
	pledge->made = false;
}

enum ledger_answer pledge_make(struct pledge *pledge, struct tenant *tenant, const uint64_t *context_bytes)
{
	for (unsigned int i = 0; i < tenant->grant.share_count; i++) {
		enum ledger_answer answer;

		pledge->units[i] = whole_units(context_bytes[i]);
		answer = account_pledge(tenant, i, pledge->units[i]);
		if (answer != LEDGER_GRANT) {
			give_back(pledge, tenant, i);
			pledge->lacks = i;
			return answer;
		}
	}
	pledge->made = true;
	return LEDGER_GRANT;
}

void pledge_release(struct pledge *pledge, struct tenant *tenant)
{
	if (pledge->made && tenant)
		give_back(pledge, tenant, tenant->grant.share_count);
	pledge->made = false;
}

void pledge_redeem(struct pledge *pledge, struct client *client)
{
	for (unsigned int i = 0; pledge->made && i < client->tenant->grant.share_count; i++)
		account_redeem(client, i, pledge->units[i]);
	pledge->made = false;
}

json_t *pledge_save(const struct pledge *pledge)
{
	json_t *units = pledge->made ? json_array() : NULL;

	for (unsigned int i = 0; units && i < WIRE_MAX_DEVICES; i++)
		json_array_append_new(units, json_integer(pledge->units[i]));
	return units;
}

void pledge_restore(struct pledge *pledge, struct tenant *tenant, const json_t *saved)
{
	if (!json_is_array(saved) || !tenant)
		return;
	for (unsigned int i = 0; i < tenant->grant.share_count; i++) {
		pledge->units[i] = (uint32_t)json_integer_value(json_array_get(saved, i));
		ledger_grant(&tenant->grant.share[i].ledger, pledge->units[i]);
	}
	pledge->made = true;
}
