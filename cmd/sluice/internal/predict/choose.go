package predict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrWhich means that no series or several match.
var ErrWhich = errors.New("choose one with -series and a part of its name, or list them with -list")

// Names of the lab's study of scaling, in results.txt.
const (
	labShapes   = "CpuScaling/sweep=shapes/"
	labRemedies = "CpuScaling/sweep=remedies/"
	labName     = "/contender="
)

// labCurve is the contender of the lab that the question is about: one built-in
// channel, with as many producers and as many consumers as CPUs. This is what
// a [Sweep] measures.
const labCurve = "native_P_to_P"

// labWorkload describes labCurve.
const labWorkload = labCurve + " of cpu-scaling, one built-in channel with as many producers and consumers as CPUs"

// labWork has the remedies that a contender is compared with.
var labWork = map[string]string{labCurve: "work=matched/", "native_P_to_1": "work=one-consumer/"}

// Remedies of the lab: slices of [workload.BatchSize] values through one channel,
// and designs with a channel or a lane for each CPU.
var (
	labBatches = "native_slices_of_each_sender"
	labLanes   = []string{"sluice.Sharded", "sluice.Sharded_lane_each_runs", "native_P_channels_one_each"}
)

// contender returns the part of a name of the lab that identifies the channel.
func (c Curve) contender() string {
	_, name, _ := strings.Cut(c.Name, labName)
	return name
}

// isQuestion reports whether c is the lab's curve of one built-in channel.
func (c Curve) isQuestion() bool {
	return strings.Contains(c.Name, labShapes) && c.contender() == labCurve
}

// Choose returns the series with part in its name: the only one, or the one
// named part. Without part, it returns the only series, or the lab's curve of
// one built-in channel.
func Choose(all []Curve, part string) (Curve, error) {
	var found []Curve
	for _, s := range all {
		switch {
		case s.Name == part:
			return s, nil
		case part == "" && s.isQuestion():
			s.Workload, s.Design = labWorkload, ChannelDesign
			return s, nil
		case strings.Contains(s.Name, part):
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return Curve{}, fmt.Errorf("no series has %q in its name; %w:%s", part, ErrWhich, names(all))
	case 1:
		return found[0], nil
	}
	if part == "" && strings.Contains(all[0].Name, labName) {
		return Curve{}, fmt.Errorf("no curve of one channel: sluice lab cpu-scaling measures it; or, of %d series, %w:%s", len(found), ErrWhich, names(found))
	}
	return Curve{}, fmt.Errorf("%d series: %w:%s", len(found), ErrWhich, names(found))
}

// names lists some series for an error.
func names(all []Curve) string {
	const most = 8
	text := "\n" + listed(all[:min(most, len(all))], "")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf("  … and %d more", more)
	}
	return strings.TrimSuffix(text, "\n")
}

// List lists all series of a file, with a star at the one that Choose returns
// without a part of a name.
func List(all []Curve) string {
	chosen, err := Choose(all, "")
	if err != nil {
		return fmt.Sprintf("%d series:\n", len(all)) + listed(all, "")
	}
	return fmt.Sprintf("%d series; * is the one used without -series:\n", len(all)) + listed(all, chosen.Name)
}

// listed returns a line for each series, with its counts of CPUs. Names of the
// lab are below their common beginning.
func listed(all []Curve, chosen string) string {
	var text strings.Builder
	last := ""
	for _, s := range all {
		group, name, ok := strings.Cut(s.Name, labName)
		if !ok {
			group, name = "", s.Name
		}
		if group != last {
			text.WriteString(group + "\n")
			last = group
		}
		star := ' '
		if s.Name == chosen {
			star = '*'
		}
		counts := make([]string, 0, len(s.Points))
		for _, p := range s.Points {
			counts = append(counts, fmt.Sprint(p.Procs))
		}
		const most = 6
		if n := len(counts); n > most {
			counts = append(counts[:most-1:most-1], "…", counts[n-1])
		}
		fmt.Fprintf(&text, "%c %s  (%s)\n", star, name, strings.Join(counts, " "))
	}
	return text.String()
}

// WithRemedies returns the counts of a curve, and what the same source measured
// of remedies: in a run of the lab, batches and lanes; in a file of curves,
// separate parts on the same machine. Of several lanes, the best at each count
// of CPUs.
func WithRemedies(all []Curve, chosen Curve) Swept {
	swept := Swept{Single: chosen.Points}
	work, lab := labWork[chosen.contender()]
	for _, c := range all {
		c.Limit(chosen.CPUs)
		remedy := lab && strings.Contains(c.Name, labRemedies) && strings.Contains(c.Name, work)
		parts := c.Kind == Sharded && c.Source == chosen.Source && c.Machine == chosen.Machine
		switch {
		case remedy && c.contender() == labBatches:
			swept.Batches = c.Points
		case remedy && slices.Contains(labLanes, c.contender()), parts && c.Name != chosen.Name:
			swept.Lanes = better(swept.Lanes, c.Points)
		}
	}
	return swept
}

// better returns, for each count of CPUs, the higher of two throughputs.
func better(a, b []Point) []Point {
	best := slices.Concat(a, b)
	slices.SortFunc(best, func(a, b Point) int { return cmp.Or(a.Procs-b.Procs, cmp.Compare(b.X, a.X)) })
	return slices.CompactFunc(best, func(a, b Point) bool { return a.Procs == b.Procs })
}

// Named returns the curves with part in their names, for a score. Of a run of the
// lab and without part, these are the curves of one channel.
func Named(all []Curve, part string) ([]Curve, error) {
	onlyShapes := part == "" && slices.ContainsFunc(all, Curve.isQuestion)
	var curves []Curve
	for _, c := range all {
		if strings.Contains(c.Name, part) && (!onlyShapes || strings.Contains(c.Name, labShapes)) {
			c.Source = cmp.Or(c.Source, c.Machine, c.Name)
			curves = append(curves, c)
		}
	}
	if len(curves) == 0 {
		return nil, fmt.Errorf("no series has %q in its name; %w:%s", part, ErrWhich, names(all))
	}
	return limited(curves), nil
}
