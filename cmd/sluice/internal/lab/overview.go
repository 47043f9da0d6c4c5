package lab

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// Limits of what a first screen shows.
const (
	mostBars    = 6 // of a study
	mostCosts   = 8 // of an Overview
	mostAnswers = 4
)

// An Overview has the costs of channels on this machine, across all studies of a
// run. It is empty if no study was measured.
type Overview struct {
	Sentence string `json:"sentence,omitempty"` // what one value costs
	Chart           // what one value costs through each way, in at most 8 bars
	// Answers are the largest results, at most 4, in order. Each has a figure and
	// what to do.
	Answers []string `json:"answers,omitempty"`
}

// A claim is an answer that may be one of an Overview.
type claim struct {
	topic string // an Overview has the largest claim on each topic
	// times is the size of the effect as a factor of at least 1: the end of its
	// interval that is closer to 1, so that no claim leads by noise.
	times float64
	text  string
}

// Topics of claims. Several studies may have a claim on one topic.
const (
	aboutBatches  = "batches"
	aboutBuffers  = "buffers"
	aboutElastic  = "elastic"
	aboutJobs     = "jobs"
	aboutKinds    = "kinds"
	aboutScaling  = "scaling"
	aboutTimeouts = "timeouts"
)

// newClaim returns a claim on a change for which [more] holds.
func newClaim(topic string, c stat.Change, text string) claim { return claim{topic, 1 + c.Lo, text} }

// NewOverview draws an overview from the conclusions of a run. The costs come
// from the study that measured the most ways under the same conditions. Of claims
// on one topic, that study's is told, because the chart has its figures, or else
// the largest.
func NewOverview(conclusions []Conclusion) Overview {
	var o Overview
	var shown []claim
	claims := make(map[string]claim)
	for _, c := range conclusions {
		more := len(c.costs.Bars) > len(o.Bars)
		if c.sentence != "" && (o.Sentence == "" || more) || o.Sentence == "" && more {
			o.Sentence, o.Chart, shown = c.sentence, c.costs, nil
			if len(c.costs.Bars) > 0 {
				shown = c.claims
			}
		}
		for _, found := range c.claims {
			if found.times > claims[found.topic].times {
				claims[found.topic] = found
			}
		}
	}
	for _, found := range shown {
		claims[found.topic] = found
	}
	ranked := slices.SortedFunc(maps.Values(claims), func(a, b claim) int {
		return cmp.Or(cmp.Compare(b.times, a.times), cmp.Compare(a.topic, b.topic))
	})
	for _, found := range ranked[:min(len(ranked), mostAnswers)] {
		o.Answers = append(o.Answers, found.text)
	}
	return o
}
