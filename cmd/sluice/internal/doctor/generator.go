package doctor

import (
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Generator is the finding that a goroutine only makes values for the goroutine
// that started it, one transfer for each, where a call would do.
const Generator Kind = "generator"

// generatorEnd is the smallest part of the channels' cost at either end of a
// generator.
const generatorEnd = 0.15

var generatorRules = []rule{{
	kind: Generator, shares: true, look: generator, instead: []Kind{TransferCost, TinyJobs, LockContention, Lockstep, OneToMany, Hop},
	reason: "a goroutine cuts a zone file into tokens, and the goroutine that started it parses them; a token over an unbuffered channel costs more than " +
		"both: a lexer that is called ×2.5",
}}

// generator detects stages in pairs: each goroutine of one started one of the
// other, and receives what that one sends.
func generator(f *facts) *Finding {
	g := f.capture.Goroutines
	if f.channelCPU() < f.limit(transferShare) || g == nil || f.window == 0 || f.parking() < parks {
		return nil
	}
	for i := range f.stages {
		for j := range f.stages {
			made, user := &f.stages[i], &f.stages[j]
			if g.StartedBy[made.root][user.root] == 0 || len(g.StartedBy[made.root]) > 1 || made.root == user.root || user.root == "main.main" ||
				made.n == 0 || user.n == 0 || made.n > user.n || f.waitsOutside(made.root) != nil || f.waitsOutside(user.root) != nil {
				continue
			}
			from, out := f.ends(made.root, sending)
			to, in := f.ends(user.root, receiving)
			if _, input := f.ends(made.root, receiving); out < generatorEnd || in < generatorEnd || out+in < mostly || input >= smallSite {
				continue
			}
			return f.generatorFinding(from, to, user.n, out+in)
		}
	}
	return nil
}

// ends returns the costliest operation of a stage with a direction, and the part
// of the channels' cost in all of them.
func (f *facts) ends(root string, d direction) (most *Operation, weight float64) {
	for i := range f.operations {
		o := &f.operations[i]
		if o.Op == profile.PollReceive || o.Op == profile.PollSend || f.direction(o) != d || len(o.roots) != 1 || !slices.Contains(o.roots, root) {
			continue
		}
		weight += o.Weight
		if most == nil {
			most = o
		}
	}
	return most, weight
}

func (f *facts) generatorFinding(from, to *Operation, n int, weight float64) *Finding {
	found := f.transferFinding(from)
	maker, user := profile.Frame{Function: from.roots[0]}, profile.Frame{Function: to.roots[0]}
	found.Text = fmt.Sprintf("A goroutine makes values for the one that started it, one transfer for each: the %s and the %s. A call can make them.", from, to)
	found.addEvidence(profile.KindGoroutineText, fmt.Sprintf("goroutines of %s started those of %s, of which there are no more", user, maker))
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of the channels' cost is between these two", format.Percent(weight)))
	f.transferRemedies(found)
	found.Remedies = append(found.Remedies, Remedy{Fuse, fmt.Sprintf("let %s call for the next value instead: a method that returns it, or an iterator (iter.Seq, or "+
		"iter.Pull where the loop cannot be turned around)", user), f.calledGain(n, weight), "the service's work without these transfers, one core for each pair of goroutines"})
	found.RuledOut = append(found.RuledOut, RuledOut{MoreReceivers, "each of them has a goroutine of its own that makes its values."},
		RuledOut{Shard, "each of these goroutines has a channel of its own."})
	return found
}

// calledGain returns the throughput if n goroutines call a function instead of
// receiving, where weight is the part of the channels' cost that a call replaces.
// What ran at the same time runs one after the other.
func (f *facts) calledGain(n int, weight float64) Range {
	l := f.load(coldWork)
	engaged := l.own + l.channels
	most := min(max(1, f.room()), float64(n))
	worst := max(l.own+(1-weight*(1-callWorst))*l.channels, engaged/mostGain)
	best := max(l.own-l.gone+(1-weight*(1-callBest))*l.channels, engaged/mostGain)
	low, high := min(engaged, most)/worst, most/best
	return between(low*(1-uncertain)*(1-ownCost), math.Sqrt(low*max(low, high)), max(low, high)*(1+uncertain))
}
