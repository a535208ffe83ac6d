/* tiny_count.h: what the generated bodies of the tiny API call; see golden/tiny.toml. */
#pragma once

void shim_count(int call);
