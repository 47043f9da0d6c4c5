package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
	"github.com/sluice-go/sluice/livepage"
)

// onMap adds a map with a bottleneck of the given kind.
func onMap(kind string) part {
	return func(c *profile.Capture) {
		c.Flow = &livepage.Flow{
			Summary: "No channel is full and no receiver waits long: the service keeps up.",
			Stages:  []livepage.Stage{{ID: "r", Name: "read", Function: "main.read"}, {ID: "p", Name: "parse", Function: "main.parse", File: "/x/main.go", Line: 21, Column: 1}, {ID: "c", Name: "count\x1b[2J", Column: 2}},
			Channels: []livepage.FlowChannel{
				{ID: 1, Name: "lines", Fill: new(1.0), Senders: 3}, {ID: 2, Name: "events", Column: 1, Fill: new(0.0), Receivers: 1}, {ID: 3, Name: "errors", Column: 1, DroppedRate: new(80.0)},
			},
			Edges: []livepage.Edge{
				{Stage: "r", Channel: 1, Side: "send"}, {Stage: "p", Channel: 1, Side: "receive"}, {Stage: "p", Channel: 2, Side: "send"}, {Stage: "p", Channel: 3, Side: "send"}, {Stage: "c", Channel: 2, Side: "receive"},
			},
		}
		if kind != "" {
			c.Flow.Bottleneck = &livepage.Bottleneck{Stage: "p", Channel: 1, Kind: kind, Text: "parse is the slowest stage: lines is full, 3 senders wait; events is empty."}
		}
	}
}

// A slow stage on the map is a finding with its functions and channels, unless
// the profiles have found one: then it is evidence, and both together are sure.
func TestMapped(t *testing.T) {
	d := diagnose(append(slices.Clone(idlePool), onMap(slow))...)
	i := slices.IndexFunc(d.Findings, func(f Finding) bool { return f.Kind == Mapped })
	if i < 0 || d.Findings[i].At == nil || d.Findings[i].At.Function != "main.parse" || d.Verdict != No || !strings.Contains(d.Answer, "parse is the slowest stage: lines is full") {
		t.Fatalf("%s %q: %+v", d.Verdict, d.Answer, d.Findings)
	}
	const want = "parse receives from lines (100% full, 3 senders waiting) and sends into events (0% full, 1 receiver waiting) and errors (drops 80/s)"
	if !slices.Contains(d.Findings[i].Evidence, Evidence{want, profile.KindFlow}) {
		t.Errorf("%+v lacks %q", d.Findings[i].Evidence, want)
	}

	for kind, wantEvidence := range map[string]bool{slow: true, "drops": false} {
		f := factsOf(onMap(kind))
		findings := f.mapped([]Finding{{Kind: SlowStage, Confidence: Medium}})
		if has := len(findings[0].Evidence) == 1 && findings[0].Evidence[0].From == profile.KindFlow; has != wantEvidence || (findings[0].Confidence == High) != wantEvidence || len(findings) != 1 {
			t.Errorf("%s: %+v", kind, findings)
		}
	}
}

// Without a bottleneck, the map changes no finding and no verdict.
func TestMapWithoutBottleneck(t *testing.T) {
	for _, service := range [][]part{hotService, pipelineService, idlePool} {
		without, with := diagnose(service...), diagnose(append(slices.Clone(service), onMap(""))...)
		if len(with.Findings) != len(without.Findings) || with.Verdict != without.Verdict || with.Answer != without.Answer+" The map: No channel is full and no receiver waits long: the service keeps up." {
			t.Errorf("%s, %q with the map; %s, %q without", with.Verdict, with.Answer, without.Verdict, without.Answer)
		}
	}
}

// The text and the page have the whole map, without control characters.
func TestMapInForms(t *testing.T) {
	d := diagnose(append(slices.Clone(hotService), onMap(slow))...)
	var text, page bytes.Buffer
	if err := d.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := d.WritePage(&page); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{text.String(), page.String()} {
		if !strings.Contains(form, "parse ─▶ errors drops 80/s") || !strings.Contains(form, `read ─▶ lines ███ 100% ─▶ parse ─▶ events ░ 0% ─▶ count\x1b[2J`) || strings.Contains(form, "\x1b") {
			t.Error(form)
		}
	}
	if !strings.Contains(page.String(), ".answer {") {
		t.Error("the page lacks its style")
	}
}

// The first screen has the answer first, fits, and is readable.
func TestSummary(t *testing.T) {
	crowded := append(slices.Clone(hotService), onMap(slow), func(c *profile.Capture) {
		c.Flow.Bottleneck.Text = strings.Repeat("parse is the slowest stage and needs many words; ", 6)
	})
	for name, d := range map[string]*Diagnosis{
		"hot": diagnose(hotService...), "pipeline": diagnose(pipelineService...), "idle": diagnose(idlePool...),
		"mapped": diagnose(append(slices.Clone(pipelineService), onMap(slow))...), "nothing": diagnose(), "crowded": diagnose(crowded...),
	} {
		var b bytes.Buffer
		if err := d.WriteSummary(&b); err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(b.String()), " ")
		if !strings.HasPrefix(flat, d.Answer) || strings.Count(b.String(), "\n") > screenLines {
			t.Errorf("%s: %d lines\n%s", name, strings.Count(b.String(), "\n"), &b)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > textWidth {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		path := filepath.Join("testdata", "summary-"+name+".txt")
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s differs, %v (rewrite it with -update):\n%s", path, err, &b)
		}
	}
}
