package flow

import "slices"

// Columns lays a map out: the column of a stage is the longest way to it from a stage that
// does not receive, and a channel is drawn between the last column of a stage that sends
// into it and the next one. An edge that would close a cycle does not count; the search
// that finds it begins with stages that only send.
func Columns(stages []string, edges []Edge) (ofStages map[string]int, ofChannels map[uint64]int) {
	ofStages, ofChannels = map[string]int{}, map[uint64]int{}
	senders := map[uint64][]string{}
	for _, e := range edges {
		if e.Side == Send {
			senders[e.Channel] = append(senders[e.Channel], e.Stage)
		}
	}
	next := map[string][]string{} // stage to stage, through a channel
	isTarget := map[string]bool{}
	for _, e := range edges {
		if e.Side == Send {
			continue
		}
		if len(senders[e.Channel]) == 0 { // behind a channel whose senders are unknown
			ofStages[e.Stage] = 1
		}
		for _, from := range senders[e.Channel] {
			if from != e.Stage {
				next[from] = append(next[from], e.Stage)
				isTarget[e.Stage] = true
			}
		}
	}
	var starts []string
	for _, target := range []bool{false, true} {
		for _, s := range stages {
			if isTarget[s] == target {
				starts = append(starts, s)
			}
		}
	}
	passed := map[string]bool{}
	for _, from := range topological(starts, next) {
		passed[from] = true
		for _, to := range next[from] {
			if !passed[to] {
				ofStages[to] = max(ofStages[to], ofStages[from]+1)
			}
		}
	}
	for channel, list := range senders {
		for _, s := range list {
			ofChannels[channel] = max(ofChannels[channel], ofStages[s])
		}
	}
	return ofStages, ofChannels
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
