"""A local user has the software device opened to him by a container's grant, and writes into what root's processes map."""
import stat
import struct

from ground import *

DEVICE_COUNT, PLACES = 16, 44  # offsets in struct segment (src/softdev/segment.h)

root_only("the software device's memory")


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def spoil(path):
    """Writes into the segment that meted's children map: more devices than their arrays hold. Value: whether it could."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return False
    os.pwrite(fd, struct.pack("<I", 4000), DEVICE_COUNT)
    os.pwrite(fd, struct.pack("<I", 1024), PLACES)
    for at in range(4096, min(os.fstat(fd).st_size, 4 << 20), 4096):
        os.pwrite(fd, b"\x41" * 4096, at)
    os.close(fd)
    return True


def soft_driver(directory):
    """What meted says of the software device's driver, asked just now."""
    answer = ask_as(VICTIM, directory, {"op": "devices"})[0]
    return next(d for d in answer["drivers"] if d["kind"] == "soft")


s = system()
own = os.path.join(s.dir, "soft")
soft_driver(s.dir)
answer = ask_as(UID, s.dir, soft("256M", "mine", container={"files": {}}, known=True))[0]
ok(answer["ok"], "a user may make a grant for containers", answer)
shared = answer["grant"]["container"]["soft_dir"]
ok(not as_user(UID, lambda: spoil(os.path.join(own, "segment"))), "but cannot write to the software device of root's processes")
same((mode(own), mode(os.path.join(own, "segment"))), (0o700, 0o600), "which stays root's alone")
ok(soft_driver(s.dir)["usable"], "the device is there", soft_driver(s.dir))
ok(shared != own, "the containers have devices of their own", shared)
same((mode(shared), os.stat(shared).st_uid, mode(os.path.join(shared, "segment"))), (0o1777, 0, 0o666), "which are open to programs of any user")
same(os.stat(os.path.join(shared, "segment")).st_uid, 0, "and whose file is root's")

# What root's programs do in a folder that is open: nothing.
as_user(UID, lambda: spoil(os.path.join(shared, "segment")))
ok(soft_driver(s.dir)["usable"], "what he writes there harms none of root's", soft_driver(s.dir))
s.kill(signal.SIGTERM)
os.chmod(own, 0o1777)  # as a meted of an earlier version has left it
s.start()
said = soft_driver(s.dir)
ok(not said["usable"], "a folder that is open is not used by root", said)
s.close()
finish()
