package predict

import (
	"bytes"
	"fmt"
	"testing"
)

func TestBound(t *testing.T) {
	f := NewForecast([]Count{{1, 10, 9, 12, 9}, {2, 30, 28, 32, 9}, {4, 20, 18, 22, 9}}, oneCache, testBand)
	if got := f.Bound(8); got.X != 8*16 || got.Why != "8 CPUs times 16.0/s, the best rate of one CPU" {
		t.Errorf("%+v, want 8 times half of 32", got)
	}
	lanes := []Count{{1, 99, 99, 99, 9}, {2, 8, 8, 8, 9}}
	if got := f.laneBound(8, lanes); got.X != 8*4 {
		t.Errorf("%+v, want 8 times half of 8", got)
	}
	if got := f.laneBound(8, lanes[:1]); got != f.Bound(8) {
		t.Errorf("lanes on one CPU alone: %+v", got)
	}
}

// A value took 9.5 ns of one CPU in a batch, but less on four, which counts.
func TestBatchBoundOfMeasured(t *testing.T) {
	f := NewForecast([]Count{{1, 1e9 / 32, 1e9 / 32, 1e9 / 32, 9}}, oneCache, testBand)
	batches := []Count{{1, 1e8, 1e8, 1e8, 9}, {4, 9e8, 8e8, 1e9, 9}}
	if got := f.batchBound(8, batches[:1]); !closeTo(got.X, 8*1e9/9.5, 1e-9) {
		t.Errorf("%+v, want 8 CPUs at 9.5 ns", got)
	}
	if got := f.batchBound(8, batches); got.X != 2e9 {
		t.Errorf("%+v, want twice what 4 CPUs carried", got)
	}
}

// Without bands, a figure is at most what its CPUs can do.
func TestBoundOfBands(t *testing.T) {
	f := NewForecast(exactly(Law{2e7, 0.3, 0.01}, 1, 2, 4), oneCache, Bands{})
	got, err := f.At(8)
	if want := 8 * 1.02 * 2e7; err != nil || got.Lo != 0 || !closeTo(got.Hi, want, 1e-6) {
		t.Errorf("%+v, %v, want a band up to %v", got, err, want)
	}
}

// beyond returns the figures and ceilings of a report that are above a bound:
// the CPUs times the best measured rate of one. Lanes and batches have their
// own, which is the same if the source measured none.
func beyond(q Question, r *Report) (found []string) {
	f := NewForecast(q.Swept.Single, q.Limits, r.Bands)
	check := func(what string, figure Figure, bound Bound) {
		const rounding = 1 + 1e-9
		if !(figure.Lo <= figure.X*rounding && figure.X <= figure.Hi*rounding && figure.Hi <= bound.X*rounding) {
			found = append(found, fmt.Sprintf("%s: %+v, bound %+v", what, figure, bound))
		}
	}
	for _, figure := range append(r.Figures, r.Peak.Figure) {
		check("one channel", figure, f.Bound(figure.CPUs))
	}
	for _, c := range r.Ceilings.Lanes {
		check(fmt.Sprint(c.Parts, " lanes"), c.Figure, f.laneBound(r.Ceilings.CPUs, q.Swept.Lanes))
		if best, ok := countAt(q.Swept.Lanes, r.Ceilings.CPUs); ok && c.X > 1.000001*best.Hi && c.Parts == r.Ceilings.CPUs {
			found = append(found, fmt.Sprintf("%d lanes: %v, and the source measured %+v", c.Parts, c.X, best))
		}
	}
	for _, c := range r.Ceilings.Batches {
		check(fmt.Sprint("batches of ", c.Parts), c.Figure, f.batchBound(r.Ceilings.CPUs, q.Swept.Batches))
	}
	return found
}

// questions returns a question about each beginning of a curve, up to four
// times its CPUs.
func questions(all []Series, chosen Series) (questions []Question) {
	for known := 1; known <= len(chosen.Counts); known++ {
		largest := chosen.Counts[known-1].Procs
		flat := Topology{CPUs: largest, LLC: Far * largest, Socket: Far * largest}
		for _, times := range []int{1, Near, Far} {
			target := flat
			target.CPUs = times * largest
			q := Question{Curve: chosen.Curve, Swept: WithRemedies(all, chosen), Limits: Limits{flat, target}, Published: Published()}
			q.Swept.Single = chosen.Counts[:known]
			questions = append(questions, q)
		}
	}
	return questions
}

// No published curve, of any length, has a prediction or a ceiling above what
// the CPUs can do.
func TestNothingBeyondTheHardware(t *testing.T) {
	all, skipped, err := ReadSeries(bytes.NewReader(publishedFile), "published.csv")
	if err != nil || len(skipped) > 0 {
		t.Fatal(err, skipped)
	}
	asked, lanes := 0, 0
	bands := Calibrate(Published())
	for _, s := range all {
		for _, q := range questions(all, s) {
			r := &Report{Bands: bands}
			f := NewForecast(q.Swept.Single, q.Limits, bands)
			target := q.Limits.Target.CPUs
			r.Peak = f.Peak(target)
			r.figures(f, target)
			r.Swept = q.Swept
			r.ceilings(f, min(target, f.Reach()), q.Published)
			for _, wrong := range beyond(q, r) {
				t.Errorf("%s, %d counts: %s", s.Name, len(q.Swept.Single), wrong)
			}
			asked++
			lanes += len(r.Ceilings.Lanes)
		}
	}
	if asked < 1000 || lanes < 1000 {
		t.Errorf("%d questions with %d ceilings", asked, lanes)
	}
}

// The check of that test notices each kind of figure.
func TestBeyondNotices(t *testing.T) {
	q := asked(Law{2e7, 0.5, 0}, 16, 1, 2, 4, 8)
	q.Swept.Batches = []Count{{1, 3e8, 3e8, 3e8, 9}, {8, 5e8, 5e8, 5e8, 9}}
	q.Swept.Lanes = []Count{{8, 2e7, 2e7, 2e7, 9}}
	if wrong := beyond(q, NewReport(q)); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	for name, plant := range map[string]func(*Report){
		"a figure": func(r *Report) { r.Figures[4].Hi = 17 * 2e7 * 1.02 },
		"lanes":    func(r *Report) { r.Ceilings.Lanes[0].Hi = 17 * 2e7 / 8 },
		"batches":  func(r *Report) { r.Ceilings.Batches[2].X *= 100 },
	} {
		r := NewReport(q)
		plant(r)
		if len(beyond(q, r)) == 0 {
			t.Errorf("%s above the hardware was not noticed", name)
		}
	}
}
