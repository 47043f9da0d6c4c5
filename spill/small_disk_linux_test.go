package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

// smallDisk is the variable with which a test binary mounts a file system of its own.
const smallDisk = "SPILL_SMALL_DISK"

// TestSmallDisk: on file systems from 2 MiB on, a queue that was full accepts values again
// when it was drained, after a restart, too, and it can be drained after a restart while
// another program fills the disk.
func TestSmallDisk(t *testing.T) {
	if size, err := strconv.Atoi(os.Getenv(smallDisk)); err == nil {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", size)); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }()
		fullAndDrained(t, dir)
		return
	}
	suite.Needs(t, "small disks, which it mounts")
	for _, size := range []int{2 << 10, 4 << 10, 10 << 10} {
		child := exec.Command(os.Args[0], "-test.run=^TestSmallDisk$", "-test.count=1")
		child.Env = append(os.Environ(), smallDisk+"="+strconv.Itoa(size))
		child.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		out, err := child.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) && len(out) == 0 {
			t.Skipf("this system allows no mount namespaces: %v", err)
		}
		if err != nil {
			t.Errorf("%d KiB: %v\n%s", size, err, out)
		}
	}
}

// fullAndDrained fills the file system of dir and drains it, in several ways.
func fullAndDrained(t *testing.T, dir string) {
	queue, filler := filepath.Join(dir, "queue"), filepath.Join(dir, "filler")
	value := bytes.Repeat([]byte{7}, 1000)
	open := func() *Durable[[]byte] {
		t.Helper()
		c, err := OpenDurable[[]byte](queue, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	send := func(c *Durable[[]byte]) (n int) {
		t.Helper()
		for ; ; n++ {
			if err := c.Send(context.Background(), value); errors.Is(err, syscall.ENOSPC) {
				if strings.Count(err.Error(), queue) != 1 {
					t.Errorf("an error should name its file once: %v", err)
				}
				return n
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	// drain acknowledges all values but some, which it gives back.
	drain := func(c *Durable[[]byte], keep int) {
		t.Helper()
		var kept []*Delivery[[]byte]
		for n := c.Len(); n > 0; n-- {
			d, err := c.TryRecv()
			if err != nil {
				t.Fatal(err)
			}
			if len(kept) < keep && n%7 == 0 {
				kept = append(kept, d)
			} else if err := d.Ack(); err != nil {
				t.Fatalf("with %d values left: %v", n, err)
			}
		}
		for _, d := range kept {
			if err := d.Nack(); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := open()
	for round, keep := range []int{0, 50, 0, 30} {
		n := send(c)
		if n < 300 {
			t.Fatalf("round %d: %d values fit", round, n)
		}
		if round%2 == 1 { // a restart, while another program fills the disk
			if err := c.Shutdown(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filler, make([]byte, 64<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			c = open()
		}
		drain(c, keep)
		if keep == 0 {
			if err := c.Shutdown(); err != nil {
				t.Fatal(err)
			}
			c = open()
		}
		if err := c.Send(context.Background(), value); err != nil { // while the filler is there
			t.Fatalf("round %d, after %d values, %d left: %v", round, n, c.Len(), err)
		}
		if n := c.Len(); n != keep+1 {
			t.Errorf("round %d: %d values", round, n)
		}
		_ = os.Remove(filler)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
}
