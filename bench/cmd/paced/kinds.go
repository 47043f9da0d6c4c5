package main

import (
	"context"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/paced"
)

// A kind is one of the channels that take turns.
type kind = contender.Variant

// without is the load without a channel: what arrivals, clock readings and jobs cost.
const without = "no channel"

// kinds returns all kinds, each after its reference.
func kinds(ctx context.Context) []kind {
	return append([]kind{{Name: without}}, contender.Variants(ctx)...)
}

// run runs a load over a channel of the kind.
func run(k kind, l paced.Load) (*paced.Result, error) {
	if k.Name == without {
		return l.Without()
	}
	return l.Run(k.Contender, k.Capacity)
}

// choose returns the kinds that match, and those that they are compared with.
func choose(all []kind, match func(kind) bool) (chosen []kind) {
	needed := map[string]bool{without: true}
	for _, k := range all {
		if match(k) {
			needed[k.Name], needed[k.Reference] = true, true
		}
	}
	if len(needed) == 1 && !match(kind{Name: without}) {
		return nil
	}
	for _, k := range all {
		if needed[k.Name] {
			chosen = append(chosen, k)
		}
	}
	return chosen
}
