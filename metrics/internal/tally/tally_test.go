package tally

import (
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// TestCollectAddsUp: channels of the same name and kind are one series, with the sum of
// their figures, or the maximum of the high-water marks and ages.
func TestCollectAddsUp(t *testing.T) {
	w := newWorld(10)
	first := sluice.Stats{
		Len: 1, Cap: 2, Sent: 4, Received: 5, Dropped: 22, TooOld: 16, SendWaits: 7, RecvWaits: 8, SendWaitTime: 9, RecvWaitTime: 10,
		SendersWaiting: 11, ReceiversWaiting: 12, HighWater: 13, Bytes: 14, Closed: true,
	}
	first.Lanes.Count, first.Disk.Bytes, first.Disk.Warning = 3, 15, "w"
	w.channel("a", "x", first)
	w.channel("a", "y", sluice.Stats{Sent: 1})
	second := sluice.Stats{
		Len: 100, Cap: 100, Sent: 100, Received: 100, Dropped: 200, TooOld: 100, SendWaits: 100, RecvWaits: 100, SendWaitTime: 100, RecvWaitTime: 100,
		SendersWaiting: 100, ReceiversWaiting: 100, HighWater: 12, Bytes: 100,
	}
	second.Lanes.Count, second.Disk.Bytes = 100, 100
	w.channel("a", "x", second)
	want := Snapshot{Series: []Series{
		{
			Name: "a", Kind: "x", Open: 1, Closed: 1, Warned: 1, Sent: 104, Received: 105, Overflowed: 106, TooOld: 116,
			SendWaits: 107, RecvWaits: 108, SendWaitTime: 109, RecvWaitTime: 110, Senders: 111, Receivers: 112,
			Queued: 101, Capacity: 102, HighWater: 13, Lanes: 103, Memory: 114, Disk: 115,
		},
		{Name: "a", Kind: "y", Open: 1, Sent: 1, Lanes: 1},
	}}
	for range 3 { // the second look finds nothing new
		if got := w.Collect(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	}
}

// TestCountersKeepCountsOfGarbage: when a channel becomes garbage, gauges fall and
// counters do not; later counts of other channels with the name are added.
func TestCountersKeepCountsOfGarbage(t *testing.T) {
	w := newWorld(10)
	dead, alive := w.sent("a", 1000), w.sent("a", 10)
	if got := w.sums(t)["a"]; got != 1010 {
		t.Fatalf("%d of two", got)
	}
	w.garbage(dead)
	alive.send(1)
	look := w.Collect()
	if s := look.Series[0]; s.Sent != 1011 || s.Open != 1 || s.Lanes != 1 {
		t.Errorf("after one channel has become garbage: %+v", s)
	}
	w.garbage(alive)
	look = w.Collect()
	if s := look.Series[0]; s.Sent != 1011 || s.Open != 0 || s.Lanes != 0 {
		t.Errorf("after both channels have become garbage: %+v", s)
	}
	if len(w.last) != 0 {
		t.Errorf("%d channels are kept", len(w.last))
	}
	w.sent("a", 5)
	if got := w.sums(t)["a"]; got != 1016 {
		t.Errorf("%d with a third", got)
	}
}

// TestRealGarbage does the same with a real channel that becomes garbage: the tally
// does not keep it alive.
func TestRealGarbage(t *testing.T) {
	name := t.Name()
	tally := New("TestRealGarbage", 1<<20)
	find := func() (found Series) {
		for _, s := range tally.Collect().Series {
			if s.Name == name {
				found = s
			}
		}
		return found
	}
	c := sluice.NewBounded[int](8, &sluice.BoundedOptions[int]{Name: name})
	for range 5 {
		if err := c.TrySend(1); err != nil {
			t.Fatal(err)
		}
	}
	if s := find(); s.Sent != 5 || s.Queued != 5 || s.Capacity != 8 || s.Open != 1 || s.Kind != "Bounded" {
		t.Fatalf("%+v", s)
	}
	c.Close()
	if s := find(); s.Open != 0 || s.Closed != 1 {
		t.Errorf("closed: %+v", s)
	}
	runtime.KeepAlive(c) // nothing above uses it after Close
	c = nil
	reallyGarbage(name)
	if s := find(); s.Sent != 5 || s.Queued != 0 || s.Capacity != 0 || s.Closed != 0 {
		t.Errorf("garbage: %+v", s)
	}
	_ = c
}

// TestGarbageOnceListed: a channel that becomes garbage between the listing and its
// Stats is not counted, whether an earlier collection saw it or not.
func TestGarbageOnceListed(t *testing.T) {
	w := newWorld(10)
	w.sent("known", 7)
	w.Collect()
	w.sent("fresh", 1)
	listed := w.channels()
	w.channels = func() []inspect.Channel { return listed }
	w.alive = nil
	for _, n := range listed {
		for ok := true; ok; _, ok = n.Stats() { // the test's deadline ends it if it stays
			runtime.GC()
		}
	}
	for range 2 {
		look := w.Collect()
		if len(listed) != 2 || len(look.Series) != 1 || look.Series[0].Sent != 7 || look.Series[0].Open != 0 || len(w.last) != 0 {
			t.Errorf("%d channels are listed: %+v", len(listed), look)
		}
	}
}

// TestCountsThatFall: a count that falls is an error of the channel, not a restart.
func TestCountsThatFall(t *testing.T) {
	w := newWorld(10)
	f := w.channel("a", "x", sluice.Stats{Sent: 100, RecvWaitTime: time.Second})
	w.Collect()
	for _, now := range []struct {
		sent, want uint64
		spent      time.Duration
	}{{90, 100, 0}, {0, 100, time.Second / 2}, {100, 100, time.Second}, {101, 101, time.Second}, {1 << 62, 1 << 62, time.Second}} {
		f.mu.Lock()
		f.stats.Sent, f.stats.RecvWaitTime = now.sent, now.spent
		f.mu.Unlock()
		if s := w.Collect().Series[0]; s.Sent != int64(now.want) || s.RecvWaitTime != time.Second {
			t.Errorf("it counts %d, the series %d, %v", now.sent, s.Sent, s.RecvWaitTime)
		}
	}
}

func TestCapacityWithoutLimit(t *testing.T) {
	for _, test := range []struct {
		caps []int
		want int64
	}{
		{[]int{1, sluice.Unlimited, 1}, Infinite},
		{[]int{sluice.Unlimited, sluice.Unlimited}, Infinite},
		{[]int{0, 0}, 0},
		{[]int{sluice.Unlimited - 1}, int64(sluice.Unlimited - 1)},
	} {
		w := newWorld(10)
		for _, c := range test.caps {
			w.channel("a", "x", sluice.Stats{Cap: c})
		}
		if got := w.Collect().Series[0].Capacity; got != test.want {
			t.Errorf("%d: %d, want %d", test.caps, got, test.want)
		}
	}
	if got := capacity(1<<62, 1<<30); got != 1<<62+1<<30 {
		t.Errorf("a large sum is %d", got)
	}
	if got := capacity(Infinite-1, 2); got != Infinite {
		t.Errorf("a sum too large is %d", got)
	}
}

// TestConcurrentCollections: a collection reports at least what was there when it began, and
// never less than a collection that ended before.
func TestConcurrentCollections(t *testing.T) {
	const lookers, looks = 4, 200
	w := newWorld(10)
	f := w.sent("a", 1)
	var done sync.WaitGroup
	for range lookers {
		done.Go(func() {
			var before int64
			for range looks {
				f.send(1)
				now := w.Collect().Series[0].Sent
				if now <= before {
					t.Errorf("%d follows %d", now, before)
				}
				before = now
			}
		})
	}
	done.Wait()
	if got := w.sums(t)["a"]; got != 1+lookers*looks {
		t.Errorf("%d in the end", got)
	}
}

func TestNewRefuses(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); got != "sluice: Fn: MaxNames is -1, want at least 0" {
			t.Errorf("panic %q", got)
		}
	}()
	if New("Fn", 0).limit != DefaultLimit {
		t.Error("0 is not the default")
	}
	New("Fn", -1)
}

// TestAllOfStatsIsExported: every figure of Stats is exported, except strings, and the ages
// of waiting goroutines, about which a scrape every few seconds says little.
func TestAllOfStatsIsExported(t *testing.T) {
	hidden := map[string]bool{"Name": true, "Change": true, "OldestSender": true, "OldestReceiver": true, "OldestAtLeast": true}
	var stats sluice.Stats
	var check func(reflect.Value)
	check = func(of reflect.Value) {
		for i := range of.NumField() {
			name, field := of.Type().Field(i).Name, of.Field(i)
			switch field.Kind() {
			case reflect.Struct:
				check(field)
				continue
			case reflect.Int, reflect.Int64:
				field.SetInt(7)
			case reflect.Uint64:
				field.SetUint(7)
			case reflect.Bool:
				field.SetBool(true)
			case reflect.String:
				field.SetString("text")
			default:
				t.Fatalf("%s is a %s", name, field.Kind())
			}
			var with, without Series
			with.add(&stats, new(counts))
			without.add(new(sluice.Stats), new(counts))
			if (with == without) != hidden[name] {
				t.Errorf("Stats.%s: %+v", name, with)
			}
			field.SetZero()
		}
	}
	check(reflect.ValueOf(&stats).Elem())
}

// TestAllOfSeriesIsExported: every figure of a Series belongs to exactly one part of one
// instrument.
func TestAllOfSeriesIsExported(t *testing.T) {
	fields := reflect.TypeFor[Series]()
	exported := map[string]string{}
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if fields.Field(i).Type.Kind() == reflect.String {
			continue
		}
		var s Series
		if name == "Oldest" {
			s.Oldest.Estimate = 7
		} else {
			reflect.ValueOf(&s).Elem().Field(i).SetInt(7)
		}
		var parts []string
		for _, in := range Instruments {
			for _, part := range in.Parts {
				if part.Of(&s) == 7 {
					parts = append(parts, in.Name+" "+part.Value)
				}
			}
		}
		if len(parts) != 1 {
			t.Errorf("%s is exported by %q", name, parts)
			continue
		}
		exported[parts[0]] = name
		if in := strings.Fields(parts[0])[0]; strings.Contains(name, "Time") != strings.Contains(in, "time") {
			t.Errorf("%s is exported by %s", name, in)
		}
	}
	parts := 0
	for _, in := range Instruments {
		parts += len(in.Parts)
		if (in.Split == "") != (len(in.Parts) == 1) {
			t.Errorf("%s is split by %q into %d", in.Name, in.Split, len(in.Parts))
		}
	}
	if parts != len(exported) {
		t.Errorf("%d parts export %d fields: %v", parts, len(exported), maps.Values(exported))
	}
}

func TestFloat(t *testing.T) {
	in := Instrument{Unit: "s"}
	if got := in.Float(int64(1500 * time.Millisecond)); got != 1.5 {
		t.Errorf("%v s", got)
	}
	in.Unit = "By"
	if got := in.Float(1500); got != 1500 {
		t.Errorf("%v bytes", got)
	}
}
