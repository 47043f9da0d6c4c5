package registry

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
)

// live is the Stats of an entry whose channel is alive.
func live() (engine.Stats, bool) { return engine.Stats{}, true }

// ids returns the IDs of the entries that r lists, in their order.
func (r *registry) ids() (ids []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.present() {
		ids = append(ids, e.ID)
	}
	return ids
}

// filled returns a registry of n entries. Their IDs are 1 to n.
func filled(n int) *registry {
	r := new(registry)
	for range n {
		r.add(Entry{Stats: live})
	}
	return r
}

// TestRemoveLeavesGap: a removed entry becomes a gap, which is not listed, and the order
// of the others does not change.
func TestRemoveLeavesGap(t *testing.T) {
	r := filled(6)
	r.remove(2)
	r.remove(5)
	if got := r.ids(); !slices.Equal(got, []uint64{1, 3, 4, 6}) {
		t.Errorf("listed: %v", got)
	}
	if len(r.entries) != 6 || r.gaps != 2 {
		t.Errorf("%d entries, %d gaps, want 6 and 2", len(r.entries), r.gaps)
	}
	if id := r.add(Entry{Stats: live}); id != 7 {
		t.Errorf("the next ID is %d, want 7", id)
	}
	if got := r.ids(); !slices.Equal(got, []uint64{1, 3, 4, 6, 7}) {
		t.Errorf("listed after an addition: %v", got)
	}
}

// TestGapsAreRemoved: when more than half of the entries are gaps, they are removed, and
// an entry is still found by its ID.
func TestGapsAreRemoved(t *testing.T) {
	r := filled(6)
	for _, id := range []uint64{1, 4, 6} {
		r.remove(id)
	}
	if len(r.entries) != 6 || r.gaps != 3 {
		t.Fatalf("half of the entries are gaps: %d entries, %d gaps, want 6 and 3", len(r.entries), r.gaps)
	}
	r.remove(3)
	if len(r.entries) != 2 || r.gaps != 0 {
		t.Errorf("most of the entries were gaps: %d entries, %d gaps, want 2 and 0", len(r.entries), r.gaps)
	}
	r.remove(5)
	if got := r.ids(); !slices.Equal(got, []uint64{2}) {
		t.Errorf("listed: %v, want entry 2", got)
	}
}

// TestRemoveUnknown: removing an entry twice, or an ID that is not there, changes nothing.
func TestRemoveUnknown(t *testing.T) {
	r := filled(5)
	for _, id := range []uint64{3, 3, 0, 6} {
		r.remove(id)
	}
	if got := r.ids(); r.gaps != 1 || !slices.Equal(got, []uint64{1, 2, 4, 5}) {
		t.Errorf("%d gaps, listed: %v", r.gaps, got)
	}
}

// TestRemoveAll: entries can be removed in any order, and the registry can be filled
// again.
func TestRemoveAll(t *testing.T) {
	const n = 50
	for _, step := range []uint64{1, 7, n - 1} { // coprime to n, so every ID is removed
		r := filled(n)
		left := r.ids()
		for i := range uint64(n) {
			id := 1 + i*step%n
			r.remove(id)
			left = slices.DeleteFunc(left, func(l uint64) bool { return l == id })
			if got := r.ids(); !slices.Equal(got, left) {
				t.Fatalf("step %d, without %d: %v, want %v", step, id, got, left)
			}
			if r.gaps > len(r.entries)/2 {
				t.Fatalf("step %d: %d of %d entries are gaps", step, r.gaps, len(r.entries))
			}
		}
		if id := r.add(Entry{Stats: live}); id != n+1 {
			t.Errorf("step %d: the next ID is %d, want %d", step, id, n+1)
		}
	}
}

// TestNamesAreBounded: a name is cut between two characters, and keeps no longer one alive.
func TestNamesAreBounded(t *testing.T) {
	for name, want := range map[string]string{
		"orders":                          "orders",
		strings.Repeat("a", MaxName):      strings.Repeat("a", MaxName),
		strings.Repeat("a", MaxName+1):    strings.Repeat("a", MaxName-3) + "…",
		strings.Repeat("é", 1<<20):        strings.Repeat("é", (MaxName-3)/2) + "…",
		strings.Repeat("\x80", 2*MaxName): "…",
	} {
		d := new(device)
		Foreign(name, name, d, func(*device) engine.Stats { return engine.Stats{} }, nil)
		entries := Channels()
		if e := entries[len(entries)-1]; e.Name != want || e.Kind != want {
			t.Errorf("%.10q of %d bytes: name %q, kind %q", name, len(name), e.Name, e.Kind)
		}
		runtime.KeepAlive(d)
	}
}

// A device is a foreign channel. It contains a pointer, because the tiny allocator would
// combine it with other small objects, and so extend its life.
type device struct {
	queued int
	_      *int
}

// TestForeign: a channel is listed until it is garbage, unless it has no name.
func TestForeign(t *testing.T) {
	stats := func(d *device) engine.Stats { return engine.Stats{Len: d.queued} }
	d := &device{queued: 3}
	var latest uint64
	for _, e := range Channels() {
		latest = max(latest, e.ID)
	}
	Foreign("", "Device", d, stats, nil)
	Foreign(t.Name(), "Device", d, stats, nil)
	// Channels of other tests may be garbage, and leave the list at any time.
	entries := slices.DeleteFunc(Channels(), func(e Entry) bool { return e.ID <= latest })
	if len(entries) != 1 {
		t.Fatalf("%d new entries, want 1", len(entries))
	}
	e := entries[0]
	if s, ok := e.Stats(); e.Name != t.Name() || e.Kind != "Device" || !ok || s.Len != 3 || e.Snapshot != nil {
		t.Errorf("%+v: Stats %+v, %v", e, s, ok)
	}
	runtime.KeepAlive(d)
	for listed := true; listed; runtime.GC() { // until the test times out
		runtime.Gosched()
		listed = slices.ContainsFunc(Channels(), func(other Entry) bool { return other.ID == e.ID })
	}
	if _, ok := e.Stats(); ok {
		t.Error("Stats of a channel that is garbage")
	}
}
