package lab

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A place is a setting, such as "2", and the change found there.
type place struct {
	name   string
	change stat.Change
}

// An axis has the words before the first place of a finding, and before the
// others.
type axis struct{ first, later string }

var (
	atGOMAXPROCS = axis{"at GOMAXPROCS ", "at "}
	withLoad     = axis{"with the load ", "with "}
)

// effect describes the change of a time when subject replaces its alternative: "A
// hand-off saves 12% ± 3% at GOMAXPROCS 1 and 8% ± 2% at 2; it makes no difference
// beyond noise at 8." It returns "" without places.
func effect(subject string, by axis, places []place) string {
	verdicts := []struct {
		verb, rest string
		of         func(stat.Change) bool
		size       func(stat.Change) string
	}{
		{"saves", "", func(c stat.Change) bool { return c.Clear() && c.Median < 0 },
			func(c stat.Change) string { return c.String() + " " }},
		{"costs", "", func(c stat.Change) bool { return c.Clear() && c.Median >= 0 },
			func(c stat.Change) string { return c.String() + " more " }},
		{"makes no difference beyond noise", "", func(c stat.Change) bool { return c.Confidence > 0 && !c.Clear() },
			func(stat.Change) string { return "" }},
		{"changes the time by", ", with too few repetitions to distinguish from noise", func(c stat.Change) bool { return c.Confidence == 0 },
			func(c stat.Change) string { return fmt.Sprintf("%+.0f%% ", 100*c.Median) }},
	}
	var parts []string
	at := by.first
	for _, verdict := range verdicts {
		var found []string
		for _, p := range places {
			if verdict.of(p.change) {
				found = append(found, verdict.size(p.change)+at+p.name)
				at = by.later
			}
		}
		if len(found) > 0 {
			parts = append(parts, verdict.verb+" "+format.And(found)+verdict.rest)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return subject + " " + strings.Join(parts, "; it ") + "."
}

// anyClear reports whether the change at any of the places is, or may be, beyond
// noise.
func anyClear(places []place) bool {
	for _, p := range places {
		if p.change.Confidence == 0 || p.change.Clear() {
			return true
		}
	}
	return false
}

// ratio describes a time relative to another: "sluice.Elastic takes 2.15 (1.67 to
// 2.40) times as long at GOMAXPROCS 2". It returns "" without places.
func ratio(subject string, by axis, places []place) string {
	var parts []string
	times := " times as long" // written once
	for i, p := range places {
		c := p.change
		at := by.later + p.name
		if i == 0 {
			at = by.first + p.name
		}
		if c.Confidence > 0 && !c.Clear() {
			parts = append(parts, "as long, within noise, "+at)
			continue
		}
		parts = append(parts, factor(c)+times+" "+at)
		times = ""
	}
	if len(parts) == 0 {
		return ""
	}
	return subject + " takes " + format.And(parts) + "."
}

// Topic names a study in a table of contents, in a word or two: "buffers". A
// study without a topic has its name.
func Topic(study string) string {
	if topic, ok := topics[study]; ok {
		return topic
	}
	return study
}

var topics = map[string]string{
	"lock-cost": "short jobs", "elastic": "growing queues", "direct-send": "waiting receivers", "buffers": "buffer sizes", "cpu-scaling": "many goroutines", "not-busy": "mostly empty",
}
