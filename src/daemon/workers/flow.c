/* flow.c: see flow.h. */
#include "daemon/workers/flow.h"

#include "daemon/telemetry.h"

#include <stdbool.h>
#include <string.h>

void flow_total(const struct telemetry *telemetry, uint64_t ret[FLOWS])
{
	memset(ret, 0, FLOWS * sizeof(*ret));
	for (unsigned int way = 0; way < TRAFFIC_WAYS; way++) {
		ret[FLOW_RECEIVED] += telemetry->remote[way][WORKER_RECEIVED_BYTES];
		ret[FLOW_SENT] += telemetry->remote[way][WORKER_SENT_BYTES];
	}
}

struct history *flow_open(struct flow *flow)
{
	if (!flow->history)
		flow->history = history_new(FLOWS);
	return flow->history;
}

void flow_deinit(struct flow *flow)
{
	history_free(flow->history);
	flow->history = NULL;
}

static uint64_t rate(uint64_t bytes, uint64_t since_ns)
{
	return since_ns ? (uint64_t)((double)bytes * 1e9 / (double)since_ns + 0.5) : 0;
}

void flow_draw(struct flow *flow, const uint64_t total[FLOWS], int64_t from_s, int64_t to_s, uint64_t since_ns)
{
	uint64_t value[FLOWS];
	bool any = false;

	for (unsigned int i = 0; i < FLOWS; i++) {
		value[i] = flow->known ? rate(total[i] - flow->drawn[i], since_ns) : HISTORY_NONE;
		flow->drawn[i] = total[i];
		any |= total[i] != 0;
	}
	flow->known = true;
	if (any)
		flow_open(flow);
	if (flow->history)
		history_add_span(flow->history, from_s, to_s, value);
}
