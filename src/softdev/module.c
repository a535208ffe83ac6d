#include "softdev/module.h"
void module_free_all(struct context *c)
{
}
