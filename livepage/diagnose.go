package livepage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/internal/flow"
)

// The kinds of bottlenecks are verdicts of sluice doctor: those that channels alone show.
const (
	slowStage   = "stage"    // others wait for the stage: senders for what it receives, or receivers for what it sends
	shedding    = "shedding" // values are dropped because the stage is too slow
	stuckStages = "stuck"    // nothing is received any more, or the channels of a cycle are all full
)

// What makes a channel back up, in the order of severity. Drops hold nothing back: they are what
// a policy chose instead.
type severity uint8

const (
	none severity = iota
	dropping
	growing  // the queue is long and its values are old
	full     // there is almost no room
	blocking // senders wait
)

const (
	// waiting is the average number of waiters from which on a side counts as waiting.
	waiting = 0.1
	// lasting is how long the first waiter has waited if the others have, too.
	lasting = 500 * time.Millisecond
	// old is the age of a value that waits too long, if the queue grows; veryOld in any
	// case.
	old     = time.Second
	veryOld = 10 * time.Second
)

// sendersWait returns how many senders wait, on average since the last reading.
func (s *sighting) sendersWait() float64 {
	return s.wait(s.rates.senders.waiting, s.stats.SendersWaiting, s.stats.OldestSender)
}

func (s *sighting) receiversWait() float64 {
	return s.wait(s.rates.receivers.waiting, s.stats.ReceiversWaiting, s.stats.OldestReceiver)
}

func (s *sighting) wait(mean float64, now int, oldest time.Duration) float64 {
	if !s.rates.known || oldest >= lasting {
		return max(mean, float64(now))
	}
	return mean
}

func (s *sighting) severity() severity {
	blocked, r := s.sendersWait(), &s.rates
	moves := !r.known || r.sent > 0 || r.received > 0
	switch {
	case s.stats.Closed && !moves: // left as it is
		return none
	case blocked >= waiting && blocked > s.receiversWait():
		return blocking
	case r.dropped > 0, !r.known && s.stats.Dropped > 0:
		return dropping
	case moves && fill(s) >= 0.9:
		return full
	case s.oldest() >= veryOld, r.known && s.oldest() >= old && r.sent > r.received:
		return growing
	default:
		return none
	}
}

// starves reports whether receivers of the channel wait.
func (s *sighting) starves() bool { return !s.stats.Closed && s.receiversWait() >= waiting }

// A diagnosis finds what holds a program back, on its map.
//
// A stage that sends into a channel that backs up waits for those that receive from it, and
// one that receives from an empty channel for those that send. So a stage that waits is held
// back by another one, and the bottleneck is a stage that others wait for and that does not
// wait. Backpressure comes first: it makes what is behind the bottleneck starve.
type diagnosis struct {
	*look
	names   map[string]string // of stages
	columns map[uint64]int    // of channels
	foreign map[uint64]bool   // channels whose call sites are not sampled
	edges   []Edge
	users   map[end][]Edge
	waits   map[user][]uint64 // the channels at which a stage waits
}

// An end is a side of a channel, and a user one of a stage.
type end struct {
	channel uint64
	side    string
}

type user struct{ stage, side string }

// diagnose returns what holds the program back, or nil and a sentence that explains why
// nothing does.
func (l *look) diagnose(stages []Stage, edges []Edge, columns map[uint64]int, foreign map[uint64]bool) (*Bottleneck, string) {
	if len(l.seen) == 0 {
		return nil, "No channel has a name: give one in the options of its constructor."
	}
	d := &diagnosis{
		look: l, columns: columns, foreign: foreign, edges: edges,
		names: map[string]string{}, users: map[end][]Edge{}, waits: map[user][]uint64{},
	}
	for _, s := range stages {
		d.names[s.ID] = s.Name
	}
	for _, e := range edges {
		d.users[end{e.Channel, e.Side}] = append(d.users[end{e.Channel, e.Side}], e)
		c := l.of(e.Channel)
		waits := c.severity() == full || c.severity() == blocking
		if e.Side == flow.Receive {
			// One waiter proves nothing about a channel, but enough about a stage: the average
			// is an estimate, and misses waits that are rare.
			waits = c.starves() || c.stats.ReceiversWaiting > 0 && !c.stats.Closed
		}
		if waits {
			d.waits[user{e.Stage, e.Side}] = append(d.waits[user{e.Stage, e.Side}], e.Channel)
		}
	}
	var backed, starved []*sighting
	known, moves := false, false
	for i := range l.seen {
		c := &l.seen[i]
		r := &c.rates
		known, moves = known || r.known, moves || r.sent > 0 || r.received > 0
		if c.severity() != none {
			backed = append(backed, c)
		}
		if c.starves() && (!r.known || r.sent > 0) && len(d.users[end{c.ID, flow.Send}]) > 0 {
			starved = append(starved, c)
		}
	}
	var b *Bottleneck
	held := backed
	if !known { // the drops may be of long ago
		held = slices.DeleteFunc(slices.Clone(backed), func(c *sighting) bool { return c.severity() == dropping })
	}
	if c, stage := d.blame(held, flow.Receive, d.worse); c != nil {
		b = d.slow(c, stage)
	} else if len(held) > 0 {
		b = d.cycle(slices.MaxFunc(held, func(a, b *sighting) int { return cmp.Compare(a.severity(), b.severity()) }))
	} else if c, stage := d.blame(starved, flow.Send, d.hungrier); c != nil {
		b = d.pace(c, stage)
	}
	switch {
	case b != nil:
		if text := drops(backed, b.Channel); text != "" {
			b.Text += " Also, " + text
		}
		return b, b.Text
	case !known && len(backed) > 0:
		return nil, drops(backed, 0) + " The next reading, a second later, tells what moves."
	case !known:
		return nil, "No channel is full. The next reading, a second later, tells what moves."
	case !moves:
		return nil, "Nothing moves: no value was sent or received since the last reading."
	default:
		return nil, "No channel is full and no receiver waits long: the service keeps up."
	}
}

// worse orders channels that back up: by how much, and whether a receiver is known; then the
// last ones are the cause.
func (d *diagnosis) worse(a, b *sighting) int {
	isKnown := func(c *sighting) int { return min(1, len(d.users[end{c.ID, flow.Receive}])) }
	return cmp.Or(
		cmp.Compare(a.severity(), b.severity()), cmp.Compare(isKnown(a), isKnown(b)),
		cmp.Compare(d.columns[a.ID], d.columns[b.ID]), cmp.Compare(a.sendersWait(), b.sendersWait()))
}

// hungrier orders channels whose receivers wait: the first ones are the cause.
func (d *diagnosis) hungrier(a, b *sighting) int {
	return cmp.Or(cmp.Compare(d.columns[b.ID], d.columns[a.ID]), cmp.Compare(a.receiversWait(), b.receiversWait()))
}

// blame returns the worst of the channels whose users wait for one on the given side that
// does not wait itself, and this user, which may be unknown.
func (d *diagnosis) blame(channels []*sighting, side string, worse func(a, b *sighting) int) (worst *sighting, stage string) {
	for _, c := range channels {
		users := d.users[end{c.ID, side}]
		held := func(e Edge) bool { return d.heldAt(e) != 0 }
		free := slices.DeleteFunc(slices.Clone(users), held)
		passesOn := func(e Edge) bool { return e.Share == 0 && held(e) } // what the others made of the values
		if len(free) == 0 && len(users) > 0 || slices.ContainsFunc(users, passesOn) || worst != nil && worse(c, worst) <= 0 {
			continue
		}
		worst, stage = c, ""
		if len(free) > 0 {
			stage = slices.MaxFunc(free, func(a, b Edge) int { return cmp.Compare(a.Share, b.Share) }).Stage
		}
	}
	return worst, stage
}

// heldAt returns a channel at which the stage of an edge waits on its other side, or 0. An
// input into which it sends too does not hold it back.
func (d *diagnosis) heldAt(e Edge) (channel uint64) {
	if e.Side == flow.Send {
		return append(d.waits[user{e.Stage, flow.Receive}], 0)[0]
	}
	for _, c := range d.waits[user{e.Stage, flow.Send}] {
		if c != e.Channel {
			return c
		}
	}
	return 0
}

// slow describes a stage that a channel backs up behind.
func (d *diagnosis) slow(c *sighting, stage string) *Bottleneck {
	b := &Bottleneck{Stage: stage, Channel: c.ID, Kind: slowStage}
	if c.severity() == dropping {
		b.Kind = shedding
	}
	who := d.names[stage]
	for _, e := range d.users[end{c.ID, flow.Receive}] {
		if e.Share == 0 { // its results go there: which of them is slow is not known
			who += " or " + d.names[e.Stage]
		}
	}
	switch {
	case stage == "" && c.stats.Received == 0: // the first receive would be sampled
		b.Kind = stuckStages
		b.Text = fmt.Sprintf("Nothing has been received from %s yet: %s.", c.Name, c.describe())
	case stage == "" && d.foreign[c.ID]:
		b.Text = fmt.Sprintf("Calls of a %s are not sampled, so the receiver of %s is not known: %s.", c.Kind, c.Name, c.describe())
	case stage == "":
		b.Text = fmt.Sprintf("Only libraries receive from %s: %s.", c.Name, c.describe())
	case c.rates.known && c.rates.received == 0:
		b.Kind = stuckStages
		b.Text = fmt.Sprintf("%s has stopped receiving: %s.", who, c.describe())
	default:
		b.Text = fmt.Sprintf("%s is the slowest stage: %s%s.", who, c.describe(), d.behind(stage, c.ID))
	}
	return b
}

// cycle describes a cycle of stages that wait for each other. Each channel that backs up,
// as c does, has a receiver that waits at another one.
func (d *diagnosis) cycle(c *sighting) *Bottleneck {
	var passed []*sighting
	var stages, states []string
	for !slices.Contains(passed, c) {
		passed = append(passed, c)
		users := d.users[end{c.ID, flow.Receive}]
		e := users[slices.IndexFunc(users, func(e Edge) bool { return d.heldAt(e) != 0 })]
		stages, c = append(stages, e.Stage), d.of(d.heldAt(e))
	}
	begin := slices.Index(passed, c)
	stages = stages[begin:]
	b := &Bottleneck{Stage: stages[0], Channel: c.ID, Kind: stuckStages}
	for i, c := range passed[begin:] {
		stages[i] = d.names[stages[i]]
		states = append(states, c.describe())
	}
	last := len(stages) - 1
	b.Text = fmt.Sprintf("%s and %s wait for each other: %s.", strings.Join(stages[:last], ", "), stages[last], strings.Join(states, "; "))
	return b
}

// pace describes a stage that the receivers of a channel wait for.
func (d *diagnosis) pace(c *sighting, stage string) *Bottleneck {
	n := waiters(c.stats.ReceiversWaiting, c.receiversWait())
	return &Bottleneck{
		Stage: stage, Channel: c.ID, Kind: slowStage,
		Text: fmt.Sprintf("%s sets the pace: %s is %s, %s for it, and no channel is full.",
			d.names[stage], c.Name, c.level(), plural(n, "receiver waits", "receivers wait")),
	}
}

// drops names the channels that drop values, in a sentence, except for one that another sentence
// has. It returns "" if there is none.
func drops(backed []*sighting, named uint64) string {
	var list []string
	for _, c := range backed {
		if c.severity() == dropping && c.ID != named {
			list = append(list, c.describe())
		}
	}
	if len(list) == 0 {
		return ""
	}
	return several(list) + "."
}

// several lists the first of many.
func several(list []string) string {
	const most = 6
	if left := len(list) - most; left > 0 {
		list = append(list[:most:most], count(float64(left))+" more")
	}
	if last := len(list) - 1; last > 0 {
		return strings.Join(list[:last], ", ") + " and " + list[last]
	}
	return list[0]
}

// behind describes the channels behind a stage, as an addition to a sentence.
func (d *diagnosis) behind(stage string, input uint64) string {
	var states []string
	for _, e := range d.edges {
		if e.Stage == stage && e.Side == flow.Send && e.Channel != input {
			c := d.of(e.Channel)
			states = append(states, c.Name+" is "+c.level())
		}
	}
	switch {
	case len(states) == 0:
		return ""
	case len(states) > 3:
		return "; the channels behind it have room"
	default:
		return "; " + strings.Join(states, ", ")
	}
}

// describe says why a channel backs up.
func (s *sighting) describe() string {
	st, text := &s.stats, s.Name+" is full"
	switch s.severity() {
	case dropping:
		if !s.rates.known {
			return s.Name + " has dropped " + plural(int(st.Dropped), "value", "values")
		}
		return fmt.Sprintf("%s drops %s", s.Name, plural(int(math.Ceil(s.rates.dropped)), "value/s", "values/s"))
	case growing:
		return fmt.Sprintf("%s has %s, the oldest %s old", s.Name, plural(st.Len, "value", "values"), s.age().OldestSign+seconds(s.oldest()))
	case full:
		if text = s.Name + " is " + s.level(); st.SendersWaiting == 0 {
			return text
		}
	}
	if st.Cap == 0 {
		text = s.Name + " has no buffer"
	}
	text += ", " + plural(waiters(st.SendersWaiting, s.sendersWait()), "sender waits", "senders wait")
	if st.OldestSender >= time.Second {
		text += ", the first for " + seconds(st.OldestSender)
	}
	return text
}

// level is how full a channel is.
func (s *sighting) level() string {
	switch filled := fill(s); {
	case s.stats.Len == 0:
		return "empty"
	case s.stats.Cap == 0 || filled < 0.01:
		return "almost empty"
	case filled >= 0.995:
		return "full"
	default:
		return fmt.Sprintf("%.0f%% full", 100*filled)
	}
}

// waiters returns the number of waiters now; if there is none, that on average. There is
// at least one. The average is an estimate: it may exceed the number of goroutines.
func waiters(now int, mean float64) int {
	if now > 0 {
		return now
	}
	return max(int(mean+0.5), 1)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(float64(n)) + " " + many
}

// count writes a number with separators: 12,000.
func count(n float64) string {
	if n < 10 && n != float64(int(n)) {
		return fmt.Sprintf("%.1f", n)
	}
	digits := fmt.Sprintf("%.0f", n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// seconds writes a duration for people.
func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	case s < 7200:
		return fmt.Sprintf("%.0f min", s/60)
	default:
		return fmt.Sprintf("%.0f h", s/3600)
	}
}
