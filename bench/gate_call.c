/* gate_call.c: two calls as a library has them, with the gate and without: for gate_price.c. */
#include "remote/client/gate.h"

void gate_call_gated(void);
void gate_call_plain(void);

__attribute__((visibility("default"))) void gate_call_gated(void)
{
	GATED;
	__asm__ volatile("");
}

__attribute__((visibility("default"))) void gate_call_plain(void)
{
	__asm__ volatile("");
}
