package flow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Bottleneck is what holds the program back.
type Bottleneck struct {
	Stage   string // ID; empty if it is not known
	Channel uint64
	Kind    string // one of the kinds below
	Text    string // one sentence
}

// The kinds of bottlenecks are verdicts of sluice doctor: those that channels alone show.
const (
	SlowStage = "stage"    // others wait for the stage: senders for what it receives, or receivers for what it sends
	Drops     = "shedding" // values are dropped because the stage is too slow
	Stuck     = "stuck"    // nothing is received any more, or the channels of a cycle are all full
)

// What makes a channel back up, in the order of severity.
type severity uint8

const (
	none    severity = iota
	growing          // the queue is long and its values are old
	full             // there is almost no room
	dropping
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

// sendersWaiting returns how many senders wait, on average since the last reading.
func (c *Channel) sendersWaiting() float64 {
	if !c.Known || c.OldestSender >= lasting {
		return max(c.SendersMean, float64(c.Senders))
	}
	return c.SendersMean
}

func (c *Channel) receiversWaiting() float64 {
	if !c.Known || c.OldestReceiver >= lasting {
		return max(c.ReceiversMean, float64(c.Receivers))
	}
	return c.ReceiversMean
}

// fill returns which part of the capacity is in use.
func (c *Channel) fill() float64 {
	if c.Cap == 0 {
		return 0
	}
	return float64(c.Len) / float64(c.Cap)
}

func (c *Channel) severity() severity {
	blocked := c.sendersWaiting()
	moves := !c.Known || c.Sent > 0 || c.Received > 0
	switch {
	case c.Closed && !moves: // left as it is
		return none
	case blocked >= waiting && blocked > c.receiversWaiting():
		return blocking
	case c.Dropped > 0:
		return dropping
	case moves && c.fill() >= 0.9:
		return full
	case c.OldestValue >= veryOld, c.Known && c.OldestValue >= old && c.Sent > c.Received:
		return growing
	default:
		return none
	}
}

// starves reports whether receivers of the channel wait.
func (c *Channel) starves() bool { return !c.Closed && c.receiversWaiting() >= waiting }

// Diagnose returns what holds the program back, or nil and a sentence that explains why
// nothing does.
//
// Backpressure spreads upstream: a stage whose output is full cannot empty its input. So
// the bottleneck is a stage that receives from a channel that backs up, and sends to none
// that does; of several, the one behind the worst channel, and then the last one.
func (f *Flow) Diagnose() (*Bottleneck, string) {
	if len(f.Channels) == 0 {
		return nil, "No channel has a name: give one in the options of its constructor."
	}
	backed := map[uint64]severity{}
	for i := range f.Channels {
		if s := f.Channels[i].severity(); s != none {
			backed[f.Channels[i].ID] = s
		}
	}
	b := f.slowStage(backed)
	if b == nil && len(backed) > 0 {
		b = f.cycle(backed)
	}
	if b == nil {
		b = f.slowSource()
	}
	if b != nil {
		return b, b.Text
	}
	known, moves := false, false
	for _, c := range f.Channels {
		known = known || c.Known
		moves = moves || c.Sent > 0 || c.Received > 0
	}
	if known && !moves {
		return nil, "Nothing moves: no value was sent or received since the last reading."
	}
	return nil, "No channel is full and no receiver waits long: the service keeps up."
}

// slowStage finds a channel that backs up behind a stage that is not held back.
func (f *Flow) slowStage(backed map[uint64]severity) *Bottleneck {
	var worst *Channel
	var stage string
	outputs := map[string][]uint64{} // of each stage: those that back up
	for _, s := range f.Stages {
		outputs[s.ID] = f.backedOutputs(s.ID, backed)
	}
	for i := range f.Channels {
		c := &f.Channels[i]
		if backed[c.ID] == none {
			continue
		}
		receivers := f.edgesOf(c.ID, Receive)
		free := slices.DeleteFunc(slices.Clone(receivers), func(e Edge) bool {
			out := outputs[e.Stage] // its input, into which it may send too, does not count
			return len(out) > 1 || len(out) == 1 && out[0] != c.ID
		})
		if len(receivers) > 0 && len(free) == 0 {
			continue
		}
		if slices.ContainsFunc(receivers, func(e Edge) bool { return e.Share == 0 && !slices.Contains(free, e) }) {
			continue // the receiver cannot pass on its results
		}
		if worst != nil && cmp.Or(
			cmp.Compare(backed[c.ID], backed[worst.ID]),
			cmp.Compare(min(len(free), 1), min(len(f.edgesOf(worst.ID, Receive)), 1)), // a known receiver
			cmp.Compare(c.Column, worst.Column),
			cmp.Compare(c.sendersWaiting(), worst.sendersWaiting()),
		) <= 0 {
			continue
		}
		worst, stage = c, ""
		if len(free) > 0 {
			stage = slices.MaxFunc(free, func(a, b Edge) int { return cmp.Compare(a.Share, b.Share) }).Stage
		}
	}
	if worst == nil {
		return nil
	}
	b := &Bottleneck{Stage: stage, Channel: worst.ID, Kind: SlowStage}
	who := f.orConsumer(stage, worst.ID)
	if backed[worst.ID] == dropping {
		b.Kind = Drops
	}
	what := worst.describe(backed[worst.ID])
	switch {
	case stage == "":
		b.Text = fmt.Sprintf("No receiver of %s was seen: %s.", worst.Name, what)
		if worst.Foreign {
			b.Text = fmt.Sprintf("Which function receives from %s is not known: %s.", worst.Name, what)
		}
	case worst.Known && worst.Received == 0:
		b.Kind = Stuck
		b.Text = fmt.Sprintf("%s has stopped receiving: %s.", who, what)
	default:
		b.Text = fmt.Sprintf("%s is the slowest stage: %s%s.", who, what, f.describeOutputs(stage, worst.ID))
	}
	return b
}

// orConsumer names a stage that receives from input, and those that its results go to:
// which of them is slow is not known.
func (f *Flow) orConsumer(stage string, input uint64) string {
	names := f.nameOf(stage)
	for _, e := range f.edgesOf(input, Receive) {
		if e.Share == 0 {
			names += " or " + f.nameOf(e.Stage)
		}
	}
	return names
}

// backedOutputs returns the channels that a stage sends into and that back up.
func (f *Flow) backedOutputs(stage string, backed map[uint64]severity) (ids []uint64) {
	for _, e := range f.outputsOf(stage) {
		if backed[e.Channel] >= full && backed[e.Channel] != dropping {
			ids = append(ids, e.Channel)
		}
	}
	return ids
}

// cycle describes a cycle of stages that wait for each other. Each receiver of each
// channel in backed has an output in backed.
func (f *Flow) cycle(backed map[uint64]severity) *Bottleneck {
	var at uint64
	for i := range f.Channels {
		c := &f.Channels[i]
		if backed[c.ID] > backed[at] {
			at = c.ID
		}
	}
	var passed []uint64
	var stages []string
	for !slices.Contains(passed, at) {
		passed = append(passed, at)
		input := at
		for _, e := range f.edgesOf(at, Receive) { // the first one that is held back
			outputs := slices.DeleteFunc(f.backedOutputs(e.Stage, backed), func(id uint64) bool { return id == input })
			if len(outputs) > 0 {
				stages = append(stages, e.Stage)
				at = outputs[0]
				break
			}
		}
		if at == input {
			return nil
		}
	}
	begin := slices.Index(passed, at)
	passed, stages = passed[begin:], stages[begin:]
	names, states := make([]string, len(stages)), make([]string, len(passed))
	for i, s := range stages {
		names[i] = f.nameOf(s)
	}
	for i, id := range passed {
		states[i] = f.channel(id).describe(backed[id])
	}
	return &Bottleneck{
		Stage: stages[0], Channel: passed[0], Kind: Stuck,
		Text: fmt.Sprintf("%s wait for each other: %s.", and(names), strings.Join(states, "; ")),
	}
}

// slowSource finds a channel whose receivers wait for a stage that does not wait itself.
func (f *Flow) slowSource() *Bottleneck {
	starved := map[string]bool{} // stages that wait for a value
	for i := range f.Channels {
		// One waiter proves nothing about a channel, but enough about a stage: the average
		// is an estimate, and misses waits that are rare.
		if c := &f.Channels[i]; c.starves() || c.Receivers > 0 && !c.Closed {
			for _, e := range f.edgesOf(c.ID, Receive) {
				starved[e.Stage] = true
			}
		}
	}
	var worst *Channel
	var stage string
	for i := range f.Channels {
		c := &f.Channels[i]
		if !c.starves() || c.Known && c.Sent == 0 {
			continue
		}
		senders := slices.DeleteFunc(slices.Clone(f.edgesOf(c.ID, Send)), func(e Edge) bool { return starved[e.Stage] })
		if len(senders) == 0 || worst != nil && cmp.Or(
			cmp.Compare(worst.Column, c.Column), // the first one
			cmp.Compare(c.receiversWaiting(), worst.receiversWaiting()),
		) <= 0 {
			continue
		}
		worst = c
		stage = slices.MaxFunc(senders, func(a, b Edge) int { return cmp.Compare(a.Share, b.Share) }).Stage
	}
	if worst == nil {
		return nil
	}
	n := waiters(worst.Receivers, worst.receiversWaiting())
	return &Bottleneck{
		Stage: stage, Channel: worst.ID, Kind: SlowStage,
		Text: fmt.Sprintf("%s sets the pace: %s is %s, %s for it, and no channel is full.",
			f.nameOf(stage), worst.Name, worst.level(), plural(n, "receiver waits", "receivers wait")),
	}
}

// describeOutputs describes the channels behind a stage, as an addition to a sentence.
func (f *Flow) describeOutputs(stage string, input uint64) string {
	var states []string
	for _, e := range f.outputsOf(stage) {
		if e.Channel != input {
			c := f.channel(e.Channel)
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

// describe says what is wrong with a channel.
func (c *Channel) describe(s severity) string {
	switch s {
	case dropping:
		return fmt.Sprintf("%s drops %s values/s", c.Name, count(c.Dropped))
	case growing:
		return fmt.Sprintf("%s has %s, the oldest %s old", c.Name, plural(c.Len, "value", "values"), seconds(c.OldestValue))
	case full:
		return c.Name + " is " + c.level()
	}
	state := c.Name + " is full"
	if c.Cap == 0 {
		state = c.Name + " has no buffer"
	}
	state += ", " + plural(waiters(c.Senders, c.sendersWaiting()), "sender waits", "senders wait")
	if c.OldestSender >= time.Second {
		state += ", the first for " + seconds(c.OldestSender)
	}
	return state
}

// level says how full a channel is.
func (c *Channel) level() string {
	switch fill := c.fill(); {
	case c.Len == 0:
		return "empty"
	case c.Cap == 0 || fill < 0.01:
		return "almost empty"
	case fill >= 0.995:
		return "full"
	default:
		return fmt.Sprintf("%.0f%% full", 100*fill)
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

func (f *Flow) channel(id uint64) *Channel {
	at, _ := slices.BinarySearchFunc(f.Channels, id, func(c Channel, id uint64) int { return cmp.Compare(c.ID, id) })
	return &f.Channels[at]
}

func (f *Flow) nameOf(stage string) string {
	for _, s := range f.Stages {
		if s.ID == stage {
			return s.Name
		}
	}
	return stage
}
