package loopdisk

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"
)

// A Disk is an ext4 file system in a file. Both paths are the caller's: Image is created by
// Format, and At must be an empty directory. Its methods are not safe for concurrent use.
type Disk struct{ Image, At string }

// size is sparse: an image takes what is written to it.
const size = 256 << 20

// Format makes an empty file system. It must not be mounted.
func (d Disk) Format() error {
	if err := os.WriteFile(d.Image, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(d.Image, size); err != nil {
		return err
	}
	return command("mkfs.ext4", "-q", "-F", d.Image)
}

// Mount mounts the file system. After Cut and Unmount, it has what was on the disk.
func (d Disk) Mount() error { return command("mount", "-o", "loop", d.Image, d.At) }

// Unmount unmounts the file system. It fails while a process has files open there.
func (d Disk) Unmount() error { return command("umount", d.At) }

// Cut shuts the file system down in the state of its disk: neither dirty pages nor the
// journal reach it (FS_IOC_SHUTDOWN without a flush). All later operations fail. A sync
// that is in progress may succeed without having stored anything, which no program on a
// machine without power would see: stop the programs first, or ask for the state of the
// file system after a sync.
func (d Disk) Cut() error {
	const shutdown, withoutFlush = 0x8004587d, 2
	top, err := os.Open(d.At)
	if err != nil {
		return err
	}
	defer func() { _ = top.Close() }()
	how := uint32(withoutFlush)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, top.Fd(), shutdown, uintptr(unsafe.Pointer(&how)))
	if errno != 0 {
		return fmt.Errorf("shut down %s: %w", d.At, errno)
	}
	return nil
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
