package debug

import (
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

// A monitor looks at all named channels, at most once in fresh, for all clients
// together. Two looks in a row make a rate.
//
// Both are in ascending order of ID, and so is what Channels returns: what a
// channel was before is found by walking along.
type monitor struct {
	mu   sync.Mutex
	last *look
}

// A look is what was seen at one time. It is never changed, so clients read it
// without a lock.
type look struct {
	at   time.Time
	over time.Duration // since the look before; 0 if there is none to compare with
	seen []sighting
}

// A sighting is one channel in a look.
type sighting struct {
	id    uint64
	kind  string
	stats sluice.Stats
	rates rates
	// sendersSame and receiversSame are since when at least the same goroutines
	// wait: nobody joined the line, and as many are in it. Zero if nobody waits.
	sendersSame, receiversSame time.Time
}

// rates are of the time between two looks, all zero if there is only one.
type rates struct {
	known                   bool
	sent, received, dropped float64       // a second
	sendWait, recvWait      time.Duration // mean of the waits that ended; 0 if none did
}

// look returns a look that is fresh.
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
		stats, ok := c.Stats()
		if !ok {
			continue // it is garbage since
		}
		for len(past) > 0 && past[0].id < c.ID {
			past = past[1:]
		}
		next.seen = append(next.seen, sighting{id: c.ID, kind: c.Kind, stats: stats})
		s := &next.seen[len(next.seen)-1]
		if len(past) > 0 && past[0].id == c.ID {
			s.compare(&past[0], now, next.over)
		} else {
			s.sendersSame = since(now, stats.SendersWaiting, false, time.Time{})
			s.receiversSame = since(now, stats.ReceiversWaiting, false, time.Time{})
		}
	}
	return next
}

// compare fills in what two sightings of a channel tell.
func (s *sighting) compare(before *sighting, now time.Time, over time.Duration) {
	a, b := &before.stats, &s.stats
	perSecond := func(was, is uint64) float64 { return float64(is-was) / over.Seconds() }
	s.rates = rates{
		known:    true,
		sent:     perSecond(a.Sent, b.Sent),
		received: perSecond(a.Received, b.Received),
		dropped:  perSecond(a.Dropped, b.Dropped),
		sendWait: mean(b.SendWaitTime-a.SendWaitTime, b.SendWaits-a.SendWaits),
		recvWait: mean(b.RecvWaitTime-a.RecvWaitTime, b.RecvWaits-a.RecvWaits),
	}
	s.sendersSame = since(now, b.SendersWaiting, a.SendWaits == b.SendWaits && a.SendersWaiting == b.SendersWaiting, before.sendersSame)
	s.receiversSame = since(now, b.ReceiversWaiting, a.RecvWaits == b.RecvWaits && a.ReceiversWaiting == b.ReceiversWaiting, before.receiversSame)
}

// since is when a line became what it is, as far as looks tell.
func since(now time.Time, waiting int, same bool, before time.Time) time.Time {
	switch {
	case waiting == 0:
		return time.Time{}
	case same:
		return before
	default:
		return now
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
