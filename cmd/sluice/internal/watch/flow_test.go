package watch

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/livepage"
)

// The sentence and the path through the bottleneck are above the list, and the
// map is a key away. A lost service shows the error instead.
func TestFlowScreens(t *testing.T) {
	flow := &livepage.Flow{
		Stages: []livepage.Stage{{ID: "m.accept", Name: "accept"}, {ID: "m.read", Name: "read", Column: 1}, {ID: "m.parse", Name: "parse", Column: 2}, {ID: "m.count", Name: "count", Column: 3}, {ID: "m.log", Name: "log", Column: 3}},
		Channels: []livepage.FlowChannel{
			{ID: 1, Name: "requests", Fill: new(0.1), ReceivedRate: new(15_300.0)}, {ID: 2, Name: "lines", Column: 1, Fill: new(1.0), ReceivedRate: new(15_289.0)},
			{ID: 3, Name: "events", Column: 2, Fill: new(0.02), ReceivedRate: new(15_289.0)}, {ID: 4, Name: "errors", Column: 2, Fill: new(0.5), DroppedRate: new(80.0), ReceivedRate: new(10.0)},
			{ID: 5, Name: "evil\x1b[2J"},
		},
		Unseen: "Not on the map: evil\x1b[2J (no send or receive yet).",
		Edges: []livepage.Edge{
			{Stage: "m.accept", Channel: 1, Side: "send", Share: 1}, {Stage: "m.read", Channel: 1, Side: "receive", Share: 1}, {Stage: "m.read", Channel: 2, Side: "send", Share: 1},
			{Stage: "m.parse", Channel: 2, Side: "receive", Share: 1}, {Stage: "m.parse", Channel: 3, Side: "send", Share: 1}, {Stage: "m.parse", Channel: 4, Side: "send", Share: 1},
			{Stage: "m.count", Channel: 3, Side: "receive", Share: 1}, {Stage: "m.log", Channel: 4, Side: "receive", Share: 1},
		},
		Bottleneck: &livepage.Bottleneck{Stage: "m.parse", Channel: 2, Kind: "slow-stage", Text: "parse is the slowest stage: lines is full, 3 senders wait; events is empty."},
	}
	for _, size := range [][2]int{{40, 20}, {60, 20}, {80, 24}, {120, 30}} {
		m := screen(size[0], size[1])
		m.showFlow(flow)
		golden(t, fmt.Sprintf("flow-%dx%d", size[0], size[1]), m.draw())
		m.press("m")
		golden(t, fmt.Sprintf("map-%dx%d", size[0], size[1]), m.draw())
		m.press(keyEscape)
		m.fail(errors.New("connection refused: nothing listens on 127.0.0.1:6060. Is the service running, and is this its port?"), 2*time.Second)
		golden(t, fmt.Sprintf("lost-%dx%d", size[0], size[1]), m.draw())
	}
	for _, keys := range [][]key{nil, {"m"}, {"m", "?"}, {"m", keyDown, keyNext}, {"m", "m", keyEnter}} {
		for _, width := range []int{0, 1, 2, 7, 39, 81, 500} {
			for _, height := range []int{0, 1, 3, 11, 12, 13, 50} {
				m := screen(80, 24, keys...)
				m.showFlow(flow)
				m.resize(width, height)
				sound(t, m.draw())
			}
		}
	}
	m := screen(80, 24)
	if m.showFlow(nil); m.flowRows() != 0 {
		t.Error("lines for a map of a service without one")
	}
	if m.press("m"); !strings.Contains(m.draw().String(), "This service has none") {
		t.Errorf("the map of an older service:\n%s", m.draw())
	}
}
