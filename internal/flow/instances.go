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
		for _, o := range group {
			for _, part := range parts {
				if part[end{o.channel, o.side}] {
					o.part = input(part)
				}
			}
		}
	}
}

// partsOf returns the sides of channels that a stage uses, in sets that no goroutine is
// known to connect.
func partsOf(stage []*operation) (parts []map[end]bool) {
	users := map[end]map[uint64]bool{}
	for _, o := range stage {
		e := end{o.channel, o.side}
		if users[e] == nil {
			users[e] = map[uint64]bool{}
		}
		for _, g := range o.goroutines {
			users[e][g] = true
		}
	}
	type part struct {
		ends       map[end]bool
		goroutines map[uint64]bool
	}
	var all []*part
	for e, goroutines := range users {
		joined := &part{map[end]bool{e: true}, maps.Clone(goroutines)}
		all = slices.DeleteFunc(all, func(p *part) bool {
			for g := range p.goroutines {
				if joined.goroutines[g] {
					maps.Copy(joined.ends, p.ends)
					maps.Copy(joined.goroutines, p.goroutines)
					return true
				}
			}
			return false
		})
		all = append(all, joined)
	}
	for _, p := range all {
		parts = append(parts, p.ends)
	}
	return parts
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
