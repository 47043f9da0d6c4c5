package spill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// smallDiskFolder is the variable that makes TestFieldSmallDisk the process with a small disk.
const smallDiskFolder = "SPILL_SMALL_DISK"

// TestFieldSmallDisk: both channels on a real file system of 3 MiB. It is mounted in a mount
// namespace of its own, by a child process, so that the test needs no rights where a user may
// create user namespaces. TestFieldFullDisk is the same on a simulated disk.
func TestFieldSmallDisk(t *testing.T) {
	if dir := os.Getenv(smallDiskFolder); dir != "" {
		if err := syscall.Mount("none", dir, "tmpfs", 0, "size=3m"); err != nil {
			fmt.Println("NOT MOUNTED", err)
			return
		}
		for _, name := range []string{"durable", "elastic"} {
			if err := os.Mkdir(dir+"/"+name, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		fullElastic(t, dir+"/elastic")
		fullDurable(t, dir+"/durable")
		return
	}
	suite.Needs(t, "a small disk, which it mounts")
	child := exec.Command(os.Args[0], "-test.run=^TestFieldSmallDisk$", "-test.v")
	child.Env = append(os.Environ(), smallDiskFolder+"="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		child.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		child.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit) || strings.Contains(string(out), "NOT MOUNTED"):
		t.Skipf("NOT TESTED on a real full file system, which takes root or user namespaces: %v, %s", err, out)
	case err != nil:
		t.Errorf("%v: %s", err, out)
	}
}

// untilFull sends values of 10 KB until the disk is full, and returns how many were accepted.
func untilFull(t *testing.T, c sluice.Sender[[]byte]) (n int) {
	t.Helper()
	for ; n < 1000; n++ {
		v := append(valueOf(uint64(n)), make([]byte, 10_000)...)
		if err := c.Send(context.Background(), v); err != nil {
			if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, errUnknown) {
				t.Errorf("a full disk: %v", err)
			}
			return n
		}
	}
	t.Error("the disk is not full")
	return n
}

// fullDurable fills the disk twice. The accepted values are there, after kill -9 too.
func fullDurable(t *testing.T, dir string) {
	c, err := OpenDurable[[]byte](dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n := untilFull(t, c)
		if n < 50 || c.Len() != n {
			t.Fatalf("%d values are queued, %d were accepted", c.Len(), n)
		}
		again, err := OpenDurable[[]byte](killedAt(t, dir), nil)
		if err != nil || again.Len() != n {
			t.Errorf("after kill -9: %v, and %d values", err, n)
		} else if err := again.Shutdown(); err != nil {
			t.Error(err)
		}
		for i := range n {
			d, err := c.TryRecv()
			if err == nil {
				err = d.Ack()
			}
			if err != nil {
				t.Fatalf("value %d of a full disk: %v", i, err)
			}
		}
	}
	untilFull(t, c)
	if err := c.Shutdown(); err != nil {
		t.Errorf("Shutdown on a full disk: %v", err)
	}
}

// fullElastic fills the disk, drains the channel, and fills the disk again.
func fullElastic(t *testing.T, dir string) {
	c, err := OpenElastic(dir, &ElasticOptions[[]byte]{MemoryLimit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n := untilFull(t, c)
		if n < 50 || c.Len() != n {
			t.Errorf("%d values are queued, %d were accepted", c.Len(), n)
		}
		for i := range n {
			if v, err := c.TryRecv(); err != nil || len(v) != len(valueOf(uint64(i)))+10_000 {
				t.Fatalf("value %d of a full disk: %d bytes, %v", i, len(v), err)
			}
		}
	}
	c.Close()
}
