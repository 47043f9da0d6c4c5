package jetstream

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopdisk"
)

var powerCuts = flag.Int("cluster.powercuts", 0, "fail the power of three servers this often, each with a file system of its own; as root")

// The power of all nodes fails at once under load, and comes back: what a server had not
// synced is gone. They sync every write, so nothing that was confirmed is lost, and no
// acknowledgment that was confirmed is forgotten. The channel is closed just before
// the last cut of a busy rehearsal.
//
// The servers are stopped before the cut, so none can confirm anything after it.
func TestPowerFailure(t *testing.T) {
	if *powerCuts == 0 {
		t.Skip("by hand: -args -cluster.powercuts 20, as root")
	}
	for _, busy := range []bool{false, true} {
		t.Run(named("three disks", busy), func(t *testing.T) {
			c := newCluster(t)
			c.pace = longPace
			var disks [3]loopdisk.Disk
			for i := range c.roles {
				disks[i] = newDisk(t)
				s := &c.roles[i].Server
				s.Dir, s.Always = filepath.Join(disks[i].At, s.Name), true
			}
			rehearse(t, c, busy, func(r *rehearsal) {
				wait := func() {}
				for n := range *powerCuts {
					time.Sleep(rand.N(500 * time.Millisecond))
					if n == *powerCuts-1 {
						wait = r.closingIfBusy()
						time.Sleep(rand.N(5 * time.Millisecond))
					}
					r.failPower(disks)
					r.start()
					r.progress()
				}
				wait()
			})
		})
	}
}

// newDisk returns a file system that is mounted until the end of the test.
func newDisk(t *testing.T) loopdisk.Disk {
	t.Helper()
	dir := t.TempDir()
	d := loopdisk.Disk{Image: filepath.Join(dir, "image"), At: filepath.Join(dir, "mounted")}
	if err := os.Mkdir(d.At, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Format(); err != nil {
		t.Fatal(err)
	}
	if err := d.Mount(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// failPower stops all servers, shuts their disks down, kills them, and mounts the disks again.
func (c *cluster) failPower(disks [3]loopdisk.Disk) {
	c.t.Helper()
	for _, node := range c.nodes {
		if err := node.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, node := range c.nodes {
		until(c.t, "every thread is stopped", func() bool { return stopped(c.t, node.cmd.Process.Pid) })
	}
	for _, d := range disks {
		if err := d.Cut(); err != nil {
			c.t.Fatal(err)
		}
	}
	c.killAll()
	for _, d := range disks {
		if err := d.Unmount(); err != nil {
			c.t.Fatal(err)
		}
		if err := d.Mount(); err != nil {
			c.t.Fatal(err)
		}
	}
}

// stopped reports whether every thread of a process is stopped, or in a system call that
// cannot be interrupted, such as a sync, and will be stopped at its end.
func stopped(t testing.TB, pid int) bool {
	t.Helper()
	tasks, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	if err != nil || tasks == nil {
		t.Fatal(fmt.Errorf("no threads of process %d: %v", pid, err))
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(task)
		if os.IsNotExist(err) {
			continue // it has ended
		}
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := bytes.Cut(stat, []byte(") "))
		if state := after[0]; state != 'T' && state != 'D' {
			return false
		}
	}
	return true
}
