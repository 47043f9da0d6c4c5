package flow

import "slices"

// LayOut sets the columns: the longest way from a stage that does not receive. An edge
// that would close a cycle does not count; the search that finds it begins with stages
// that only send.
func (f *Flow) LayOut() {
	next := map[string][]string{} // stage to stage, through a channel
	isTarget := map[string]bool{}
	for _, c := range f.Channels {
		for _, from := range f.edgesOf(c.ID, Send) {
			for _, to := range f.edgesOf(c.ID, Receive) {
				if from.Stage != to.Stage {
					next[from.Stage] = append(next[from.Stage], to.Stage)
					isTarget[to.Stage] = true
				}
			}
		}
	}
	order := make([]string, 0, len(f.Stages)) // of starting points
	for _, target := range []bool{false, true} {
		for _, s := range f.Stages {
			if isTarget[s.ID] == target {
				order = append(order, s.ID)
			}
		}
	}
	sorted := topological(order, next)
	columns := map[string]int{}
	place := make(map[string]int, len(sorted))
	for i, id := range sorted {
		place[id] = i
	}
	for _, e := range f.Edges { // behind a channel whose senders are unknown
		if e.Side == Receive && len(f.edgesOf(e.Channel, Send)) == 0 {
			columns[e.Stage] = 1
		}
	}
	for _, from := range sorted {
		for _, to := range next[from] {
			if place[to] > place[from] {
				columns[to] = max(columns[to], columns[from]+1)
			}
		}
	}
	for i := range f.Stages {
		f.Stages[i].Column = columns[f.Stages[i].ID]
	}
	for i := range f.Channels {
		c := &f.Channels[i]
		for _, e := range f.edgesOf(c.ID, Send) {
			c.Column = max(c.Column, columns[e.Stage])
		}
	}
}

// topological orders the stages such that edges lead from earlier to later ones, except
// for those that close a cycle in a depth-first search from the starting points.
func topological(starts []string, next map[string][]string) []string {
	var sorted []string
	seen := map[string]bool{}
	var visit func(string)
	visit = func(id string) {
		if seen[id] {
			return
		}
		seen[id] = true
		for _, to := range next[id] {
			visit(to)
		}
		sorted = append(sorted, id)
	}
	for _, id := range starts {
		visit(id)
	}
	slices.Reverse(sorted)
	return sorted
}

// outputsOf returns the edges from a stage, by channel.
func (f *Flow) outputsOf(stage string) []Edge {
	if f.outputs == nil {
		f.outputs = map[string][]Edge{}
		for _, e := range f.Edges {
			if e.Side == Send {
				f.outputs[e.Stage] = append(f.outputs[e.Stage], e)
			}
		}
	}
	return f.outputs[stage]
}

// edgesOf returns the edges on one side of a channel, by stage.
func (f *Flow) edgesOf(channel uint64, side Side) []Edge {
	if f.bySide == nil {
		f.bySide = map[end][]Edge{}
		for _, e := range f.Edges {
			f.bySide[end{e.Channel, e.Side}] = append(f.bySide[end{e.Channel, e.Side}], e)
		}
	}
	return f.bySide[end{channel, side}]
}
