// Package finding says what is wrong with the channels of a service, what to do,
// and what that would give: it judges what package profile read.
//
// A diagnosis is several findings, each with its figures and where they are
// from, and never one label. What is not known is said to be not known, with
// the command that would get it. The rules are lists, a file for each family:
//
//	locks.go     a channel's lock is what everybody waits for
//	exclusion.go a channel stands for a mutex
//	handover.go  passing a value costs more than what is done with it
//	selects.go   selects, and polling
//	timers.go    timers that selects make
//	stages.go    who is slow behind a channel
//	leaks.go     goroutines that wait for ever
//	traced.go    what a trace alone says of who waits
//	elsewhere.go it is not the channels
//
// What may enter: rules, each with its reason and the figures that it was tuned
// on; the prices that gains are predicted from; and the forms in which a
// diagnosis is written. No profile is read here.
package doctor

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Schema is the version of the JSON form. It changes when a reader of the old
// form would misread the new one.
const Schema = 1

// A Diagnosis is what a capture says. It is the JSON form as it stands; what is
// null there is not known.
type Diagnosis struct {
	Schema     int         `json:"schema"`
	Target     string      `json:"target"`
	GoVersion  string      `json:"go,omitempty"`
	Window     float64     `json:"window_seconds"` // 0 if not known
	GOMAXPROCS int         `json:"gomaxprocs"`     // 0 if not known
	CPUs       int         `json:"cpus"`           // 0 if not known
	Verdict    Verdict     `json:"verdict"`
	Answer     string      `json:"answer"`
	Shares     Shares      `json:"shares"`
	Findings   []Finding   `json:"findings"`   // what matters most first
	Operations []Operation `json:"operations"` // the dearest first
	Partners   []Partners  `json:"partners"`
	Unknown    []Unknown   `json:"unknown"`
	Taken      []string    `json:"taken"` // what was asked for beside the usual, and why
	Prices     Prices      `json:"prices"`
}

// A Verdict answers: are channels the problem?
type Verdict string

// The verdicts.
const (
	Yes     Verdict = "yes"
	Partly  Verdict = "partly" // something else costs more
	No      Verdict = "no"
	Idle    Verdict = "idle" // there was too little to do to tell
	NotSaid Verdict = "not known"
)

// Shares are the figures that the verdict is from.
type Shares struct {
	Cores        *float64 `json:"cores_used"`
	ChannelCPU   *float64 `json:"channel_share_of_cpu"`      // operations, and the scheduler's work after those that parked
	ChannelCores *float64 `json:"channel_share_of_cores"`    // the same, and Ps asleep in channel locks, of the cores there are
	Asleep       *float64 `json:"asleep_in_channel_locks"`   // mean number of Ps
	SyncWait     *float64 `json:"blocked_on_sync"`           // mean number of goroutines
	Collector    *float64 `json:"collector_share_of_cpu"`    // allocation included
	User         *float64 `json:"user_code_share_of_cpu"`    //
	Wakeups      *float64 `json:"wakeups_per_second"`        // goroutines made to run
	WakeupCores  *float64 `json:"cores_by_price_of_wakeups"` // what these should cost
	Denied       *float64 `json:"denied_a_core"`             // mean number of goroutines that waited for one though few are used; null where few wait
}

// A Kind names what a finding is about. Programs compare it.
type Kind string

// A Finding is one thing that holds the service back, or will.
type Finding struct {
	Kind       Kind       `json:"kind"`
	Channels   bool       `json:"channels"` // it is about how channels are used
	Text       string     `json:"text"`
	At         *Place     `json:"at"`
	Share      *float64   `json:"share_of_cores"` // of what the service could use, lost to it
	Minor      bool       `json:"minor"`          // just below what is a finding: for who looks again
	Confidence Confidence `json:"confidence"`
	Evidence   []Evidence `json:"evidence"`
	Remedies   []Remedy   `json:"remedies"` // what should give most first
	Not        []Not      `json:"not"`
	Wants      *Want      `json:"wants"` // null if nothing more would decide it
}

// A Want is what would decide whether a finding is right, and what about it.
type Want struct {
	Kind profile.Kind `json:"kind"`
	What string       `json:"what"`
}

// Confidence is how sure a finding is.
type Confidence string

// Confidence in words: High if two independent profiles agree or one leaves no
// other reading; Low if something else could look the same.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Evidence is a figure and the profile that it is from.
type Evidence struct {
	Text string       `json:"text"`
	From profile.Kind `json:"from"`
}

// Unknown is what could not be said, and what would tell.
type Unknown struct {
	What    string `json:"what"`
	Command string `json:"command"`
}

// A Place is an operation, for people and for programs.
type Place struct {
	Op       profile.Op `json:"op"`
	Function string     `json:"function"`
	File     string     `json:"file"`
	Line     int        `json:"line"`
	Caller   string     `json:"caller,omitempty"` // with file and line
}

func place(s profile.Site) Place {
	p := Place{Op: s.Op, Function: s.At.Function, File: s.At.File, Line: s.At.Line}
	if s.Caller != (profile.Frame{}) {
		p.Caller = s.Caller.String()
	}
	return p
}

// String is for people.
func (p Place) String() string {
	site := profile.Site{Op: p.Op, At: profile.Frame{Function: p.Function, File: p.File, Line: p.Line}}
	return site.String()
}

// A rule looks for one kind of finding.
type rule struct {
	kind   Kind
	reason string // why there is the rule, and the figures that it was tuned on
	// instead names findings that this one explains better, and that are
	// left out beside it.
	instead []Kind
	shares  bool // needs shares of CPU time: below the floor it is not asked
	look    func(*facts) *Finding
}

// rules is every rule there is.
var rules = slices.Concat(lockRules, exclusionRules, handOverRules, selectRules, timerRules, stageRules, leakRules, tracedRules, elsewhereRules)

// ofShares is whether findings of a kind follow from shares of CPU time.
func (k Kind) ofShares() bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.kind == k && r.shares })
}

// Diagnose judges a capture. Prices say what an operation costs.
func Diagnose(capture *profile.Capture, prices Prices) *Diagnosis {
	f := gather(capture, prices)
	d := &Diagnosis{
		Schema: Schema, Target: capture.Target, GoVersion: capture.GoVersion, Window: f.window,
		GOMAXPROCS: f.procs, CPUs: f.cpus, Prices: prices,
		Shares: f.shares(), Findings: []Finding{}, Operations: f.operations, Partners: f.partners(),
		Unknown: f.unknown(), Taken: []string{},
	}
	d.Findings = f.findings()
	slices.SortStableFunc(d.Findings, func(a, b Finding) int { return cmp.Compare(b.weight(), a.weight()) })
	d.Unknown = append(d.Unknown, f.undecided(d.Findings)...)
	d.Verdict = f.verdict(d.Findings)
	d.Answer = f.answer(d.Verdict, d.Findings)
	return d
}

// nearly is the part of a limit from which on a finding is made all the same, as a minor
// one: a share of 14 % is no other service than one of 16 %.
const nearly = 0.7

// findings asks all rules, and then those that found nothing once more, with lower
// limits.
func (f *facts) findings() []Finding {
	explained := make(map[Kind]bool)
	major := f.ask(explained)
	channels := slices.ContainsFunc(major, func(found Finding) bool { return found.Channels })
	for _, found := range major {
		explained[found.Kind] = true
	}
	f.slack = nearly
	defer func() { f.slack = 1 }()
	for _, found := range f.ask(explained) {
		if found.Channels && channels {
			continue // what is to be done to channels is said
		}
		found.Minor, found.Remedies, found.Confidence, found.Wants = true, []Remedy{}, Low, nil
		major = append(major, found)
	}
	return major
}

// ask asks the rules for kinds that are not explained, and adds those that a finding
// explains better.
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
	return slices.DeleteFunc(all, func(found Finding) bool { return explained[found.Kind] })
}

// limit is a share from which on there is a finding.
func (f *facts) limit(share float64) float64 { return share * f.slack }

// finish completes what a rule returned.
func (f *Finding) finish(of *facts) {
	if f.Remedies == nil {
		f.Remedies = []Remedy{}
	}
	if f.Not == nil {
		f.Not = []Not{}
	}
	slices.SortStableFunc(f.Remedies, func(a, b Remedy) int { return cmp.Compare(b.Gain.Mid, a.Gain.Mid) })
	if of.avail == 0 && f.Share != nil {
		f.Confidence = f.Confidence.less()
		why := "how many cores there are is not known (GOMAXPROCS)"
		if of.isDenied() {
			why = "its goroutines wait for cores, though it uses few"
		}
		f.says(profile.KindMetrics, why+": shares and gains are as if all were in use")
	}
}

// less is the confidence one step down.
func (c Confidence) less() Confidence {
	if c == High {
		return Medium
	}
	return Low
}

// weight orders findings: by what they take, a guess behind what is sure, and what is
// minor last.
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
	return w
}

// Want is what would decide the finding that matters most of those that hang on
// something, nil if none does.
func (d *Diagnosis) Want() *Want {
	for i := range d.Findings {
		if w := d.Findings[i].Wants; w != nil {
			return w
		}
	}
	return nil
}

// Best is the remedy that should give most, nil if nothing would.
func (f *Finding) Best() *Remedy {
	if len(f.Remedies) == 0 {
		return nil
	}
	return &f.Remedies[0]
}

// decides says what a finding hangs on. What there is already does not decide it.
func (f *Finding) decides(of *facts, what string) {
	if of.capture.Trace == nil {
		f.Wants = &Want{profile.KindTrace, what}
	}
}

func (f *Finding) says(from profile.Kind, text string) {
	f.Evidence = append(f.Evidence, Evidence{Text: text, From: from})
}
