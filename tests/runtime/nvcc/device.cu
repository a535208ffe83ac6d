// device.cu: a device function of another translation unit than its caller.
__device__ int twice(int x)
{
	return 2 * x;
}
