package doctor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A rename, or a move to another function, makes an operation disappear from one
// capture and a new one appear in the other. They count as the same operation if
// no other pair fits as well.

// moveFactor is the largest factor between the costs of an operation before and
// after a move: a change that makes it cheaper or more expensive at the same time
// cannot be told from another operation.
const moveFactor = 2

// Notes about an operation that is in one capture only.
const (
	movedTo   = "moved to " // and the operation
	noLonger  = "no longer seen"
	notBefore = "not seen before"
)

// operations lists the operations whose cost changed clearly or that moved, and
// those without a clear change.
func (c *Comparison) operations() {
	a, b := c.Before.cost.operations, c.After.cost.operations
	gone, fresh := c.onlyIn(a, b), c.onlyIn(b, a)
	moves := c.moves(gone, fresh)
	for key := range a {
		if _, ok := b[key]; ok {
			c.list(c.cost(key.String(), a[key], b[key]))
		}
	}
	for _, from := range gone {
		if to, ok := moves[from]; ok {
			one := c.cost(from.String(), a[from], b[to])
			one.Note = movedTo + to.String()
			c.list(one)
			continue
		}
		one := c.cost(from.String(), a[from], 0)
		one.Note = noLonger + c.meanwhile(one.Before)
		c.list(one)
	}
	for _, key := range fresh {
		if !taken(moves, key) {
			one := c.cost(key.String(), 0, b[key])
			one.Note = notBefore
			c.list(one)
		}
	}
	slices.SortFunc(c.Operations, func(a, b Cost) int {
		return cmp.Or(cmp.Compare(math.Abs(b.After-b.Before), math.Abs(a.After-a.Before)), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(c.Unclear, func(a, b Cost) int {
		return cmp.Or(cmp.Compare(max(b.Before, b.After), max(a.Before, a.After)), cmp.Compare(a.Name, b.Name))
	})
}

// hasMoved reports whether the cost is of an operation that moved.
func (c Cost) hasMoved() bool { return strings.HasPrefix(c.Note, movedTo) }

// list adds an operation of some cost to one of the lists.
func (c *Comparison) list(one Cost) {
	switch {
	case max(one.Before, one.After) < minOperation:
	case one.Clear, one.hasMoved():
		c.Operations = append(c.Operations, one)
	default:
		one.Note = ""
		c.Unclear = append(c.Unclear, one)
	}
}

// onlyIn returns the operations that only one side has, by cost.
func (c *Comparison) onlyIn(one, other map[operationKey]float64) (only []operationKey) {
	for key := range one {
		if _, ok := other[key]; !ok {
			only = append(only, key)
		}
	}
	slices.SortFunc(only, func(a, b operationKey) int {
		return cmp.Or(cmp.Compare(one[b], one[a]), cmp.Compare(a.String(), b.String()))
	})
	return only
}

// moves pairs operations that disappeared with those that appeared: of the same
// kind, with a similar cost, and with the same name in another place, or another
// name in the same package, if other operations show that both captures are of the
// same service. A pair must be the only one for both.
func (c *Comparison) moves(gone, fresh []operationKey) map[operationKey]operationKey {
	moves := make(map[operationKey]operationKey)
	common := len(gone) < len(c.Before.cost.operations)
	for _, fits := range []func(a, b operationKey) bool{
		func(a, b operationKey) bool { return method(a.function) == method(b.function) },
		func(a, b operationKey) bool {
			return common && profile.Frame{Function: a.function}.Package() == profile.Frame{Function: b.function}.Package()
		},
	} {
		pair := func(from, to operationKey) bool {
			one := c.cost("", c.Before.cost.operations[from], c.After.cost.operations[to])
			return from.op == to.op && fits(from, to) && max(one.Before, one.After) <= moveFactor*min(one.Before, one.After)
		}
		for _, from := range gone {
			to, n := operationKey{}, 0
			for _, key := range fresh {
				if pair(from, key) && !taken(moves, key) {
					to, n = key, n+1
				}
			}
			rivals := 0
			for _, other := range gone {
				if _, ok := moves[other]; !ok && pair(other, to) {
					rivals++
				}
			}
			if _, ok := moves[from]; !ok && n == 1 && rivals == 1 {
				moves[from] = to
			}
		}
	}
	return moves
}

func taken(moves map[operationKey]operationKey, key operationKey) bool {
	for _, to := range moves {
		if to == key {
			return true
		}
	}
	return false
}

// method returns the last element of a function's name.
func method(function string) string {
	function = enclosing(function)
	return function[strings.LastIndexByte(function, '.')+1:]
}

// meanwhile names the part of the CPU time that rose by at least half of a cost
// that disappeared.
func (c *Comparison) meanwhile(cost float64) string {
	for _, part := range c.Costs[1 : len(c.Costs)-1] {
		if rise := part.After - part.Before; part.Clear && part.Name != channelCosts && rise >= cost/2 {
			return fmt.Sprintf("; its cost may have gone to %s (%s s more)", part.Name, format.Number(rise))
		}
	}
	return ""
}
