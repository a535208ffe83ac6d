#include "softdev/launch.h"
void launch_run(struct work *w)
{
}
