package lab

import (
	"cmp"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
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
	for _, found := range ranked(claims) {
		o.Answers = append(o.Answers, found.text)
	}
	return o
}

// ranked returns the largest claims in order.
func ranked(claims map[string]claim) []claim {
	var all []claim
	for _, found := range claims {
		all = append(all, found)
	}
	slices.SortFunc(all, func(a, b claim) int {
		return cmp.Or(cmp.Compare(b.times, a.times), cmp.Compare(a.topic, b.topic))
	})
	return all[:min(len(all), mostAnswers)]
}

// clearly reports whether a change is beyond noise, and its factor known.
func clearly(c stat.Change) bool { return c.Clear() && factorOf(c).Known() }

// more reports whether a change is clearly an increase, and less whether it is
// clearly a decrease.
func more(c stat.Change) bool { return clearly(c) && c.Lo > 0 }
func less(c stat.Change) bool { return clearly(c) && c.Hi < 0 }

// alike is the change below which two figures are alike, if the whole interval is
// below it.
const alike = 0.25

// within25 reports whether the interval of a change shows that two figures are
// alike: a wide interval that contains 0 does not.
func within25(c stat.Change) bool { return c.Confidence > 0 && c.Lo > -alike && c.Hi < alike }

// factorOf returns a change as a factor of at least 1.
func factorOf(c stat.Change) stat.Summary {
	f := c.Above(-1)
	if f.Median < 1 {
		f = f.Inverse(1)
	}
	return f
}

// times writes a change as a factor of at least 1, as precisely as known, with
// two digits at most: "1.4".
func times(c stat.Change) string { return factorText(factorOf(c)) }

// factorText writes a factor with two digits at most.
func factorText(f stat.Summary) string {
	if f.Median >= 10 {
		return coarsely(f, 2.5)
	}
	return coarsely(f, 0.25)
}

// coarsely writes a figure as precisely as known, and no more precisely than the
// given margin would permit.
func coarsely(s stat.Summary, margin float64) string {
	if !s.Known() {
		return format.NotKnown
	}
	return format.Rounded(s.Median, min(s.Lo, s.Median-margin), max(s.Hi, s.Median+margin))
}
