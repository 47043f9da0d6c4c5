package jetstream

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// smallDisk mounts a file system of 4 MiB.
func smallDisk(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("NOT TESTED on a full file system: mounting one takes root: %v", err)
	}
	t.Cleanup(func() {
		// Detached: the server does not close files of batches that it could not write.
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file as large as the free space.
func fill(t *testing.T, dir string) (name string) {
	t.Helper()
	name = filepath.Join(dir, "of-another-program")
	if err := os.WriteFile(name, make([]byte, 8<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	return name
}

// On a full disk, every way to send, and Open, fails with an error that names the space,
// and Stats has a warning. The values that were confirmed before are not lost, and can be
// received; with space, the channel works once it is opened again.
func TestDiskFull(t *testing.T) {
	dir := smallDisk(t)
	// The server does not stop the flusher of a batch that it could not write.
	leaks = append(leaks, goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*msgBlock).flushLoop"))
	o := Options[string]{Name: "jobs", Dir: filepath.Join(dir, "store"), Log: mute()}
	c := open(t, o)
	large := strings.Repeat("a", 10_000)
	mustSend(t, c, "first", large, large)
	hog := fill(t, dir)
	_, batchErr := c.SendBatch(patient(t), []string{large, large})
	if !errors.Is(batchErr, ErrNoSpace) {
		t.Errorf("SendBatch: %v", batchErr)
	}
	for _, err := range []error{c.Send(patient(t), large), c.TrySend(large)} {
		if !errors.Is(err, ErrNoSpace) || !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("%v, want %v and %v", err, ErrNoSpace, ErrUnknown)
		}
	}
	if w := c.Stats().Disk.Warning; !strings.Contains(w, "no space left") {
		t.Errorf("Stats.Disk.Warning: %q", w)
	}
	mustRecv(t, c, "first")
	other := o
	other.Name = "others"
	if _, err := Open(t.Context(), &other); !errors.Is(err, ErrNoSpace) {
		t.Errorf("Open: %v", err)
	}
	leave(t, c)
	if err := os.Remove(hog); err != nil {
		t.Fatal(err)
	}
	c = open(t, o)
	if w := c.Stats().Disk.Warning; w != "" {
		t.Errorf("Stats.Disk.Warning with space again: %q", w)
	}
	for {
		if v, err := c.Recv(patient(t)); err != nil {
			t.Fatal(err)
		} else if v == large { // after "first", if its acknowledgment had no space
			break
		}
	}
	mustSend(t, c, "last")
	if _, err := os.Stat(filepath.Join(o.Dir, trialName)); !os.IsNotExist(err) {
		t.Errorf("the file of tryDisk: %v", err)
	}
}

// An embedded server whose write failed answers nothing anymore. The error names the write
// rather than the timeout.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{MaxBytes: 100_000, Log: mute()})
	if err := os.Symlink("/dev/full", filepath.Join(messagesOf(c), "2.blk")); err != nil {
		t.Fatal(err)
	}
	err := error(nil)
	for range 8 { // a few fill a block
		if err = c.Send(patient(t), strings.Repeat("a", 10_000)); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "the embedded server cannot store values: JetStream stream") {
		t.Errorf("Send: %v", err)
	}
}

// tryDisk reports an error only if the disk has no room, and leaves no file.
func TestTryDisk(t *testing.T) {
	t.Parallel()
	e := embedded{dir: smallDisk(t)}
	if err := e.tryDisk(1 << 20); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
	if err := e.tryDisk(8 << 20); !errors.Is(err, syscall.ENOSPC) || !errors.Is(spaceError(err), ErrNoSpace) {
		t.Errorf("8 MiB: %v", err)
	}
	if left, err := os.ReadDir(e.dir); len(left) > 0 || err != nil {
		t.Errorf("%v is left, %v", left, err)
	}
	if err := (&embedded{dir: filepath.Join(e.dir, "none")}).tryDisk(1); err == nil || errors.Is(spaceError(err), ErrNoSpace) {
		t.Errorf("without a directory: %v", err)
	}
}
