package flow

import (
	"maps"
	"slices"
)

// separate splits a stage that is several: goroutines of one function that work on
// different channels, as in copy(a, b) and copy(b, c). What belongs together is what the
// same goroutine has used. Each part receives from a channel, which gives it its name, and
// sends into another. As long as that is not known of all parts, the stage stays one.
func separate(operations []*operation) {
	stages := map[string][]*operation{}
	for _, o := range operations {
		f := o.path.frames[o.stage].function
		stages[f] = append(stages[f], o)
	}
	for _, group := range stages {
		parts := partsOf(group)
		if len(parts) < 2 || slices.ContainsFunc(parts, func(part map[end]bool) bool { return input(part) == 0 || !sends(part) }) {
			continue
		}
		inputs := map[end]uint64{}
		for _, part := range parts {
			in := input(part)
			for e := range part {
				inputs[e] = in
			}
		}
		for _, o := range group {
			o.part = inputs[end{o.channel, o.side}]
		}
	}
}

// partsOf returns the sides of channels that a stage uses, in sets that no goroutine is
// known to connect.
func partsOf(stage []*operation) (parts []map[end]bool) {
	// A union-find over the sides; goroutines that used several of them join these.
	index := map[end]int{}
	var parent []int
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	first := map[uint64]int{} // by goroutine
	for _, o := range stage {
		e := end{o.channel, o.side}
		i, known := index[e]
		if !known {
			i = len(parent)
			index[e] = i
			parent = append(parent, i)
		}
		for _, g := range o.goroutines {
			if j, used := first[g]; used {
				parent[root(i)] = root(j)
			} else {
				first[g] = i
			}
		}
	}
	byRoot := map[int]map[end]bool{}
	for e, i := range index {
		r := root(i)
		if byRoot[r] == nil {
			byRoot[r] = map[end]bool{}
		}
		byRoot[r][e] = true
	}
	return slices.Collect(maps.Values(byRoot))
}

// input returns the first channel that a part receives from, or 0.
func input(part map[end]bool) (channel uint64) {
	for e := range part {
		if e.side == Receive && (channel == 0 || e.channel < channel) {
			channel = e.channel
		}
	}
	return channel
}

func sends(part map[end]bool) bool {
	for e := range part {
		if e.side == Send {
			return true
		}
	}
	return false
}
