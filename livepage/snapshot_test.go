package livepage

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// names holds the channel names of the running tests.
var names struct {
	sync.Map // by *testing.T
	made     atomic.Int64
}

// nameOf returns a name for t's channels. Each run of t gets a new one, because
// the channels of the run before may not have been collected yet.
func nameOf(t *testing.T) string {
	name, known := names.Load(t)
	if !known {
		name = fmt.Sprintf("%s.%d.", t.Name(), names.made.Add(1))
		names.Store(t, name)
		t.Cleanup(func() { names.Delete(t) })
	}
	return name.(string)
}

// idOf returns the ID of the only channel with that name.
func idOf(t *testing.T, name string) uint64 {
	t.Helper()
	var ids []uint64
	for _, n := range inspect.Channels() {
		if n.Name == name {
			ids = append(ids, n.ID)
		}
	}
	if len(ids) != 1 {
		t.Fatalf("%s: %d channels", name, len(ids))
	}
	return ids[0]
}

// one returns, as JSON, the snapshot of the channel named after the test, and
// the report around it.
func one(t *testing.T, h *handler) (string, Report) {
	t.Helper()
	synctest.Wait()
	r := reportOf(t, h, fmt.Sprint("channel=", idOf(t, nameOf(t))))
	text, err := json.Marshal(r.Channels[0].Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), r
}

// The report of one channel lists every waiter and the position of the values,
// read now rather than taken from the last reading. Other reports have no
// snapshot.
func TestSnapshotOfOneChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(handler)
		c := sluice.NewBounded[int](5, &sluice.BoundedOptions[int]{Name: nameOf(t)})
		before := reportOf(t, h, "filter="+nameOf(t))
		got, first := one(t, h)
		if want := `{"senders":[],"receivers":[],"ready":false,"rings":[{"slots":8,"len":0,"send":0,"receive":0}],"lanes":[]}`; got != want {
			t.Errorf("a new channel: %s", got)
		}
		for i := range 6 {
			if err := c.TrySend(i); i < 5 && err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.TryRecv(); err != nil {
			t.Fatal(err)
		}
		if err := c.TrySend(0); err != nil {
			t.Fatal(err)
		}
		c.Ready()
		var senders sync.WaitGroup
		for range 2 {
			senders.Go(func() { _ = c.Send(context.Background(), 1) })
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
		}
		got, second := one(t, h)
		if want := `{"senders":[0.2,0.1],"receivers":[],"ready":true,"rings":[{"slots":8,"len":5,"send":6,"receive":1}],"lanes":[]}`; got != want {
			t.Errorf("with two waiting senders: %s", got)
		}
		s := second.Channels[0].Senders
		if first.Channels[0].Len != 0 || second.Channels[0].Len != 5 || s.Now != 2 || s.Since != 0.2 || !second.Time.Equal(time.Now()) {
			t.Errorf("%+v, then %+v at %v", first.Channels[0], second.Channels[0], second.Time)
		}
		if list := reportOf(t, h, "filter="+nameOf(t)); list.Channels[0].Snapshot != nil || !list.Time.Equal(before.Time) {
			t.Errorf("a list contains a snapshot: %+v", list)
		}
		c.Close()
		senders.Wait()
	})
}

func TestSnapshotOfLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewSharded(sluice.Unlimited, &sluice.ShardedOptions[int]{Name: nameOf(t), Lanes: 1})
		lane := c.Lane()
		for range 3 {
			if err := lane.Send(context.Background(), 1); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := one(t, new(handler))
		lanes := `"lanes":[{"private":false,"inUse":true,"len":0,"cap":null,"highWater":0,"senders":0,"oldestSender":0},` +
			`{"private":true,"inUse":true,"len":3,"cap":null,"highWater":3,"senders":0,"oldestSender":0}]}`
		if !strings.HasSuffix(got, lanes) {
			t.Error(got)
		}
		c.Close()
		runtime.KeepAlive(lane)
	})
}

// A spring is a kind of channel that package sluice does not know.
type spring struct{ _ int }

func (s *spring) Stats() sluice.Stats {
	st := sluice.Stats{Len: 4, Cap: math.MaxInt, SendersWaiting: 1, OldestSender: time.Minute}
	st.Disk.Bytes, st.Disk.Warning = 1<<20, "it leaks"
	return st
}

// A foreign kind has no snapshot, but it is listed, and found as other.
func TestForeignKind(t *testing.T) {
	s := new(spring)
	inspect.Register(nameOf(t), "Spring", s)
	h := new(handler)
	for _, raw := range []string{"filter=" + nameOf(t), "kind=other&filter=" + nameOf(t), fmt.Sprint("channel=", idOf(t, nameOf(t)))} {
		r := reportOf(t, h, raw)
		if len(r.Channels) != 1 {
			t.Fatalf("%s: %d channels", raw, len(r.Channels))
		}
		c := r.Channels[0]
		if c.Kind != "Spring" || c.Snapshot != nil || c.Len != 4 || c.Cap != nil || c.Senders.Since != 60 || c.BytesOnDisk != 1<<20 || c.Warning != "it leaks" {
			t.Errorf("%s: %+v", raw, c)
		}
	}
	if r := reportOf(t, h, "kind=bounded&filter="+nameOf(t)); r.Matching != 0 {
		t.Errorf("a Spring is found as Bounded: %+v", r)
	}
	runtime.KeepAlive(s)
}
