package livepage

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/internal/reading"
)

const (
	// period is the time between two updates of a stream.
	period = time.Second
	// fresh is the maximum age of a look that serves another client. It is less
	// than a period: otherwise a stream would see each look twice when its
	// ticker fires early.
	fresh = period * 9 / 10
	// stale is the maximum age of the previous look from which rates are
	// computed.
	stale = 10 * time.Second
	// answerWithin is how long a look waits for the Stats of foreign channels, all of
	// them together.
	answerWithin = period / 4
)

// A monitor reads all named channels, or the one channel that a client asks
// for, each at most once per fresh, for all clients together. Two successive
// looks yield a rate. A request for one channel does not read the others.
//
// Looks and the list of named channels are in ascending order of ID, so one
// merge pass finds each channel's previous sighting.
type monitor struct {
	mu sync.Mutex
	// looks are those at single channels by ID, and at 0 the one at all channels. None at a
	// single channel is older than stale or belongs to a collected channel.
	looks  map[uint64]*look
	reader reading.Reader
}

// A look holds the readings taken at one time. It is immutable, so clients read
// it without a lock.
type look struct {
	at   time.Time
	over time.Duration // time since the previous look; 0 without one
	seen []sighting

	named int // channels with a name, including those collected meanwhile

	// flow returns the map at that time, whole and for events.
	flow func() (whole, brief *Flow)
}

// A sighting is one channel's part of a look. It does not keep the channel
// reachable.
type sighting struct {
	inspect.Channel
	stats sluice.Stats
	rates rates

	unanswered string // why stats come from an earlier look, or are zero; empty if they are current
}

// rates are averages over the time between two looks, all zero after the first.
type rates struct {
	known                   bool
	sent, received, dropped float64 // per second
	rejected                float64
	senders, receivers      waits
}

// waits are the averages of one side of a channel.
type waits struct {
	waiting float64       // goroutines
	mean    time.Duration // of the waits that ended; 0 if none did
}

// look returns a fresh look at all channels, or at the one with an ID other than 0, if it
// exists.
func (m *monitor) look(id uint64) *look {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	var before *look
	for _, known := range []*look{m.looks[0], m.looks[id]} {
		if known != nil && (id == 0 || known.of(id) != nil) && (before == nil || known.at.After(before.at)) {
			before = known
		}
	}
	if before != nil && now.Sub(before.at) < fresh {
		return before
	}
	channels := inspect.Channels()
	named := len(channels)
	if id != 0 {
		channels = slices.DeleteFunc(channels, func(c inspect.Channel) bool { return c.ID != id })
	}
	next := m.take(now, channels, before)
	next.named = named
	m.remember(id, next)
	return next
}

// take reads channels, of which a look before may have previous sightings.
func (m *monitor) take(now time.Time, channels []inspect.Channel, before *look) *look {
	var past []sighting
	next := &look{at: now, seen: make([]sighting, 0, len(channels))}
	if before != nil && now.Sub(before.at) <= stale {
		next.over, past = now.Sub(before.at), before.seen
	}
	next.flow = sync.OnceValues(func() (*Flow, *Flow) {
		whole := next.draw()
		return whole, whole.brief()
	})
	m.reader.Begin(channels, answerWithin)
	for _, c := range channels {
		for len(past) > 0 && past[0].ID < c.ID {
			past = past[1:]
		}
		var was *sighting
		if len(past) > 0 && past[0].ID == c.ID {
			was = &past[0]
		}
		next.see(c, was, &m.reader)
	}
	return next
}

// remember keeps a look, unless the channel with its ID does not exist, and drops looks at
// single channels that have expired.
func (m *monitor) remember(id uint64, next *look) {
	maps.DeleteFunc(m.looks, func(of uint64, l *look) bool {
		return of == id || of != 0 && next.at.Sub(l.at) > stale
	})
	if m.looks == nil {
		m.looks = make(map[uint64]*look)
	}
	if id == 0 || len(next.seen) > 0 {
		m.looks[id] = next
	}
}

// see reads c, with which the reader has begun, and computes its rates from the previous
// sighting, if any.
func (l *look) see(c inspect.Channel, was *sighting, reader *reading.Reader) {
	stats, ok, unanswered := reader.Stats(c)
	if !ok {
		return // c has been garbage-collected
	}
	seen := sighting{Channel: c, stats: stats, unanswered: unanswered}
	switch {
	case was == nil:
	case unanswered != "":
		seen.stats = was.stats
	case was.unanswered == "":
		seen.rates = ratesOf(&was.stats, &stats, l.over)
	}
	l.seen = append(l.seen, seen)
}

// of returns the sighting of a channel, or nil.
func (l *look) of(id uint64) *sighting {
	at, found := slices.BinarySearchFunc(l.seen, id, func(s sighting, id uint64) int { return cmp.Compare(s.ID, id) })
	if !found {
		return nil
	}
	return &l.seen[at]
}

// ratesOf computes rates from two readings of a channel.
func ratesOf(was, is *sluice.Stats, over time.Duration) rates {
	// A count that falls, as in a foreign kind that restarts, yields no rate.
	perSecond := func(was, is uint64) float64 { return float64(is-min(was, is)) / over.Seconds() }
	return rates{
		known:     true,
		sent:      perSecond(was.Sent, is.Sent),
		received:  perSecond(was.Received, is.Received),
		dropped:   perSecond(was.Dropped, is.Dropped),
		rejected:  perSecond(was.Rejected, is.Rejected),
		senders:   waitsOf(was.SendWaits, is.SendWaits, is.SendWaitTime-was.SendWaitTime, over),
		receivers: waitsOf(was.RecvWaits, is.RecvWaits, is.RecvWaitTime-was.RecvWaitTime, over),
	}
}

// waitsOf computes averages from two counts of waits and the time spent in between. The time is
// an estimate and counts waits that have ended, the counts are of waits that have begun: for few
// waits the mean is inaccurate.
func waitsOf(was, is uint64, spent, over time.Duration) (w waits) {
	if is < was || spent <= 0 {
		return w
	}
	w.waiting = spent.Seconds() / over.Seconds()
	if n := is - was; n > 0 {
		w.mean = spent / time.Duration(n)
	}
	return w
}
