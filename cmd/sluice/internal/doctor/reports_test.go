package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden compares reports with golden files.
func TestGolden(t *testing.T) {
	traced := append(pipelineService, woke(profile.Pair{Waker: send, Sleeper: receive, Count: 1_400_000}))
	for name, d := range map[string]*Diagnosis{
		"hot":      diagnose(hotService...),
		"pipeline": diagnose(traced...),
		"idle":     diagnose(idlePool...),
		"nothing": diagnose(func(c *profile.Capture) {
			c.Missing = []profile.Missing{{Kind: profile.KindCPU, Reason: "it was refused"}}
		}),
	} {
		for ending, write := range map[string]func(*bytes.Buffer) error{
			".txt":  func(b *bytes.Buffer) error { return d.WriteText(b) },
			".json": func(b *bytes.Buffer) error { return d.WriteJSON(b) },
		} {
			t.Run(name+ending, func(t *testing.T) {
				var got bytes.Buffer
				if err := write(&got); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join("testdata", name+ending)
				if *update {
					if err := os.WriteFile(path, got.Bytes(), 0o666); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Bytes(), want) {
					t.Errorf("%s differs (rewrite it with -update):\n%s", path, got.String())
				}
			})
		}
	}
}

// TestText: the answer comes first, in 80 columns.
func TestText(t *testing.T) {
	for _, parts := range [][]part{hotService, pipelineService, idlePool, nil} {
		d := diagnose(parts...)
		var b bytes.Buffer
		if err := d.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(b.String()), " ")
		if !strings.HasPrefix(flat, d.Answer) {
			t.Errorf("begins with %.60q, and the answer is %.60q", flat, d.Answer)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > textWidth {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}

// unplain are terms of the scheduler and of this package, which a person on call
// does not know.
var unplain = regexp.MustCompile(`\bPs\b|\bparks?\b|\bparked\b|\bpoll (send|receive)\b`)

// TestPlainTerms: text, page and document use the terms of Go's documentation.
func TestPlainTerms(t *testing.T) {
	tried := at(profile.PollSend, "offer")
	for _, parts := range [][]part{hotService, pipelineService, idlePool, nil,
		append(pipelineService, woke(profile.Pair{Waker: send, Sleeper: receive, Count: 1_400_000})),
		{cpu(2, shares{profile.ChannelWork: 0.9, profile.UserCode: 0.1}, on{tried, 0.9, 0, 0})},
		{cpu(1.5, shares{profile.ChannelWork: 0.1, profile.Scheduling: 0.55, profile.UserCode: 0.35}, on{send, 0.05, 0, 0}, on{receive, 0.05, 0, 0})}} {
		d := diagnose(parts...)
		var b bytes.Buffer
		if err := errors.Join(d.WriteText(&b), d.WritePage(&b)); err != nil {
			t.Fatal(err)
		}
		if found := unplain.FindString(b.String()); found != "" {
			t.Errorf("%q in\n%s", found, b.String())
		}
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	prose := regexp.MustCompile("`[^`]*`").ReplaceAllString(string(text), "") // without names of fields
	if found := unplain.FindString(prose); found != "" {
		t.Errorf("%s has %q", document, found)
	}
	if got := unplain.FindString("after they parked"); got == "" {
		t.Error("a planted term was not found")
	}
}

// TestPrintable: names from files cannot control the terminal or start lines.
func TestPrintable(t *testing.T) {
	evil := at(profile.Send, "Put\x1b[31m\nleft\u202eright")
	d := diagnose(cpu(2, shares{profile.ChannelWork: 0.2, profile.ChannelLock: 0.8}, on{evil, 1, 0.8, 0}), func(c *profile.Capture) {
		c.Target, c.GoVersion = "http://a\x07b/\nc", "go1\r26"
	})
	var b bytes.Buffer
	if err := d.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\r\u202e") || strings.Contains(b.String(), "\nleft") || !strings.Contains(b.String(), "Put?[31m?left?right") {
		t.Errorf("%q", b.String())
	}
}

// TestJSON: lists are never null, and unknown values are null rather than 0.
func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := diagnose().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"findings", "operations", "partners", "unknown"} {
		if _, ok := got[list].([]any); !ok {
			t.Errorf("%s is %v", list, got[list])
		}
	}
	for name, v := range got["shares"].(map[string]any) {
		if v != nil {
			t.Errorf("%s is %v without data", name, v)
		}
	}
	if got["verdict"] != string(Undetermined) || got["schema"] != float64(Schema) {
		t.Errorf("verdict %v, schema %v", got["verdict"], got["schema"])
	}
}

var outside = regexp.MustCompile(`(?i)(src|href)\s*=|@import|url\(|<script`)

// TestPage: the page is self-contained, complete, and escapes names.
func TestPage(t *testing.T) {
	evil := at(profile.Send, `(*Bus[<script>alert(1)</script>]).Put`)
	for _, parts := range [][]part{hotService, pipelineService, idlePool, nil,
		{cpu(2, shares{profile.ChannelWork: 0.2, profile.ChannelLock: 0.8}, on{evil, 1, 0.8, 0})}} {
		d := diagnose(parts...)
		var b bytes.Buffer
		if err := d.WritePage(&b); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		if found := outside.FindString(page); found != "" {
			t.Errorf("the page has %q", found)
		}
		for _, f := range d.Findings {
			for _, r := range f.Remedies {
				if !strings.Contains(page, "<strong>"+string(r.Name)+"</strong>") {
					t.Errorf("the page does not name %s", r.Name)
				}
			}
		}
		if !strings.Contains(page, "prefers-color-scheme: dark") || !strings.Contains(page, "width=device-width") {
			t.Error("the page does not support dark or small screens")
		}
	}
	if got := outside.FindString(`<a href="x">`); got == "" {
		t.Error("a planted link was not found")
	}
}

// TestPageFile replaces a file atomically, or leaves it.
func TestPageFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	if err := diagnose(hotService...).WritePageFile(path); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(text, []byte("<!DOCTYPE html>")) {
		t.Errorf("%.40q, %v", text, err)
	}
	if err := diagnose().WritePageFile(filepath.Join(path, "page.html")); err == nil {
		t.Error("a page was written below a file")
	}
}

// TestUnknown: each missing part is listed with the command that provides it.
func TestUnknown(t *testing.T) {
	has := func(d *Diagnosis, what, command string) bool {
		for _, u := range d.Unknown {
			if strings.Contains(u.What, what) && u.Command == command {
				return true
			}
		}
		return false
	}
	d := diagnose()
	for what, command := range map[string]string{
		"where CPU time goes":            "sluice doctor -seconds 20 localhost:6060",
		"which goroutines wait":          "",
		"two readings of runtime/metric": "sluice doctor -metrics PATH localhost:6060",
	} {
		if !has(d, what, command) {
			t.Errorf("%q with %q is not in %+v", what, command, d.Unknown)
		}
	}
	if d := diagnose(hotService...); !has(d, "which goroutines wake each other", "sluice doctor -trace localhost:6060") || has(d, "which goroutines wait", "sluice doctor localhost:6060") {
		t.Errorf("contended channel: %+v", d.Unknown)
	}
	if d := diagnose(idlePool...); !has(d, "repeat under load", "sluice doctor -seconds 30 localhost:6060") {
		t.Errorf("idle pool: %+v", d.Unknown)
	}
	files := func(c *profile.Capture) { c.Target, c.GOMAXPROCS = "cpu.pprof goroutines.txt", 0 }
	if d := diagnose(files); !has(d, "GOMAXPROCS", "") || !has(d, "which goroutines wait", "") {
		t.Errorf("a command for files: %+v", d.Unknown)
	}
	shell := func(c *profile.Capture) { c.Target = "http://localhost:6060/;reboot" }
	if d := diagnose(shell); !has(d, "which goroutines wait", "") {
		t.Errorf("shell injection: %+v", d.Unknown)
	}
	refused := func(c *profile.Capture) {
		c.Missing = []profile.Missing{{Kind: profile.KindMutex, Reason: "it was refused"}}
	}
	if d := diagnose(refused); !has(d, "the mutex profile: it was refused", "") {
		t.Errorf("refused: %+v", d.Unknown)
	}
}

// TestTwoSnapshots: if two snapshots disagree, the larger one counts.
func TestTwoSnapshots(t *testing.T) {
	for _, test := range []struct {
		all, waiting int
		want         string
	}{{5, 3, "5 goroutines in it, 3 waiting"}, {0, 3, "3 goroutines waiting"}} {
		o := Operation{In: &test.all, Waiting: &test.waiting}
		if got := strings.Join(o.figures(false), ", "); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// TestWording covers the formats of figures.
func TestWording(t *testing.T) {
	for got, want := range map[string]string{
		format.Number(1234): "1234", format.Number(12.34): "12.3", format.Number(2): "2", format.Number(0.041): "0.04",
		format.Percent(0.004): "0.4%", format.Percent(0.25): "25%", format.Percent(0): "0%",
		format.Count(17): "17", format.Count(12_345): "12.3 k", format.Count(3.2e6): "3.20 M",
		format.Seconds(3.1): "3.10 s", format.Seconds(0.0123): "12.3 ms", format.Seconds(152e-9): "152 ns", format.Seconds(4.2e-6): "4.20 µs", format.Seconds(610): "10.2 min",
		format.Plural(1, "goroutine"): "1 goroutine", format.Plural(2, "goroutine"): "2 goroutines",
		Range{1, 1, 1}.String(): "×1", Range{1.5, 2.12, 3}.String(): "×2.1 (1.5 to 3)",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The two-column layout is for a page with a table of contents, which this page
// does not have.
func TestPageIsOneColumn(t *testing.T) {
	var b bytes.Buffer
	if err := diagnose(hotService...).WritePage(&b); err != nil {
		t.Fatal(err)
	}
	grids := regexp.MustCompile(`(?m)^\s*(body\S*)[^{]*\{ display: grid`).FindAllStringSubmatch(b.String(), -1)
	if strings.Contains(b.String(), "<nav") || len(grids) != 1 || grids[0][1] != "body:has(>" {
		t.Errorf("grid selectors %q", grids)
	}
}

// A heading is followed by a list.
func TestNoEmptyList(t *testing.T) {
	var b bytes.Buffer
	d := diagnose(cpu(0.3, shares{profile.UserCode: 1}), goroutinesAt(profile.GoroutineSite{Site: send, In: 1, Waiting: 1}))
	if err := d.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if len(d.Operations) != 1 || strings.Contains(b.String(), "Channel operations") {
		t.Errorf("%s", b.String())
	}
}

// A truncated trace is reported.
func TestCutOff(t *testing.T) {
	for _, cut := range []bool{true, false} {
		d := diagnose(woke(profile.Pair{Waker: send, Sleeper: receive, Count: 7}), func(c *profile.Capture) { c.Trace.Truncated = cut })
		said := false
		for _, u := range d.Unknown {
			said = said || strings.Contains(u.What, "the rest of the trace")
		}
		if said != cut {
			t.Errorf("truncated %v: %+v", cut, d.Unknown)
		}
	}
}
