package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// worthIt is the gain below which a remedy is no reason to call channels the
// problem: measured ones scatter by 5 %.
const worthIt = 1.15

// verdict answers: are channels the problem? A leak is a fault, and holds nothing
// back yet. Shares of little CPU time make no verdict, also where more is asked for:
// it may be that others have it, and as well that a little work comes in bursts.
func (f *facts) verdict(findings []Finding) Verdict {
	channels, above := false, false // is it channels, and does something else come first
	other := false
	for i := range findings {
		found := &findings[i]
		if found.Minor || found.Kind.ofTrace() || f.isDenied() && found.Kind.ofShares() {
			continue
		}
		switch best := found.Best(); {
		case found.Channels && found.Kind == Leak:
			channels = true
		case found.Channels && best != nil && best.Gain.Mid >= worthIt:
			channels = true
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
	case f.capture.CPU == nil, f.isDenied():
		return NotSaid
	case !f.loaded:
		return Idle
	case f.channelCPU() >= handOverShare:
		return NotSaid // as much as in programs that a remedy helped, and no rule knows why
	}
	return No
}

// answer is the verdict in a sentence or two.
func (f *facts) answer(v Verdict, findings []Finding) string {
	findings, minor := split(findings)
	switch v {
	case Idle:
		if starved := f.starved(); starved != "" {
			return "It cannot be told by what it uses. " + starved
		}
		if f.busy {
			return fmt.Sprintf("There was too little to do to tell: %s cores are in use, and nobody waits behind a channel. "+
				"What CPU time is spent on holds nothing back.", number(f.cores))
		}
		return "There was too little to do to tell: " + f.sparse + ". What follows from states and waits alone is below."
	case NotSaid:
		switch {
		case f.isDenied():
			text := "It cannot be told by what it uses. " + f.starved()
			if len(findings) > 0 {
				text += " What shares of that show is below."
			}
			return text
		case len(findings) > 0:
			return "It cannot be told whether channels are the problem. " + findings[0].Text
		case f.busy:
			return fmt.Sprintf("Channels take %s of CPU time%s, and it cannot be told why, or what would help: no rule fits what the profiles say.",
				percent(f.channelCPU()), f.ofCores())
		}
		return "It cannot be told: " + f.sparse + "."
	case No:
		which := "Channels"
		if f.inSluice() >= handOverShare {
			which = "Built-in channels"
		}
		if len(findings) == 0 {
			text := fmt.Sprintf("%s are not the problem: they take %s of CPU time%s", which, percent(f.channelCPU()), f.ofCores())
			if starved := f.starved(); starved != "" {
				return text + ". " + starved
			}
			text += ", and nothing else stands out."
			if len(minor) > 0 {
				text += " Nearest to it: " + minor[0].Text
			}
			return text
		}
		return which + " are not the problem. " + findings[0].Text
	case Partly:
		for _, found := range findings {
			if found.Channels {
				return "Channels are only part of the problem. " + findings[0].Text + " Then: " + found.Text
			}
		}
	}
	for _, found := range findings {
		if found.Channels {
			return "Channels are the problem. " + found.Text
		}
	}
	return ""
}

// starvedQueue is how many goroutines are able to run, for each P, where not all cores
// are in use and something else must have them: with work for all of them the runtime
// leaves no P idle.
const starvedQueue = 2

// starved is for a service that computes, has more goroutines able to run than Ps, and
// uses fewer cores than it may: somebody else has them, or a limit on CPU time does.
// One look at the goroutines is no proof, and makes no verdict. Goroutines that hand
// over to each other are able to run as well, for moments.
func (f *facts) starved() string {
	if f.isDenied() {
		return fmt.Sprintf("It used %s cores, and in the mean %s of its goroutines were able to run and waited for one, a millisecond and longer: "+
			"it is not given more, by a limit on its CPU time or by others on the machine, or its work comes in bursts.", number(f.cores), number(f.denied))
	}
	g := f.capture.Goroutines
	if g == nil || !f.busy || f.avail == 0 || f.used() >= busyCores || f.share(profile.UserCode) < userShare {
		return ""
	}
	able := g.States["runnable"] // the one that is running serves the profile
	if float64(able) < starvedQueue*f.avail {
		return ""
	}
	return fmt.Sprintf("It computes on %s of %s cores, and yet %s were able to run and did not when it was looked at: "+
		"likely it is not given more, by a limit on its CPU time or by others on the machine.", number(f.cores), number(f.avail), goroutines(able))
}

// split puts minor findings apart.
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
	return fmt.Sprintf(" on %s of %s cores", number(f.cores), number(f.avail))
}

// unknown lists what is missing, and what would get it.
func (f *facts) unknown() []Unknown {
	c := f.capture
	missing := []Unknown{}
	add := func(isMissing bool, what, flags string) {
		if isMissing {
			missing = append(missing, Unknown{what, f.command(flags)})
		}
	}
	add(c.CPU == nil, "what CPU time is spent on, and whether channels take much of it", "-seconds 10 ")
	add(c.CPU != nil && !f.busy, "shares of CPU time: "+f.sparse+"; look again under load", "-seconds 30 ")
	add(f.isDenied(), "how the service is when it is given what it asks for: look again then. "+f.starved(), "")
	add(c.Goroutines == nil || !c.Goroutines.StatesKnown, "which goroutines wait, and for what", "")
	add(c.Metrics == nil || f.metricsWindow() == 0, "how many Ps sleep in channel locks, and how many wake-ups there are: there are no two readings of runtime/metrics", "-metrics PATH ")
	add(f.metricsWindow() > 0 && f.syncWait == nil, "whether channels' locks or package sync's are waited for: there is no mutex profile", "")
	add(f.procs == 0, "how many cores the service may use (GOMAXPROCS)", "-trace ")
	add(f.channel > 0 && c.Trace == nil, "who wakes whom, and items a second", "-trace ")
	// A trace is of a moment, and a block profile of the whole time that is watched.
	waits := slices.ContainsFunc(f.operations, func(o Operation) bool { return deref(o.Waiting) > 0 })
	offered := !slices.ContainsFunc(c.Missing, func(m profile.Missing) bool { return m.Kind == profile.KindBlock })
	add(waits && c.Block == nil && c.Trace == nil && offered, "how long goroutines wait, and where most: the block profile has it, if the service calls runtime.SetBlockProfileRate", "-block ")
	add(c.Block != nil && c.Block.Window == 0, "how long goroutines waited lately: the block profile is one reading, and has all waits since the process began", "-block ")
	add(c.Trace != nil && c.Trace.Truncated, "what came after the end of the trace: the file ends within an event, and was not written to its end", "-trace ")
	for _, m := range c.Missing {
		missing = append(missing, Unknown{fmt.Sprintf("the %s: %s", longName(m.Kind), m.Reason), ""})
	}
	return missing
}

// command is how to ask the service again, "" if it has no address: files say what
// they say, however they are asked; and what a saved header calls an address may be
// more than one to a shell.
func (f *facts) command(flags string) string {
	target := f.capture.Target
	if !address.Like(target) || strings.ContainsAny(target, " \t\n;&|$`<>()'\"\\") {
		return ""
	}
	return "sluice doctor " + flags + target
}

// undecided lists what findings hang on.
func (f *facts) undecided(findings []Finding) (all []Unknown) {
	for _, found := range findings {
		if found.Wants == nil {
			continue
		}
		command := f.command("-trace ")
		if command == "" {
			command = "curl -o trace.out 'http://HOST:PORT/debug/pprof/trace?seconds=0.2', and name trace.out with the other files"
		}
		all = append(all, Unknown{found.Wants.What + ": " + string(found.Kind) + " hangs on it", command})
	}
	return all
}

func longName(k profile.Kind) string {
	if k == profile.KindTrace || k == profile.KindMetrics {
		return string(k)
	}
	return string(k) + " profile"
}
