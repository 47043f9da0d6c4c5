package doctor

import (
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
	"github.com/sluice-go/sluice/livepage"
)

// A queue is a named channel of the service over the window: what its own
// counters say, and the stages at both ends.
type queue struct {
	*livepage.FlowChannel
	before *livepage.FlowChannel // nil if rates come from the service
	over   float64               // seconds between the readings; 0 if unknown

	sent, received, dropped float64 // values per second
	sending, receiving      float64 // goroutines that wait, on average; 0 if unknown
	from, to                []livepage.Stage
}

// readQueues reads the queues whose rates are known: from two readings of their
// counters, or from the rates that the service computed itself.
func (f *facts) readQueues() (all []queue) {
	flow, first := f.capture.Flow, f.capture.FlowBefore
	if flow == nil {
		return nil
	}
	for i := range flow.Channels {
		q := queue{FlowChannel: &flow.Channels[i]}
		if first != nil {
			q.since(first, flow.Time.Sub(first.Time).Seconds())
		}
		if q.before == nil {
			if q.SentRate == nil || q.ReceivedRate == nil || q.DroppedRate == nil {
				continue
			}
			q.over, q.sent, q.received, q.dropped = flow.Over, *q.SentRate, *q.ReceivedRate, *q.DroppedRate
		}
		for _, e := range flow.Edges {
			at := slices.IndexFunc(flow.Stages, func(s livepage.Stage) bool { return s.ID == e.Stage })
			switch {
			case e.Channel != q.ID || at < 0:
			case e.Side == "send":
				q.from = append(q.from, flow.Stages[at])
			default:
				q.to = append(q.to, flow.Stages[at])
			}
		}
		all = append(all, q)
	}
	return all
}

// since computes rates from a reading of the same channel seconds earlier. A
// channel that is new, or whose counters fell, has none.
func (q *queue) since(first *livepage.Flow, seconds float64) {
	i := slices.IndexFunc(first.Channels, func(c livepage.FlowChannel) bool { return c.ID == q.ID })
	if i < 0 || seconds <= 0 {
		return
	}
	was := &first.Channels[i]
	if was.Sent > q.Sent || was.Received > q.Received || was.Dropped > q.Dropped || q.Sent == 0 {
		return
	}
	q.before, q.over = was, seconds
	q.sent, q.received, q.dropped = float64(q.Sent-was.Sent)/seconds, float64(q.Received-was.Received)/seconds, float64(q.Dropped-was.Dropped)/seconds
	// Waits that have not ended are not counted yet: these goroutines wait at
	// both ends of the window.
	q.sending = max((q.SendersWaited-was.SendersWaited)/seconds, float64(min(q.Senders, was.Senders)))
	q.receiving = max((q.ReceiversWaited-was.ReceiversWaited)/seconds, float64(min(q.Receivers, was.Receivers)))
}

// grows returns by how many values per second the queue grew.
func (q *queue) grows() float64 {
	if q.before != nil {
		return float64(q.Len-q.before.Len) / q.over
	}
	return q.sent - q.received
}

// moves reports whether values were received.
func (q *queue) moves() bool { return q.received > 0 }

// A crew is the goroutines of a stage.
type crew struct {
	stage livepage.Stage
	n     int                    // 0 if unknown
	cores float64                // they use
	spent bool                   // cores is known
	waits *profile.GoroutineSite // where they wait for something else than this module's channels, if most of them do
}

// crewOf looks up the goroutines of a stage in the profiles.
func (f *facts) crewOf(s livepage.Stage) crew {
	c := crew{stage: s}
	if g := f.capture.Goroutines; g != nil {
		for i := range g.Sites {
			site := &g.Sites[i]
			if site.Root != s.Function && site.At.Function != s.Function && site.Caller.Function != s.Function {
				continue
			}
			n := max(site.Count(), site.Runnable)
			c.n += n
			outside := site.Op == profile.IO || site.Op == profile.Sleep || site.Op == profile.Lock
			if outside && n > 0 && (c.waits == nil || n > c.waits.Count()) {
				c.waits = site
			}
		}
		if c.waits != nil && 2*c.waits.Count() < c.n {
			c.waits = nil
		}
	}
	for _, st := range f.stages {
		if st.root == s.Function {
			c.cores, c.spent = st.work+st.channel, true
		}
	}
	return c
}

// computes reports whether all goroutines of the crew compute all the time.
func (c *crew) computes() bool { return c.n > 0 && c.cores >= saturated*float64(c.n) }

// receiver returns the stage that receives most from a queue, or nil.
func (q *queue) receiver() *livepage.Stage {
	if len(q.to) == 0 {
		return nil
	}
	return &q.to[0]
}
