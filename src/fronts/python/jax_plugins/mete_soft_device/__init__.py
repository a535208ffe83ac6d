"""
Tells JAX that there is a device, where its driver is mete's software device. JAX takes plugins from this namespace.

JAX asks for CUDA devices only where one of a few nodes is in /dev, and else computes on the processor without a word. The
software device has no node; this file stands for it. Who has set JAX_PLATFORMS without CUDA is not affected, nor is a JAX
without its CUDA plugin.
"""


def initialize():
    try:
        from jax._src import hardware_utils
        nodes = hardware_utils._NVIDIA_GPU_DEVICES
    except (ImportError, AttributeError):
        return
    if __file__ not in nodes:
        nodes.append(__file__)
