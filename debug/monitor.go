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
		for len(past) > 0 && past[0].ID < c.ID {
			past = past[1:]
		}
		seen := sighting{Named: c, stats: stats}
		if len(past) > 0 && past[0].ID == c.ID {
			seen.rates = ratesOf(&past[0].stats, &stats, next.over)
		}
		next.seen = append(next.seen, seen)
	}
	return next
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
