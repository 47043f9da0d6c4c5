// Package doctor finds what holds a Go service back, from an observation of it: one
// verdict, the place, at most two remedies with the range of what they would give, and
// the evidence.
//
// It works in four steps, and no step reads further back than the one before it:
//
//	model     the roles and what is between them, with busy shares and who holds up whom
//	diagnose  the laws of operational analysis: what is busy all the time while others
//	          wait for it is the bottleneck, whatever it is made of
//	remedy    changes of the model, each with the bounds that the laws give, and the
//	          evidence that it is safe
//	show      the map, the text, the page, the JSON form
//
// A wrong answer costs more than none: below a stated probability the doctor says what
// it saw and what would decide, and advises nothing.
package doctor

import (
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
	"github.com/sluice-go/sluice/livepage"
)

// Schema is the version of the JSON form. It changes when an old reader would
// misinterpret the new form.
const Schema = 2

// A Diagnosis is the answer for one observation, and its own JSON form. A null is an
// unknown value.
type Diagnosis struct {
	Schema   int       `json:"schema"`
	Target   string    `json:"target"`
	Start    time.Time `json:"start,omitzero"`
	Observed string    `json:"observed"` // what it was made of: "CPU profile of 5 s, trace of 0.2 s, 2 dumps"

	Verdict     Verdict     `json:"verdict"`
	Channels    Involvement `json:"channels"`    // whether channels are the problem
	Probability float64     `json:"probability"` // that the verdict is right, from services that it was not tuned on
	Answer      string      `json:"answer"`      // one sentence
	Bottleneck  *Bottleneck `json:"bottleneck"`  // null without one
	Headroom    *float64    `json:"headroom"`    // factor by which the load could grow until the busiest part is busy all the time; null if unknown
	Remedies    []Remedy    `json:"remedies"`    // at most two, the best first; none if no remedy is known to be safe
	Next        string      `json:"next"`        // without a remedy: what would decide, or why there is nothing to do; "" with one
	Evidence    []Evidence  `json:"evidence"`    // the most important first
	Also        []Finding   `json:"also"`        // what else was seen, which is not what limits the service now: a leak, a queue that grows

	Roles   []RoleRow      `json:"roles"`   // by what they hold up, then by busy share
	Map     *livepage.Flow `json:"map"`     // roles as stages, with what is between them, as package livepage documents it
	Unknown []observe.Gap  `json:"unknown"` // what was not seen, and why
}

// A Verdict is what holds the service back.
type Verdict string

// The verdicts.
const (
	Channel   Verdict = "channel"   // passing values costs too much: a hot channel, a channel used as a lock, values too small for a hand-off
	Lockstep  Verdict = "lockstep"  // nobody is busy, and all wait for each other
	Stage     Verdict = "stage"     // the goroutines of one role are busy while others wait for them
	Lock      Verdict = "lock"      // of package sync, or a condition
	Limit     Verdict = "limit"     // a pool, a semaphore, a limit of a library
	Polling   Verdict = "polling"   // goroutines spin
	Shedding  Verdict = "shedding"  // bursts are dropped while the service is idle on average
	Stuck     Verdict = "stuck"     // goroutines wait for what will not come: deadlock, leak, exhausted pool
	Outside   Verdict = "outside"   // the network, another process, a disk
	Cores     Verdict = "cores"     // the program's own code uses all the cores that it gets
	Memory    Verdict = "memory"    // allocation and the collector do
	Load      Verdict = "load"      // nothing inside: the load is the limit
	Idle      Verdict = "idle"      // too little happens to say anything
	Undecided Verdict = "undecided" // what was seen does not decide
)

// An Involvement answers the question whether channels are the problem.
type Involvement string

// The answers.
const (
	Yes     Involvement = "yes"
	Partly  Involvement = "partly" // how work is passed on limits the service, such as one receiver for many senders
	No      Involvement = "no"
	Unknown Involvement = "unknown"
)

// A Bottleneck is the part of the service that the others wait for.
type Bottleneck struct {
	Role    string  `json:"role,omitempty"` // name of a role; "" if it is a node
	Node    string  `json:"node,omitempty"` // name of a channel, lock or limit; "" if it is a role
	At      Place   `json:"at"`             // the line to look at first
	Why     string  `json:"why"`            // what its time is: "a sync for each value", "copies", "passing values"
	Busy    float64 `json:"busy"`           // from 0 to 1
	HoldsUp float64 `json:"holds_up"`       // goroutines that wait for it, on average
}

// A Place is an operation at a line of the program.
type Place struct {
	Op       string `json:"op,omitempty"`
	Function string `json:"function"` // with the path of its package
	File     string `json:"file"`
	Line     int    `json:"line"`
	In       string `json:"in,omitempty"`     // the function of a library that the line calls
	Caller   *Place `json:"caller,omitempty"` // who called Function
}

// A Name is the name of a remedy. Programs may compare it.
type Name string

// The remedies.
const (
	Batch         Name = "batch"          // slices of values, at the source or at the sink
	Buffer        Name = "buffer"         // a buffer, or a larger one
	MoreReceivers Name = "more receivers" // more goroutines of the role
	Split         Name = "split by key"   // several channels, shards or locks
	Balance       Name = "balance keys"   // values spread over all shards
	RemoveHop     Name = "remove a hop"   // fewer goroutines between source and sink
	UseMutex      Name = "mutex"          // in place of a channel that excludes
	RaiseLimit    Name = "raise the limit"
	StopPolling   Name = "stop polling" // wait instead of asking again
	Release       Name = "cancel or close"
	Reuse         Name = "reuse"        // timers, contexts, memory, goroutines
	Signal        Name = "signal"       // wake one waiter, not all
	Cheaper       Name = "cheaper work" // of the named function: nothing about channels helps
	MoreCores     Name = "more cores"
)

// A Remedy is a change, with what it would give.
type Remedy struct {
	Name      Name     `json:"name"`
	Change    string   `json:"change"` // one sentence: what to change, where
	At        *Place   `json:"at"`
	Gain      *Gain    `json:"gain"`      // null: no bound is known, measure it
	Condition string   `json:"condition"` // under which it is safe and the gain holds; "" if there is none
	Evidence  []string `json:"evidence"`  // that it is safe here
}

// A Gain is the factor in throughput, as a range: what the measured parts leave open.
type Gain struct {
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Likely float64 `json:"likely"` // within the range
	Of     string  `json:"of"`     // "throughput", "CPU time", "latency"
	Bound  string  `json:"bound"`  // what limits it: "2 of 2 cores", "writer is busy 0.8 next"
}

// An Evidence is a fact with the source that it comes from.
type Evidence struct {
	Text   string `json:"text"`
	Source string `json:"source"` // "trace", "CPU profile", "dumps"
}

// A Finding is something seen beside the bottleneck.
type Finding struct {
	Kind     string     `json:"kind"` // "leak", "deadlock", "exhausted pool", "idle pool", "polling", "artifact"
	Text     string     `json:"text"`
	At       *Place     `json:"at"`
	Count    int        `json:"goroutines"`
	Missing  string     `json:"missing,omitempty"` // what would end the waits: "close", "cancel", "receiver", "sender", "slot", "lock order", "unlock", "done", "signal"
	Evidence []Evidence `json:"evidence"`
}

// A RoleRow is a role as the answer shows it.
type RoleRow struct {
	Name    string  `json:"name"`
	Start   Place   `json:"start"`
	Alive   float64 `json:"goroutines"`
	Busy    float64 `json:"busy"` // of each, from 0 to 1
	Running float64 `json:"running"`
	System  float64 `json:"system"`
	Outside float64 `json:"outside"`
	Waiting float64 `json:"waiting"`  // for partners, locks and limits
	HoldsUp float64 `json:"holds_up"` // goroutines that wait for it
	Doing   string  `json:"doing"`    // a few words: "computes", "waits in send at main.go:30"
}

// Found reports whether something in the program holds it back, or will: what a check
// should fail for.
func (d *Diagnosis) Found() bool {
	for _, f := range d.Also {
		if f.Kind == "leak" || f.Kind == "deadlock" || f.Kind == "exhausted pool" {
			return true
		}
	}
	switch d.Verdict {
	case Channel, Lockstep, Stage, Lock, Limit, Polling, Shedding, Stuck, Memory:
		return true
	}
	return false
}

// Decided reports whether enough was seen for a verdict.
func (d *Diagnosis) Decided() bool { return d.Verdict != Undecided && d.Verdict != Idle }
