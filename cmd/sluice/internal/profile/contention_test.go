package profile

import (
	"testing"
	"time"
)

// Both kinds have the same sample types, and differ in the functions of their
// stacks.
func TestMutexOrBlock(t *testing.T) {
	for name, test := range map[string]struct {
		stack []string
		want  Kind
	}{
		"unlocking":                      {[]string{"sync.(*Mutex).Unlock", "main.f m.go:1"}, KindMutex},
		"unlocking for reading":          {[]string{"sync.(*RWMutex).RUnlock", "main.f m.go:1"}, KindMutex},
		"a channel's lock":               {below("runtime.unlock", "runtime.chansend"), KindMutex},
		"lost":                           {[]string{"runtime._LostContendedRuntimeLock"}, KindMutex},
		"locking":                        {[]string{"sync.(*Mutex).Lock", "main.f m.go:1"}, KindBlock},
		"sending":                        {sendStack, KindBlock},
		"in a select":                    {[]string{"runtime.selectgo", "main.f m.go:1"}, KindBlock},
		"a user's Unlock does not count": {[]string{"main.(*T).Unlock m.go:1", "main.f m.go:2"}, ""},
	} {
		if got, err := kindOf(waitDrawing(waited(1, 1, test.stack...)).profile()); err != nil || got != test.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, test.want)
		}
	}
	if got := lockOrBlock(waitDrawing().profile()); got != "" {
		t.Errorf("kind of an empty profile: %q", got)
	}
}

// The mutex profile has the sites of a contended channel. Locks of the
// scheduler in the same operation are not the channel's, and handlers of
// profiles do not count.
func TestReadContentions(t *testing.T) {
	c, err := readContentions(waitDrawing(
		waited(5, 3*time.Second, below("runtime.unlock", "runtime.chansend")...),
		waited(1, time.Second, below("runtime.unlock", "runtime.chansend.func1", "runtime.send", "runtime.chansend")...),
		waited(7, 2*time.Second, below("runtime.unlock", "runtime.wakep", "runtime.ready", "runtime.goready", "runtime.chansend")...),
		waited(2, 9*time.Second, "sync.(*Mutex).Unlock", "main.work hot.go:9"),
		waited(3, time.Minute, "runtime.selectgo", "net/http/pprof.sleep p.go:118", "net/http/pprof.Profile p.go:140"),
		waited(4, time.Second, "runtime.unlock", "runtime.chanparkcommit", "runtime.park_m", "runtime.mcall"),
	).profile())
	if err != nil {
		t.Fatal(err)
	}
	want := []Contention{
		{Site{Op: Lock, At: Frame{"main.work", "hot.go", 9}}, 2, 9 * time.Second},
		{sendSite, 6, 4 * time.Second},
	}
	if len(c.Sites) != 2 || c.Sites[0] != want[0] || c.Sites[1] != want[1] {
		t.Errorf("sites %+v\nwant %+v", c.Sites, want)
	}
	if c.Runtime.Count != 11 || c.Runtime.Delay != 3*time.Second {
		t.Errorf("runtime %+v", c.Runtime)
	}
	if c.Own.Count != 3 || c.Own.Delay != time.Minute {
		t.Errorf("handlers %+v", c.Own)
	}
}

func TestSince(t *testing.T) {
	at := func(line int) Site { return Site{Op: Send, At: Frame{"main.f", "m.go", line}} }
	before := &Contentions{
		Sites: []Contention{{at(1), 10, 10 * time.Second}, {at(2), 5, time.Second}, {at(3), 7, time.Second}},
		Own:   Contention{Count: 1, Delay: time.Second},
	}
	after := &Contentions{
		Sites: []Contention{{at(1), 11, 11 * time.Second}, {at(2), 25, 6 * time.Second}, {at(3), 6, time.Second}, {at(4), 1, time.Minute}},
		Own:   Contention{Count: 3, Delay: 5 * time.Second}, Runtime: Contention{Count: 2},
	}
	got := after.since(before, 4*time.Second)
	want := []Contention{{at(4), 1, time.Minute}, {at(2), 20, 5 * time.Second}, {at(1), 1, time.Second}}
	if len(got.Sites) != len(want) {
		t.Fatalf("%+v\nwant %+v", got.Sites, want)
	}
	for i := range want {
		if got.Sites[i] != want[i] {
			t.Errorf("%+v, want %+v", got.Sites[i], want[i])
		}
	}
	if got.Window != 4*time.Second || got.Own.Count != 2 || got.Own.Delay != 4*time.Second || got.Runtime.Count != 2 {
		t.Errorf("%+v", got)
	}
}

func TestImpossibleContentions(t *testing.T) {
	for name, d := range map[string]drawing{
		"negative count": waitDrawing(waited(-1, 1, sendStack...)),
		"negative delay": waitDrawing(waited(1, -1, sendStack...)),
		"overflow":       waitDrawing(waited(1, 1<<62, sendStack...), waited(1, 1<<62, sendStack...)),
		"another unit":   {types: []string{"contentions/count", "delay/cycles"}},
		"no counts":      {types: []string{"other/count", "delay/nanoseconds"}},
	} {
		if _, err := readContentions(d.profile()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
