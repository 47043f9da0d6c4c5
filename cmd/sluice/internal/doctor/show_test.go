package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
	"github.com/sluice-go/sluice/livepage"
)

// filler fills values with what a service or a file could hold.
type filler struct {
	*rand.Rand
	text func(*rand.Rand) string
}

// indexes are the fields that name rows: they are in range, or -1.
var indexes = map[string]bool{"Role": true, "Node": true, "Wait": true}

const rows = 4 // of each slice

func (f *filler) fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text(f.Rand))
	case reflect.Bool:
		v.SetBool(f.IntN(4) == 0)
	case reflect.Float64:
		v.SetFloat([]float64{0, f.Float64(), 30 * f.Float64(), 1e6 * f.Float64()}[f.IntN(4)])
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.IntN(100)))
		if indexes[name] {
			v.SetInt(int64(f.IntN(rows+1) - 1))
		}
	case reflect.Uint64:
		v.SetUint(uint64(f.IntN(rows + 1)))
	case reflect.Pointer:
		if f.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rows, rows))
		for i := range rows {
			f.fill(v.Index(i), name)
		}
	case reflect.Struct:
		if _, ok := v.Interface().(time.Time); ok {
			return
		}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Type != reflect.TypeFor[*Place]() || f.IntN(2) == 0 {
				f.fill(v.Field(i), field.Name)
			}
		}
	}
}

// observation returns a random observation whose rows refer to each other.
func (f *filler) observation() *observe.Observation {
	o := &observe.Observation{}
	f.fill(reflect.ValueOf(o).Elem(), "")
	kinds := []observe.NodeKind{observe.Channel, observe.Mutex, observe.Limit, observe.Condition, observe.Outside, observe.Disk, observe.Timer}
	ops := []observe.Op{observe.Send, observe.Receive, observe.Select, observe.Lock, observe.Network}
	for i := range o.Nodes {
		o.Nodes[i].Kind = kinds[f.IntN(len(kinds))]
	}
	for i := range o.Waits {
		o.Waits[i].Op, o.Waits[i].Role = ops[f.IntN(len(ops))], i
	}
	for i := range o.Wakes {
		o.Wakes[i].Wait = i
	}
	for i := range o.Stood {
		o.Stood[i].Role = i
	}
	for i := range o.Roles {
		o.Roles[i].Name += fmt.Sprint(i)
		o.Roles[i].Runtime = false
	}
	if o.Flow != nil {
		for i := range o.Flow.Edges {
			o.Flow.Edges[i].Side = []string{"send", "receive"}[f.IntN(2)]
		}
	}
	return o
}

func plainName(r *rand.Rand) string {
	return []string{"main.run", "(*Server).handle", "internal/book.go:28", "a sync for each order, in short", "x", "example.com/very/long/path/to/some/package.(*Type[...]).method.func1.2"}[r.IntN(6)]
}

func hostile(r *rand.Rand) string {
	parts := []string{"\x1b[2J", "\u202e", "\u2066", "\a", "\r", "\n", "\x00", "\u200f", "\ufeff", "\xff\xfe", "日本語", "é́́́́́", "👩‍👩‍👧", "</script><script>alert(1)</script>", "ab cd", strings.Repeat("w", 90), ""}
	return parts[r.IntN(len(parts))] + parts[r.IntN(len(parts))]
}

// steers returns what could steer a terminal, or change the direction of text.
func steers(text string) string {
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) || unicode.In(r, unicode.Bidi_Control) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

// fits checks that a text fits a screen of 24 lines, of which a prompt and a line of
// progress take two.
func fits(t *testing.T, name, text string, width int) {
	t.Helper()
	if n := strings.Count(text, "\n"); n > 22 {
		t.Errorf("%s, width %d: %d lines:\n%s", name, width, n, text)
	}
	for line := range strings.Lines(text) {
		if w := displaywidth.String(strings.TrimSuffix(line, "\n")); w > width {
			t.Errorf("%s, width %d: %d cells: %s", name, width, w, line)
		}
	}
	if bad := steers(text); bad != "" {
		t.Errorf("%s, width %d: %s in the text", name, width, bad)
	}
}

// TestCaptures writes what the doctor says about the services that it was built on: it fits
// each screen, has the bottleneck on its map, and is the same each time.
func TestCaptures(t *testing.T) {
	const folder = "../../../../bench/doctorlab/trial/testdata"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("only the repository has the captures: ", err)
	}
	for _, name := range []string{"guests", "mails", "papers", "thumbnails", "trips"} {
		var sides []*observe.Observation
		for _, run := range []string{"1", "2"} {
			saved, err := capture.Open(filepath.Join(folder, name, run))
			if err != nil {
				t.Fatal(err)
			}
			var before *Diagnosis
			for range 2 {
				o, err := observe.Of(saved)
				if err != nil {
					t.Fatal(err)
				}
				d := Diagnose(o)
				if before != nil && !reflect.DeepEqual(d, before) {
					t.Fatalf("%s: two answers about one capture:\n%+v\n%+v", name, before, d)
				}
				before = d
				said := d.Answer
				for i, e := range d.Evidence {
					if strings.Contains(said, e.Text) || i > 0 && e.Text == d.Evidence[i-1].Text {
						t.Errorf("%s says twice: %s", name, e.Text)
					}
				}
				if len(sides) == 0 || sides[0].Start != o.Start {
					sides = append(sides, o)
				}
			}
			var page bytes.Buffer
			if err := before.WritePage(&page); err != nil || strings.Contains(page.String(), `data-is="doing"></td>`) {
				t.Errorf("%s: a role on the page does nothing, or %v", name, err)
			}
			for width := 60; width <= 120; width += 5 {
				var b bytes.Buffer
				if err := before.WriteSummary(&b, Screen{Width: width}); err != nil {
					t.Fatal(err)
				}
				fits(t, name, b.String(), width)
				if before.Bottleneck != nil && len(before.Map.Stages) > 1 && !strings.Contains(b.String(), "bottleneck") && !strings.Contains(b.String(), "[") {
					t.Errorf("%s, width %d: no bottleneck:\n%s", name, width, b.String())
				}
			}
		}
		for width := 60; width <= 120; width += 5 {
			var b bytes.Buffer
			if err := Compare(sides[0], sides[1]).WriteText(&b, Screen{Width: width}); err != nil {
				t.Fatal(err)
			}
			fits(t, name, b.String(), width)
			beside := false
			for line := range strings.Lines(b.String()) {
				beside = beside || strings.Contains(line, "Before (") && strings.Contains(line, "After (")
			}
			if beside != (width >= sideBySide) {
				t.Errorf("%s, width %d: maps beside each other: %v\n%s", name, width, beside, b.String())
			}
		}
	}
}

// Whatever is diagnosed fits the screen and says where the bottleneck is; and no name from
// a service reaches a reader as it is.
func TestEveryScreen(t *testing.T) {
	for seed := range uint64(60) {
		f := &filler{rand.New(rand.NewPCG(seed, 1)), plainName}
		if seed%2 == 1 {
			f.text = hostile
		}
		o := f.observation()
		d := &Diagnosis{}
		f.fill(reflect.ValueOf(d).Elem(), "")
		d.Remedies = d.Remedies[:seed%3]
		for i, r := range o.Roles {
			d.Roles[i].Name = r.Name
		}
		if d.Bottleneck != nil {
			d.Bottleneck.Role, d.Bottleneck.Node = o.Roles[seed%rows].Name, ""
		}
		d.Map = mapOf(o, newModel(o), d)
		if again := mapOf(o, newModel(o), d); !reflect.DeepEqual(again, d.Map) {
			t.Errorf("seed %d: two maps of one observation:\n%+v\n%+v", seed, again, d.Map)
		}
		forms := map[string]func(*bytes.Buffer) error{
			"text": func(b *bytes.Buffer) error { return d.WriteText(b, Screen{}) },
			"JSON": func(b *bytes.Buffer) error { return d.WriteJSON(b) },
			"page": func(b *bytes.Buffer) error { return d.WritePage(b) },
		}
		for width := 60; width <= 120; width += 3 + int(seed%7) {
			var b bytes.Buffer
			if err := d.WriteSummary(&b, Screen{Width: width}); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			fits(t, fmt.Sprint("seed ", seed), text, width)
			if d.Bottleneck != nil && !strings.Contains(text, "┏━ bottleneck ━") && !strings.Contains(text, "[") {
				t.Errorf("seed %d, width %d: no bottleneck:\n%s", seed, width, text)
			}
		}
		for name, write := range forms {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Errorf("seed %d, %s: %v", seed, name, err)
			}
			if bad := steers(b.String()); bad != "" {
				t.Errorf("seed %d: %s in the %s", seed, bad, name)
			}
			if name == "page" && strings.Contains(b.String(), "<script>alert") {
				t.Errorf("seed %d: a script from a name in the page", seed)
			}
		}
		compared := Compare(o, f.observation())
		var b bytes.Buffer
		for _, width := range []int{60, 80, sideBySide, 120} {
			b.Reset()
			if err := compared.WriteText(&b, Screen{Width: width}); err != nil {
				t.Fatal(err)
			}
			fits(t, fmt.Sprint("comparison, seed ", seed), b.String(), width)
		}
		b.Reset()
		if err := compared.WriteJSON(&b); err != nil || !json.Valid(b.Bytes()) || steers(b.String()) != "" {
			t.Errorf("seed %d: comparison as JSON: %v, %s", seed, err, steers(b.String()))
		}
	}
}

// The map of a service has its named channels with their figures, even where no goroutine
// waits.
func TestMapOfNamedChannels(t *testing.T) {
	s := newScene(2)
	c := s.node(observe.Channel, "")
	s.Nodes[c].Named = 7
	p, w := s.role("producer", 8, run{Running: 0.1}), s.role("worker", 1, run{Running: 0.97})
	s.wait(p, c, snd, 7.9, 20_000, w, rcv)
	s.Flow = &livepage.Flow{
		Stages: []livepage.Stage{{ID: "main.worker", Function: "main.worker"}, {ID: "main.log", Function: "main.log"}},
		Channels: []livepage.FlowChannel{
			{ID: 7, Name: "jobs", Kind: "Bounded", Len: 64, Cap: new(64), Fill: new(1.0), ReceivedRate: new(20e3)},
			{ID: 9, Name: "errors", Kind: "Elastic"}, {ID: 11, Name: "unused", Kind: "Elastic"},
		},
		Edges: []livepage.Edge{{Stage: "main.worker", Channel: 9, Side: "send", Share: 1}, {Stage: "main.log", Channel: 9, Side: "receive", Share: 1}},
	}
	d := s.diagnose()
	m := mapOf(&s.Observation, newModel(&s.Observation), d)
	if len(m.Channels) != 2 || m.Channels[0].Name != "jobs" || *m.Channels[0].Fill != 1 || m.Channels[0].SendersMean != 7.9 || m.Channels[0].Unnamed {
		t.Errorf("channels %+v", m.Channels)
	}
	columns := map[string]int{}
	for _, s := range m.Stages {
		columns[s.ID] = s.Column
	}
	if fmt.Sprint(columns) != "map[main.log:2 producer:0 worker:1]" || fmt.Sprint(m.Unknown) != "[unused]" {
		t.Errorf("columns %v, unknown %v", columns, m.Unknown)
	}
	if b := m.Bottleneck; b == nil || b.Stage != "worker" || b.Channel != 7 || b.Text != d.Answer || m.Summary != d.Answer {
		t.Errorf("bottleneck %+v", b)
	}
}

// The goroutines of an HTTP client, and of a role that hardly ever runs, are not part of the
// program's map.
func TestMapWithoutHelpers(t *testing.T) {
	s := newScene(2)
	server, c := s.node(observe.Outside, ""), s.node(observe.Channel, "")
	w, helper, r, seldom := s.role("write", 64, run{}), s.role("writeLoop", 64, run{}), s.role("read", 1, run{Running: 0.1}), s.role("once", 0.01, run{Running: 0.01})
	s.Roles[helper].Runtime = true
	s.wait(w, server, observe.Network, 63.9, 640, -1, "")
	s.wait(helper, server, observe.Network, 60, 640, -1, "")
	s.wait(r, c, snd, 0.9, 640, w, rcv)
	s.wait(seldom, c, snd, 0, 2, w, rcv)
	d := s.diagnose()
	m := mapOf(&s.Observation, newModel(&s.Observation), d)
	var drawn []string
	for _, s := range m.Stages {
		drawn = append(drawn, s.ID)
	}
	for _, c := range m.Channels {
		drawn = append(drawn, fmt.Sprintf("%s %.1f", c.Kind, c.SendersMean))
	}
	if got := strings.Join(drawn, ", "); got != "read, write, network 63.9, channel 0.9" {
		t.Errorf("%s", got)
	}
}

// TestCompare compares a service before and after its bottleneck got more goroutines.
func TestCompare(t *testing.T) {
	service := func(workers, rate float64, waiting float64) *observe.Observation {
		s := newScene(4)
		c := s.node(observe.Channel, "jobs")
		p, w := s.role("producer", 8, run{Running: 0.1 * workers}), s.role("worker", workers, run{Running: 0.97 * workers})
		s.wait(p, c, snd, waiting, rate, w, rcv)
		s.spend(w, observe.OwnCode, 0.9*workers, "", false)
		s.Flow = &livepage.Flow{Channels: []livepage.FlowChannel{{ID: 1, Name: "jobs", ReceivedRate: &rate}}}
		return &s.Observation
	}
	for _, c := range []struct {
		name          string
		before, after *observe.Observation
		outcome       Outcome
		says          string
	}{
		{"more receivers", service(1, 20e3, 7.9), service(3, 60e3, 6.5), Better, "the bottleneck is still worker; jobs passed 20k values per second before and 60k after (×3.00)"},
		{"nothing", service(1, 20e3, 7.9), service(1, 21e3, 7.9), Same, "×1.05"},
		{"slower", service(1, 20e3, 7.9), service(1, 9e3, 7.9), Worse, "×0.45"},
		{"no names, few samples", newIdle(), newIdle(), Unclear, "too few CPU samples"},
	} {
		got := Compare(c.before, c.after)
		if got.Outcome != c.outcome || !strings.Contains(got.Answer, c.says) {
			t.Errorf("%s: %s, want %s and %q: %s", c.name, got.Outcome, c.outcome, c.says, got.Answer)
		}
	}
}

func newIdle() *observe.Observation {
	s := newScene(2)
	s.role("worker", 1, run{})
	return &s.Observation
}
