package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

var worker = description{
	Name: "records", Shape: "worker", Half: held, Verdicts: []string{"stage"}, Places: []string{"main.records.*", "main.(*press[...]).run"},
	Right: []string{"more receivers"}, Accept: []string{"cheaper work"}, Built: []string{"buffer"}, Harmful: []string{"mutex"},
}

var (
	fine  = description{Name: "trips", Shape: "fine", Half: held, Verdicts: []string{load}, Built: []string{moreLoad}}
	leaky = description{Name: "folders", Shape: "leak", Half: held, Verdicts: []string{"stuck"}, Places: []string{"main.merge.*"},
		Accept: []string{"cancel or close"}, Built: []string{"cancel or close"}}
)

func newLab() (*lab, *bytes.Buffer) {
	out := new(bytes.Buffer)
	return &lab{stdout: out, services: []description{worker, fine, leaky}, gains: &Gains{map[string]Measured{
		"records": {Gains: map[string]Gain{"more receivers": {Median: 1.8, Low: 1.7, High: 1.9, Rounds: 5}}},
		"trips":   {Gains: map[string]Gain{moreLoad: {Median: 3, Low: 3, High: 3, Rounds: 5}}},
	}}}, out
}

func parse(t *testing.T, text string) *diagnosis {
	t.Helper()
	d := new(diagnosis)
	if err := json.Unmarshal([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	if d.Probability == nil {
		d.Probability = new(float64)
	}
	return d
}

func TestJudge(t *testing.T) {
	const at = `"bottleneck": {"at": {"function": "main.records.func2"}}`
	for _, c := range []struct {
		name      string
		service   description
		diagnosis string
		want      marks
	}{
		{"all right", worker, `{"verdict": "stage", ` + at + `, "remedies": [{"name": "more receivers", "gain": {"low": 1.5, "high": 2}}]}`,
			marks{verdict: right, place: right, remedy: right, gain: right}},
		{"a gain out of its range", worker, `{"verdict": "stage", ` + at + `, "remedies": [{"name": "more receivers", "gain": {"low": 2, "high": 3}}]}`,
			marks{verdict: right, place: right, remedy: right, gain: wrong}},
		{"no range", worker, `{"verdict": "stage", ` + at + `, "remedies": [{"name": "more receivers"}]}`,
			marks{verdict: right, place: right, remedy: right}},
		{"no remedy", worker, `{"verdict": "stage", ` + at + `}`,
			marks{verdict: right, place: right, remedy: abstained}},
		{"a remedy without a measured gain", worker, `{"verdict": "stage", ` + at + `, "remedies": [{"name": "cheaper work", "gain": {"low": 1, "high": 2}}]}`,
			marks{verdict: right, place: right, remedy: right}},
		{"a remedy without effect", worker, `{"verdict": "stage", ` + at + `, "remedies": [{"name": "buffer"}]}`,
			marks{verdict: right, place: right, remedy: wrong}},
		{"the second breaks it", worker, `{"verdict": "stage", ` + at + `, "remedies": [{"name": "more receivers"}, {"name": "mutex"}]}`,
			marks{verdict: right, place: right, remedy: right, harmful: true}},
		{"undecided", worker, `{"verdict": "undecided"}`,
			marks{verdict: abstained, place: abstained, remedy: abstained}},
		{"called idle", worker, `{"verdict": "idle"}`,
			marks{verdict: wrong, place: abstained, remedy: abstained, missed: true}},
		{"another function", worker, `{"verdict": "lock", "bottleneck": {"at": {"function": "main.recordsOther"}}}`,
			marks{verdict: wrong, place: wrong, remedy: abstained}},
		{"a method of a generic type", worker, `{"verdict": "stage", "bottleneck": {"at": {"function": "main.(*press[...]).run"}}}`,
			marks{verdict: right, place: right, remedy: abstained}},
		{"work stands for its caller", worker, `{"verdict": "stage", "bottleneck": {"at": {"function": "main.work", "caller": {"function": "main.records.func1"}}}}`,
			marks{verdict: right, place: right, remedy: abstained}},
		{"fine", fine, `{"verdict": "load", "headroom": 2.5}`,
			marks{verdict: right, remedy: right, headroom: right}},
		{"fine with advice", fine, `{"verdict": "load", "headroom": 9, "remedies": [{"name": "buffer"}]}`,
			marks{verdict: right, remedy: wrong, headroom: wrong}},
		{"a leak beside the load", leaky, `{"verdict": "load", "also": [{"kind": "leak", "at": {"function": "main.merge.func1"}}]}`,
			marks{verdict: right, place: right, remedy: abstained}},
		{"a leak elsewhere", leaky, `{"verdict": "load", "also": [{"kind": "leak", "at": {"function": "main.other"}}]}`,
			marks{verdict: wrong, place: abstained, remedy: abstained}},
		{"a leak that is not seen", leaky, `{"verdict": "idle", "remedies": [{"name": "cancel or close"}]}`,
			marks{verdict: wrong, place: abstained, remedy: right}},
	} {
		l, _ := newLab()
		if got := l.judge(&c.service, parse(t, c.diagnosis)); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestDue checks that each line of the score is seen to be missed.
func TestDue(t *testing.T) {
	good := func() *sheet {
		h := &sheet{half: held, agree: marked{right: 10}}
		h.verdict[right], h.place[right], h.remedy[right], h.gain[right] = 20, 20, 20, 20
		return h
	}
	if h := good(); !h.write(new(bytes.Buffer)) {
		t.Error("a sheet without a mistake is below what is due")
	}
	for name, spoil := range map[string]func(*sheet){
		"verdict: right":   func(h *sheet) { h.verdict[abstained] = 3 },
		"verdict: wrong":   func(h *sheet) { h.verdict[wrong] = 1 },
		"place":            func(h *sheet) { h.place[wrong] = 3 },
		"remedy: wrong":    func(h *sheet) { h.remedy[wrong] = 3 },
		"remedy: few":      func(h *sheet) { h.remedy[abstained] = 7 },
		"gain":             func(h *sheet) { h.gain[wrong] = 6 },
		"harmful remedies": func(h *sheet) { h.harmful = []string{"records"} },
		"called fine":      func(h *sheet) { h.missed = []string{"records"} },
		"agree":            func(h *sheet) { h.agree[right], h.agree[wrong] = 8, 2 },
	} {
		h := good()
		spoil(h)
		if out := new(bytes.Buffer); h.write(out) || !strings.Contains(out.String(), "BELOW") {
			t.Errorf("%s: it is not below what is due:\n%s", name, out)
		}
	}
}

func TestSheet(t *testing.T) {
	l, _ := newLab()
	h := new(sheet)
	a := parse(t, `{"verdict": "stage", "probability": 0.9, "bottleneck": {"at": {"function": "main.records.func2", "line": 7}}, "remedies": [{"name": "more receivers"}]}`)
	b := parse(t, `{"verdict": "idle", "probability": 0.6}`)
	for _, d := range []*diagnosis{a, b} {
		h.add(l, &worker, d, l.judge(&worker, d))
	}
	h.compare(&worker, a, b)
	h.compare(&worker, a, a)
	var out bytes.Buffer
	h.write(&out)
	for _, want := range []string{
		"records        worker            right   right   right   -       stage 0.90 at records.func2:7, more receivers (measured x1.8)",
		"differ: records (stage, \"more receivers\"; idle, \"\")",
		"1 right, 0 none, 1 wrong",
		"called fine or idle although a change gives x1.3: none   1: records",
		"two observations agree: 90%                              1 of 2",
		"0.50 to 0.70: 0.00 of 1; 0.85 to 0.95: 1.00 of 1;",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the sheet lacks %q:\n%s", want, out.String())
		}
	}
}
