package live

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/livepage"
)

// A drawing makes flows for the page.
type drawing struct {
	livepage.Flow
	column map[string]int
	seen   chan struct{} // closed when the next flow may follow; nil: after one update
}

func newDrawing(columns map[string]int) *drawing {
	d := &drawing{column: columns}
	d.Summary = "No channel is full and no receiver waits long: the service keeps up."
	d.Unknown = []string{}
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		d.Stages = append(d.Stages, livepage.Stage{ID: name, Name: name, Function: "example.com/service/" + name, File: "/src/service/main.go", Line: 10 * (1 + len(d.Stages)), Column: columns[name]})
	}
	return d
}

// over reports whether the next flow follows.
func (d *drawing) over() bool {
	select {
	case <-d.seen:
		return true
	default:
		return d.seen == nil
	}
}

// add adds a channel with some figures: its fill is a percentage.
func (d *drawing) add(name string, fill int, rate float64, senders, receivers []string) *livepage.FlowChannel {
	limit, part := 200, float64(fill)/100
	in, out, dropped := rate, rate, 0.0
	c := livepage.FlowChannel{ID: uint64(len(d.Channels) + 1), Name: name, Kind: "Bounded", Len: 2 * fill, Cap: &limit, Fill: &part,
		SentRate: &in, ReceivedRate: &out, DroppedRate: &dropped}
	c.OldestValue = new(age(&c))
	for _, s := range senders {
		c.Column = max(c.Column, d.column[s])
		d.Edges = append(d.Edges, livepage.Edge{Stage: s, Channel: c.ID, Side: "send", Share: 1 / float64(len(senders))})
	}
	for _, r := range receivers {
		d.Edges = append(d.Edges, livepage.Edge{Stage: r, Channel: c.ID, Side: "receive", Share: 1 / float64(len(receivers))})
	}
	d.Channels = append(d.Channels, c)
	return &d.Channels[len(d.Channels)-1]
}

// age returns the age of the oldest value of a channel that is received from at a
// steady rate, in seconds.
func age(c *livepage.FlowChannel) float64 {
	if *c.ReceivedRate == 0 {
		return 0
	}
	return float64(c.Len) / *c.ReceivedRate
}

// hold makes a stage the bottleneck behind a channel.
func (d *drawing) hold(stage string, c *livepage.FlowChannel) {
	*c.Fill, c.Len, c.Senders = 1, *c.Cap, 3
	c.OldestValue = new(age(c))
	d.Bottleneck = &livepage.Bottleneck{Stage: stage, Channel: c.ID, Kind: "slow-stage", Text: stage + " is the slowest stage: " + c.Name + " is full, 3 senders wait."}
	d.Summary = d.Bottleneck.Text
}

func twoChannels() *drawing {
	d := newDrawing(map[string]int{"main.read": 0, "main.parse": 1, "main.write": 2})
	lines := d.add("lines", 50, 12_345, []string{"main.read"}, []string{"main.parse"})
	d.hold("main.parse", lines)
	d.add("events", 0, 12_345, []string{"main.parse"}, []string{"main.write"}).Receivers = 1
	return d
}

// eightChannels has a wire that skips a stage, a cycle, drops, a closed channel, and
// channels without a buffer and without a limit.
func eightChannels() *drawing {
	d := newDrawing(map[string]int{"main.accept": 0, "main.(*Server).decode": 1, "main.validate": 2, "main.enrich": 3, "main.store": 4, "main.audit": 4})
	d.add("requests", 45, 8_000, []string{"main.accept"}, []string{"main.(*Server).decode"})
	orders := d.add("orders", 100, 7_900, []string{"main.(*Server).decode"}, []string{"main.validate"})
	d.add("valid orders", 30, 7_800, []string{"main.validate"}, []string{"main.enrich"})
	rich := d.add("enriched", 85, 7_700, []string{"main.enrich"}, []string{"main.store", "main.audit"})
	rich.Senders = 0
	d.add("rejected orders of all customers", 60, 90, []string{"main.(*Server).decode", "main.validate"}, []string{"main.audit"})
	retries := d.add("retries", 10, 40, []string{"main.store"}, []string{"main.validate"})
	retries.Kind, retries.Cap, retries.Fill = "Elastic", nil, nil
	dropped := 120.0
	d.add("samples", 95, 900, []string{"main.enrich"}, []string{"main.audit"}).DroppedRate = &dropped
	d.add("configuration", 0, 0, []string{"main.accept"}, []string{"main.enrich"}).Closed = true
	d.hold("main.validate", &d.Channels[orders.ID-1])
	d.Unseen = "Not on the map: idle, shutdown (no send or receive yet)."
	return d
}

// fortyChannels has 16 channels with the same ends, six chains, and a wire across all.
func fortyChannels() *drawing {
	columns := map[string]int{"main.dispatch": 0, "main.work": 1, "main.merge": 4}
	for i := range 6 {
		columns[fmt.Sprintf("main.parse%d", i)], columns[fmt.Sprintf("main.index%d", i)] = 2, 3
	}
	d := newDrawing(columns)
	for i := range 16 {
		d.add(fmt.Sprintf("partition/%02d", i), i*6, 1_000, []string{"main.dispatch"}, []string{"main.work"})
	}
	for i := range 6 {
		parse, index := fmt.Sprintf("main.parse%d", i), fmt.Sprintf("main.index%d", i)
		d.add(fmt.Sprintf("raw/%d", i), 20*i, 2_000, []string{"main.work"}, []string{parse})
		d.add(fmt.Sprintf("parsed/%d", i), 10*i, 2_000, []string{parse}, []string{index})
		d.add(fmt.Sprintf("indexed/%d", i), 5*i, 2_000, []string{index}, []string{"main.merge"})
		d.add(fmt.Sprintf("errors of parser %d", i), 0, 1, []string{parse}, []string{"main.merge"})
	}
	d.hold("main.index4", &d.Channels[16+4*4+1])
	return d
}

// longTexts has boxes whose texts are as long as they get, and closures as stages.
func longTexts() *drawing {
	d := newDrawing(map[string]int{"main": 0, "main (main.go:1042)": 1, "Server.handleAllOrdersOfCustomers (orders_of_customers.go:1042)": 2, "copyAllOfTheValues (incoming orders of today)": 3})
	stages := slices.SortedFunc(maps.Keys(d.column), func(a, b string) int { return d.column[a] - d.column[b] })
	for i := range 3 {
		c := d.add(fmt.Sprintf("incoming orders of step %d of the pipeline", i), 100, 87_654, stages[i:i+1], stages[i+1:i+2])
		c.Len, c.Senders, c.OldestValue = 99_998, 123_456, new(9*3600*1000.0)
		*c.Cap, *c.Fill, *c.ReceivedRate, *c.DroppedRate = 99_999, 0.99998, 76_543, 65_432
	}
	d.hold(stages[2], &d.Channels[1])
	d.Unseen = "Not on the map: idle, shutdown (no send or receive yet); disk (a spill.Elastic, whose calls are not sampled)."
	return d
}

// changing returns three flows: in the second one only figures are others, and the third one has one
// more channel. The page shows each until stays, the check of these flows, has seen it.
func changing() (flows []*drawing, stays func(*Session)) {
	first, second, third := eightChannels(), eightChannels(), eightChannels()
	first.seen, second.seen = make(chan struct{}), make(chan struct{})
	rate := 6_000.0
	for _, d := range []*drawing{second, third} {
		d.Channels[0].SentRate, d.Channels[0].ReceivedRate = &rate, &rate
	}
	third.add("priority", 5, 70, []string{"main.accept"}, []string{"main.(*Server).decode"})
	return []*drawing{first, second, third}, func(s *Session) {
		s.Stays(func() { close(first.seen) }, func() { close(second.seen) })
	}
}

// growing returns flows of two channels: lines is at 85%, and events grows.
func growing() (flows []*drawing) {
	for i := range 20 {
		d := newDrawing(map[string]int{"main.read": 0, "main.parse": 1})
		d.add("lines", 85, 100, []string{"main.read"}, []string{"main.parse"})
		d.add("events", 2*i, 100, []string{"main.read"}, []string{"main.parse"})
		flows = append(flows, d)
	}
	return flows
}

// serve returns the address of a page whose events carry the flows, one a second: each until it is
// over, and the last one until the test ends; nil is silence. Everything else is the answer of the
// real handler.
func serve(t *testing.T, flows ...*drawing) (address string) {
	t.Helper()
	handler := livepage.Handler()
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("format") != "events" {
			handler.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; ; {
			flow := flows[min(i, len(flows)-1)]
			if flow == nil {
				<-r.Context().Done()
				return
			}
			now := time.Now()
			report := livepage.Report{Time: now, Over: 1, Named: len(flow.Channels) + len(flow.Unknown), Matching: len(flow.Channels), Page: 1, Pages: 1, Flow: &flow.Flow}
			for _, c := range flow.Channels {
				report.Channels = append(report.Channels, livepage.Channel{ID: c.ID, Name: c.Name, Kind: c.Kind, Len: c.Len, Cap: c.Cap, Lanes: 1,
					SentRate: c.SentRate, ReceivedRate: c.ReceivedRate, DroppedRate: c.DroppedRate, Age: c.Age, Closed: c.Closed,
					Senders: livepage.Waiting{Now: c.Senders, Since: float64(c.Senders) * *c.OldestValue}, Receivers: livepage.Waiting{Now: c.Receivers, Since: 0.01 * float64(c.Receivers)},
					HighWater: c.Len, Bytes: 64 * int64(c.Len)})
			}
			text, err := json.Marshal(report)
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "data: %s\n\n", text)
			w.(http.Flusher).Flush()
			select {
			case <-done:
				return
			case <-r.Context().Done():
				return
			case <-time.After(time.Second):
			}
			if flow.over() {
				i++
			}
		}
	}))
	t.Cleanup(func() { close(done); server.Close() })
	return server.URL + "/debug/sluice"
}

// flows are the maps that must be readable.
var flows = map[string]func() *drawing{"2 channels": twoChannels, "8 channels": eightChannels, "40 channels": fortyChannels, "long texts": longTexts}
