/* logs.h: the driver's log, for programs: the lines that log.h writes are kept from here on, and handed on. */
#pragma once

void logs_begin(void);
