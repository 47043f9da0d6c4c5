package watch

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/livepage"
)

var update = flag.Bool("update", false, "rewrite the stored screens")

// String returns the canvas as text, without trailing spaces.
func (c *canvas) String() string {
	var b strings.Builder
	for _, r := range c.rows {
		b.WriteString(strings.TrimRight(r.Line.String(), " ") + "\n")
	}
	return b.String()
}

// golden compares a screen with the stored one.
func golden(t *testing.T, name string, c *canvas) {
	t.Helper()
	sound(t, c)
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(c.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.String(); got != string(want) {
		t.Errorf("%s differs (rewrite it with -update):\n%s\nwant\n%s", file, got, want)
	}
}

// sound checks properties of every screen: no control characters, and no line is wider than
// the screen.
func sound(t *testing.T, c *canvas) {
	t.Helper()
	for y, r := range c.rows {
		text := r.Line.String()
		if bad := steering(text); bad != "" {
			t.Errorf("line %d has %s", y, bad)
		}
		if width := displaywidth.String(text); width > c.width || width != r.used {
			t.Errorf("line %d is %d cells wide, and %d are used, on a screen of %d", y, width, r.used, c.width)
		}
	}
}

// busy returns a report with a channel of each kind, and with troublesome text.
func busy() *livepage.Report {
	rates := func(c livepage.Channel, in, out, lost float64) livepage.Channel {
		c.SentRate, c.ReceivedRate, c.DroppedRate = &in, &out, &lost
		return c
	}
	r := &livepage.Report{Time: noon, Over: 1, Named: 1234, Matching: 1234, Page: 1, Pages: 62, Channels: []livepage.Channel{
		rates(livepage.Channel{
			ID: 3, Name: "orders/parsed", Kind: "Bounded", Len: 11, Cap: new(16), Lanes: 1,
			Sent: 123_456_789, Received: 123_456_778, HighWater: 16, Bytes: 4096, Age: livepage.Age{OldestValue: new(0.0042)},
			Senders:   livepage.Waiting{Waits: 999, Total: 12.5, Mean: new(0.0021)},
			Receivers: livepage.Waiting{Now: 2, Waits: 31, Total: 0.4, Since: 3.3, Mean: new(0.0)},
			Snapshot:  &livepage.Snapshot{Receivers: []float64{3.3, 0.0021}, Rings: []livepage.Ring{{Slots: 16, Len: 11, Send: 4, Receive: 9}}},
		}, 15_300, 15_289, 0),
		rates(livepage.Channel{
			ID: 4, Name: "stuck", Kind: "Bounded", Len: 1024, Cap: new(1024), Lanes: 1,
			Sent: 1024, HighWater: 1024, Bytes: 8192, Age: livepage.Age{OldestValue: new(3700.0)}, Senders: livepage.Waiting{Now: 40, Waits: 40, Since: 3700, Mean: new(0.0)},
			Snapshot: &livepage.Snapshot{Senders: []float64{3700, 61, 5}, Ready: true, Rings: []livepage.Ring{{Slots: 1024, Len: 1024, Send: 512, Receive: 512}}},
		}, 0, 0, 0),
		rates(livepage.Channel{ID: 5, Name: "hand-off", Kind: "Rendezvous", Cap: new(0), Lanes: 1, Sent: 70, Received: 70}, 7, 7, 0),
		rates(livepage.Channel{
			ID: 6, Name: "log lines", Kind: "Elastic", Len: 40_000, Lanes: 1, Sent: 2_000_000, Received: 1_960_000,
			HighWater: 90_000, Bytes: 1 << 20, Age: livepage.Age{OldestValue: new(0.4), OldestSign: "≈"},
		}, 100_000, 98_000, 0),
		rates(livepage.Channel{
			ID: 7, Name: "latest", Kind: "Bounded", Len: 1, Cap: new(1), Lanes: 1, Snapshot: &livepage.Snapshot{Rings: []livepage.Ring{{Slots: 1, Len: 1}}},
			Sent: 900, Received: 100, Dropped: 799, HighWater: 1, Bytes: 8, Age: livepage.Age{OldestBound: 1, OldestSign: "<"},
		}, 90, 10, 80),
		rates(livepage.Channel{
			ID: 8, Name: "metrics", Kind: "Sharded", Len: 300, Cap: new(1024), Lanes: 4, Sent: 5_000_000, Received: 4_999_700,
			HighWater: 200, Bytes: 16384, Age: livepage.Age{OldestBound: 700, OldestSign: "≥"}, LaneChange: "2 to 4: senders met 1200 times in 10 ms",
			Snapshot: &livepage.Snapshot{Lanes: []livepage.Lane{
				{InUse: true, Len: 200, Cap: new(256), HighWater: 200, Senders: 3, OldestSender: 0.5}, {InUse: true, Len: 100, Cap: new(256)},
				{Private: true, InUse: true, Cap: new(256)}, {Cap: new(256)},
			}},
		}, 1e6, 1e6, 0),
		{ID: 9, Name: "retry", Kind: "Elastic", Len: 3, Cap: new(100), Lanes: 1, Sent: 3, HighWater: 12, Age: livepage.Age{OldestSign: "unknown"}, Closed: true, BytesOnDisk: 5 << 30, Warning: "the disk is slow: what was accepted may be lost with the power"},
		{ID: 10, Name: "evil\x1b[2J\x1b]0;title\x07\u202e", Kind: "Bou\x1bnded", Cap: new(8), Lanes: 1, LaneChange: "\x1b[31m", Warning: "\x1b[2J"},
		{ID: 11, Name: "日本語のチャンネルの名前", Kind: "Bounded", Cap: new(8), Lanes: 1, Snapshot: &livepage.Snapshot{Rings: []livepage.Ring{{Slots: 8}}}},
	}}
	return r
}

// screen returns a model of the given size that has seen several reports of
// busy, with rates that rise and fall.
func screen(width, height int, keys ...key) *model {
	m := newModel("localhost:6060", Query{Page: 1})
	m.resize(width, height)
	for i := range 12 {
		m.show(wave(busy(), i))
	}
	for _, k := range keys {
		before := m.open
		if m.press(k); m.open != before && m.open != 0 {
			for i := range 12 {
				m.show(only(wave(busy(), i), m.open))
			}
		}
	}
	return m
}

func wave(r *livepage.Report, i int) *livepage.Report {
	if i == 0 {
		for k := range r.Channels {
			r.Channels[k].SentRate, r.Channels[k].ReceivedRate = nil, nil
		}
		return r
	}
	if i == 11 {
		return r
	}
	part := 0.5 + 0.5*math.Sin(float64(i))
	for k := range r.Channels {
		c := &r.Channels[k]
		c.Len = int(float64(c.Len) * part)
		if c.SentRate != nil {
			*c.SentRate *= part
			*c.ReceivedRate *= 1 - part
		}
	}
	return r
}

func only(r *livepage.Report, id uint64) *livepage.Report {
	r.Channels = slices.DeleteFunc(r.Channels, func(c livepage.Channel) bool { return c.ID != id })
	return r
}

func TestScreens(t *testing.T) {
	down := func(n int) []key { return slices.Repeat([]key{keyDown}, n) }
	for _, test := range []struct {
		name          string
		width, height int
		keys          []key
	}{
		{"list-80x24", 80, 24, nil},
		{"list-40x20", 40, 20, nil},
		{"list-120x40", 120, 40, []key{"s", "o", "t"}},
		{"list-200x12", 200, 12, down(8)},
		{"list-20x6", 20, 6, nil},
		{"filter-80x24", 80, 24, []key{"/", "l", "o", "g"}},
		{"help-80x24", 80, 24, []key{"?"}},
		{"help-40x12", 40, 12, []key{"?", keyDown, keyNext}},
		{"ring-80x24", 80, 24, []key{keyEnter}},
		{"ring-40x20", 40, 20, []key{keyEnter}},
		{"ring-40x20-scrolled", 40, 20, []key{keyEnter, keyNext}},
		{"full-120x40", 120, 40, []key{keyDown, keyEnter}},
		{"hand-off-80x24", 80, 24, append(down(2), keyEnter)},
		{"queue-80x24", 80, 24, append(down(3), keyEnter)},
		{"one-slot-80x24", 80, 24, append(down(4), keyEnter)},
		{"lanes-80x24", 80, 24, append(down(5), keyEnter)},
		{"closed-80x24", 80, 24, append(down(6), keyEnter)},
		{"hostile-80x24", 80, 24, append(down(7), keyEnter)},
		{"wide-40x20", 40, 20, append(down(8), keyEnter)},
		{"list-60x16", 60, 16, nil},
	} {
		t.Run(test.name, func(t *testing.T) { golden(t, test.name, screen(test.width, test.height, test.keys...).draw()) })
	}
}

// From 40 columns, dropped values are visible whatever the order, and missing
// columns are mentioned.
func TestDropsAreNeverHidden(t *testing.T) {
	for _, s := range sortings {
		for width := 40; width <= 200; width += 5 {
			m := newModel("localhost:6060", Query{Page: 1, Sort: s.key})
			m.resize(width, 12)
			m.show(busy())
			screen := strings.Split(m.draw().String(), "\n")
			if !strings.Contains(screen[2], "dropped") || !strings.Contains(screen[7], " 799") {
				t.Fatalf("by %s, on %d cells:\n%s", s.key, width, m.draw())
			}
			shown, _ := fitting(width, s.key)
			if hidden := figures(shown) < figures(columns); hidden != strings.Contains(screen[1], " column") {
				t.Fatalf("by %s, on %d cells, columns are missing: %v\n%s", s.key, width, hidden, m.draw())
			}
		}
	}
}

// A width that is said to be wide enough is, and one less is not.
func TestMissing(t *testing.T) {
	var n, widen int
	if _, err := fmt.Sscanf(missing(80, "name"), "%d columns hidden: they need %d", &n, &widen); err != nil {
		t.Fatalf("%q: %v", missing(80, "name"), err)
	}
	if missing(widen, "name") != "" || missing(widen-1, "name") == "" {
		t.Errorf("widen to %d: %q, %q", widen, missing(widen, "name"), missing(widen-1, "name"))
	}
}

// Messages without channels, and without new reports.
func TestStates(t *testing.T) {
	m := newModel("service", Query{Page: 1})
	m.resize(60, 10)
	shows := func(want string) {
		t.Helper()
		c := m.draw()
		if sound(t, c); !strings.Contains(c.String(), want) {
			t.Errorf("%q is not on\n%s", want, c)
		}
	}
	shows("loading")
	m.show(&livepage.Report{Time: noon, Page: 1, Pages: 1})
	shows("No channel has a name: set Name in its options.")
	m.show(&livepage.Report{Time: noon, Page: 1, Pages: 1, Named: 5})
	shows("No channel matches: Esc shows all.")
	m.query.Filter, m.query.Kind = "a\x1bb", "bounded"
	shows(`by name; only bounded; name contains “a\x1bb”`)
	m.press(" ")
	shows("paused: press space to continue")
	m.fail(errors.New("connection \x1brefused"), 2*time.Second)
	shows(`retrying every 2s: connection \x1brefused`)
	m.fail(errGone, 0)
	shows("this channel no longer exists")
}

// An outdated screen is dimmed.
func TestFaded(t *testing.T) {
	m := screen(80, 24)
	count := func() (n int) {
		for _, r := range m.draw().rows[1:23] {
			for _, span := range r.Line {
				if span.Role == values || span.Role == bar {
					n++
				}
			}
		}
		return n
	}
	if count() == 0 {
		t.Error("a screen without marks")
	}
	if m.fail(errors.New("x"), time.Second); count() != 0 {
		t.Error("the screen of a lost service looks alive")
	}
}

// Waiting, full and dropping channels are emphasized, and nothing else.
func TestHot(t *testing.T) {
	c := screen(80, 24, keyEnd).draw()
	for y, want := range map[int]string{3: "", 4: "1024/1024 40", 5: "", 6: "", 7: "1/1 799", 8: "", 9: ""} {
		var hots strings.Builder
		for _, span := range c.rows[y].Line {
			hots.WriteString(either(span.Role == hot, span.Text, " "))
		}
		if got := strings.Join(strings.Fields(hots.String()), " "); got != want {
			t.Errorf("line %d: %q is hot, want %q", y, got, want)
		}
	}
}

// Screens of all sizes are sound.
func TestSizes(t *testing.T) {
	for _, keys := range [][]key{nil, {keyEnter}, {keyDown, keyDown, keyDown, keyEnter, keyNext}, {"?"}, {"/", "x"}} {
		for _, width := range []int{0, 1, 2, 3, 5, 11, 12, 17, 30, 79, 81, 500} {
			for _, height := range []int{0, 1, 2, 3, 4, 6, 33, 100} {
				m := screen(80, 24, keys...)
				m.resize(width, height)
				sound(t, m.draw())
				if m.query.channelsOnPage < 1 || m.query.channelsOnPage > maxSize {
					t.Errorf("%d lines: %d channels on a page", height, m.query.channelsOnPage)
				}
			}
		}
	}
}

// FuzzDraw draws arbitrary responses of a service.
func FuzzDraw(f *testing.F) {
	whole, err := json.Marshal(busy())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(whole), 80, 24)
	for _, channel := range []string{
		`{"id":1,"name":"a","kind":"Bounded","len":-5,"cap":-1,"lanes":-3,"snapshot":{"rings":[{"slots":8,"len":-1,"send":-1,"receive":99}],"senders":[-1,1e308]}}`,
		`{"id":1,"len":9223372036854775807,"cap":9223372036854775807,"kind":"Bounded","snapshot":{"rings":[{"slots":9223372036854775807,"len":5,"send":9223372036854775807,"receive":9223372036854775806}]},"highWater":-1}`,
		`{"id":1,"cap":0,"kind":"Bounded","snapshot":{"rings":[{"slots":0}]},"senders":{"now":9223372036854775807,"since":1e308,"total":-1e308}}`,
		`{"id":1,"kind":"Sharded","lanes":9223372036854775807,"snapshot":{"lanes":[{"len":-1,"cap":-9,"senders":-3},{"len":9223372036854775807,"senders":9223372036854775807,"oldestSender":-1}]},"sentRate":1e308,"receivedRate":-1e308,"droppedRate":1e-308}`,
		`{"id":1,"kind":"Elastic","cap":null,"len":5,"highWater":-9223372036854775808,"bytes":-9223372036854775808}`,
	} {
		f.Add(fmt.Sprintf(`{"time":"9999-12-31T23:59:59Z","named":-1,"page":-9,"pages":-9,"channels":[%s,%[1]s]}`, channel), 40, 20)
	}
	f.Fuzz(func(t *testing.T, text string, width, height int) {
		var report, one livepage.Report
		if json.Unmarshal([]byte(text), &report) != nil || json.Unmarshal([]byte(text), &one) != nil {
			return
		}
		m := newModel("fuzz", Query{Page: 1})
		m.resize(clamp(width, 300), clamp(height, 100))
		for range 3 {
			m.show(&report)
			sound(t, m.draw())
		}
		m.press(keyDown)
		m.press(keyEnter)
		one.Channels = one.Channels[:min(1, len(one.Channels))]
		for range 3 {
			m.show(&one)
			sound(t, m.draw())
		}
	})
}

// The sorted column is visible at any width.
func TestTheColumnOfTheOrderIsShown(t *testing.T) {
	for _, s := range sortings {
		heads := slices.ContainsFunc(columns, func(c column) bool { return c.sort == s.key && c.head != "" })
		if !heads {
			continue // names are always visible; age and queued values have no column
		}
		for _, width := range []int{40, 80, 120} {
			m := newModel("localhost:6060", Query{Page: 1, Sort: s.key})
			m.resize(width, 10)
			m.show(busy())
			if heads, _, _ := strings.Cut(strings.SplitN(m.draw().String(), "\n", 3)[2], "\n"); !strings.ContainsAny(heads, "▾▴") {
				t.Errorf("by %s, on %d cells: %s", s.key, width, heads)
			}
		}
	}
}

// Without room for circles, the number and duration of waits remain.
func TestHowLongIsSaidOnANarrowScreen(t *testing.T) {
	m := newModel("localhost:6060", Query{Page: 1, Channel: 4})
	m.resize(40, 20)
	r := busy()
	r.Channels = r.Channels[1:2]
	m.show(r)
	golden(t, "full-40x20", m.draw())
}

// Lanes that are not drawn are mentioned.
func TestLanesThatAreNotDrawn(t *testing.T) {
	m := newModel("localhost:6060", Query{Page: 1, Channel: 1})
	m.resize(80, 40)
	for _, n := range []int{maxLanes, maxLanes + 1} {
		m.show(&livepage.Report{Time: noon, Channels: []livepage.Channel{{
			ID: 1, Kind: "Sharded", Lanes: n, Snapshot: &livepage.Snapshot{Lanes: make([]livepage.Lane, n)},
		}}})
		if shown := strings.Contains(m.draw().String(), "12 shown"); shown != (n > maxLanes) {
			t.Errorf("%d lanes:\n%s", n, m.draw())
		}
	}
}
