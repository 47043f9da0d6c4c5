package main

import (
	"path/filepath"
	"slices"
	"testing"
)

// The doctor suggests no remedy that would break the service, in any finding of
// any capture.
func TestNoHarm(t *testing.T) {
	programs, _ := scenariosOf(t)
	dirs, err := fixtures("testdata")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, dir := range dirs {
		truth, err := readTruth(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(truth.Scenario.Harmful) == 0 {
			continue
		}
		captures, err := filepath.Glob(filepath.Join(dir, "*", "capture.json"))
		if err != nil || len(captures) == 0 {
			t.Fatalf("%s has no captures, %v", dir, err)
		}
		for _, name := range captures {
			o, err := ask(t.Context(), programs.doctor, filepath.Dir(name))
			if err != nil {
				t.Fatal(err)
			}
			asked++
			for _, harmful := range harm(&truth.Scenario, o) {
				t.Errorf("%s: %s is suggested, which would break the service", filepath.Dir(name), harmful)
			}
		}
	}
	if asked < 7 {
		t.Errorf("%d captures of services that a remedy would break", asked)
	}
}

// harm returns the suggested remedies that would break the service.
func harm(p *scenario, o *diagnosis) (names []string) {
	for _, f := range o.Findings {
		for _, r := range f.Remedies {
			if slices.Contains(p.Harmful, r.Name) {
				names = append(names, r.Name)
			}
		}
	}
	return names
}

func TestHarm(t *testing.T) {
	o := &diagnosis{Findings: []finding{{Remedies: []remedy{{Name: "batch"}}}, {Remedies: []remedy{{Name: "buffer"}, {Name: "mutex"}}}}}
	if got := harm(&scenario{Harmful: []string{"buffer", "shard"}}, o); !slices.Equal(got, []string{"buffer"}) {
		t.Errorf("harmful: %v", got)
	}
}
