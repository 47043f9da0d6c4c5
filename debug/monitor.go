package debug

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
)

const (
	// period is the time between two updates of a stream.
	period = time.Second
	// fresh is how old a look may be that serves another client. It is less than
	// a period, or a stream would see each look twice when its ticker is early.
	fresh = period * 9 / 10
	// stale is how old the look before may be if rates are to be of now.
	stale = 10 * time.Second
)

// A monitor looks at all named channels, or at one that a client asks for, each at most
// once in fresh, for all clients together. Two looks in a row make a rate. Who asks for
// one channel does not have the others looked at, however many they are.
//
// Both are in ascending order of ID, and so is what Channels returns: what a
// channel was before is found by walking along.
type monitor struct {
	mu   sync.Mutex
	last *look            // at all channels
	ones map[uint64]*look // at one channel, by its ID: not older than stale, nor of a channel that is gone
}

// A look is what was seen at one time. It is never changed, so clients read it
// without a lock.
type look struct {
	at   time.Time
	over time.Duration // since the look before; 0 if there is none to compare with
	seen []sighting

	named int // channels with a name, seen or not
}

// A sighting is one channel in a look. It does not keep the channel.
type sighting struct {
	sluice.Named
	stats sluice.Stats
	rates rates
}

// rates are of the time between two looks, all zero if there is only one.
type rates struct {
	known                   bool
	sent, received, dropped float64       // a second
	sendWait, recvWait      time.Duration // mean of the waits that ended; 0 if none did
}

// lookFor returns a fresh look that answers a query.
func (m *monitor) lookFor(q query) *look {
	if q.channel != 0 {
		return m.lookAt(q.channel)
	}
	return m.look()
}

// look returns a look at all channels that is fresh.
func (m *monitor) look() *look {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.last == nil || now.Sub(m.last.at) >= fresh {
		m.last = take(now, m.last)
	}
	return m.last
}

// take looks at all channels.
func take(now time.Time, before *look) *look {
	var past []sighting
	next := &look{at: now}
	if before != nil && now.Sub(before.at) <= stale {
		next.over = now.Sub(before.at)
		past = before.seen
	}
	channels := sluice.Channels()
	next.seen = make([]sighting, 0, len(channels))
	for _, c := range channels {
		for len(past) > 0 && past[0].ID < c.ID {
			past = past[1:]
		}
		var was *sighting
		if len(past) > 0 && past[0].ID == c.ID {
			was = &past[0]
		}
		next.see(c, was)
	}
	next.named = len(next.seen)
	return next
}

// see looks at c, and compares it with what it was, if that is known.
func (l *look) see(c sluice.Named, was *sighting) {
	stats, ok := c.Stats()
	if !ok {
		return // it is garbage since
	}
	seen := sighting{Named: c, stats: stats}
	if was != nil {
		seen.rates = ratesOf(&was.stats, &stats, l.over)
	}
	l.seen = append(l.seen, seen)
}

// lookAt returns a look that is fresh and has the channel of that ID in it, if there is
// one.
func (m *monitor) lookAt(id uint64) *look {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	before := m.last
	if one := m.ones[id]; one != nil && (before == nil || one.at.After(before.at)) {
		before = one
	}
	var was *sighting
	if before != nil {
		was = before.of(id)
	}
	if was != nil && now.Sub(before.at) < fresh {
		return before
	}
	next := &look{at: now}
	if was != nil && now.Sub(before.at) <= stale {
		next.over = now.Sub(before.at)
	} else {
		was = nil
	}
	channels := sluice.Channels()
	next.named = len(channels)
	if at, found := slices.BinarySearchFunc(channels, id, func(c sluice.Named, id uint64) int { return cmp.Compare(c.ID, id) }); found {
		next.see(channels[at], was)
	}
	m.remember(id, next)
	return next
}

// remember keeps a look at one channel, if it is there, and forgets those that are of
// no use any more.
func (m *monitor) remember(id uint64, next *look) {
	maps.DeleteFunc(m.ones, func(_ uint64, one *look) bool { return next.at.Sub(one.at) > stale })
	if len(next.seen) == 0 {
		delete(m.ones, id)
		return
	}
	if m.ones == nil {
		m.ones = make(map[uint64]*look)
	}
	m.ones[id] = next
}

// of returns what was seen of a channel, nil if it was not there.
func (l *look) of(id uint64) *sighting {
	at, found := slices.BinarySearchFunc(l.seen, id, func(s sighting, id uint64) int { return cmp.Compare(s.ID, id) })
	if !found {
		return nil
	}
	return &l.seen[at]
}

// ratesOf is what two looks at a channel tell, over that time.
func ratesOf(was, is *sluice.Stats, over time.Duration) rates {
	// A count that falls, as it may in a foreign kind that starts anew, is no rate.
	perSecond := func(was, is uint64) float64 { return float64(is-min(was, is)) / over.Seconds() }
	return rates{
		known:    true,
		sent:     perSecond(was.Sent, is.Sent),
		received: perSecond(was.Received, is.Received),
		dropped:  perSecond(was.Dropped, is.Dropped),
		sendWait: mean(is.SendWaitTime-was.SendWaitTime, is.SendWaits-min(was.SendWaits, is.SendWaits)),
		recvWait: mean(is.RecvWaitTime-was.RecvWaitTime, is.RecvWaits-min(was.RecvWaits, is.RecvWaits)),
	}
}

// mean is 0 of nothing. The time is an estimate and belongs to waits that ended,
// the count to waits that began: of few waits it says little.
func mean(total time.Duration, n uint64) time.Duration {
	if n == 0 || total <= 0 {
		return 0
	}
	return total / time.Duration(n)
}
