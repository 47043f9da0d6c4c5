package observe

import (
	"testing"

	"github.com/sluice-go/sluice/livepage"
)

func TestNamedChannels(t *testing.T) {
	flow := &livepage.Flow{
		Stages:   []livepage.Stage{{ID: "p", Function: "main.produce"}, {ID: "c", Function: "main.consume"}, {ID: "b", Function: "main.both"}},
		Channels: []livepage.FlowChannel{{ID: 7, Name: "orders"}, {ID: 8, Name: "replies"}, {ID: 9, Name: "others"}},
		Edges: []livepage.Edge{
			{Stage: "p", Channel: 7, Side: "send"}, {Stage: "c", Channel: 7, Side: "receive"}, {Stage: "c", Channel: 8, Side: "send"},
			{Stage: "b", Channel: 8, Side: "receive"}, {Stage: "b", Channel: 9, Side: "receive"},
		},
	}
	line := func(op Op, function, in string) Line { return Line{Op: op, At: Frame{Function: function}, In: in} }
	for _, test := range []struct {
		name  string
		lines []Line
		want  uint64
	}{
		{"both sides", []Line{line(Send, "main.produce", "sluice.(*channel).Send"), line(Receive, "main.consume", "sluice.(*channel).Recv")}, 7},
		{"one side", []Line{line(Send, "main.consume", "sluice.(*channel).Send")}, 8},
		{"a side that two channels have", []Line{line(Receive, "main.both", "sluice.(*channel).Recv")}, 0},
		{"a built-in channel in the same function", []Line{line(Send, "main.produce", "")}, 0},
		{"by its caller", []Line{{Op: Send, At: Frame{Function: "main.put"}, Caller: Frame{Function: "main.produce"}, In: "sluice.(*channel).Send"}}, 7},
	} {
		b := &builder{o: Observation{Nodes: []Node{{Kind: Channel, Lines: test.lines}}}}
		b.nameChannels(flow)
		if got := b.o.Nodes[0].Named; got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
