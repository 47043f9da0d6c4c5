package observe

import (
	"maps"
	"strings"

	"github.com/sluice-go/sluice/livepage"
)

// nameChannels finds the nodes that are channels of the service's own map. A node matches
// a channel if the functions of its lines send into it and receive from it there; one
// that matches several channels equally well gets no name.
func (b *builder) nameChannels(flow *livepage.Flow) {
	if flow == nil {
		return
	}
	stages, names := map[string]string{}, map[uint64]string{}
	for _, s := range flow.Stages {
		stages[s.ID] = plain(s.Function)
	}
	for _, c := range flow.Channels {
		names[c.ID] = c.Name
	}
	type use struct{ function, side string }
	channels := map[use][]uint64{}
	for _, e := range flow.Edges {
		key := use{stages[e.Stage], e.Side}
		channels[key] = append(channels[key], e.Channel)
	}
	for i := range b.o.Nodes {
		n := &b.o.Nodes[i]
		matches, most := map[uint64]int{}, 0
		for _, line := range n.Lines {
			if !strings.Contains(line.In, ".(*") || strings.Contains(line.In, "/") || n.Kind != Channel {
				continue // not a channel of this module
			}
			seen := map[uint64]bool{}
			for _, function := range []string{line.At.Function, line.Caller.Function} {
				if line.Op != Receive && line.Op != PollReceive {
					add(seen, channels[use{function, "send"}])
				}
				if line.Op != Send && line.Op != PollSend {
					add(seen, channels[use{function, "receive"}])
				}
			}
			for id := range seen {
				matches[id]++
				most = max(most, matches[id])
			}
		}
		maps.DeleteFunc(matches, func(_ uint64, m int) bool { return m < most })
		for id := range matches {
			if len(matches) == 1 {
				n.Named, n.Name = id, names[id]
			}
		}
	}
}

func add(seen map[uint64]bool, ids []uint64) {
	for _, id := range ids {
		seen[id] = true
	}
}
