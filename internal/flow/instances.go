package flow

import "slices"

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
	for _, stage := range stages {
		parts := partsOf(stage)
		if len(parts) < 2 || slices.ContainsFunc(parts, func(part []*operation) bool { return input(part) == nil || !sends(part) }) {
			continue
		}
		for _, part := range parts {
			suffix := " (" + input(part).name + ")"
			for _, o := range part {
				o.part = suffix
			}
		}
	}
}

// partsOf returns the operations of a stage in groups that neither a side of a channel nor
// a goroutine is known to connect.
func partsOf(stage []*operation) (parts [][]*operation) {
	connected := map[any][]*operation{} // by sides and by goroutines
	for _, o := range stage {
		connected[o.end()] = append(connected[o.end()], o)
		for _, g := range o.goroutines {
			connected[g] = append(connected[g], o)
		}
	}
	var part []*operation
	var visit func(key any)
	visit = func(key any) {
		operations := connected[key]
		delete(connected, key)
		if _, side := key.(end); side {
			part = append(part, operations...)
		}
		for _, o := range operations {
			visit(o.end())
			for _, g := range o.goroutines {
				visit(g)
			}
		}
	}
	for _, o := range stage {
		if part = nil; len(connected[o.end()]) > 0 {
			visit(o.end())
			parts = append(parts, part)
		}
	}
	return parts
}

// input returns the operation that receives from the first channel of a part, or nil.
func input(part []*operation) (first *operation) {
	for _, o := range part {
		if o.side == Receive && (first == nil || o.channel < first.channel) {
			first = o
		}
	}
	return first
}

func sends(part []*operation) bool {
	return slices.ContainsFunc(part, func(o *operation) bool { return o.side == Send })
}
