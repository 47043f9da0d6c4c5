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
						c.OldestValue = new(0.0042)
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
		"roles":  roles(),
		"cycle":  service("a > x 10% > b > y 20% > a"),
	}
}

// roles is the map of a service without named channels.
func roles() *livepage.Flow {
	return &livepage.Flow{
		Stages: []livepage.Stage{
			{ID: "handle", Name: "(*Server).handle", Goroutines: 45, Busy: new(0.03), Doing: "waits in send at book.go:28"},
			{ID: "write", Name: "(*Book).write", Column: 1, Goroutines: 1, Busy: new(1.0), HoldsUp: 30.7, Doing: "a sync for each order"},
			{ID: "tick", Name: "main.ticker", Goroutines: 1, Busy: new(0.0)},
			{ID: "spin", Name: "main.spin", Goroutines: 2, Busy: new(0.5), Doing: "computes"},
		},
		Channels: []livepage.FlowChannel{
			{ID: 1, Name: "book.go:28", Kind: "channel", Unnamed: true, SendersMean: 30.7},
			{ID: 2, Name: "disk", Kind: "disk", Unnamed: true, SendersMean: 0.79, Column: 1},
			{ID: 3, Name: "book.go:40", Kind: "lock", Unnamed: true, SendersMean: 0.1, Column: 1},
		},
		Edges: []livepage.Edge{
			{Stage: "handle", Channel: 1, Side: "send", Share: 0.9}, {Stage: "tick", Channel: 1, Side: "send", Share: 0.1},
			{Stage: "write", Channel: 1, Side: "receive", Share: 1}, {Stage: "write", Channel: 2, Side: "send", Share: 1},
			{Stage: "handle", Channel: 3, Side: "send", Share: 0.5}, {Stage: "write", Channel: 3, Side: "send", Share: 0.5},
		},
		Bottleneck: &livepage.Bottleneck{Stage: "write"},
	}
}

// Maps are stored in one file, to be looked at.
func TestLook(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct {
		name        string
		width, most int
	}{{"roles", 100, 9}, {"roles", 60, 14}, {"roles", 40, 9}, {"eight", 80, All}, {"eight", 60, 2}} {
		fmt.Fprintf(&b, "%s, %d columns\n", c.name, c.width)
		for _, line := range New(services()[c.name]).Draw(c.width, c.most) {
			fmt.Fprintf(&b, "%s\n", line)
		}
		b.WriteString("\n")
	}
	file := filepath.Join("testdata", "maps.txt")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || b.String() != string(want) {
		t.Errorf("%s differs, %v (rewrite it with -update):\n%s", file, err, b.String())
	}
}

// A map fits its lines and columns, whatever they are, and has the bottleneck.
func TestFits(t *testing.T) {
	for name, f := range services() {
		m := New(f)
		for width := 30; width <= 200; width += 17 {
			for _, most := range []int{1, 2, 3, 8, All} {
				lines := m.Draw(width, most)
				text := ""
				for _, line := range lines {
					if w := line.width(); w > width {
						t.Errorf("%s: %d cells in %d: %s", name, w, width, line)
					}
					text += line.String()
				}
				if len(lines) > most {
					t.Errorf("%s: %d lines in %d", name, len(lines), most)
				}
				if f.Bottleneck != nil && most > 2 && !strings.Contains(text, m.nodes[m.worst].title(12)) && !strings.Contains(text, m.nodes[m.worst].name) {
					t.Errorf("%s, %d lines of %d: no bottleneck in %s", name, most, width, text)
				}
			}
		}
	}
}

// A name keeps what tells it from others: its end, the line of a closure, and the channel behind
// which a stage is.
func TestShort(t *testing.T) {
	for _, test := range []struct {
		name  string
		cells int
		want  string
	}{
		{"main.(*Server).run (server.go:42)", 40, "main.(*Server).run (server.go:42)"},
		{"main.(*Server).run (server.go:42)", 20, "main.Server.run:42"},
		{"main.(*Server).run (server.go:42)", 14, "Server.run:42"},
		{"run (main.go:42) (orders)", 20, "run:42 (orders)"},
		{"run (main.go:42)", 8, "run:42"},
		{"runAllOfThem (main.go:42)", 10, "…OfThem:42"},
		{"example.com/app/parser.Run", 12, "parser.Run"},
		{"internal/orders.go:42", 12, "orders.go:42"},
		{"copy (the orders of all customers)", 14, "…copy (the …"},
	} {
		if got := short(test.name, test.cells); got != test.want {
			t.Errorf("%s in %d cells: %q, want %q", test.name, test.cells, got, test.want)
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
			for _, line := range append(m.Draw(width, 100), m.Draw(width, 2)...) {
				if text := line.String(); displaywidth.String(text) > max(width, 8) || strings.Contains(text, "\x1b") {
					t.Errorf("width %d: %q", width, text)
				}
			}
		}
	}
}
