package spill

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// TestDamagedRecord: a damaged record does not prevent receiving the others, and can
// be dropped.
func TestDamagedRecord(t *testing.T) {
	dir := queueOf(t, 60)
	damage(t, lastSegment(dir), func(b []byte) []byte {
		b[bytes.LastIndex(b, numbered(43))+50] ^= 4
		return b
	})
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		if i != 43 {
			mustRecv(t, c, i)
			continue
		}
		var bad *RecordError
		if _, err := c.TryRecv(); !errors.As(err, &bad) || !strings.Contains(err.Error(), "record 44") || len(bad.Raw) != 100 {
			t.Fatalf("the damaged one: %v", err)
		}
		if err := bad.Drop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
}

// TestRemovedDirectory: a Send to a file that was removed fails, and so does every
// later call.
func TestRemovedDirectory(t *testing.T) {
	dir := t.TempDir() + "/of-its-own"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Send(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "was removed or replaced") || !strings.Contains(err.Error(), dir) {
			t.Errorf("Send: %v", err)
		}
	}
	again, err := reopen(dir)
	if err != nil || again.Len() != 0 || c.Stats().Disk.Warning == "" {
		t.Errorf("a new queue in its place: %v", err)
	}
	if err := errors.Join(again.Shutdown(), c.Shutdown()); err != nil {
		t.Error(err)
	}
}

// TestFilesOfAnother: a Durable whose folder was replaced does not touch the files of the new
// queue, and Shutdown reports that its own are gone.
func TestFilesOfAnother(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "queue")
	c, err := reopen(newFolder(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	again, err := reopen(newFolder(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	before := names(t, dir)
	if err := c.Shutdown(); err == nil || !strings.Contains(err.Error(), "was removed or replaced") || names(t, dir) != before {
		t.Errorf("Shutdown of the first: %v; of %q there is %q", err, before, names(t, dir))
	}
	if err := again.Shutdown(); err != nil {
		t.Fatal(err)
	}
}

// newFolder makes a folder.
func newFolder(t *testing.T, dir string) string {
	t.Helper()
	if err := makeDir(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSmallRecords: the memory limit holds for empty records too.
func TestSmallRecords(t *testing.T) {
	c, _ := small(0)
	if n, err := c.SendBatch(context.Background(), make([][]byte, 10_000)); n != 10_000 || err != nil {
		t.Fatal(n, err)
	}
	if s := c.Stats(); c.backlog.window.Len() > 100 || s.Bytes > 1000 || s.Bytes == 0 {
		t.Errorf("%d records in a window of 1000 bytes: %d bytes", c.backlog.window.Len(), s.Bytes)
	}
}

// breaking is a context whose Done panics or ends the goroutine.
type breaking struct {
	context.Context
	with func()
}

func (b breaking) Done() <-chan struct{} {
	b.with()
	return nil
}

// TestContextBreaks: a send whose context panics, or ends the goroutine, during a
// commit leaves nothing behind, and no goroutine waits for it.
func TestContextBreaks(t *testing.T) {
	for name, with := range map[string]func(){"panic": func() { panic("a user's") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := small(0)
				gate := make(chan struct{})
				s.onWrite = func(uint64, [][]byte, []uint64) error {
					<-gate
					return nil
				}
				var first, third error
				go func() { first = c.Send(context.Background(), numbered(1)) }()
				synctest.Wait()
				go func() {
					defer func() { _ = recover() }()
					_ = c.Send(breaking{context.Background(), with}, numbered(2))
				}()
				synctest.Wait()
				go func() { third = c.Send(context.Background(), numbered(3)) }()
				synctest.Wait()
				close(gate)
				synctest.Wait()
				mustRecv(t, c, 1)
				mustRecv(t, c, 3)
				if err := errors.Join(first, third, c.Shutdown()); err != nil || c.Len() != 0 || c.leading || c.bytes != 2*108 {
					t.Errorf("%v; %d left, leading %v, %d bytes", err, c.Len(), c.leading, c.bytes)
				}
			})
		})
	}
}

// TestShutdownTwice: the second call returns after the file is closed, not before.
func TestShutdownTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := small(0)
		gate := make(chan struct{})
		s.onWrite = func(uint64, [][]byte, []uint64) error {
			<-gate
			return nil
		}
		var returned [2]bool
		go func() { _ = c.Send(context.Background(), nil) }()
		synctest.Wait()
		for i := range returned {
			go func() {
				_ = c.Shutdown()
				returned[i] = true
			}()
			synctest.Wait()
		}
		if returned[0] || returned[1] {
			t.Errorf("returned during a commit: %v", returned)
		}
		close(gate)
		synctest.Wait()
		if !returned[0] || !returned[1] || !s.closed {
			t.Errorf("returned %v, closed %v", returned, s.closed)
		}
	})
}

// TestAckOfNone: acknowledging nil, or a delivery of another channel, panics and has
// no other effect.
func TestAckOfNone(t *testing.T) {
	c, store := small(0)
	if err := c.TrySend(numbered(0)); err != nil {
		t.Fatal(err)
	}
	d := mustRecv(t, c, 0)
	func() {
		defer func() {
			if p, want := recover(), "spill: Ack: delivery is nil or belongs to another channel"; p != want {
				t.Errorf("panicked with %v, want %q", p, want)
			}
		}()
		_ = c.Ack(d, nil)
	}()
	if !c.mu.TryLock() {
		t.Fatal("the lock is held")
	}
	c.mu.Unlock()
	before := store.writes
	if err := c.Ack(); err != nil || store.writes != before {
		t.Errorf("Ack of no deliveries: %v, and %d writes", err, store.writes-before)
	}
	if err := d.Ack(); err != nil || store.writes != before+1 {
		t.Errorf("%v, after %d writes", err, store.writes-before)
	}
}

// TestGivenBackInMemory: values that are given back do not stay in memory beyond the
// limit, and are read again from the file.
func TestGivenBackInMemory(t *testing.T) {
	c, s := small(0)
	var ds []*Delivery[[]byte]
	for i := range 100 {
		if err := c.TrySend(numbered(i)); err != nil {
			t.Fatal(err)
		}
		ds = append(ds, mustRecv(t, c, i))
	}
	for _, d := range ds {
		if err := d.Nack(); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.Sent != 200 || s.Received != 100 || s.Len != 100 {
		t.Errorf("the sums: %+v", s)
	}
	if bytes := c.Stats().Bytes; bytes > 100*48 || bytes == 0 {
		t.Errorf("100 records of 100 bytes were given back: %d bytes in memory", bytes)
	}
	broken := errors.New("read 0000000000000001.log: input/output error")
	s.onRead = func() error { return broken }
	for range 2 {
		if _, err := c.TryRecv(); err != broken || c.Len() != 100 {
			t.Fatalf("a disk that fails: %v, %d left", err, c.Len())
		}
	}
	s.onRead = nil
	for i := range 100 {
		if d, err := c.TryRecv(); err != nil || !bytes.Equal(d.Value, numbered(i)) || d.Attempt != 2 || d.Ack() != nil {
			t.Fatalf("record %d: %v, %v", i, d, err)
		}
	}
	if s := c.Stats(); s.Bytes != 0 || c.bytes != 0 {
		t.Errorf("%d bytes in memory, %d of the disk", s.Bytes, c.bytes)
	}
}

// TestMixedCommitUnknown: after a write with an unknown outcome nothing is written
// again, not even the deletes.
func TestMixedCommitUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := small(0)
		errs := mixed(t, c, s, func(payloads [][]byte, deletes []uint64) error {
			if len(payloads) > 0 && len(deletes) > 0 {
				return errUnknown
			}
			return nil
		})
		if errs[0] != nil || !errors.Is(errs[1], errUnknown) || !errors.Is(errs[2], ErrFailed) || s.writes != 3 || c.Shutdown() != nil {
			t.Errorf("%v; %d writes", errs, s.writes)
		}
	})
}

// TestMissingRecord: a record that is missing in the file is an error of receives; it does not
// end the process.
func TestMissingRecord(t *testing.T) {
	c, s := small(0)
	for i := range 30 { // more than fit into the window
		if err := c.TrySend(numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := mustRecv(t, c, 0).Nack(); err != nil {
		t.Fatal(err)
	}
	first := s.records[1]
	clear(s.records)
	if _, err := c.TryRecv(); err != errMissing {
		t.Errorf("one that was given back: %v", err)
	}
	s.records[1] = first
	var err error
	for err == nil {
		_, err = c.TryRecv()
	}
	if err != errMissing || c.Len() == 0 {
		t.Errorf("one beyond the window: %v, %d left", err, c.Len())
	}
}

// TestDropBehind: a record can be dropped wherever it is among those given back.
func TestDropBehind(t *testing.T) {
	c := durableOn(newMemoryStore(), &DurableOptions[[]byte]{Codec: fragile{raw()}})
	for _, v := range []string{"fine", "late error"} {
		if err := c.TrySend([]byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := c.TryRecv()
	if err != nil {
		t.Fatal(err)
	}
	var bad *RecordError
	if _, err := c.TryRecv(); !errors.As(err, &bad) {
		t.Fatal(err)
	}
	if err := errors.Join(d.Nack(), bad.Drop()); err != nil || c.Len() != 1 {
		t.Errorf("%v; %d left", err, c.Len())
	}
	if d, err = c.TryRecv(); err != nil || string(d.Value) != "fine" || d.Ack() != nil || c.bytes != 0 {
		t.Errorf("%v, %v; %d bytes", d, err, c.bytes)
	}
	if _, err := c.TryRecv(); err != sluice.ErrEmpty {
		t.Errorf("a dropped record came back: %v", err)
	}
}

// TestCutWhileOpen: the first Send after the file that is written to was cut returns an error that
// names it, and so do all later calls; the next OpenDurable does, too.
func TestCutWhileOpen(t *testing.T) {
	dir := queueOf(t, 50)
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := lastSegment(dir)
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	for i, err := range []error{c.Send(context.Background(), numbered(50)), c.Send(context.Background(), nil), second(c.TryRecv())} {
		if !errors.Is(err, errUnknown) || !strings.Contains(err.Error(), path) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if c.Stats().Disk.Warning == "" {
		t.Error("no warning")
	}
	if err := c.Shutdown(); err != nil {
		t.Error(err)
	}
	if _, err := reopen(dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("opened again: %v", err)
	}
}
