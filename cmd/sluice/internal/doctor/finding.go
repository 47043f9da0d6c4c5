// Package doctor diagnoses what limits a Go service, from the profiles that
// package profile read: whether its channels are the problem, which operation
// it is, what to do, and how much that would help.
//
// A diagnosis is a list of findings, each with evidence and the profile that it
// comes from. Anything unknown is listed, with the command that would measure
// it. The rules are lists, one file for each family:
//
//	locks.go     lock contention on a channel
//	exclusion.go a channel in place of a mutex
//	owners.go    a goroutine in place of a mutex
//	transfer.go  passing values one by one
//	lockstep.go  both ends of a channel wait, and cores idle
//	asked.go     values that wait for an answer
//	selects.go   selects and polling
//	direction.go which way the values of a select go
//	glimpsed.go  what a service shows without metrics
//	limited.go   a CPU limit, and what comes after it
//	shed.go      sends that give up
//	hop.go       a goroutine that only passes values on
//	chain.go     a chain of stages on one core
//	timers.go    timers that selects create
//	stages.go    a slow stage behind a channel
//	downstream.go slow I/O behind a channel
//	outside.go   slow I/O behind a channel, by a trace
//	serial.go    a stage of one goroutine
//	pools.go     a pool of connections, objects or tokens that is too small
//	skew.go      one busy shard of several
//	spawns.go    a goroutine for each value
//	generator.go a goroutine that makes values for the one that started it
//	fanout.go    one channel for each of many receivers or sources
//	scatter.go   wake-ups all over the program
//	leaks.go     goroutine leaks
//	traced.go    findings from a trace without a CPU profile
//	elsewhere.go the bottleneck is not a channel
//	writes.go    a system call for each value
//	stolen.go    cores that other processes have
//	garbage.go   batches whose allocation is the cost
//	queuerules.go queues that grow, drop or stand still, by the counters of sluice's channels
//	handoffs.go  channels in a row
//	order.go     the order of remedies
//	kinds.go     which kind of channel a remedy needs
//	next.go      what to do without a remedy
//	mapped.go    what the map of named channels adds
//
// safety.go lists what each remedy can break, and removes those without the
// evidence that they are safe.
//
// This package holds the rules, each with the measurements that it was tuned
// on; the prices that gains are predicted from; and the output formats. It
// parses no profiles.
package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
	"github.com/sluice-go/sluice/livepage"
)

// Schema is the version of the JSON form. It changes when an old reader would
// misinterpret the new form.
const Schema = 1

// A Diagnosis is the result for one capture, and its own JSON form. A null in
// the JSON is an unknown value.
type Diagnosis struct {
	Schema     int            `json:"schema"`
	Target     string         `json:"target"`
	GoVersion  string         `json:"go,omitempty"`
	Window     float64        `json:"window_seconds"` // 0 if unknown
	GOMAXPROCS int            `json:"gomaxprocs"`     // 0 if unknown
	CPUs       int            `json:"cpus"`           // 0 if unknown
	Verdict    Verdict        `json:"verdict"`
	Answer     string         `json:"answer"`
	Shares     Shares         `json:"shares"`
	Findings   []Finding      `json:"findings"`   // by weight, the most important first
	Operations []Operation    `json:"operations"` // by cost
	Partners   []Partners     `json:"partners"`
	Flow       *livepage.Flow `json:"flow,omitempty"` // the map of the service's named channels, as package livepage documents it
	Unknown    []Unknown      `json:"unknown"`
	Taken      []string       `json:"taken"` // profiles taken in addition to the defaults, and why
	Prices     Prices         `json:"prices"`

	sparse string // see Sparse
}

// Sparse returns why the capture has too little CPU time for shares, and so for a
// comparison with another one; or "".
func (d *Diagnosis) Sparse() string { return d.sparse }

// A Verdict answers the question whether channels are the problem.
type Verdict string

// The verdicts.
const (
	Yes          Verdict = "yes"
	Partly       Verdict = "partly" // another bottleneck costs more
	No           Verdict = "no"
	Idle         Verdict = "idle" // too little load to decide
	Undetermined Verdict = "unknown"
)

// Shares are the figures behind the verdict.
type Shares struct {
	Cores             *float64 `json:"cores_used"`
	ChannelCPU        *float64 `json:"channel_share_of_cpu"`    // operations, and the scheduler's work after those that parked
	ChannelCores      *float64 `json:"channel_share_of_cores"`  // the same plus Ps asleep in channel locks, as a share of the available cores
	Asleep            *float64 `json:"asleep_in_channel_locks"` // mean number of Ps
	SyncWait          *float64 `json:"blocked_on_sync"`         // mean number of goroutines
	GarbageCollection *float64 `json:"collector_share_of_cpu"`  // including allocation
	User              *float64 `json:"user_code_share_of_cpu"`  //
	Wakeups           *float64 `json:"wakeups_per_second"`      // goroutines made runnable
	WakeupCores       *float64 `json:"wakeup_cost_cores"`       // the expected cost of these wake-ups
	Starved           *float64 `json:"cpu_starved_goroutines"`  // mean number of goroutines that waited for a core; null unless the service is starved of CPU
}

// A Kind identifies a type of finding. Programs may compare it.
type Kind string

// A Finding is one bottleneck, or one fault that will become one.
type Finding struct {
	Kind       Kind       `json:"kind"`
	Channels   bool       `json:"channels"` // the cause is how channels are used
	Text       string     `json:"text"`
	At         *Place     `json:"at"`
	Share      *float64   `json:"share_of_cores"` // share of the available cores that this costs; of values, for queues
	Minor      bool       `json:"minor"`          // just below the threshold of a finding
	Confidence Confidence `json:"confidence"`
	Evidence   []Evidence `json:"evidence"`
	Remedies   []Remedy   `json:"remedies"` // by predicted gain, except that a buffer comes before slices if it gives most of their gain
	RuledOut   []RuledOut `json:"ruled_out"`
	Channel    string     `json:"channel,omitempty"` // when a built-in channel is enough for the first remedy, and which kind of sluice fits otherwise
	Next       string     `json:"next,omitempty"`    // without a remedy: what to do instead, or why there is nothing to do
	Needs      *Need      `json:"needs"`             // null if no further profile would decide it

	outside *profile.GoroutineSite // where goroutines wait for I/O meanwhile, or nil
	channel uint64                 // ID on the map, or 0
	maker   string                 // the function that creates a channel or a goroutine for each value, or ""
	holders int                    // goroutines that hold an object of a pool
	leads   bool                   // it comes before all others, whatever their share
}

// A Need is a profile that would confirm a finding.
type Need struct {
	Kind profile.Kind `json:"kind"`
	What string       `json:"what"`
}

// Confidence is how certain a finding is.
type Confidence string

// The levels of confidence: High if two independent profiles agree, or if one
// allows no other explanation; Low if another cause could look the same.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Evidence is an observation and the profile that it comes from.
type Evidence struct {
	Text string       `json:"text"`
	From profile.Kind `json:"from"`
}

// An Unknown is a missing fact, and the command that would measure it.
type Unknown struct {
	What    string `json:"what"`
	Command string `json:"command"`
}

// A Place is the source location of an operation.
type Place struct {
	Op       profile.Op `json:"op"`
	Function string     `json:"function"`
	File     string     `json:"file"`
	Line     int        `json:"line"`
	Caller   string     `json:"caller,omitempty"` // with file and line
	User     string     `json:"user,omitempty"`   // the caller, with file and line, if the function only wraps the channel
}

func place(s profile.Site) Place {
	p := Place{Op: s.Op, Function: s.At.Function, File: s.At.File, Line: s.At.Line}
	if s.Caller != (profile.Frame{}) {
		p.Caller = s.Caller.String()
	}
	return p
}

// String formats the place for people.
func (p Place) String() string {
	site := profile.Site{Op: p.Op, At: profile.Frame{Function: p.Function, File: p.File, Line: p.Line}}
	if p.User != "" {
		return fmt.Sprintf("%s at %s, through %s", p.Op, p.User, site.At)
	}
	return site.String()
}

// A rule detects one kind of finding.
type rule struct {
	kind   Kind
	reason string // the measurements that it was tuned on
	// instead lists kinds that this finding explains better; they are dropped.
	instead []Kind
	shares  bool // uses shares of CPU time: skipped below the minimum load
	look    func(*facts) *Finding
}

// rules are all rules, in order.
var rules = slices.Concat(queueRules, lockRules, exclusionRules, ownerRules, transferRules, lockstepRules, fanRules, spawnRules, generatorRules, scatterRules, selectRules, shedRules, hopRules,
	timerRules, limitRules, skewRules, poolRules, stageRules, downstreamRules, leakRules, tracedRules, elsewhereRules)

// ofShares reports whether findings of kind k depend on shares of CPU time.
func (k Kind) ofShares() bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.kind == k && r.shares })
}

// Diagnose applies all rules to a capture. Gains are predicted from prices.
func Diagnose(capture *profile.Capture, prices Prices) *Diagnosis {
	return gather(capture, prices).diagnose()
}

func (f *facts) diagnose() *Diagnosis {
	capture := f.capture
	d := &Diagnosis{
		Schema: Schema, Target: capture.Target, GoVersion: capture.GoVersion, Window: f.window,
		GOMAXPROCS: f.procs, CPUs: f.cpus, Prices: f.prices,
		Shares: f.shares(), Findings: []Finding{}, Operations: f.operations, Partners: f.partners(),
		Unknown: f.unknown(), Taken: []string{},
	}
	d.Flow, d.sparse = capture.Flow, f.sparse
	d.Findings = f.mapped(f.findings())
	slices.SortStableFunc(d.Findings, func(a, b Finding) int { return cmp.Compare(b.weight(), a.weight()) })
	d.Unknown = append(d.Unknown, f.undecided(d.Findings)...)
	d.Verdict = f.verdict(d.Findings)
	d.Answer = f.answer(d.Verdict, d.Findings)
	d.Answer += f.mappedAnswer(d.Answer, d.Findings) + f.othersAnswer()
	return d
}

// minorLimit lowers the thresholds of the second pass. A finding between the
// two thresholds is reported as minor, because a share of 14% is hardly
// different from 16%.
const minorLimit = 0.7

// findings applies all rules, then applies those without a finding again with
// lower thresholds.
func (f *facts) findings() []Finding {
	explained := make(map[Kind]bool)
	major := f.ask(explained)
	channels := slices.ContainsFunc(major, func(found Finding) bool { return found.Channels })
	for _, found := range major {
		explained[found.Kind] = true
	}
	f.limitFactor = minorLimit
	defer func() { f.limitFactor = 1 }()
	for _, found := range f.ask(explained) {
		if found.Channels && channels {
			continue // a major finding already covers channels
		}
		found.Minor, found.Remedies, found.Next, found.Confidence, found.Needs = true, []Remedy{}, "", Low, nil
		major = append(major, found)
	}
	return major
}

// ask applies the rules whose kind is not in explained, and adds to explained
// the kinds that a finding explains better.
func (f *facts) ask(explained map[Kind]bool) []Finding {
	all := []Finding{}
	before := maps.Clone(explained)
	for _, r := range rules {
		if r.shares && !f.loaded || before[r.kind] {
			continue
		}
		found := r.look(f)
		if found == nil {
			continue
		}
		found.Kind = r.kind
		found.finish(f)
		all = append(all, *found)
		for _, kind := range r.instead {
			explained[kind] = true
		}
	}
	explained[Bursts] = explained[Bursts] || explained[Lockstep] // both explain idle cores
	return slices.DeleteFunc(all, func(found Finding) bool { return explained[found.Kind] })
}

// limit returns the threshold for a share in the current pass.
func (f *facts) limit(share float64) float64 { return share * f.limitFactor }

// finish completes a finding that a rule returned.
func (f *Finding) finish(of *facts) {
	if f.Remedies == nil {
		f.Remedies = []Remedy{}
	}
	f.inOurWords(of)
	f.keepSafe(of)
	if f.RuledOut == nil {
		f.RuledOut = []RuledOut{}
	}
	f.complete()
	slices.SortStableFunc(f.Remedies, func(a, b Remedy) int { return cmp.Compare(b.Gain.Mid, a.Gain.Mid) })
	of.smallestFirst(f)
	f.Channel = of.kindFor(f)
	if of.avail == 0 && f.Share != nil && !f.Kind.ofQueue() && !f.Kind.stuck() {
		f.Confidence = f.Confidence.less()
		why := "the number of cores is unknown (no GOMAXPROCS): shares assume that all were in use"
		switch {
		case of.light:
			why = "the service uses few cores: gains are of CPU time per value, not of throughput"
		case of.isStarved():
			why = "goroutines wait for cores although the service uses few: shares and gains assume that all cores were in use"
		}
		from := profile.KindMetrics
		if of.light {
			from = profile.KindCPU
		}
		f.addEvidence(from, why)
	}
}

// less returns the next lower level.
func (c Confidence) less() Confidence {
	if c == High {
		return Medium
	}
	return Low
}

// weight orders findings by share. Low confidence halves the weight, and minor
// findings come last.
func (f *Finding) weight() float64 {
	w := 0.0
	if f.Minor {
		w = -1
	}
	if f.Share != nil {
		w += *f.Share
	}
	if f.Confidence == Low {
		w /= 2
	}
	if f.leads {
		w += 2
	}
	return w
}

// Need returns what would decide the most important open finding, or nil.
func (d *Diagnosis) Need() *Need {
	for i := range d.Findings {
		if w := d.Findings[i].Needs; w != nil {
			return w
		}
	}
	return nil
}

// Best returns the remedy with the largest predicted gain, or nil.
func (f *Finding) Best() *Remedy {
	if len(f.Remedies) == 0 {
		return nil
	}
	return &f.Remedies[0]
}

// decides records the trace that would settle an open question about the
// finding. It does nothing if there is a trace already.
func (f *Finding) decides(of *facts, what string) {
	if of.capture.Trace == nil {
		f.Needs = &Need{profile.KindTrace, what}
	}
}

// has reports whether a remedy is among those of the finding.
func (f *Finding) has(name RemedyName) bool {
	return slices.ContainsFunc(f.Remedies, func(r Remedy) bool { return r.Name == name })
}

func (f *Finding) addEvidence(from profile.Kind, text string) {
	f.Evidence = append(f.Evidence, Evidence{Text: text, From: from})
}
