package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"flag"
	"fmt"
	"html"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
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
			Answer:   "Yes: each of 13 contenders has a chart, and its family a shape, dashes and a color (2 senders, 1 receiver, GOMAXPROCS 2).",
			Advice:   "Look at the shapes first.",
			Chart:    lab.Chart{Conditions: "2 senders, 1 receiver, GOMAXPROCS 2", Unit: "ns per value", Bars: madeUpBars(6, 100, 1.3)},
			Findings: []string{"The first takes 2.24 (2.20 to 2.25) times as long.", "The second saves 12% ± 3%."},
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
			Sentence: "One value costs 430 ns through an unbuffered channel, 60 ns through a buffered one, and 9 ns by a batch.Sender in batches of 64 (2 senders, 1 receiver, GOMAXPROCS 2).",
			Chart:    lab.Chart{Conditions: "2 senders, 1 receiver, GOMAXPROCS 2", Unit: "ns per value", Bars: madeUpBars(8, 9, 1.8)},
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
		bar := lab.Bar{Label: labels[i], Figure: stat.Summary{N: 9, Median: base, Lo: 0.9 * base, Hi: 1.3 * base, Confidence: 0.96}, Baseline: i == 4}
		if i == n-2 {
			bar.Figure.Hi = 30 * base
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
	page := words(render(t, pretended(true).WritePage))
	for _, want := range []string{
		"What does a made-up channel cost?", "A. Author", "abacus", "Go: 0.1", // the source
		"A made-up channel costs 10 ns &lt;b&gt;.", "What to do.</b> Use it.", // the answer and the advice
		"It costs &lt; nothing.",                                 // the prediction
		"Made-up CPU, 2 usable", "go1.26", "commit 0123456789ab", // the machine
		"A finding of 12% ± 3%", "&lt;b&gt;", // findings, escaped
		"<title>published: 425 ns per operation",                    // published beside measured
		"sluice.Small (too small for &lt;this&gt;)",                 // left out, by name
		"received 9 values of 10",                                   // failed, by name
		"made-up, memory, GOMAXPROCS : all",                         // missing, by name
		"native, 8 slots: 10.3 ns per value, interval 10.0 to 10.6", // intervals
		"ns per value · less is better",                             // the direction
		"Not measured in this run.",
		`<code class="command">sluice lab made-up</code>`, // the command
		"<title>", "prefers-color-scheme: dark", "width=device-width", "@media print",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("the template refused a value")
	}
}

// Each link has a target in the page. Each contender of a sweep has a chart, with an
// accessible label that names it, and a row in a table; where there is one place, the row
// has a strip.
func TestPageIsWhole(t *testing.T) {
	page := render(t, crowded().WritePage)
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+link[1]+`"`) {
			t.Errorf("the link to %s leads nowhere", link[1])
		}
	}
	labels := regexp.MustCompile(`<svg class="chart"[^>]* aria-label="([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(labels) != 13+6 {
		t.Errorf("%d charts, want 13 by GOMAXPROCS and 6 by capacity", len(labels))
	}
	for _, label := range labels {
		name, unit, _ := strings.Cut(html.UnescapeString(label[1]), ": ")
		if !strings.Contains(page, `<th scope="row">`+template.HTMLEscapeString(name)+"</th>") || !strings.Contains(unit, " is better, by ") {
			t.Errorf("the chart of %q, in %q, has no row in a table", name, unit)
		}
	}
	// The overview, the answer, two published figures and the memory of nine contenders,
	// and an axis below each.
	if n, want := strings.Count(page, `<svg class="strip"`), 8+6+2+9+4; n != want {
		t.Errorf("%d strips, want %d", n, want)
	}
	for _, want := range []string{"more is better", "Quick size", "sluice lab crowded -quick", `<th scope="col">128*</th>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	decoder := xml.NewDecoder(strings.NewReader(page[strings.Index(page, "<main>") : strings.Index(page, "</main>")+len("</main>")]))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
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
	if n := strings.Count(first, "<table>"); !found || n != 1 || strings.Count(first, "<h1>") != 1 || strings.Count(first, "<li>") != 1+3 { // with the contents
		t.Errorf("the first screen has %d charts:\n%s", n, first)
	}
	if n := strings.Count(rest, "<table>"); n != 1 || !strings.Contains(rest, "What to do.") {
		t.Errorf("%d charts of the study are visible, or no advice:\n%s", n, rest)
	}
	for _, id := range []string{"crowded-findings", "crowded-rate", "crowded-memory", "crowded-published", "crowded-study"} {
		if !regexp.MustCompile(`</summary>\s*<div class="fold" id="` + id + `">`).MatchString(page) {
			t.Errorf("no folded part has the ID %s", id)
		}
	}
}

// The header names what a reader must know before any figure.
func TestFlags(t *testing.T) {
	for want, change := range map[string]func(*Report){
		"": func(*Report) {},
		"Noisy machine, quick size": func(r *Report) {
			r.Size, r.Sittings = lab.Quick.String(), []Sitting{{Before: &host.Noise{Spread: 0.3}}}
		},
		"Disturbed": func(r *Report) {
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
	for _, want := range []string{"Too little was measured for an answer", "Interrupted", "Not measured in this run."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A noisy machine is named before any figure, and a quiet one is not.
func TestPageOfNoise(t *testing.T) {
	page := render(t, troubledStudies().WritePage)
	loud := strings.Index(page, "Noisy machine, failed, interrupted, resumed, disturbed</a>")
	if loud < 0 || loud > strings.Index(page, "<h1>") {
		t.Error("the first screen does not begin with the noise")
	}
	quiet := render(t, everyStudy(lab.Scale{CPUs: 2}, Machine{CPUs: 2}).WritePage)
	if strings.Contains(quiet, "Noisy machine") {
		t.Error("a quiet machine is called noisy")
	}
	for _, e := range lab.All() {
		if !strings.Contains(quiet, `<a href="#`+e.Name+`"><b>`+e.Topic+"</b>") {
			t.Errorf("the contents lack the topic of %s", e.Name)
		}
	}
}
