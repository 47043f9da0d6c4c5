package spill

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

var mishaps = flag.Int("spill.mishaps", 12, "how often TestMishapsWhileOpen does each thing to an open queue")

// filesOf returns the paths of the files of a queue, relative to its folder.
func filesOf(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// A found is what a queue delivers.
type found struct {
	values map[string]bool
	bad    int   // records that are damaged
	err    error // of OpenDurable, or of a receive that no Drop helps
	repair Repair
}

// look opens a queue, receives everything, and shuts it down.
func look(dir string, policy DamagePolicy) (f found) {
	f.values = map[string]bool{}
	c, err := reopenWith(policy, dir, spares)
	if err != nil {
		return found{values: f.values, err: err}
	}
	for {
		d, err := c.TryRecv()
		var bad *RecordError
		switch {
		case errors.As(err, &bad) && bad.Drop() == nil:
			f.bad++
			continue
		case err == nil && f.values[string(d.Value)]:
			err = errors.New("received twice")
		case err == nil:
			f.values[string(d.Value)] = true
			continue
		case err == sluice.ErrEmpty:
			err = nil
		}
		f.repair = c.Repaired()
		f.err = errors.Join(err, c.Shutdown())
		return f
	}
}

// account opens a queue to which something was done. It returns an error if values of must are
// lost without an error, or if there are values that are not in may.
func account(t *testing.T, dir string, must, may map[string]bool) (noticed bool, err error) {
	missing := func(f found) (n int, err error) {
		for v := range must {
			if !f.values[v] {
				n++
			}
		}
		for v := range f.values {
			if !may[v] {
				err = fmt.Errorf("received %q, which was not there", v)
			}
		}
		return n, err
	}
	refused := look(copyFolder(t, dir), RefuseDamage)
	n, err := missing(refused)
	if err != nil || refused.err == nil && n != refused.bad {
		return false, fmt.Errorf("refuse: %d lost, %d are damaged: %w", n, refused.bad, err)
	}
	noticed = refused.err != nil || refused.bad > 0
	again := copyFolder(t, dir)
	mended := look(again, SetDamageAside)
	n, err = missing(mended)
	switch {
	case mended.err != nil:
		return noticed, fmt.Errorf("set aside: %w", mended.err)
	case err != nil && !mended.repair.Returned:
		return noticed, fmt.Errorf("set aside: %w", err)
	case n > 0 && mended.repair.Err == nil:
		return noticed, fmt.Errorf("set aside: %d lost, and no report", n)
	case n != mended.repair.Lost && mended.repair.Lost > 0 && !mended.repair.Returned:
		return noticed, fmt.Errorf("set aside: %d lost: %v", n, mended.repair)
	}
	if f := look(again, RefuseDamage); f.err != nil || f.bad > 0 || len(f.values) != len(mended.values) {
		return noticed, fmt.Errorf("after the repair: %d values of %d, %d damaged, %w", len(f.values), len(mended.values), f.bad, f.err)
	}
	return noticed, nil
}

// usedQueue returns the folder of a queue after kill -9: the records 40 to 119 are there.
func usedQueue(t *testing.T) (dir string, values map[string]bool) {
	t.Helper()
	from := queueOf(t, 100)
	c, err := reopen(from)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if err := mustRecv(t, c, i).Ack(); err != nil {
			t.Fatal(err)
		}
	}
	values = map[string]bool{}
	for i := 40; i < 120; i++ {
		values[string(numbered(i))] = true
		if i < 100 {
			continue
		}
		if err := c.Send(context.Background(), numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	return copyFolder(t, from), values
}

// TestFlippedBits: a bit that changes in any file of a queue is an error or a damaged record, or
// does not matter; no value is lost or changes without notice. SetDamageAside leaves a
// queue that works. The same holds for files that are cut or missing.
func TestFlippedBits(t *testing.T) {
	dir, values := usedQueue(t)
	random := rand.New(rand.NewPCG(1, 2))
	noticed, all := 0, 0
	for _, path := range filesOf(t, dir) {
		if strings.HasSuffix(path, "reserve") || strings.HasSuffix(path, "acks") {
			continue
		}
		whole, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			b, what := bytes.Clone(whole), "missing"
			switch {
			case n == 9:
				b = nil
			case len(b) == 0: // the lock
				continue
			case n >= 7:
				b = b[:random.IntN(len(b))]
				what = fmt.Sprint("cut to ", len(b))
			default:
				at := random.IntN(len(b))
				b[at] ^= 1 << random.IntN(8)
				what = fmt.Sprint("bit at ", at)
			}
			changed := copyFolder(t, dir)
			at := filepath.Join(changed, path)
			if b == nil {
				err = os.Remove(at)
			} else {
				err = os.WriteFile(at, b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			saw, err := account(t, changed, values, values)
			if err != nil {
				t.Errorf("%s, %s: %v", path, what, err)
			}
			if all++; saw {
				noticed++
			} else if strings.HasSuffix(path, "checkpoint") || strings.HasSuffix(path, ".log") && n >= 7 {
				t.Errorf("%s, %s: not noticed", path, what)
			}
		}
	}
	t.Logf("%d of %d changes were noticed", noticed, all)
}

// TestNothingLeft: a queue of which nothing can be read is an error, or a new queue with a report,
// as often as that happens. The files are kept.
func TestNothingLeft(t *testing.T) {
	dir := queueOf(t, 5)
	kept := map[string]string{}
	for round := range 3 {
		for _, path := range []string{filepath.Join(dir, "checkpoint"), lastSegment(dir)} {
			damage(t, path, func(b []byte) []byte { return append([]byte{byte(round)}, make([]byte, len(b))...) })
			name := filepath.Base(path) + ".damaged"
			if round > 0 {
				name += fmt.Sprint("-", round+1)
			}
			kept[name] = filesIn(t, dir)[filepath.Base(path)]
		}
		if _, err := OpenDurable[[]byte](dir, nil); err == nil || !strings.Contains(err.Error(), dir) ||
			strings.Count(err.Error(), "DurableOptions.OnDamage to SetDamageAside") != 1 {
			t.Error(err)
		}
		c, err := OpenDurable(dir, &DurableOptions[[]byte]{OnDamage: SetDamageAside})
		if err != nil {
			t.Fatal(err)
		}
		if r := c.Repaired(); r.Err == nil || c.Len() != 0 || c.Stats().Disk.Warning != r.String() || !strings.HasPrefix(r.String(), "no record is known to be lost") {
			t.Errorf("%v", r)
		}
		if err := errors.Join(c.Send(context.Background(), nil), c.Shutdown()); err != nil {
			t.Fatal(err)
		}
	}
	files := filesIn(t, dir)
	for name, content := range kept {
		if files[name] != content {
			t.Errorf("%s is not there; the folder has %s", name, names(t, dir))
		}
	}
}

// TestRecordsMissing: a queue of which only the spare files are there is damaged, and not new.
func TestRecordsMissing(t *testing.T) {
	for _, left := range []string{"synced", "acks", "reserve"} {
		dir := queueOf(t, 5)
		for name := range filesIn(t, dir) {
			if name != left {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if f := look(dir, RefuseDamage); f.err == nil || !strings.Contains(f.err.Error(), "checkpoint") {
			t.Errorf("with %s: %v", left, f.err)
		}
		if f := look(dir, SetDamageAside); f.err != nil || f.repair.Err == nil {
			t.Errorf("with %s: %v, %v", left, f.repair, f.err)
		}
		if f := look(dir, RefuseDamage); f.err != nil || len(f.values) > 0 {
			t.Errorf("with %s, opened again: %v", left, f.err)
		}
	}
}

// TestLostSegment: acknowledgements that were lost with a segment make the number of lost records
// a limit, and the report has them.
func TestLostSegment(t *testing.T) {
	dir := queueOf(t, 20)
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := mustRecv(t, c, i).Ack(); err != nil {
			t.Fatal(err)
		}
	}
	copied := copyFolder(t, dir) // as after kill -9
	if err := errors.Join(c.Shutdown(), os.Remove(lastSegment(copied))); err != nil {
		t.Fatal(err)
	}
	c, err = OpenDurable(copied, &DurableOptions[[]byte]{OnDamage: SetDamageAside})
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Repaired(); r.Lost < 15 || !r.Returned || !strings.HasPrefix(r.String(), fmt.Sprintf("up to %d damaged records were lost, or had been acknowledged (the first has number", r.Lost)) {
		t.Errorf("%+v: %v", r, r)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
}

// TestSkipDamaged: with SetDamageAside, receives skip a record that was damaged after the queue
// was opened, and report it.
func TestSkipDamaged(t *testing.T) {
	dir := queueOf(t, 60)
	c, err := reopenWith(SetDamageAside, dir, spares)
	if err != nil {
		t.Fatal(err)
	}
	damage(t, lastSegment(dir), func(b []byte) []byte {
		for _, i := range []int{43, 59} {
			b[bytes.LastIndex(b, numbered(i))+50] ^= 4
		}
		return b
	})
	c.Close()
	for i := range 59 {
		if i == 43 {
			continue
		}
		d := mustRecv(t, c, i)
		if err := d.Ack(); err != nil || d.Seq() != uint64(i+1) {
			t.Fatal(i, d.Seq(), err)
		}
	}
	if _, err := c.Recv(context.Background()); err != sluice.ErrClosed {
		t.Errorf("behind the last one: %v", err)
	}
	if r := c.Repaired(); r.Lost != 2 || r.First != 44 || r.Last != 60 || !strings.Contains(r.String(), "record 44") {
		t.Errorf("%v", r)
	}
	if s := c.Stats(); s.Len != 0 || c.bytes != 0 || c.InFlight() != 0 || !strings.HasPrefix(s.Disk.Warning, "2 damaged records were lost (the first has number 44, the last 60)") {
		t.Errorf("%+v, %d bytes", s, c.bytes)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
}

// TestMishapsWhileOpen truncates, overwrites and removes files of a queue while values are sent
// and received. No call hangs and the process does not end. Afterwards all values are there
// that were stored, or there is an error.
func TestMishapsWhileOpen(t *testing.T) {
	suite.Needs(t, "a disk for many queues")
	random := rand.New(rand.NewPCG(3, uint64(*mishaps)))
	errs := 0
	for what, spoil := range map[string]func(path string, size int64) error{
		"truncated": func(path string, size int64) error { return os.Truncate(path, random.Int64N(size+1)) },
		"garbage": func(path string, size int64) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			b := make([]byte, 1+random.IntN(200))
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			_, err = f.WriteAt(b, random.Int64N(size+1))
			return errors.Join(err, f.Close())
		},
		"removed": func(path string, _ int64) error { return os.Remove(path) },
	} {
		for n := range *mishaps {
			failed, err := mishap(t, random, n, RefuseDamage, spoil)
			if err != nil {
				t.Errorf("%s, %d: %v", what, n, err)
			}
			if failed {
				errs++
			}
			if _, err := mishap(t, random, n, SetDamageAside, spoil); err != nil {
				t.Errorf("%s, %d, set aside: %v", what, n, err)
			}
		}
	}
	t.Logf("%d of %d were noticed while the queue was open", errs, 3**mishaps)
}

// mishap does something to one file of an open queue under load.
func mishap(t *testing.T, random *rand.Rand, n int, policy DamagePolicy, spoil func(path string, size int64) error) (failed bool, err error) {
	dir := t.TempDir()
	c, err := reopenWith(policy, dir, logstore.Options{SegmentSize: 8 << 10, Reserve: 16 << 10, Acks: 16 << 10})
	if err != nil {
		t.Fatal(err)
	}
	l := &load{c: c, tried: map[string]bool{}, sent: map[string]bool{}, acked: map[string]bool{}, spoiled: make(chan struct{})}
	var running sync.WaitGroup
	moment := make(chan struct{})
	running.Go(func() { l.send(moment, 200+n%7*30) })
	running.Go(l.receive)
	<-moment
	paths := filesOf(t, dir)
	name := paths[n/2%len(paths)]
	if n%2 == 0 {
		name, _ = filepath.Rel(dir, lastSegment(dir)) // the one that is written to
	}
	path := filepath.Join(dir, name)
	if info, err := os.Stat(path); err == nil {
		_ = spoil(path, info.Size()) // it may be gone
	}
	close(l.spoiled)
	running.Wait()
	repair := c.Repaired()
	_ = c.Shutdown()
	must := map[string]bool{}
	for v := range l.sent {
		if !l.acked[v] {
			must[v] = true
		}
	}
	if policy == SetDamageAside {
		return l.failed, l.goesOn(t, dir, must, repair)
	}
	// Acknowledgments may be lost if there is an error.
	if _, err := account(t, dir, must, l.tried); err != nil {
		return l.failed || l.err != nil, fmt.Errorf("%s: %w", name, err)
	}
	return l.failed || l.err != nil, nil
}

// goesOn checks the queue of a load with the policy SetDamageAside: no call has failed, and all
// values that are missing are reported as lost.
func (l *load) goesOn(t *testing.T, dir string, must map[string]bool, repair Repair) error {
	if l.failed || l.err != nil {
		return fmt.Errorf("Send: %w; receive: %w", l.sendErr, l.err)
	}
	f := look(dir, SetDamageAside)
	missing := 0
	for v := range must {
		if !f.values[v] {
			missing++
		}
	}
	if f.err != nil || missing > repair.Lost+f.repair.Lost && !repair.Returned && !f.repair.Returned {
		return fmt.Errorf("%d are missing: %v; opened: %v; %w", missing, repair, f.repair, f.err)
	}
	return nil
}

// A load sends values, and receives and acknowledges some, until it fails or is through.
type load struct {
	c      *Durable[[]byte]
	tried  map[string]bool
	sent   map[string]bool
	acked  map[string]bool // or may be
	failed bool
	// sendErr is the last error of a Send, err that of a receive.
	sendErr, err error

	spoiled chan struct{}
}

func (l *load) send(moment chan struct{}, n int) {
	defer l.c.Close()
	for i := range n {
		switch i {
		case n / 2:
			close(moment)
		case n * 3 / 4:
			<-l.spoiled
		}
		v := append(binary.BigEndian.AppendUint32(nil, uint32(i)), make([]byte, 100+i%50)...)
		l.tried[string(v)] = true
		err := l.c.Send(context.Background(), v)
		if err != nil && !errors.Is(err, ErrFailed) { // a file was removed between two steps: nothing is stored
			err = l.c.Send(context.Background(), v)
		}
		if err == nil {
			l.sent[string(v)] = true
		} else {
			l.failed, l.sendErr = true, err
		}
	}
}

func (l *load) receive() {
	for i := 0; ; i++ {
		d, err := l.c.Recv(context.Background())
		if err != nil {
			if err != sluice.ErrClosed {
				l.err = err
			}
			return
		}
		if i%4 != 0 {
			l.acked[string(d.Value)] = true
			_ = d.Ack()
		}
	}
}
