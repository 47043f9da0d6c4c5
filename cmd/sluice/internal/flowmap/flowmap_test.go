package flowmap

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/livepage"
)

var update = flag.Bool("update", false, "rewrite the stored maps")

// A service is built from lines "stage > channel fill > stage".
func service(paths ...string) *livepage.Flow {
	f := &livepage.Flow{Summary: "No channel is full and no receiver waits long: the service keeps up."}
	stages, channels := map[string]bool{}, map[string]uint64{}
	edges := map[livepage.Edge]bool{}
	for _, path := range paths {
		before := ""
		for column, word := range strings.Split(path, " > ") {
			name, figure, isChannel := strings.Cut(word, " ")
			edge := livepage.Edge{Stage: name, Share: 1, Side: "receive"}
			if isChannel {
				if channels[name] == 0 {
					channels[name] = uint64(len(channels) + 1)
					c := livepage.FlowChannel{ID: channels[name], Name: name, Column: column / 2}
					var fill float64
					if n, _ := fmt.Sscanf(figure, "%g%%", &fill); n == 1 {
						fill /= 100
						c.Fill = &fill
						c.ReceivedRate = new(15_300.0)
						c.OldestValue = 0.0042
					}
					if figure == "drops" {
						c.DroppedRate = new(80.0)
					}
					if figure == "queued" {
						c.Len = 40_000
					}
					f.Channels = append(f.Channels, c)
				}
				edge.Stage, edge.Channel, edge.Side = before, channels[name], "send"
			} else {
				if !stages[name] {
					stages[name] = true
					f.Stages = append(f.Stages, livepage.Stage{ID: name, Name: name, Column: column / 2})
				}
				edge.Channel = channels[before]
			}
			if before != "" && !edges[edge] {
				edges[edge] = true
				f.Edges = append(f.Edges, edge)
			}
			before = name
		}
	}
	return f
}

func slowParse(f *livepage.Flow) *livepage.Flow {
	f.Bottleneck = &livepage.Bottleneck{Stage: "parse", Channel: 1, Kind: "slow-stage", Text: "parse is the slowest stage: lines is full, 3 senders wait; events is empty."}
	return f
}

// services are maps of 2, 8 and 40 channels, and shapes other than a line.
func services() map[string]*livepage.Flow {
	var many, wide []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("step%d > c%d %d%% > step%d", i, i, i*2, i+1))
		wide = append(wide, fmt.Sprintf("split > shard%d %d%% > work%d", i, 99-2*i, i%4))
	}
	return map[string]*livepage.Flow{
		"empty": {Summary: "No channel has a name."},
		"two":   slowParse(service("read > lines 100% > parse > events 2% > count")),
		"eight": slowParse(service(
			"accept > requests 10% > read > lines 100% > parse > events 2% > count > totals 0% > ship > sent queued > confirm",
			"parse > errors drops > log", "tail > lines 100%", "ship > retry 85% > ship", "count > alerts 0% > log")),
		"forty":  service(many...),
		"fanout": service(append(wide, "read > input 50% > split")...),
		"cycle":  service("a > x 10% > b > y 20% > a"),
	}
}

func TestMaps(t *testing.T) {
	for name, f := range services() {
		for _, width := range []int{40, 60, 80, 120, 200} {
			t.Run(fmt.Sprintf("%s-%d", name, width), func(t *testing.T) {
				m := New(f)
				var b strings.Builder
				fmt.Fprintf(&b, "%s\n\n", m.Sentence())
				for _, line := range m.Main(width, 2) {
					fmt.Fprintf(&b, "%s\n", line)
				}
				b.WriteString("\n")
				for _, line := range m.Lines(width) {
					if w := displaywidth.String(line.String()); w > width {
						t.Errorf("%d cells: %s", w, line)
					}
					fmt.Fprintf(&b, "%s\n", line)
				}
				file := filepath.Join("testdata", fmt.Sprintf("%s-%d.txt", name, width))
				if *update {
					if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil || b.String() != string(want) {
					t.Errorf("%s differs, %v (rewrite it with -update):\n%s", file, err, b.String())
				}
			})
		}
	}
}

// Every arrow of the flow is on the map exactly once.
func TestEveryEdge(t *testing.T) {
	for name, f := range services() {
		m := New(f)
		arrows := 0
		for _, path := range m.paths() {
			arrows += len(path) - 1
		}
		if arrows != len(f.Edges) {
			t.Errorf("%s: %d arrows for %d edges", name, arrows, len(f.Edges))
		}
	}
}

// A service may send anything.
func TestHostile(t *testing.T) {
	for _, f := range []*livepage.Flow{
		nil,
		{},
		{Edges: []livepage.Edge{{Stage: "gone", Channel: 9, Side: "send"}}, Bottleneck: &livepage.Bottleneck{Stage: "gone"}},
		{Stages: []livepage.Stage{{ID: "a"}, {ID: "a", Column: -5}}, Channels: []livepage.FlowChannel{{ID: 1, Name: "x\x1b[2J", Fill: new(1e300)}, {ID: 1}},
			Edges: []livepage.Edge{{Stage: "a", Channel: 1, Side: "send"}, {Stage: "a", Channel: 1, Side: "receive"}, {Stage: "a", Channel: 1, Side: "send"}}},
		{Stages: []livepage.Stage{{ID: "日本語のチャンネルの名前", Name: strings.Repeat("日本語", 40)}}, Channels: []livepage.FlowChannel{{ID: 1, Name: strings.Repeat("名", 100)}},
			Edges: []livepage.Edge{{Stage: "日本語のチャンネルの名前", Channel: 1, Side: "send"}}},
	} {
		m := New(f)
		for _, width := range []int{1, 7, 40} {
			for _, line := range append(m.Lines(width), m.Main(width, 2)...) {
				if text := line.String(); displaywidth.String(text) > max(width, 8) || strings.Contains(text, "\x1b") {
					t.Errorf("width %d: %q", width, text)
				}
			}
		}
	}
}
