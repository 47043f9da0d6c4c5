package livepage

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/internal/flow"
	"github.com/sluice-go/sluice/internal/registry"
)

// A Flow is the answer to format=flow: the map of the program. With flow=1 it is part of
// the JSON and of each event, without the channels that have no edge, and with at most 200 others.
// Stages are functions that send into named channels or receive from them, as far as they
// were seen lately.
//
// It is also the map of sluice doctor, which shows all goroutines of any service: its
// stages are roles, with the functions in which their goroutines begin, and its channels
// are all that roles meet or wait at.
type Flow struct {
	Time     time.Time     `json:"time"`     // when the channels were read
	Over     float64       `json:"over"`     // seconds that rates average over; 0 in the first report
	Summary  string        `json:"summary"`  // a sentence or two: what holds the program back, or why nothing does
	Stages   []Stage       `json:"stages"`   // by ID
	Channels []FlowChannel `json:"channels"` // by ID
	Edges    []Edge        `json:"edges"`    // by channel, side and stage
	// Bottleneck is null if nothing holds the program back, or nothing is known.
	Bottleneck *Bottleneck `json:"bottleneck"`
	Unknown    []string    `json:"unknown"` // the names of channels without an edge, with format=flow
	Unseen     string      `json:"unseen"`  // one sentence: why they have none; empty if all have one
	Omitted    int         `json:"omitted"` // channels with an edge that an event leaves out
}

// A Stage is a function that sends or receives.
type Stage struct {
	ID       string `json:"id"`       // unique, and the same in all reports
	Name     string `json:"name"`     // unique and short, for people
	Function string `json:"function"` // with the path of its package
	File     string `json:"file"`
	Line     int    `json:"line"`
	// Column is the place from left to right, from 0: a stage receives from stages in
	// columns before its own, except where stages form a cycle.
	Column int `json:"column"`

	// The following are means that only sluice doctor knows.
	Goroutines float64  `json:"goroutines,omitempty"`
	Busy       *float64 `json:"busy,omitempty"`    // part of its time in which each did not wait for others, from 0 to 1
	HoldsUp    float64  `json:"holdsUp,omitempty"` // goroutines that wait for it
	Doing      string   `json:"doing,omitempty"`   // a few words: "computes", "a sync for each value"
}

// A FlowChannel is a named channel on the map. On the map of sluice doctor it may be
// anything that goroutines wait at: those that wait for a lock or a limit are its senders,
// and those that wait for a condition its receivers.
type FlowChannel struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"` // of the constructor: Bounded; if it is Unnamed: channel, lock, limit, condition, group, disk, timer, cores, network or another thing outside
	// Column is the last column of a stage that sends into the channel. The channel is
	// drawn between this column and the next one.
	Column int      `json:"column"`
	Len    int      `json:"len"`
	Cap    *int     `json:"cap"`  // null if unlimited
	Fill   *float64 `json:"fill"` // from 0 to 1; null without a buffer or a limit
	// Values since the channel was made.
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
	Dropped  uint64 `json:"dropped"`
	// Values per second; null in the first report.
	SentRate     *float64 `json:"sentRate"`
	ReceivedRate *float64 `json:"receivedRate"`
	DroppedRate  *float64 `json:"droppedRate"`
	Age
	Senders   int `json:"senders"` // goroutines that wait
	Receivers int `json:"receivers"`
	// The seconds that all goroutines of a side have spent in waits that have ended; an
	// estimate.
	SendersWaited   float64 `json:"sendersWaited"`
	ReceiversWaited float64 `json:"receiversWaited"`
	Closed          bool    `json:"closed"`

	// The following are set by sluice doctor only.
	Unnamed       bool    `json:"unnamed,omitempty"`     // it has no counters, and its name is made from a line of the program
	SendersMean   float64 `json:"sendersMean,omitempty"` // goroutines that wait, on average
	ReceiversMean float64 `json:"receiversMean,omitempty"`
}

// An Edge leads from a stage to a channel that it sends into, or from a channel to a
// stage that receives from it.
type Edge struct {
	Stage   string  `json:"stage"`
	Channel uint64  `json:"channel"`
	Side    string  `json:"side"`  // send or receive
	Share   float64 `json:"share"` // of what was seen on this side of the channel; the sum is 1
}

// A Bottleneck names the stage that holds the program back.
type Bottleneck struct {
	Stage   string `json:"stage"` // ID; empty if it is not known
	Channel uint64 `json:"channel"`
	// Kind is a verdict of sluice doctor. The live page knows stage, shedding and stuck.
	Kind string `json:"kind"`
	Text string `json:"text"` // one sentence, and another one if values are dropped elsewhere
}

// maxPlaced limits the map in an event, which is sent once a second: a program may have
// thousands of channels.
const maxPlaced = 200

// brief returns the map for an event: without the channels that have no edge, and with at most
// maxPlaced channels: the one at the bottleneck, those that connect stages, and then others.
func (f *Flow) brief() *Flow {
	rank := make(map[uint64]int, len(f.Edges)) // 1 for each side with an edge
	for i, e := range f.Edges {                // by channel and side
		if i == 0 || e.Channel != f.Edges[i-1].Channel || e.Side != f.Edges[i-1].Side {
			rank[e.Channel]++
		}
	}
	if f.Bottleneck != nil && rank[f.Bottleneck.Channel] > 0 {
		rank[f.Bottleneck.Channel] = 3
	}
	out := *f
	out.Unknown = []string{}
	out.Channels = make([]FlowChannel, 0, min(len(rank), maxPlaced))
	for least := 3; least > 0; least-- {
		for _, c := range f.Channels {
			if rank[c.ID] == least && len(out.Channels) < maxPlaced {
				out.Channels = append(out.Channels, c)
			}
		}
	}
	out.Omitted = len(rank) - len(out.Channels)
	slices.SortFunc(out.Channels, func(a, b FlowChannel) int { return cmp.Compare(a.ID, b.ID) })
	if out.Omitted == 0 {
		return &out
	}
	kept, stages := make(map[uint64]bool, maxPlaced), map[string]bool{}
	for _, c := range out.Channels {
		kept[c.ID] = true
	}
	out.Edges = slices.DeleteFunc(slices.Clone(f.Edges), func(e Edge) bool { return !kept[e.Channel] })
	for _, e := range out.Edges {
		stages[e.Stage] = true
	}
	out.Stages = slices.DeleteFunc(slices.Clone(f.Stages), func(s Stage) bool { return !stages[s.ID] })
	return &out
}

func (l *look) draw() *Flow {
	entries := slices.DeleteFunc(registry.Channels(), func(e registry.Entry) bool { return l.of(e.ID) == nil })
	foreign, linked := map[uint64]bool{}, map[uint64]bool{}
	for _, e := range entries {
		foreign[e.ID] = e.Sites == nil
	}
	stages, edges := flow.Learn(entries)
	ids := make([]string, len(stages))
	for i, s := range stages {
		ids[i] = s.ID
	}
	ofStages, ofChannels := flow.Columns(ids, edges)
	out := &Flow{
		Time: l.at, Over: l.over.Seconds(), Unknown: []string{},
		Stages: make([]Stage, 0, len(stages)), Channels: make([]FlowChannel, 0, len(l.seen)), Edges: make([]Edge, 0, len(edges)),
	}
	for _, s := range stages {
		out.Stages = append(out.Stages, Stage{ID: s.ID, Name: s.Name, Function: s.Function, File: s.File, Line: s.Line, Column: ofStages[s.ID]})
	}
	for _, e := range edges {
		out.Edges = append(out.Edges, Edge(e))
		linked[e.Channel] = true
	}
	for i := range l.seen {
		c := l.seen[i].flowChannel(ofChannels[l.seen[i].ID])
		out.Channels = append(out.Channels, c)
		if !linked[c.ID] {
			out.Unknown = append(out.Unknown, c.Name)
		}
	}
	out.Unseen = l.unseen(linked, foreign)
	out.Bottleneck, out.Summary = l.diagnose(out.Stages, out.Edges, ofChannels, foreign)
	return out
}

// unseen says why channels without an edge have none.
func (l *look) unseen(linked, foreign map[uint64]bool) string {
	var reasons []string
	names := map[string][]string{} // by reason
	for i := range l.seen {
		c, why := &l.seen[i], ""
		switch {
		case linked[c.ID]:
			continue
		case foreign[c.ID]:
			why = "a " + c.Kind + ", whose calls are not sampled"
		case c.stats.Sent == 0 && c.stats.Received == 0:
			why = "no send or receive yet"
		default:
			why = "used by libraries only"
		}
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], c.Name)
	}
	if len(reasons) == 0 {
		return ""
	}
	for i, why := range reasons {
		reasons[i] = several(names[why]) + " (" + why + ")"
	}
	return "Not on the map: " + strings.Join(reasons, "; ") + "."
}

func (s *sighting) flowChannel(column int) FlowChannel {
	c := s.channel()
	f := FlowChannel{
		ID: c.ID, Name: c.Name, Kind: c.Kind, Column: column, Len: c.Len, Cap: c.Cap, Age: c.Age, Closed: c.Closed,
		Sent: c.Sent, Received: c.Received, Dropped: c.Dropped, SentRate: c.SentRate, ReceivedRate: c.ReceivedRate, DroppedRate: c.DroppedRate,
		Senders: c.Senders.Now, Receivers: c.Receivers.Now, SendersWaited: c.Senders.Total, ReceiversWaited: c.Receivers.Total,
	}
	if c.Cap != nil && *c.Cap > 0 {
		filled := fill(s)
		f.Fill = &filled
	}
	return f
}
