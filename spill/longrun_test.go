package spill

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

var (
	rounds = flag.Int("spill.rounds", 300, "how many rounds TestLongRun runs on one queue")
	seed   = flag.Uint64("spill.seed", 1, "the seed of TestLongRun")
)

// A longRun uses one queue, round after round, and keeps the account of it.
//
//	held    the deliveries that were not settled
//	front   the sequence numbers that the queue has yet to deliver, and that may be fresh
//	given   those that were given back
//	backlog the others that the queue has yet to deliver. All three ascend
//	live    all of these, with the number of each value: what the log must hold
//
// A send or an acknowledgement with an unknown outcome is in unsure until the queue is
// opened again, and so is a send that succeeded just before the machine was off.
type longRun struct {
	random *rand.Rand
	how    testQueue
	fault  planted
	disk   *simdisk.Disk
	open   *Durable[[]byte]
	queue  queue // open, maybe with a planted fault

	next     uint64 // the next value
	tail     uint64 // the sequence number after the last one that was seen in the log
	live     map[uint64]uint64
	front    []uint64
	given    []uint64
	backlog  []uint64
	held     map[uint64]*Delivery[[]byte]
	attempts map[uint64]int
	unsure   struct{ sent, certain, acked map[uint64]bool }
	failed   bool // a write had an unknown outcome

	did        string // in this round
	goroutines int    // at the start
	fewest     int    // since they were checked
	heap       uint64
	seen       figures
}

// figures is what a run has done.
type figures struct {
	rounds, sent, acked, nacked                                           int
	reopened, crashes, midway, full, faults, unknown, damaged, lost, back int
	peakSize, peakRead                                                    int64
	peakFiles, peakHandles, peakLive                                      int
	peakHeap                                                              uint64
}

func (f figures) String() string {
	return fmt.Sprintf("%d rounds: %d values sent, %d acknowledged, %d given back; %d clean reopenings, %d crashes, %d of them within an operation, "+
		"%d full disks, %d writes failed, %d with an unknown outcome; %d times damage, which cost %d values and brought %d back; 0 lost otherwise, 0 back, 0 out of order; "+
		"at most %d live values, %d KiB on disk in %d files, %d open, %d KiB read to open, %d KiB of heap",
		f.rounds, f.sent, f.acked, f.nacked, f.reopened, f.crashes, f.midway,
		f.full, f.faults, f.unknown, f.damaged, f.lost, f.back,
		f.peakLive, f.peakSize>>10, f.peakFiles, f.peakHandles, f.peakRead>>10, f.peakHeap>>10)
}

const segmentSize = 4 << 10

// newLongRun creates a queue.
func newLongRun(dir string, seed uint64, fault planted) (*longRun, error) {
	r := &longRun{
		fault:  fault,
		random: rand.New(rand.NewPCG(seed, 24)),
		how:    testQueue{Dir: dir, Segment: segmentSize, Policy: SetDamageAside, Memory: 16 << 10},
		next:   1, tail: 1, live: map[uint64]uint64{},
	}
	r.forget()
	var err error
	if r.disk, err = r.how.format(); err != nil {
		return nil, err
	}
	return r, r.start()
}

// run runs rounds until one contradicts a guarantee.
func (r *longRun) run(n int) error {
	if r.goroutines == 0 {
		r.goroutines, r.fewest = runtime.NumGoroutine(), math.MaxInt
	}
	for range n {
		before := r.did
		r.did = ""
		if err := r.round(); err != nil {
			return fmt.Errorf("round %d: %s, after %s: %w", r.seen.rounds, r.did, before, err)
		}
		r.seen.rounds++
	}
	return nil
}

// round is a round: work, and then the queue is left open, reopened, crashed or damaged.
func (r *longRun) round() error {
	var err error
	switch r.random.IntN(10) {
	case 0:
		err = r.fullDisk()
	case 1:
		err = r.faultyDisk()
	case 2, 3:
		err = r.crashWithin()
	default:
		err = r.work()
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return err
	}
	switch end := r.random.IntN(20); {
	case end < 8:
		return nil
	case end < 13:
		err = r.reopen()
	case end < 19:
		err = r.crash()
	default:
		err = r.damage()
	}
	if err == nil {
		err = r.check()
	}
	return err
}

// forget forgets the deliveries, whose queue is not open any more.
func (r *longRun) forget() {
	r.held, r.attempts = map[uint64]*Delivery[[]byte]{}, map[uint64]int{}
	r.unsure.sent, r.unsure.certain, r.unsure.acked = map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}
	r.front, r.given, r.backlog, r.failed = nil, nil, slices.Sorted(maps.Keys(r.live)), false
}

// start opens the queue, with no Fresh, or one that no value reaches, all do, or some do. It checks what
// opening costs.
func (r *longRun) start() error {
	d := disk.Disk(r.disk)
	if r.fault.disk != nil {
		d = r.fault.disk(r.disk)
	}
	r.how.Fresh = []time.Duration{0, time.Hour, 1, time.Millisecond, 100 * time.Microsecond}[r.random.IntN(5)]
	files := r.disk.Contents()
	r.disk.ForgetReads()
	c, err := r.how.open(d)
	if err != nil {
		return err
	}
	r.open, r.queue = c, c
	if r.fault.queue != nil {
		r.queue = r.fault.queue(c)
	}
	if c.Repaired().Err != nil {
		return nil // a repair reads everything; the caller looks at it
	}
	// The checkpoint, the state on a full disk, and the last segment: its places, its commits, and
	// its end again.
	read, largest := r.disk.Usage().BytesRead, 0
	for name, b := range files {
		if strings.HasSuffix(name, ".log") {
			largest = max(largest, len(b))
		}
	}
	r.seen.peakRead = max(r.seen.peakRead, read)
	if most := int64(4*largest + 2*len(files["checkpoint"]) + len(files["acks"]) + 1024); read > most {
		return fmt.Errorf("opening read %d bytes, want at most %d of %d", read, most, r.disk.Usage().Size)
	}
	return nil
}

// reopen shuts the queue down and opens it again.
func (r *longRun) reopen() error {
	if err := r.open.Shutdown(); err != nil {
		return err
	}
	if u := r.disk.Usage(); u.Handles > 0 {
		return fmt.Errorf("%d files are open after Shutdown", u.Handles)
	}
	r.seen.reopened++
	r.did += " reopened"
	return r.opened()
}

// crash ends the machine: the queue is opened on what is left.
func (r *longRun) crash() error {
	how := simdisk.Crash(r.random.IntN(3))
	after := r.disk.After(how, r.random)
	r.disk.StopAt(r.disk.Usage().Ops)
	_ = r.open.Shutdown() // only to unlock the queue
	if u := r.disk.Usage(); u.Handles > 0 {
		return fmt.Errorf("%d files are open after Shutdown", u.Handles)
	}
	r.disk = after
	r.seen.crashes++
	r.did += fmt.Sprint(" crash", how)
	return r.opened()
}

// opened opens the queue, in which nothing may be damaged, and settles what was unsure.
func (r *longRun) opened() error {
	if err := r.start(); err != nil {
		return err
	}
	if damage := r.open.Repaired(); damage.Err != nil {
		return fmt.Errorf("a false alarm: %v", damage)
	}
	records, err := r.open.logged(1)
	if err != nil {
		return err
	}
	there := map[uint64]bool{}
	for _, record := range records {
		there[record.Seq] = true
	}
	for seq := range r.unsure.acked {
		if !there[seq] {
			delete(r.live, seq)
		}
	}
	if err := r.adopt(r.unsure.certain); err != nil {
		return err
	}
	r.forget()
	return nil
}

// adopt enters the values that are new in the log: all of sent, maybe some of those that are
// unsure, each sender's in order. If the machine is off, that is left to the next start.
func (r *longRun) adopt(sent map[uint64]bool) error {
	records, err := r.open.logged(r.tail)
	if err != nil {
		if r.disk.Fail != nil {
			maps.Copy(r.unsure.certain, sent)
			r.failed = true
			return nil
		}
		return err
	}
	last, missing := [16]uint64{}, len(sent)
	for _, record := range records {
		id, err := identify(record.Payload)
		switch {
		case record.Damaged != nil:
			return record.Damaged
		case err != nil:
			return err
		case !sent[id] && !r.unsure.sent[id]:
			return fmt.Errorf("value %x is in the log, although no send of it succeeded", id)
		case id <= last[id%16]:
			return fmt.Errorf("value %x comes after %x", id, last[id%16])
		case sent[id]:
			missing--
		}
		last[id%16] = id
		r.live[record.Seq] = id
		r.front = append(r.front, record.Seq)
		r.tail = record.Seq + 1
	}
	if missing != 0 {
		return fmt.Errorf("%d of %d values that were sent are not in the log", missing, len(sent))
	}
	return nil
}

// check compares the queue with the account, and what it uses with its limits.
func (r *longRun) check() error {
	records, err := r.open.logged(1)
	if err != nil {
		return err
	}
	var bytes int64
	for _, record := range records {
		id, err := identify(record.Payload)
		want, ok := r.live[record.Seq]
		switch {
		case record.Damaged != nil:
			return record.Damaged
		case err != nil:
			return err
		case !ok:
			return fmt.Errorf("value %x, record %d of %d to %d, is in the log, and not in the account any more", id, record.Seq, records[0].Seq, r.tail)
		case id != want:
			return fmt.Errorf("value %x in the place of %x", id, want)
		}
		bytes += int64(len(record.Payload)) + 32
	}
	if len(records) != len(r.live) {
		return fmt.Errorf("%d of %d values are lost", len(r.live)-len(records), len(r.live))
	}
	s := r.open.Stats()
	warned := strings.Contains(s.Disk.Warning, "the disk has no room") || r.seen.faults > 0 && strings.HasPrefix(s.Disk.Warning, "the last send failed")
	if r.queued() != s.Len || len(r.held) != r.open.InFlight() || s.Sent-s.Received != uint64(s.Len) || s.Disk.Warning != "" && !warned {
		return fmt.Errorf("%d queued and %d in flight, want %d and %d: %+v", s.Len, r.open.InFlight(), r.queued(), len(r.held), s)
	}
	return r.checkUse(bytes)
}

// checkUse checks disk space, files, goroutines and memory. bytes is the size of the live
// frames.
func (r *longRun) checkUse(bytes int64) error {
	// At least a quarter of each old segment is live; beside them, there are the last one, one
	// that is being emptied, the checkpoint, the acknowledgment area, and the reserve. A large
	// acknowledgement leaves more than that: each write after it empties a segment. The last segment
	// may have four times the size of the checkpoint.
	most := 4*bytes + 40*segmentSize
	u := r.disk.Usage()
	for range u.Files {
		if u.Size <= most {
			break
		}
		if err := r.send(1); err != nil {
			return err
		}
		u = r.disk.Usage()
	}
	r.fewest = min(r.fewest, runtime.NumGoroutine())
	r.seen.peakSize, r.seen.peakFiles = max(r.seen.peakSize, u.Size), max(r.seen.peakFiles, u.Files)
	r.seen.peakHandles, r.seen.peakLive = max(r.seen.peakHandles, u.Handles), max(r.seen.peakLive, len(r.live))
	switch {
	case u.Size > most:
		return fmt.Errorf("%d bytes on disk for %d live ones, want at most %d: %v", u.Size, bytes, most, u)
	case int64(u.Files) > 16+2*u.Size/segmentSize:
		return fmt.Errorf("%d files for %d bytes", u.Files, u.Size)
	case u.Handles > 70:
		return fmt.Errorf("%d open files", u.Handles)
	case r.seen.rounds%50 != 0 || r.seen.rounds == 0:
		return nil
	}
	if r.fewest > r.goroutines+2 { // at each moment, senders that are through may not have ended
		return fmt.Errorf("at least %d goroutines, there were %d", r.fewest, r.goroutines)
	}
	r.fewest = math.MaxInt
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if r.heap == 0 {
		r.heap = m.HeapAlloc
	}
	r.seen.peakHeap = max(r.seen.peakHeap, m.HeapAlloc)
	if m.HeapAlloc > r.heap+uint64(8*u.Size)+8<<20 {
		return fmt.Errorf("%d bytes of heap, there were %d", m.HeapAlloc, r.heap)
	}
	return nil
}

// TestLongRun: a day in fast motion. Values are sent, received, acknowledged and given back;
// the queue is reopened, crashes at any moment, and meets disks that are full, fail, or damage
// its files; each time with another Fresh. Through all rounds no value is lost, comes back after its
// acknowledgement, or is out of order; and disk space, files, goroutines, memory, and what opening reads stay bounded.
// If every test runs, one round in a thousand kills a real process.
func TestLongRun(t *testing.T) {
	r, err := newLongRun(t.TempDir(), *seed, planted{})
	if err != nil {
		t.Fatal(err)
	}
	dir, l := t.TempDir()+"/queue", newLedger()
	for left, generation := *rounds, uint64(0); left > 0; left -= 1000 {
		if err := r.run(min(left, 1000)); err != nil {
			t.Fatal(err)
		}
		if !suite.All() {
			continue
		}
		if err := killed(dir, l, generation, r.random.IntN(1500)); err != nil {
			t.Fatalf("process %d: %v", generation, err)
		}
		if generation++; generation%10 == 0 {
			t.Logf("so far: %v", r.seen)
		}
	}
	t.Logf("%v", r.seen)
	if suite.All() {
		if err := l.close(dir); err != nil {
			t.Fatal(err)
		}
		t.Logf("killed processes: %v", l)
	}
}
