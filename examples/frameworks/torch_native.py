"""PyTorch's own kernels: machine code only in its release packages, so that its own exception is what a program gets."""
import torch


def refused(operation):
    try:
        operation()
    except RuntimeError as e:
        return "no kernel image is available" in str(e)
    return False


def main():
    a = torch.randn(1000)
    on_device = a.cuda()
    good = all(refused(f) for f in (lambda: on_device + on_device, lambda: torch.full((10,), 3.0, device="cuda"), on_device.sum,
                                    lambda: torch.rand(10, device="cuda")))
    # Nothing is broken: memory and copies go on.
    print("PASS" if good and torch.equal(on_device.cpu(), a) and torch.equal(on_device.clone().cpu(), a) else "FAIL")


if __name__ == "__main__":
    main()
