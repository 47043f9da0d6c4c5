package queue

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unique"

	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// opened returns a queue of that kind with batches of two, and ends it with the
// test.
func opened(t *testing.T, kind string, o Options) Queue {
	t.Helper()
	o.Capacity, o.Batch = 64, 2
	q, err := New(kind, o)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// send sends events with the given sizes.
func send(q Queue, sizes ...int64) (rejected int) {
	s := q.Sender()
	for _, n := range sizes {
		rejected += s.Send(parse.Event{Service: unique.Make("web"), Bytes: n})
	}
	return rejected + s.Flush()
}

// next receives one batch, and returns the sizes.
func next(q Queue) (sizes []int64) {
	for events := range q.All() {
		for _, e := range events {
			sizes = append(sizes, e.Bytes)
		}
		break
	}
	return sizes
}

// TestReceipts: after a restart, packets that are done do not return, and
// packets that were returned or not settled do.
func TestReceipts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "queue")
	q := opened(t, "durable", Options{Dir: dir})
	send(q, 1, 2, 3, 4, 5, 6, 7)
	next(q)
	done := q.Receipt()
	next(q)
	back := q.Receipt()
	next(q)
	if q.Owed() != 3 {
		t.Errorf("%d are owed", q.Owed())
	}
	done(true)
	back(false)
	if q.Owed() != 1 {
		t.Errorf("%d are owed", q.Owed())
	}
	if a := q.Account(); a != (Account{Shared: true, Packets: a.Packets, Sent: 7}) {
		t.Errorf("the account is %+v", a)
	}
	if err := q.End(); err != nil {
		t.Error(err)
	}

	q = opened(t, "durable", Options{Dir: dir})
	send(q, 8)
	var got []int64
	for range 4 {
		got = append(got, next(q)...)
		q.Receipt()(true)
	}
	if len(got) != 6 || got[0] != 3 || got[5] != 8 {
		t.Errorf("after the restart: received %v", got)
	}
	if a := q.Account(); a != (Account{Shared: true, Packets: a.Packets, Sent: 1, Again: 5}) {
		t.Errorf("the account is %+v", a)
	}
	if err := q.End(); err != nil {
		t.Error(err)
	}
}

// TestTicksAreNotStored: a tick reaches the local receiver without entering the store.
func TestTicksAreNotStored(t *testing.T) {
	for _, kind := range []string{"durable", "jetstream"} {
		q := opened(t, kind, Options{})
		q.Tick()
		if q.Account().Packets > 0 {
			t.Errorf("%s: a tick is stored", kind)
		}
		for events := range q.All() {
			if len(events) != 1 || !events[0].Tick {
				t.Errorf("%s: received %v", kind, events)
			}
			break
		}
		received := make(chan []int64)
		go func() { received <- next(q) }()
		send(q, 5)
		if got := <-received; len(got) != 1 || got[0] != 5 {
			t.Errorf("%s: received %v after a tick", kind, got)
		}
		if err := q.End(); err != nil {
			t.Error(err)
		}
	}
}

// TestTickWakes: a tick wakes a receiver that waits for events.
func TestTickWakes(t *testing.T) {
	q := opened(t, "durable", Options{})
	ticked := make(chan bool)
	go func() {
		for events := range q.All() {
			ticked <- events[0].Tick
			return
		}
	}()
	for q.(*stored[onDisk]).store.(*disk).queue.Stats().ReceiversWaiting == 0 {
		runtime.Gosched()
	}
	q.Tick()
	if !<-ticked {
		t.Error("received something else")
	}
	if err := q.End(); err != nil {
		t.Error(err)
	}
}

// TestGiveUp ends a waiting receiver and a sender without room; the sender's
// events are rejected, and End returns the reason.
func TestGiveUp(t *testing.T) {
	q := opened(t, "durable", Options{Dir: t.TempDir()})
	ended := make(chan []int64)
	go func() { ended <- next(q) }()
	q.GiveUp()
	if got := <-ended; got != nil {
		t.Errorf("received %v", got)
	}
	if err := q.End(); err != nil {
		t.Error(err)
	}

	q = opened(t, "durable", Options{Dir: t.TempDir(), DiskBytes: 128})
	rejected := make(chan int)
	go func() { rejected <- send(q, make([]int64, 100)...) }()
	next(q) // keep it: its room is not free before it is settled
	for q.(*stored[onDisk]).store.(*disk).queue.Stats().SendersWaiting == 0 {
		runtime.Gosched()
	}
	q.GiveUp()
	if n := <-rejected; n == 0 || int64(n)+q.Account().Sent != 100 {
		t.Errorf("%d rejected, %d sent", n, q.Account().Sent)
	}
	if err := q.End(); err == nil || !strings.Contains(err.Error(), "not stored: context canceled") {
		t.Errorf("End returns %v", err)
	}
}

// A witness is a store that records Owed when packets are settled.
type witness struct {
	*disk
	owed func() int
	saw  []int
}

func (w *witness) settle(ctx context.Context, ps []onDisk) error {
	w.saw = append(w.saw, w.owed())
	return w.disk.settle(ctx, ps)
}

// TestOwedFallsFirst: a packet is not owed anymore when it is settled.
// Otherwise the rest of a store could be misclassified as owed, and never be
// received.
func TestOwedFallsFirst(t *testing.T) {
	under := opened(t, "durable", Options{}).(*stored[onDisk])
	w := &witness{disk: under.store.(*disk)}
	q := newStored[onDisk](Options{Batch: 2}, w, false, true)
	w.owed = q.Owed
	send(q, 1, 2, 3, 4)
	next(q)
	first := q.Receipt()
	next(q)
	q.Receipt()(true)
	first(false)
	if len(w.saw) != 2 || w.saw[0] != 1 || w.saw[1] != 0 {
		t.Errorf("%v were owed while two were settled", w.saw)
	}
	if err := q.End(); err != nil {
		t.Error(err)
	}
}

// TestGiveUpDrains: GiveUp does not stop the draining of a queue that ends with
// the process.
func TestGiveUpDrains(t *testing.T) {
	for _, kind := range []string{"durable", "jetstream"} {
		q, received := opened(t, kind, Options{}), 0
		send(q, 1, 2, 3, 4, 5)
		q.GiveUp()
		q.Close()
		for events := range q.All() {
			received += len(events)
			q.Receipt()(false) // no receiver will come for it
		}
		if received != 5 || q.Account().Packets > 0 {
			t.Errorf("%s: received %d, %d are left", kind, received, q.Account().Packets)
		}
		if err := q.End(); err != nil {
			t.Error(err)
		}
	}
}

// TestFolderGone: a failing disk rejects events that it cannot store, and End
// reports the failure.
func TestFolderGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	var log strings.Builder
	q := opened(t, "spill", Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if rejected := send(q, make([]int64, 100_000)...); rejected == 0 {
		t.Error("no event is rejected")
	}
	if err := q.End(); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("End returns %v", err)
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), dir) {
		t.Errorf("the log is %s", log.String())
	}
}

// TestPackets: a packet survives a round trip, and a truncated one is invalid.
func TestPackets(t *testing.T) {
	want := []parse.Event{{Service: unique.Make("web"), Bytes: 1}, {Service: unique.Make("mail"), Status: 200}, {}}
	form, err := packets{}.Append(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (packets{}).Decode(form); err != nil || len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := (packets{}).Decode(form[:len(form)-1]); err == nil {
		t.Errorf("a truncated packet decodes to %v", got)
	}
}
