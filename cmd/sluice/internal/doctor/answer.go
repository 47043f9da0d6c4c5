package doctor

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// worthIt is the smallest gain for which channels count as the problem:
// measured gains scatter by 5%.
const worthIt = 1.15

// verdict decides whether channels are the problem. A leak counts as a fault
// even though it does not limit throughput yet. Shares of little CPU time
// decide nothing, even if goroutines wait for cores: a little work may simply
// come in bursts.
func (f *facts) verdict(findings []Finding) Verdict {
	if t := f.traceAlone(); t != nil {
		return f.tracedVerdict(t, findings)
	}
	channels, above := false, false // channels are a problem; another bottleneck outweighs them
	other := false
	for i := range findings {
		found := &findings[i]
		if found.Minor || f.isStarved() && !f.squeezed && found.Kind.ofShares() {
			continue
		}
		switch best := found.Best(); {
		case found.Channels && found.Kind.stuck():
			channels = true
		case found.Channels && best != nil && (best.Gain.Mid >= worthIt || !best.Gain.known()):
			channels = true
		case found.Kind == CPULimit && !f.busy: // what it does with the CPU time that it gets is not known
		case !found.Channels && !channels:
			above, other = true, true
		case !found.Channels:
			other = true
		}
	}
	switch {
	case channels && above:
		return Partly
	case channels:
		return Yes
	case other:
		return No
	case f.capture.CPU == nil, f.isStarved() && !f.squeezed, f.squeezed && !f.busy:
		return Undetermined
	case !f.loaded:
		return Idle
	case f.channelCPU() >= transferShare && !f.answersOnly():
		return Undetermined // a cost that a remedy has reduced elsewhere, but no rule explains it
	case !f.excluded():
		return Undetermined
	}
	return No
}

// excluded reports whether what was seen excludes that channels hold the service
// back, if no rule found that they do: it uses its cores on its own work, or no
// goroutine waits to send.
func (f *facts) excluded() bool {
	return f.squeezed || f.avail > 0 && f.cores > 0 && f.cores >= busyCores*f.reachable() || f.blockedSenders() == 0
}

// blockedSenders returns the number of goroutines seen in sends and in selects,
// which may be sends. A goroutine that waits to receive may have nothing to do.
func (f *facts) blockedSenders() int {
	sum := 0
	for i := range f.operations {
		if o := &f.operations[i]; !ofRuntime(o.root) && (o.Op == profile.Send || o.Op == profile.Select && o.Weight >= smallSite) {
			n, _ := o.count()
			sum += n
		}
	}
	return sum
}

// answer states the verdict in one or two sentences.
func (f *facts) answer(v Verdict, findings []Finding) string {
	findings, minor := split(findings)
	if t := f.traceAlone(); t != nil && len(findings) == 0 {
		return f.tracedAnswer(t, v)
	}
	switch v {
	case Idle:
		if starvation := f.starvation(); starvation != "" {
			return "CPU use is too low to tell. " + starvation
		}
		if f.busy {
			waits := "no goroutine waits behind a channel"
			if n := f.blockedSenders(); n > 0 {
				waits = goroutinesAre(n) + " in a send or a select"
			}
			return fmt.Sprintf("Too little load to tell: %s cores are in use, and %s. CPU costs do "+
				"not limit the service, unless it has a CPU limit.", format.Number(f.cores), waits)
		}
		text := "Too little load to tell: " + f.sparse + "."
		if len(findings) > 0 {
			text += " Findings from goroutine states and waits are below."
		}
		return text
	case Undetermined:
		switch {
		case f.squeezed && !f.busy:
			for _, found := range findings {
				if found.Kind == CPULimit {
					return fmt.Sprintf("Too little CPU time to tell whether channels are a problem: %s. %s", f.sparse, found.Text)
				}
			}
		case f.isStarved():
			text := "CPU use is too low to tell. " + f.starvation()
			if len(findings) > 0 {
				text += " Findings from its CPU shares are below."
			}
			return text
		case len(findings) > 0:
			return "Unclear whether channels are the problem. " + findings[0].Text
		case f.busy && f.channelCPU() < transferShare:
			return f.nothingFound(minor)
		case f.busy:
			return fmt.Sprintf("Channels take %s of CPU time%s, but no rule explains why, so there is no remedy to suggest.",
				format.Percent(f.channelCPU()), f.ofCores())
		}
		return "No verdict: " + f.sparse + "."
	case No:
		if len(findings) == 0 {
			text := fmt.Sprintf("Channels are not the problem: they take %s of CPU time%s", format.Percent(f.channelCPU()), f.ofCores())
			if starvation := f.starvation(); starvation != "" {
				return text + ". " + starvation
			}
			text += ", and nothing else stands out."
			if len(minor) > 0 {
				text += " Closest to a finding: " + minor[0].Text
			}
			return text
		}
		if k := findings[0].Kind; k.ofQueue() || k == Dropping || k == Backpressure || k == SlowStage {
			return "The receivers are the problem, not the channels. " + findings[0].Text
		}
		return "Channels are not the problem. " + findings[0].Text
	case Partly:
		for _, found := range findings {
			if found.Channels {
				return "Channels are only part of the problem. " + findings[0].Text + " Then: " + f.bound(&found) + found.Text
			}
		}
	}
	for _, found := range findings {
		switch {
		case found.Channels && f.light && !found.Kind.stuck():
			return fmt.Sprintf("The service uses few cores (%s), but channels take %s of its CPU time. %s", format.Number(f.cores), format.Percent(f.channelCPU()), found.Text)
		case found.Kind == Scattered:
			return "Wake-ups are the problem, and no single channel. " + found.Text
		case found.Channels:
			return "Channels are the problem. " + f.bound(&found) + found.Text
		}
	}
	return ""
}

// starvedQueue is the number of runnable goroutines per P above which a service
// with unused cores is starved of CPU: the runtime leaves no P idle while
// goroutines are runnable.
const starvedQueue = 2

// starvation explains a service that uses fewer cores than it could although
// more goroutines are runnable than there are Ps: other processes or a CPU
// limit take the cores. It returns "" for any other service. One snapshot of
// goroutines is no proof, so there is no verdict from it; goroutines in a
// hand-off are also runnable for moments.
func (f *facts) starvation() string {
	if f.squeezed {
		return ""
	}
	if f.isStarved() {
		return fmt.Sprintf("The service used %s cores, while on average %s of its goroutines waited a millisecond or "+
			"longer for one: a CPU limit or other processes hold it back, or its work comes in bursts.", format.Number(f.cores), format.Number(f.starved))
	}
	g := f.capture.Goroutines
	if g == nil || !f.busy || f.avail == 0 || f.used() >= busyCores || f.share(profile.UserCode) < userShare {
		return ""
	}
	able := g.States["runnable"] // the running goroutine serves the profile
	if float64(able) < starvedQueue*f.avail {
		return ""
	}
	return fmt.Sprintf("It computes on %s of %s cores while %s were runnable but not running: a CPU limit or other "+
		"processes probably hold it back.", format.Number(f.cores), format.Number(f.avail), format.Plural(able, "goroutine"))
}

// split separates major from minor findings.
func split(findings []Finding) (major, minor []Finding) {
	for _, found := range findings {
		if found.Minor {
			minor = append(minor, found)
		} else {
			major = append(major, found)
		}
	}
	return major, minor
}

func (f *facts) ofCores() string {
	if f.avail == 0 || f.cores == 0 {
		return ""
	}
	return fmt.Sprintf(" on %s of %s cores", format.Number(f.cores), format.Number(f.avail))
}

// unknown lists missing facts, each with the command that would measure it.
func (f *facts) unknown() []Unknown {
	c := f.capture
	missing := []Unknown{}
	add := func(isMissing bool, what, flags string) {
		if isMissing {
			missing = append(missing, Unknown{what, f.command(flags)})
		}
	}
	add(c.CPU == nil, "where CPU time goes, and how much of it channels take", f.longer(10))
	repeat := "; repeat under load"
	if f.squeezed {
		repeat = "; repeat when other processes use less, or for longer"
	}
	add(c.CPU != nil && !f.busy, "shares of CPU time: "+f.sparse+repeat, f.longer(30))
	add(f.isStarved(), "behavior with enough CPU: repeat when cores are available. "+f.starvation(), "")
	add(c.Goroutines == nil || !c.Goroutines.StatesKnown, "which goroutines wait, and for what", "")
	add(c.Metrics == nil || f.metricsWindow() == 0, "how many threads block on channel locks, and how many wake-ups there are per second: this takes two readings of "+
		"runtime/metrics", "-metrics PATH ")
	add(f.metricsWindow() > 0 && f.syncWait == nil, "whether goroutines wait for channel locks or for package sync: there is no mutex profile, or it is empty", "")
	add(f.procs == 0, "the number of cores available to the service (GOMAXPROCS)", f.tracing())
	add(f.channel > 0 && c.Trace == nil, "which goroutines wake each other, and values per second", f.tracing())
	// A trace covers a moment, a block profile the whole window.
	waits := slices.ContainsFunc(f.operations, func(o Operation) bool { return deref(o.Waiting) > 0 })
	offered := !slices.ContainsFunc(c.Missing, func(m profile.Missing) bool { return m.Kind == profile.KindBlock })
	add(waits && c.Block == nil && c.Trace == nil && offered, "how long goroutines wait, and where: the block profile shows it if the service calls "+
		"runtime.SetBlockProfileRate", "-block ")
	add(c.Block != nil && c.Block.Window == 0, "how long goroutines waited recently: the block profile is a single reading, with all waits "+
		"since the process started", "-block ")
	add(c.Trace != nil && c.Trace.Truncated, "the rest of the trace: the file ends within an event, or reading it took too long", "-trace ")
	for _, m := range c.Missing {
		missing = append(missing, Unknown{fmt.Sprintf("the %s: %s", longName(m.Kind), m.Reason), ""})
	}
	return missing
}

// longer returns the flag for an observation of that many seconds, or twice the
// last one.
func (f *facts) longer(seconds int) string {
	return fmt.Sprintf("-seconds %d ", max(seconds, 2*int(math.Ceil(f.window))))
}

// tracing returns the flag for a trace, or "" if the service refused one.
func (f *facts) tracing() string {
	for _, m := range f.capture.Missing {
		if m.Kind == profile.KindTrace || m.Kind == profile.KindGlimpse {
			return ""
		}
	}
	return "-trace "
}

// nothingFound says that no rule found anything, which does not mean that there
// is nothing, and what would show more.
func (f *facts) nothingFound(minor []Finding) string {
	text := fmt.Sprintf("Nothing found in what this service shows: channels take %s of CPU time%s, and %s in a send or a select.",
		format.Percent(f.channelCPU()), f.ofCores(), goroutinesAre(f.blockedSenders()))
	if starvation := f.starvation(); starvation != "" {
		text += " " + starvation
	}
	if len(minor) > 0 {
		text += " Closest to a finding: " + minor[0].Text
	}
	var more []string
	c := f.capture
	if c.Trace == nil {
		more = append(more, "a trace (-trace), with who waits for whom")
	}
	if f.metricsWindow() == 0 {
		more = append(more, "a page with runtime/metrics, with the waits for locks")
	}
	if len(more) > 0 {
		text += " More would show in " + strings.Join(more, ", or in ") + "."
	}
	return text
}

// goroutinesAre begins a sentence about n goroutines.
func goroutinesAre(n int) string { return format.Plural(n, "goroutine") + " " + format.Are(n) }

// command returns the sluice doctor command with more flags. It is "" without
// flags, because the command would be the one that was just run, for files, which
// no flag changes, and for an address that a shell could
// misinterpret: it may come from a saved header.
func (f *facts) command(flags string) string {
	target := f.capture.Target
	if flags == "" || !address.Like(target) || strings.ContainsAny(target, " \t\n;&|$`<>()'\"\\") {
		return ""
	}
	return "sluice doctor " + flags + target
}

// undecided lists the open questions of findings.
func (f *facts) undecided(findings []Finding) (all []Unknown) {
	for _, found := range findings {
		if found.Needs == nil {
			continue
		}
		command := f.command("-trace ")
		if command == "" {
			command = "curl -o trace.out 'http://HOST:PORT/debug/pprof/trace?seconds=0.2', then pass trace.out with " +
				"the other files"
		}
		all = append(all, Unknown{found.Needs.What + ": decides the finding \"" + string(found.Kind) + "\"", command})
	}
	return all
}

func longName(k profile.Kind) string {
	if k == profile.KindTrace || k == profile.KindMetrics || k == profile.KindFlow {
		return string(k)
	}
	return string(k) + " profile"
}
