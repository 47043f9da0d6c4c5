package sluice

import (
	"math/bits"
	"math/rand/v2"
)

// poll tries the cases in random order until one proceeds. It returns nil if none does.
func poll(cases []Case) (Case, error) {
	if len(cases) == 0 {
		return nil, nil
	}
	var d dice
	first := d.below(len(cases))
	if done, err := cases[first].try(); done {
		return cases[first], err
	}
	var space [fewCases]int
	order := space[:0]
	if len(cases) > fewCases {
		order = spaceOf(cases, false)
	}
	for i := range cases {
		order = append(order, i)
	}
	order[first] = 0
	for i := 1; i < len(order); i++ {
		j := i + d.below(len(order)-i)
		order[i], order[j] = order[j], order[i]
		c := cases[order[i]]
		if done, err := c.try(); done {
			return c, err
		}
	}
	return nil, nil
}

// dice draws several small random numbers from one 64-bit number: the high word of a
// product is the small number, the low word is the randomness that remains.
type dice struct{ left, span uint64 } // span is the product of the ranges drawn so far

// below returns a random number from 0 to n-1.
func (d *dice) below(n int) int {
	// With a span of up to 2^32 the probabilities differ by at most 2^-32.
	if d.span *= uint64(n); d.span == 0 || d.span > 1<<32 {
		d.left, d.span = rand.Uint64(), uint64(n)
	}
	hi, lo := bits.Mul64(d.left, uint64(n))
	d.left = lo
	return int(hi)
}

// fewCases is the number of cases for which there is scratch space on the stack.
const fewCases = 8

// spaceOf returns scratch space for one number per case, which the first case keeps for
// the next call.
func spaceOf(cases []Case, ranks bool) []int {
	e := cases[0].entry()
	if e == nil {
		return make([]int, 0, len(cases))
	}
	space := &e.order
	if ranks {
		space = &e.ranks
	}
	if cap(*space) < len(cases) {
		*space = make([]int, 0, len(cases))
	}
	return (*space)[:0]
}
