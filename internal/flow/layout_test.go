package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestColumns lays out maps of edges such as "read>lines" and "lines>parse". Channels are
// numbered in the given order.
func TestColumns(t *testing.T) {
	for name, test := range map[string]struct{ channels, edges, want string }{
		"a pipeline": {"lines events", "read>lines lines>parse parse>events events>write", "events 1, lines 0, parse 1, read 0, write 2"},
		"a short cut": {
			"lines events", "read>lines lines>parse parse>events events>write lines>write",
			"events 1, lines 0, parse 1, read 0, write 2",
		},
		"a cycle behind a source": {
			"jobs retries", "retries>retry jobs>work work>retries retry>jobs read>jobs",
			"jobs 2, read 0, retries 1, retry 2, work 1",
		},
		"a channel without a sender": {"lines events", "lines>parse parse>events events>write", "events 1, lines 0, parse 1, write 2"},
		"a loop":                     {"jobs", "work>jobs jobs>work", "jobs 0, work 0"},
	} {
		channels := strings.Fields(test.channels)
		var stages []string
		var edges []Edge
		for _, text := range strings.Fields(test.edges) {
			from, to, _ := strings.Cut(text, ">")
			e := Edge{Stage: from, Channel: uint64(slices.Index(channels, to) + 1), Side: Send}
			if e.Channel == 0 {
				e = Edge{Stage: to, Channel: uint64(slices.Index(channels, from) + 1), Side: Receive}
			}
			edges = append(edges, e)
			if !slices.Contains(stages, e.Stage) {
				stages = append(stages, e.Stage)
			}
		}
		ofStages, ofChannels := Columns(stages, edges)
		var got []string
		for _, s := range stages {
			got = append(got, fmt.Sprint(s, " ", ofStages[s]))
		}
		for i, c := range channels {
			got = append(got, fmt.Sprint(c, " ", ofChannels[uint64(i+1)]))
		}
		if slices.Sort(got); strings.Join(got, ", ") != test.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), test.want)
		}
	}
}
