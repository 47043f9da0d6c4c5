package debug

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// A meter is a foreign kind of channel that counts how often it is looked at.
type meter struct{ looks atomic.Int64 }

func (m *meter) Stats() sluice.Stats {
	n := m.looks.Add(1)
	return sluice.Stats{Sent: uint64(100 * n), Received: uint64(10 * n)}
}

// metered enlists two channels that count looks at them.
func metered(t *testing.T) (asked, other *meter, id uint64) {
	t.Helper()
	asked, other = new(meter), new(meter)
	sluice.Enlist(nameOf(t), "Meter", asked)
	sluice.Enlist("beside "+nameOf(t), "Meter", other)
	return asked, other, idOf(t, nameOf(t))
}

// Who asks for one channel has that one looked at, once in a period, and no other: there
// may be ten thousand.
func TestOneChannelIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, other, id := metered(t)
		h := new(handler)
		ask := func() Report { return reportOf(t, h, fmt.Sprint("channel=", id)) }
		first := ask()
		if c := first.Channels[0]; first.Over != 0 || c.SentRate != nil || first.Named < 2 || first.Matching != 1 {
			t.Errorf("the first look: %+v", first)
		}
		ask()
		if n := asked.looks.Load(); n != 1 {
			t.Errorf("two questions in a moment looked %d times", n)
		}
		time.Sleep(2 * time.Second)
		if r := ask(); r.Over != 2 || r.Channels[0].SentRate == nil || *r.Channels[0].SentRate != 50 || *r.Channels[0].ReceivedRate != 5 {
			t.Errorf("two seconds later: %+v", r)
		}
		time.Sleep(stale + 1)
		if r := ask(); r.Over != 0 || r.Channels[0].SentRate != nil {
			t.Errorf("of a look that is too old: %+v", r)
		}
		if n := asked.looks.Load(); n != 3 {
			t.Errorf("it was looked at %d times", n)
		}
		if n := other.looks.Load(); n != 0 {
			t.Errorf("the other channel was looked at %d times", n)
		}
		runtime.KeepAlive(asked)
		runtime.KeepAlive(other)
	})
}

// A look at all serves who asks for one, and the later of the two is what rates are from.
func TestOneAfterAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, other, id := metered(t)
		h := new(handler)
		ask := func() Report { return reportOf(t, h, fmt.Sprint("channel=", id)) }
		all := func() { reportOf(t, h, "filter=nothing") }
		all()
		ask()
		if n := asked.looks.Load(); n != 1 {
			t.Errorf("a fresh look at all was not enough: %d looks", n)
		}
		time.Sleep(2 * time.Second)
		ask()
		time.Sleep(time.Second)
		if r := ask(); r.Over != 1 {
			t.Errorf("after one: over %v s, not the one since", r.Over)
		}
		time.Sleep(time.Second)
		all()
		time.Sleep(time.Second)
		if r := ask(); r.Over != 1 {
			t.Errorf("after all: over %v s, not the one since", r.Over)
		}
		if n := other.looks.Load(); n != 2 {
			t.Errorf("the other channel was looked at %d times, and all twice", n)
		}
		// One that was made since the last look at all is there all the same.
		all()
		late := new(meter)
		sluice.Enlist("late "+nameOf(t), "Meter", late)
		if r := reportOf(t, h, fmt.Sprint("channel=", idOf(t, "late "+nameOf(t)))); r.Matching != 1 {
			t.Errorf("a new channel: %+v", r)
		}
		runtime.KeepAlive(asked)
		runtime.KeepAlive(other)
		runtime.KeepAlive(late)
	})
}

// Looks at single channels are kept for as long as they are of use, and of channels that
// are there.
func TestLooksAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, other, id := metered(t)
		var m monitor
		m.lookAt(id)
		m.lookAt(id + 1)
		m.lookAt(1 << 60)
		if len(m.ones) != 2 {
			t.Errorf("%d looks at two channels", len(m.ones))
		}
		time.Sleep(stale + 1)
		m.lookAt(id)
		if len(m.ones) != 1 || m.ones[id] == nil {
			t.Errorf("looks that are too old are kept: %d", len(m.ones))
		}
		m.remember(id, &look{at: time.Now()})
		if len(m.ones) != 0 {
			t.Error("a channel that is gone is remembered")
		}
		runtime.KeepAlive(asked)
		runtime.KeepAlive(other)
	})
}
