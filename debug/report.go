package debug

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
)

// A Report is the answer to format=json, and each event of format=events.
type Report struct {
	Time     time.Time `json:"time"`     // of the look at the channels
	Over     float64   `json:"over"`     // seconds that rates are of; 0 if there are none yet: ask again a second later
	Named    int       `json:"named"`    // channels with a name in the program
	Matching int       `json:"matching"` // those of them that the query asks for
	Page     int       `json:"page"`     // the last one there is, if the query asks for one past it
	Pages    int       `json:"pages"`    // at least 1
	Channels []Channel `json:"channels"` // of the page
}

// A Channel is what is known of one channel, all of one moment but for the rates,
// which are of the time between two looks and null before the second.
type Channel struct {
	ID    uint64 `json:"id"`
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Len   int    `json:"len"`   // values queued
	Cap   *int   `json:"cap"`   // capacity or limit, in values; null if unlimited
	Lanes int    `json:"lanes"` // 1 but for a Sharded

	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
	Dropped  uint64 `json:"dropped"`
	// Values a second.
	SentRate     *float64 `json:"sentRate"`
	ReceivedRate *float64 `json:"receivedRate"`
	DroppedRate  *float64 `json:"droppedRate"`

	Senders   Waiting `json:"senders"`
	Receivers Waiting `json:"receivers"`

	HighWater  int    `json:"highWater"` // the most values ever queued, of a Sharded in one lane
	Bytes      int64  `json:"bytes"`     // memory held for values and for spare room
	Closed     bool   `json:"closed"`
	LaneChange string `json:"laneChange"` // how the number of lanes changed last, and why

	BytesOnDisk int64  `json:"bytesOnDisk"`
	Warning     string `json:"warning"` // what weakens the channel's promises; empty if nothing does

	// Inside is for a query that asks for one channel, and null for all others, and
	// where a channel is of a foreign kind.
	Inside *Inside `json:"inside"`
}

// Waiting is one side of a channel.
type Waiting struct {
	Now   int     `json:"now"`   // goroutines parked
	Waits uint64  `json:"waits"` // times one parked
	Total float64 `json:"total"` // seconds spent in waits that have ended, estimated
	// Since is for how many seconds the first in line has waited; 0 if nobody waits.
	Since float64 `json:"since"`
	// Mean is that of the waits between two looks, in seconds, estimated; null if
	// there are no two looks.
	Mean *float64 `json:"mean"`
}

// A column is what channels can be sorted by.
type column struct {
	figure  bool // the largest is what one looks for
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
	"high":           by(func(s *sighting) int { return s.stats.HighWater }),
	"lanes":          by(func(s *sighting) int { return s.stats.Lanes }),
	"bytes":          by(func(s *sighting) int64 { return s.stats.Bytes }),
}

func columnNames() []string { return slices.Sorted(maps.Keys(columns)) }

func byID(a, b *sighting) int { return cmp.Compare(a.ID, b.ID) }

func by[F cmp.Ordered](figure func(*sighting) F) column {
	return column{true, func(a, b *sighting) int { return cmp.Compare(figure(a), figure(b)) }}
}

// fill is the part of the capacity that is in use, 0 without one.
func fill(s *sighting) float64 {
	if s.stats.Cap == 0 {
		return 0
	}
	return float64(s.stats.Len) / float64(s.stats.Cap)
}

// report picks from l what q asks for. It is not found if q asks for a channel
// that is not there.
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
	r.Channels = make([]Channel, 0, to-from)
	for _, s := range matching[from:to] {
		r.Channels = append(r.Channels, s.channel())
	}
	if q.channel != 0 {
		r.Time, r.Channels[0] = matching[0].inside(l.at)
	}
	return r, true
}

// matching returns what q does not filter out.
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

// compare is the order that q asks for; equals are in order of ID.
func (q *query) compare(a, b *sighting) int {
	c := columns[q.sort].compare(a, b)
	if q.desc {
		c = -c
	}
	return cmp.Or(c, byID(a, b))
}

// channel turns s into what is told of it.
func (s *sighting) channel() Channel {
	st := &s.stats
	c := Channel{
		ID: s.ID, Name: s.Name, Kind: s.Kind, Len: st.Len, Cap: limit(st.Cap), Lanes: st.Lanes,
		Sent: st.Sent, Received: st.Received, Dropped: st.Dropped,
		Senders:   Waiting{Now: st.SendersWaiting, Waits: st.SendWaits, Total: st.SendWaitTime.Seconds(), Since: st.OldestSender.Seconds()},
		Receivers: Waiting{Now: st.ReceiversWaiting, Waits: st.RecvWaits, Total: st.RecvWaitTime.Seconds(), Since: st.OldestReceiver.Seconds()},
		HighWater: st.HighWater, Bytes: st.Bytes, Closed: st.Closed, LaneChange: st.LaneChange,
		BytesOnDisk: st.BytesOnDisk, Warning: st.Warning,
	}
	if s.rates.known {
		r := s.rates
		c.SentRate, c.ReceivedRate, c.DroppedRate = &r.sent, &r.received, &r.dropped
		send, receive := r.sendWait.Seconds(), r.recvWait.Seconds()
		c.Senders.Mean, c.Receivers.Mean = &send, &receive
	}
	return c
}

// limit is a capacity, nil without one.
func limit(capacity int) *int {
	if capacity == sluice.Unlimited {
		return nil
	}
	return &capacity
}
