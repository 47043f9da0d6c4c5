package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// asFound is the scenario without a remedy.
const asFound = "none"

// Each round runs the scenario as found and with every remedy, one after the
// other, so that other load on the machine affects all of them.
const (
	warmUp      = 300 * time.Millisecond
	rateWindow  = time.Second
	usualRounds = 5
)

// A Gain is the factor in items per second: the median and the extremes, over
// rounds, of the rate with a remedy over the rate as found in the same round.
type Gain struct {
	Remedy string  `json:"remedy"`
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Rounds int     `json:"rounds"`
}

// rates are the items per second of one round, by remedy.
type rates map[string]float64

// measure runs the scenario as found and with each remedy, in rounds, on a CPU
// quota unless that is nil.
func measure(ctx context.Context, limit *quota, program, name string, remedies []string, rounds int) (base float64, gains []Gain, err error) {
	var all []rates
	for range rounds {
		round := rates{}
		for _, remedy := range append([]string{asFound}, remedies...) {
			rate, err := measureOnce(ctx, limit, program, name, remedy)
			if err != nil {
				return 0, nil, fmt.Errorf("%s with remedy %s: %w", name, remedy, err)
			}
			round[remedy] = rate
		}
		all = append(all, round)
	}
	base, gains = compare(all, remedies)
	return base, gains, nil
}

func measureOnce(ctx context.Context, limit *quota, program, name, remedy string) (float64, error) {
	p, err := startWithin(ctx, limit, program, name, remedy)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	if err := pause(ctx, warmUp); err != nil {
		return 0, err
	}
	return p.rate(ctx, rateWindow)
}

// compare returns the median rate as found, and the gains in descending order.
func compare(all []rates, remedies []string) (base float64, gains []Gain) {
	var found []float64
	for _, round := range all {
		found = append(found, round[asFound])
	}
	for _, remedy := range remedies {
		var times []float64
		for _, round := range all {
			times = append(times, round[remedy]/round[asFound])
		}
		gains = append(gains, Gain{remedy, median(times), slices.Min(times), slices.Max(times), len(all)})
	}
	slices.SortStableFunc(gains, func(a, b Gain) int {
		switch {
		case a.Median > b.Median:
			return -1
		case a.Median < b.Median:
			return 1
		}
		return 0
	})
	return median(found), gains
}

// median returns the median of at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
