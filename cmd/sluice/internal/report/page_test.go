package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"flag"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// crowded is a report of made-up figures with everything that is hard to draw:
// many contenders with long names, rates, outliers, oversubscribed places,
// failures and gaps.
func crowded() *Report {
	contenders := []lab.ContenderID{
		"native, unbuffered", "native, 1024 slots", "native, N slots", "native, time.After in a select",
		"published, simple", "published, flushing", "published, several channels by the clock's nanoseconds",
		"sluice.Rendezvous", "sluice.Bounded, 1024 slots", "sluice.Elastic", "sluice.Elastic, batches", "sluice.Sharded", "sluice.Sharded, lanes and batches",
	}
	e := Experiment{
		Study: lab.Study{
			Name: "crowded", Title: "Are many contenders distinct?", Prediction: "Yes: by shape, dashes and color.",
			Source:      lab.Source{Author: "A. Author", Title: "Nothing", Year: 2001, Machine: "abacus", Go: "0.1"},
			Notes:       []string{"All figures are made up."},
			PublishedIn: lab.PerOperation,
		},
		Conclusion: lab.Conclusion{
			Answer:   "Yes: 13 contenders are distinct in charts of at most seven, by shape, dashes and color (2 senders, 1 receiver, GOMAXPROCS=2).",
			Advice:   "Look at the shapes first. Where two lines of one family cross, follow the marks.",
			Chart:    lab.Chart{Conditions: "2 senders, 1 receiver, GOMAXPROCS=2", Unit: "ns per value", Bars: madeUpBars(6, 100, 1.3)},
			Findings: []string{"The first takes 2.24 (2.20 to 2.25) times as long.", "The second saves 12% ± 3%."},
			Tables: []lab.Table{{Title: "The smallest job", Text: "Interpolated.", Head: []string{"by", "job"},
				Rows: [][]string{{"native, unbuffered", "16 µs"}, {"sluice.Elastic", "2 µs"}}}},
		},
	}
	rate := Section{Sweep: lab.Sweep{Name: "rate", Title: "By GOMAXPROCS", Text: "Values go through.", Axis: "GOMAXPROCS", Measures: []lab.Measure{lab.Throughput}}}
	for i, procs := range []int{1, 2, 4, 64, 128} {
		rate.Points = append(rate.Points, crowd13(contenders, "", fmt.Sprint(procs), procs, 40+16*float64(i*i)))
	}
	rate.Points[4].Entries[3] = Entry{Result: measure.Result{Contender: contenders[3]}, Error: "received 9 values of 10"}
	cost := Section{Sweep: lab.Sweep{Name: "cost", Title: "By capacity", Text: "The same, slower.", Axis: "capacity, in values", Measures: []lab.Measure{lab.PerValue}}}
	for i, capacity := range []string{"0", "1", "1000", "1 000 000", "10 000 000"} {
		cost.Points = append(cost.Points, crowd13(contenders[3:9], "one way", capacity, 2, 150-30*float64(i)))
	}
	memory := Section{Sweep: lab.Sweep{Name: "memory", Title: "Memory", Text: "Held.", Measures: []lab.Measure{lab.PerOperation}}}
	memory.Points = append(memory.Points, crowd13(contenders[4:], "at the peak, while all producers send and no consumer receives", "", 2, 12))
	e.Sections = []Section{rate, cost, memory}
	summary := stat.Summarize([]float64{95, 96, 97, 98, 99, 100, 101})
	for i, column := range []string{"capacity 0", "capacity 10, of a request and its response"} {
		published := lab.Published{Row: "(a) one way, 1 CPU", Column: column, Value: 425 / float64(1+9*i), Contender: contenders[5*i], Ours: "sluice.Elastic"}
		e.Beside = append(e.Beside, Beside{Published: published, Measured: &summary})
	}
	e.Beside[1].OursTakes = &summary
	return &Report{
		Schema: Schema, Machine: Machine{CPU: "Made-up CPU", CPUs: 2, OS: "linux", Arch: "amd64", Go: "go1.26", Version: "commit 0123456789ab"},
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: Duration(61 * time.Second), Size: lab.Quick.String(),
		Overview: lab.Overview{
			Sentence: "One value costs 430 ns through an unbuffered channel, 60 ns through a buffered one, and 9 ns by a batch.Sender in batches of 64 (2 senders, 1 receiver, GOMAXPROCS=2).",
			Chart:    lab.Chart{Conditions: "2 senders, 1 receiver, GOMAXPROCS=2", Unit: "ns per value", Bars: madeUpBars(8, 9, 1.8)},
			Answers: []string{
				"Batches carry the most: 6.5 times as many values as single sends (batch.Sender of 64, 9 ns instead of 60 ns; 2 senders, 1 receiver, GOMAXPROCS=2). Send batches wherever a value may wait a moment.",
				"A buffer makes a built-in channel 4.2 times as fast: 272 ns through an unbuffered channel, 64 ns with 1024 slots (1 sender, 1 receiver, GOMAXPROCS=2). Give a busy channel a buffer, unless the sender must wait for the receiver.",
				"For single values, sluice.Bounded carries 3.7 times what one built-in channel carries (16 ns instead of 60 ns; 2 senders, 1 receiver, GOMAXPROCS=2). Use it for a channel that holds the program back.",
				"A select with time.After for each send costs 12 times the send (2 senders, 1 receiver, GOMAXPROCS=2). Set one deadline for many sends, such as a context's.",
			},
		},
		Interrupted: true, Missing: []string{"crowded, By capacity: all"}, Failures: []string{"crowded: received 9 values of 10"},
		Experiments: []Experiment{e},
	}
}

// madeUpBars returns n bars, each times as long as the one before. The interval of
// the last but one is too wide.
func madeUpBars(n int, base, times float64) []lab.Bar {
	labels := []string{"batch.Sender of 64", "chan of slices of 64", "sluice.Bounded", "sluice.Elastic", "chan, 4096 slots",
		"goroutine and 2 chans", "sluice.Sharded, lane each", "chan, unbuffered"}
	var bars []lab.Bar
	for i := range n {
		bar := lab.Bar{Label: labels[i], Figure: stat.Summary{N: 9, Median: base, Lo: 0.9 * base, Hi: 1.3 * base, Confidence: 0.96}, Baseline: i == 4, Known: true}
		if i == n-2 {
			bar.Figure.Hi, bar.Known = 30*base, false
		}
		bars, base = append(bars, bar), base*times
	}
	return bars
}

// crowd13 is a point with nine repetitions per contender. The i-th contender
// takes base times 1 + i/3. The last repetition is an outlier; every third
// contender's is far away.
func crowd13(contenders []lab.ContenderID, panel, x string, procs int, base float64) Point {
	point := Point{Setting: measure.Setting{Procs: procs}, Panel: panel, X: x, Oversubscribed: procs > 2}
	for i, contender := range contenders {
		entry := Entry{Result: measure.Result{Contender: contender}, Summaries: make(map[string]stat.Summary)}
		var samples []float64
		for round := range 9 {
			ns := base * (1 + float64(i)/3) * (1 + 0.01*float64(round))
			if round == 8 {
				ns *= []float64{1.2, 1.3, 30}[i%3]
			}
			samples = append(samples, ns)
			entry.Repetitions = append(entry.Repetitions, measure.Repetition{Ops: 1000, Figures: []measure.Figure{{Unit: measure.NsPerOp, Value: ns}}})
		}
		entry.Summaries[measure.NsPerOp] = stat.Summarize(samples)
		point.Entries = append(point.Entries, entry)
	}
	return point
}

// pageFile is the file in which tools/page, the checks in a browser, gets a
// page that is always the same.
var pageFile = flag.String("page", "", "write the made-up page to this file")

func TestPageToFile(t *testing.T) {
	path := *pageFile
	if path == "" {
		path = filepath.Join(t.TempDir(), PageFile)
	}
	if err := Replace(path, crowded().WritePage); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != render(t, crowded().WritePage) {
		t.Errorf("%s is not the page: %v", path, err)
	}
}

// The policy allows exactly the style in the page.
func TestPolicyAllowsTheStyle(t *testing.T) {
	page := render(t, crowded().WritePage)
	_, rest, _ := strings.Cut(page, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	want := "style-src &#39;sha256-" + strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;") + "&#39;"
	if !strings.Contains(page, want) {
		t.Errorf("the policy lacks %s", want)
	}
	if strings.Contains(page, " style=") {
		t.Error("the policy forbids style attributes, and there are some")
	}
}

func TestPage(t *testing.T) {
	page := render(t, pretended(true).WritePage)
	for _, want := range []string{
		"What does a made-up channel cost?", "A. Author", "abacus", "Go: 0.1", // the source
		"A made-up channel costs 10\u00a0ns &lt;b&gt;.", "What to do.</b> Use it.", // the answer and the advice
		`aria-label="1 sender: ns per value; chan 10 ns; sluice.Kind not known"`, // the chart of the answer, in words
		"Too little was measured for a summary.",
		"It costs &lt; nothing.",                                 // the prediction
		"Made-up CPU, 2 usable", "go1.26", "commit 0123456789ab", // the machine
		"A finding of 12%\u00a0±\u00a03%", "&lt;b&gt;", // findings, escaped
		"By division.", `<th scope="row">small</th><td>1 µs</td>`, // derived
		"published: 425 ", // published beside measured
		"oversubscribed",  // in the chart
		"sluice.Small (too small for &lt;this&gt;)",                 // left out, by name
		"received 9 values of 10",                                   // failed, by name
		"made-up, memory, GOMAXPROCS : all",                         // missing, by name
		"native, 8 slots: 10.3 ns per value, interval 10.0 to 10.6", // intervals
		"ns per value · less is better",                             // the direction
		`<code class="command">sluice lab made-up</code>`,           // the command
		"<title>", "prefers-color-scheme: dark", "width=device-width", "@media print",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("the template refused a value")
	}
	if n := len(chartsOf(page)); n != 3 || !strings.Contains(page, "Not measured in this run.") { // the answer, published, by GOMAXPROCS
		t.Errorf("%d charts, want 3, and a word on the section that was not measured", n)
	}
	if n := len(chartsOf(render(t, pretended(false).WritePage))); n != 5 { // two of memory besides
		t.Errorf("%d charts of the whole run, want 5", n)
	}
}

func chartsOf(page string) []string {
	return regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1)
}

// Each link has a target in the page, and each chart is XML with an accessible
// label and a table below it.
func TestPageIsWhole(t *testing.T) {
	page := render(t, crowded().WritePage)
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+link[1]+`"`) {
			t.Errorf("the link to %s leads nowhere", link[1])
		}
	}
	charts := chartsOf(page)
	for _, title := range []string{">Built-in channels</text>", ">Published remedies</text>", ">Sluice</text>", ">One way</text>"} {
		if !strings.Contains(page, title) {
			t.Errorf("no chart has the title %s", title)
		}
	}
	if len(charts) != 8 { // overview, answer, published, three for the crowd, capacity, memory
		t.Errorf("%d charts, want 8", len(charts))
	}
	for _, chart := range charts {
		var drawing struct {
			Label string `xml:"aria-label,attr"`
		}
		if err := xml.Unmarshal([]byte(chart), &drawing); err != nil || drawing.Label == "" {
			t.Errorf("chart %q: %v", drawing.Label, err)
		}
	}
	if tables := strings.Count(page, "<table>"); tables != 5 { // three sections, published, derived
		t.Errorf("%d tables, want 5", tables)
	}
	for _, want := range []string{"more is better", "Quick size", "At 3 points of 11 GOMAXPROCS exceeds", "sluice lab crowded -quick"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// The first screen has one sentence, one chart and the answers; of each study,
// only the answer, its chart and the advice are visible, and every folded part is
// the target of a link.
func TestPageFolds(t *testing.T) {
	page := render(t, crowded().WritePage)
	visible := regexp.MustCompile(`(?s)<details>.*?</details>`).ReplaceAllString(page, "")
	first, rest, found := strings.Cut(visible, `class="study"`)
	if n := len(chartsOf(first)); !found || n != 1 || strings.Count(first, "<h1>") != 1 || strings.Count(first, "<li>") != 4+3 { // with the contents
		t.Errorf("the first screen has %d charts:\n%s", n, first)
	}
	if n := len(chartsOf(rest)); n != 1 || strings.Contains(rest, "<table>") || !strings.Contains(rest, "What to do.") {
		t.Errorf("%d charts of the study are visible, or a table, or no advice:\n%s", n, rest)
	}
	for _, id := range []string{"crowded-findings", "crowded-derived-0", "crowded-rate", "crowded-memory", "crowded-published", "crowded-study"} {
		if !regexp.MustCompile(`</summary>\s*<div class="fold" id="` + id + `">`).MatchString(page) {
			t.Errorf("no folded part has the ID %s", id)
		}
	}
}

// The header names what a reader must know before any figure.
func TestFlags(t *testing.T) {
	for want, change := range map[string]func(*Report){
		"": func(*Report) {},
		"noisy machine: a fixed loop varied by 30%, short run: rough figures": func(r *Report) {
			r.Size, r.Sittings = lab.Quick.String(), []Sitting{{Before: &host.Noise{Spread: 0.3}}}
		},
		" disturbed: run again when idle": func(r *Report) {
			r.eachPoint(func(_ *Experiment, p *Point) { p.Disturbed = []string{"other processes took 40% of the CPU time"} })
		},
	} {
		r := pretended(false)
		r.Failures = nil
		change(r)
		page := render(t, r.WritePage)
		if has := strings.Contains(page, `<a class="flag" href="#run">`); has != (want != "") || !strings.Contains(page, want+"</a>") && has {
			t.Errorf("no flag %q in the header", want)
		}
	}
}

// A report without any figure has a page.
func TestPageOfNothing(t *testing.T) {
	r := &Report{Interrupted: true, Experiments: []Experiment{{Study: lab.Study{Name: "none"}, Sections: []Section{{Sweep: lab.Sweep{Title: "S"}}}}}}
	var b bytes.Buffer
	if err := r.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Too little was measured", "Interrupted", "Not measured in this run."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Every contender of a crowd is named in at least one chart, and no chart has
// more than mostSeries names.
func TestGroups(t *testing.T) {
	names := slices.Concat(numbered("native", 6), numbered("sluice", 17), numbered("published", 17))
	for n := range len(names) + 1 {
		seen := make(map[lab.ContenderID]bool)
		all := groups(names[:n])
		for _, g := range all {
			if len(g.members) > mostSeries || (len(all) > 1) != (g.title != "") {
				t.Errorf("of %d contenders a chart %q has %d", n, g.title, len(g.members))
			}
			for _, name := range g.members {
				seen[name] = true
			}
		}
		if len(seen) != n {
			t.Errorf("of %d contenders %d are named", n, len(seen))
		}
	}
	var titles []string
	for _, g := range groups(slices.Concat(names[:6], numbered("published", 10), numbered("sluice", 3))) {
		titles = append(titles, g.title)
	}
	want := []string{"built-in channels", "published remedies, part 1 of 2", "published remedies, part 2 of 2", "sluice"}
	if !slices.Equal(titles, want) {
		t.Errorf("charts %q, want %q", titles, want)
	}
}

func numbered(name string, n int) (names []lab.ContenderID) {
	for i := range n {
		names = append(names, lab.ContenderID(fmt.Sprint(name, " ", i)))
	}
	return names
}

// A noisy machine is named before any figure, and a quiet one is not.
func TestPageOfNoise(t *testing.T) {
	page := render(t, troubledStudies().WritePage)
	loud := strings.Index(page, "noisy machine: a fixed loop varied by 34%, failed, interrupted, 211 of 211 measurements disturbed: run again when idle</a>")
	if loud < 0 || loud > strings.Index(page, "<h1>") {
		t.Error("the first screen does not begin with the noise")
	}
	quiet := render(t, everyStudy(lab.Scale{CPUs: 2}, Machine{CPUs: 2}).WritePage)
	if strings.Contains(quiet, "noisy machine") {
		t.Error("a quiet machine is called noisy")
	}
	for _, want := range []string{"sluice</span>", "95% interval", "chan, 4096 slots, for comparison</span>"} {
		if !strings.Contains(quiet, want) {
			t.Errorf("the legend lacks %q", want)
		}
	}
	for _, name := range lab.Names() {
		if !strings.Contains(quiet, `<a href="#`+name+`"><b>`+lab.Topic(name)+"</b>") || lab.Topic(name) == name {
			t.Errorf("the contents lack the topic of %s", name)
		}
	}
}

// The legend of charts has what is drawn in them, and nothing else.
func TestKey(t *testing.T) {
	const lines, dots = `<g class="series s3">`, `<g class="n0">`
	for drawn, want := range map[string]string{
		"":    "",
		lines: "soft ● sluice",
		dots:  "n0 ■ built-in channels",
		lines + dots + `class="each" class="beyond"`:                                "soft ■ built-in channels, soft ● sluice, soft · one repetition, soft › one far off the scale",
		`<g class="o0"><line x1="1" class="whisker range"/><path class="whisker"/>`: "o0 ◇ no channel, soft ├┄┤ range of few repetitions",
		`<g class="p1"><line x1="1" class="whisker"/>`:                              "p0 ▲ published remedies, soft ├┤ 95% interval",
	} {
		var got []string
		for _, f := range key(template.HTML(drawn)) {
			got = append(got, f.Class+" "+f.Sign+" "+f.Name)
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("the key of %s is %q, want %q", drawn, text, want)
		}
	}
}
