package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// diagnosed parses the doctor's JSON.
func diagnosed(t *testing.T, text string) *diagnosis {
	t.Helper()
	o := new(diagnosis)
	if err := json.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// batchIt is the diagnosis that fits pains.
const batchIt = `{"verdict": "yes", "findings": [
	{"kind": "other", "channels": false, "remedies": []},
	{"kind": "hot", "channels": true, "at": {"op": "range", "function": "main.g"}, "remedies": [
		{"name": "batch", "gain": {"low": 2, "mid": 3.1, "high": 4}}, {"name": "buffer", "gain": {"low": 1, "mid": 1, "high": 1}}]}]}`

func TestJudge(t *testing.T) {
	const healthyOpinion = `{"verdict": "no", "findings": [{"kind": "CPU bound", "channels": false, "remedies": []}]}`
	for name, c := range map[string]struct {
		truth     *Truth
		diagnosis string
		want      Marks
	}{
		"all right":                 {pains(), batchIt, Marks{Right, Unasked, Right, Right, Right}},
		"partly is yes":             {pains(), strings.Replace(batchIt, "yes", "partly", 1), Marks{Right, Unasked, Right, Right, Right}},
		"no":                        {pains(), strings.Replace(batchIt, "yes", "no", 1), Marks{Wrong, Unasked, Right, Right, Right}},
		"unknown is no answer":      {healthy(), strings.Replace(healthyOpinion, `"no"`, `"unknown"`, 1), Marks{Wrong, Right, Unasked, Right, Unasked}},
		"another function":          {pains(), strings.Replace(batchIt, "main.g", "main.h", 1), Marks{Right, Unasked, Wrong, Right, Right}},
		"another operation there":   {pains(), strings.Replace(batchIt, "range", "send", 1), Marks{Right, Unasked, Wrong, Right, Right}},
		"no place":                  {pains(), strings.Replace(batchIt, `"at"`, `"not"`, 1), Marks{Right, Unasked, Wrong, Right, Right}},
		"a tempting remedy":         {pains(), strings.Replace(batchIt, "batch", "buffer", 1), Marks{Right, Unasked, Right, Wrong, Wrong}},
		"too much promised":         {pains(), strings.Replace(batchIt, `"low": 2,`, `"low": 3.05,`, 1), Marks{Right, Unasked, Right, Right, Wrong}},
		"too little promised":       {pains(), strings.Replace(batchIt, `"high": 4}`, `"high": 2.9}`, 1), Marks{Right, Unasked, Right, Right, Wrong}},
		"an unbuilt remedy":         {pains(), strings.Replace(batchIt, "batch", "reboot", 1), Marks{Right, Unasked, Right, Wrong, Unasked}},
		"nothing found":             {pains(), `{"verdict": "idle"}`, Marks{Wrong, Unasked, Wrong, Wrong, Unasked}},
		"healthy":                   {healthy(), healthyOpinion, Marks{Right, Right, Unasked, Right, Unasked}},
		"healthy and idle":          {healthy(), `{"verdict": "idle"}`, Marks{Right, Wrong, Unasked, Right, Unasked}},
		"healthy, found to be sick": {healthy(), batchIt, Marks{Wrong, Wrong, Unasked, Wrong, Unasked}},
	} {
		if got := judge(c.truth, diagnosed(t, c.diagnosis)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The queue in front of a slow stage is a place too, although channels are not
// at fault.
func TestJudgeSlowStage(t *testing.T) {
	slow := pains()
	slow.Scenario.Channels, slow.Scenario.Instead = false, "hot"
	diagnosis := strings.Replace(strings.Replace(batchIt, "yes", "no", 1), `"channels": true`, `"channels": false`, 1)
	if got, want := judge(slow, diagnosed(t, diagnosis)), (Marks{Right, Wrong, Wrong, Right, Right}); got != want {
		t.Errorf("another first finding: %v, want %v", got, want)
	}
	diagnosis = strings.Replace(diagnosis, `{"kind": "other", "channels": false, "remedies": []},`, "", 1)
	if got, want := judge(slow, diagnosed(t, diagnosis)), (Marks{Right, Right, Right, Right, Right}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// The gain is not asked for a leak.
func TestJudgeLeak(t *testing.T) {
	leak := pains()
	leak.Scenario.Leak = true
	for kind, what := range map[string]Mark{"other": Wrong, "leak": Right} {
		diagnosis := strings.Replace(batchIt, `"other"`, `"`+kind+`"`, 1)
		if got, want := judge(leak, diagnosed(t, diagnosis)), (Marks{Right, what, Right, Right, Unasked}); got != want {
			t.Errorf("found to be a %s: %v, want %v", kind, got, want)
		}
	}
	idler := healthy()
	idler.Scenario.Instead = idle
	if got, want := judge(idler, diagnosed(t, `{"verdict": "idle"}`)), (Marks{Right, Right, Unasked, Right, Unasked}); got != want {
		t.Errorf("idle: %v, want %v", got, want)
	}
}

func TestSheet(t *testing.T) {
	s := &sheet{set: set{"some", [...]float64{1, 0, 1, 0.5, 0.5}}}
	s.add(pains(), diagnosed(t, batchIt))
	s.add(pains(), diagnosed(t, strings.Replace(batchIt, "batch", "buffer", 1)))
	s.add(healthy(), diagnosed(t, `{"verdict": "idle"}`))
	if !s.reached() {
		t.Errorf("below the bar with %v of %v", s.right, s.asked)
	}
	other := &sheet{set: set{"another", [...]float64{1, 0, 0, 0, 0}}}
	other.add(pains(), diagnosed(t, `{"verdict": "no"}`))
	write := func() string {
		var out bytes.Buffer
		s.write(&out)
		compareSets(&out, []*sheet{s, other})
		return out.String()
	}
	out := write()
	for _, want := range []string{
		"some set\n",
		"pains              right     -         right     WRONG     WRONG      yes: buffer x3.10 (2.00 to 4.00), measured x1.00\n",
		"healthy            right     WRONG     -         right     -          idle: no change x1.00 (1.00 to 1.00)\n",
		"                some set                another set\n",
		"channels?        3 of  3, bar 100%       0 of  1, bar 100%",
		"what             0 of  1, bar 0%         0 of  0, bar 0%",
		"where            2 of  2, bar 100%       0 of  1, bar 0%",
		"remedy           2 of  3, bar 50%        0 of  1, bar 0%",
		"gain             1 of  2, bar 50%        0 of  0, bar 0%",
		"high over low   2.0 (median)            -\n",
		"                at the bar              BELOW THE BAR",
		`some miss: pains, remedy: suggested "buffer", want batch or shard`,
		"some miss: pains, gain: buffer predicted x2.00 to x4.00, measured x1.00\n",
		`some miss: healthy, what: found "idle", want "CPU bound"`,
		`another miss: pains, channels?: verdict "no", but channels at fault: true`,
		"another miss: pains, where: found nowhere, want send in main.f\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	s.add(healthy(), diagnosed(t, batchIt))
	if out = write(); s.reached() || strings.Count(out, "BELOW THE BAR") != 2 {
		t.Errorf("not below the bar with %v of %v", s.right, s.asked)
	}
}

// A constant answer does not reach the bars.
func TestBars(t *testing.T) {
	for _, always := range []string{batchIt, `{"verdict": "no"}`} {
		s := &sheet{set: heldOutSet}
		for _, truth := range []*Truth{pains(), healthy()} {
			s.add(truth, diagnosed(t, always))
		}
		if s.reached() {
			t.Errorf("%s reaches the bar", always)
		}
	}
}

// An unknown verdict counts as withheld only for a service that is starved of
// CPU.
func TestWithheld(t *testing.T) {
	for text, want := range map[string]bool{
		`{"verdict": "unknown", "shares": {"cpu_starved_goroutines": 0.9}}`:  true,
		`{"verdict": "unknown", "shares": {"cpu_starved_goroutines": null}}`: false,
		`{"verdict": "no", "shares": {"cpu_starved_goroutines": 0.9}}`:       false,
		`{"verdict": "idle"}`: false,
	} {
		if got := diagnosed(t, text).withheld(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
