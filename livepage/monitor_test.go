package livepage

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// A meter is a foreign kind of channel that counts calls of its Stats.
type meter struct{ looks atomic.Int64 }

func (m *meter) Stats() sluice.Stats {
	n := m.looks.Add(1)
	return sluice.Stats{Sent: uint64(100 * n), Received: uint64(10 * n)}
}

// metered registers two meters.
func metered(t *testing.T) (asked, other *meter, id uint64) {
	t.Helper()
	asked, other = new(meter), new(meter)
	inspect.Register(nameOf(t), "Meter", asked)
	inspect.Register("beside "+nameOf(t), "Meter", other)
	return asked, other, idOf(t, nameOf(t))
}

// A request for one channel reads only that channel, at most once per period:
// there may be ten thousand others.
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
			t.Errorf("two requests at once read the channel %d times", n)
		}
		time.Sleep(2 * time.Second)
		if r := ask(); r.Over != 2 || r.Channels[0].SentRate == nil || *r.Channels[0].SentRate != 50 || *r.Channels[0].ReceivedRate != 5 {
			t.Errorf("two seconds later: %+v", r)
		}
		time.Sleep(stale + 1)
		if r := ask(); r.Over != 0 || r.Channels[0].SentRate != nil {
			t.Errorf("rates from a look that is too old: %+v", r)
		}
		if n := asked.looks.Load(); n != 3 {
			t.Errorf("the channel was read %d times", n)
		}
		if n := other.looks.Load(); n != 0 {
			t.Errorf("the other channel was read %d times", n)
		}
		runtime.KeepAlive(asked)
		runtime.KeepAlive(other)
	})
}

// A look at all channels serves a request for one, and rates start from the
// later of the two.
func TestOneAfterAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, other, id := metered(t)
		h := new(handler)
		ask := func() Report { return reportOf(t, h, fmt.Sprint("channel=", id)) }
		all := func() { reportOf(t, h, "filter=nothing") }
		all()
		ask()
		if n := asked.looks.Load(); n != 1 {
			t.Errorf("a fresh look at all channels was not reused: %d looks", n)
		}
		time.Sleep(2 * time.Second)
		ask()
		time.Sleep(time.Second)
		if r := ask(); r.Over != 1 {
			t.Errorf("after a look at one channel: rates over %v s", r.Over)
		}
		time.Sleep(time.Second)
		all()
		time.Sleep(time.Second)
		if r := ask(); r.Over != 1 {
			t.Errorf("after a look at all channels: rates over %v s", r.Over)
		}
		if n := other.looks.Load(); n != 2 {
			t.Errorf("the other channel was read %d times, want 2", n)
		}
		// A channel created after the last look at all channels is found.
		all()
		late := new(meter)
		inspect.Register("late "+nameOf(t), "Meter", late)
		if r := reportOf(t, h, fmt.Sprint("channel=", idOf(t, "late "+nameOf(t)))); r.Matching != 1 {
			t.Errorf("a new channel: %+v", r)
		}
		runtime.KeepAlive(asked)
		runtime.KeepAlive(other)
		runtime.KeepAlive(late)
	})
}

// Looks at single channels are kept until they expire, and only while the
// channel exists.
func TestLooksAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, other, id := metered(t)
		var m monitor
		m.look(id)
		m.look(id + 1)
		m.look(1 << 60)
		if len(m.looks) != 2 {
			t.Errorf("%d looks at two channels", len(m.looks))
		}
		time.Sleep(stale + 1)
		m.look(id)
		if len(m.looks) != 1 || m.looks[id] == nil {
			t.Errorf("%d expired looks are kept", len(m.looks))
		}
		m.remember(id, &look{at: time.Now()})
		if len(m.looks) != 0 {
			t.Error("a collected channel is remembered")
		}
		runtime.KeepAlive(asked)
		runtime.KeepAlive(other)
	})
}
