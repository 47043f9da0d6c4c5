package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// TestReduced: points with fewer repetitions than planned are counted on the screen, in the text
// and on the page, and marked in results.json, from which they are restored.
func TestReduced(t *testing.T) {
	r := &Report{Experiments: []Experiment{{Sections: []Section{{Points: []Point{{State: measure.State{Reduced: 3, Finished: true}}, {}}}}}}}
	const says = "1 of 2 measurements have fewer repetitions than planned"
	if !slices.ContainsFunc(r.warnings(), func(w warning) bool { return w.Title == "Reduced" && strings.Contains(w.Text, says) }) {
		t.Errorf("the warnings: %+v", r.warnings())
	}
	if text := screenOf(t, r, format.Screen{Width: format.UsualWidth}); !strings.Contains(words(strings.Join(text, " ")), "Reduced: "+says) {
		t.Errorf("the screen: %s", text)
	}
	stored, err := json.Marshal(r)
	if err != nil || strings.Count(string(stored), `"reduced":3`) != 1 || strings.Count(string(stored), `"reduced"`) != 1 {
		t.Errorf("results.json: %v, %s", err, stored)
	}
	o := measure.Outcome{Point: new(measure.Point)}
	if err := r.Experiments[0].Sections[0].Points[0].restore(&o); err != nil || o.Reduced != 3 {
		t.Errorf("restored: %+v, %v", o, err)
	}
}
