package livepage

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/registry"
)

// A Report is the answer to format=json, and each event of format=events.
type Report struct {
	Time     time.Time `json:"time"`     // when the channels were read
	Over     float64   `json:"over"`     // seconds that rates average over; 0 in the first report: ask again a second later
	Named    int       `json:"named"`    // named channels in the program
	Matching int       `json:"matching"` // named channels that match the query
	Page     int       `json:"page"`     // the page returned: the last one if the query asks for a later one
	Pages    int       `json:"pages"`    // at least 1
	Channels []Channel `json:"channels"` // the channels on the page

	Flow *Flow `json:"flow,omitempty"` // the map of all named channels, with flow=1
}

// A Channel describes one channel. Its fields are read at one moment, except
// rates: they average over the time between two readings and are null in the
// first.
type Channel struct {
	ID    uint64 `json:"id"`
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Len   int    `json:"len"`   // values queued
	Cap   *int   `json:"cap"`   // capacity or limit, in values; null if unlimited
	Lanes int    `json:"lanes"` // 1 except for a Sharded

	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
	Dropped  uint64 `json:"dropped"`
	Rejected uint64 `json:"rejected"` // sends that failed because the channel was full
	// Values per second.
	SentRate     *float64 `json:"sentRate"`
	ReceivedRate *float64 `json:"receivedRate"`
	DroppedRate  *float64 `json:"droppedRate"`
	RejectedRate *float64 `json:"rejectedRate"` // sends per second

	Senders   Waiting `json:"senders"`
	Receivers Waiting `json:"receivers"`

	Age

	HighWater  int    `json:"highWater"` // the most values ever queued; for a Sharded, in one lane
	Bytes      int64  `json:"bytes"`     // memory for values and spare slots
	Closed     bool   `json:"closed"`
	LaneChange string `json:"laneChange"` // the last change in the number of lanes, and its reason

	BytesOnDisk int64  `json:"bytesOnDisk"`
	Warning     string `json:"warning"` // what weakens the channel's guarantees; empty if nothing does

	// Unanswered says why the figures are those of an earlier reading, or zero: the Stats of a
	// foreign kind did not return in time, or panicked. It is empty if they are current.
	Unanswered string `json:"unanswered"`

	// Snapshot is set if the query names one channel, and null otherwise and for
	// a foreign kind.
	Snapshot *Snapshot `json:"snapshot"`
}

// An Age is what is known of the age of the oldest queued value, in seconds.
type Age struct {
	OldestValue *float64 `json:"oldestValue"` // 0 if nothing is queued; null if there is only a bound
	OldestBound float64  `json:"oldestBound"` // 0 unless OldestValue is null
	OldestSign  string   `json:"oldestSign"`  // "≈" if OldestValue may be off by more than a fifth; "≥" or "<" for a bound; or "unknown"
}

// Waiting describes the waiters on one side of a channel.
type Waiting struct {
	Now   int     `json:"now"`   // goroutines parked
	Waits uint64  `json:"waits"` // total number of times a goroutine parked
	Total float64 `json:"total"` // seconds spent in completed waits, estimated
	// Since is how long the head of the queue has waited, in seconds; 0 if the
	// queue is empty.
	Since float64 `json:"since"`
	// Mean is the estimated mean duration of a wait between two readings, in
	// seconds; null in the first report.
	Mean *float64 `json:"mean"`
}

// maxWarning is the maximum length of a warning in bytes: it may contain an error of any
// length.
const maxWarning = 1024

// A column is a sort key.
type column struct {
	figure  bool // sorts in descending order by default
	compare func(a, b *sighting) int
}

var columns = map[string]column{
	"id":             {false, byID},
	"name":           {false, func(a, b *sighting) int { return strings.Compare(a.Name, b.Name) }},
	"kind":           {false, func(a, b *sighting) int { return strings.Compare(a.Kind, b.Kind) }},
	"fill":           by(fill),
	"len":            by(func(s *sighting) int { return s.stats.Len }),
	"sent":           by(func(s *sighting) float64 { return s.rates.sent }),
	"received":       by(func(s *sighting) float64 { return s.rates.received }),
	"dropped":        by(func(s *sighting) float64 { return s.rates.dropped }),
	"senders":        by(func(s *sighting) int { return s.stats.SendersWaiting }),
	"receivers":      by(func(s *sighting) int { return s.stats.ReceiversWaiting }),
	"oldestsender":   by(func(s *sighting) time.Duration { return s.stats.OldestSender }),
	"oldestreceiver": by(func(s *sighting) time.Duration { return s.stats.OldestReceiver }),
	"oldestvalue":    by((*sighting).oldest),
	"high":           by(func(s *sighting) int { return s.stats.HighWater }),
	"lanes":          by(func(s *sighting) int { return max(1, s.stats.Lanes.Count) }),
	"bytes":          by(func(s *sighting) int64 { return s.stats.Bytes }),
}

func columnNames() []string { return slices.Sorted(maps.Keys(columns)) }

func byID(a, b *sighting) int { return cmp.Compare(a.ID, b.ID) }

func by[F cmp.Ordered](figure func(*sighting) F) column {
	return column{true, func(a, b *sighting) int { return cmp.Compare(figure(a), figure(b)) }}
}

// fill returns the used fraction of the capacity, 0 if there is no capacity.
func fill(s *sighting) float64 {
	if s.stats.Cap == 0 {
		return 0
	}
	return float64(s.stats.Len) / float64(s.stats.Cap)
}

// report builds the report that q asks for. found is false if q names a channel
// that does not exist.
func (q *query) report(l *look) (r Report, found bool) {
	r = Report{Time: l.at, Over: l.over.Seconds(), Named: l.named}
	matching := q.matching(l)
	if q.channel != 0 && len(matching) == 0 {
		return r, false
	}
	r.Matching = len(matching)
	r.Pages = max(1, (len(matching)+q.size-1)/q.size)
	r.Page = min(q.page, r.Pages)
	from := (r.Page - 1) * q.size
	to := min(from+q.size, len(matching))
	slices.SortFunc(matching, q.compare)
	if q.flow {
		_, r.Flow = l.flow()
	}
	r.Channels = make([]Channel, 0, to-from)
	for _, s := range matching[from:to] {
		r.Channels = append(r.Channels, s.channel())
	}
	if q.channel != 0 {
		r.Time, r.Channels[0] = matching[0].snapshot(l.at)
	}
	return r, true
}

// matching returns the sightings that pass q's filters.
func (q *query) matching(l *look) []*sighting {
	if q.channel != 0 {
		if s := l.of(q.channel); s != nil {
			return []*sighting{s}
		}
		return nil
	}
	out := make([]*sighting, 0, len(l.seen))
	for i := range l.seen {
		s := &l.seen[i]
		if q.kind != "" && q.kind != kindOf(s.Kind) {
			continue
		}
		if q.filter != "" && !strings.Contains(strings.ToLower(s.Name), q.filter) {
			continue
		}
		out = append(out, s)
	}
	return out
}

// compare orders sightings as q asks; ties are ordered by ID.
func (q *query) compare(a, b *sighting) int {
	c := columns[q.sort].compare(a, b)
	if q.desc {
		c = -c
	}
	return cmp.Or(c, byID(a, b))
}

// channel converts s to its report.
func (s *sighting) channel() Channel {
	st := &s.stats
	c := Channel{
		ID: s.ID, Name: s.Name, Kind: s.Kind, Len: st.Len, Cap: limit(st.Cap), Lanes: max(1, st.Lanes.Count),
		Sent: st.Sent, Received: st.Received, Dropped: st.Dropped, Rejected: st.Rejected,
		Senders:   Waiting{Now: st.SendersWaiting, Waits: st.SendWaits, Total: st.SendWaitTime.Seconds(), Since: st.OldestSender.Seconds()},
		Receivers: Waiting{Now: st.ReceiversWaiting, Waits: st.RecvWaits, Total: st.RecvWaitTime.Seconds(), Since: st.OldestReceiver.Seconds()},
		Age:       s.age(),
		HighWater: st.HighWater, Bytes: st.Bytes, Closed: st.Closed, LaneChange: st.Lanes.Change,
		BytesOnDisk: st.Disk.Bytes, Warning: registry.Short(st.Disk.Warning, maxWarning), Unanswered: s.unanswered,
	}
	if s.rates.known {
		r := s.rates
		c.SentRate, c.ReceivedRate, c.DroppedRate, c.RejectedRate = &r.sent, &r.received, &r.dropped, &r.rejected
		send, receive := r.senders.mean.Seconds(), r.receivers.mean.Seconds()
		c.Senders.Mean, c.Receivers.Mean = &send, &receive
	}
	return c
}

// oldest returns how old the oldest queued value is at least, or probably.
func (s *sighting) oldest() time.Duration { return max(s.stats.OldestValue, s.stats.OldestAtLeast) }

// age returns the age of the oldest queued value.
func (s *sighting) age() (a Age) {
	oldest := (*engine.Stats)(&s.stats).Oldest()
	sign, figure := oldest.Shown()
	seconds := figure.Seconds()
	if a.OldestSign = sign; oldest.Unknown() {
		a.OldestBound = seconds
	} else {
		a.OldestValue = &seconds
	}
	return a
}

// limit returns a pointer to the capacity, or nil if it is unlimited.
func limit(capacity int) *int {
	if capacity == sluice.Unlimited {
		return nil
	}
	return &capacity
}
