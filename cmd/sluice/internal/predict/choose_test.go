package predict

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// labSeries has names as in a run of the lab.
func labSeries() []Curve {
	var all []Curve
	for i, name := range []string{
		"CpuScaling/sweep=shapes/work=shapes/n=9/contender=native_P_to_1",
		"CpuScaling/sweep=shapes/work=shapes/n=9/contender=native_P_to_P",
		"CpuScaling/sweep=remedies/work=one-consumer/n=9/contender=native_slices_of_each_sender",
		"CpuScaling/sweep=remedies/work=matched/n=9/contender=native_slices_of_each_sender",
		"CpuScaling/sweep=remedies/work=matched/n=9/contender=sluice.Sharded",
		"CpuScaling/sweep=remedies/work=matched/n=9/contender=native_P_channels_one_each",
	} {
		x := float64(i)
		all = append(all, Curve{Name: name, Machine: "m", Kind: Shared, CPUs: 4, Points: []Point{{1, x, x, x, 1}, {2, 10 * x, x, 10 * x, 1}, {8, x, x, x, 1}}})
	}
	all[5].Points[1].X = 40 // the sluice.Sharded of the same point has 40, too
	all[5].Points[0].X = 3  // and 4
	return all
}

func TestChoose(t *testing.T) {
	all := []Curve{{Name: "a/native"}, {Name: "a/native, select"}, {Name: "b/native"}}
	for part, want := range map[string]string{"b": "b/native", "a/native": "a/native", "select": "a/native, select"} {
		if got, err := Choose(all, part); err != nil || got.Name != want {
			t.Errorf("%q: %q, %v, want %q", part, got.Name, err, want)
		}
	}
	for part, says := range map[string]string{"native": "3 series: choose one", "": "3 series: choose one", "d": `no series has "d" in its name`} {
		if _, err := Choose(all, part); !errors.Is(err, ErrWhich) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "\n  b/native") {
			t.Errorf("%q: error %v, want one that lists all with %q", part, err, says)
		}
	}
	var many []Curve
	for range 25 {
		many = append(many, Curve{Name: "a/native"})
	}
	if _, err := Choose(many, "a"); err == nil || !strings.Contains(err.Error(), "and 17 more") {
		t.Errorf("with 25: %v", err)
	}
	if _, err := Choose(labSeries()[2:], ""); !errors.Is(err, ErrWhich) || !strings.Contains(err.Error(), "sluice lab cpu-scaling measures it; or, of 4 series, choose one") {
		t.Errorf("a run without cpu-scaling: %v", err)
	}
	if one, err := Choose(all[:1], ""); err != nil || one.Name != "a/native" {
		t.Errorf("the only one: %q, %v", one.Name, err)
	}
}

// Without a part of a name, a run of the lab gives the curve of one built-in
// channel, with the remedies of the same work, but not those above the CPUs.
func TestChooseOfTheLab(t *testing.T) {
	all := labSeries()
	got, err := Choose(all, "")
	if err != nil || got.Name != all[1].Name || got.Workload != labWorkload || got.Design != ChannelDesign {
		t.Fatalf("%+v, %v, want %s", got, err, all[1].Name)
	}
	got.Limit(4)
	swept := WithRemedies(all, got)
	if len(swept.Single) != 2 || len(swept.Batches) != 2 || swept.Batches[0].X != 3 {
		t.Errorf("%+v", swept)
	}
	if x := []float64{swept.Lanes[0].X, swept.Lanes[1].X}; !slices.Equal(x, []float64{4, 40}) || len(swept.Lanes) != 2 {
		t.Errorf("lanes %+v, want the best at each count", swept.Lanes)
	}
	if swept := WithRemedies(all, all[0]); len(swept.Batches) == 0 || swept.Batches[0].X != 2 || len(swept.Lanes) != 0 {
		t.Errorf("of one consumer: %+v", swept)
	}
	if swept := WithRemedies(all, all[4]); len(swept.Batches)+len(swept.Lanes) != 0 {
		t.Errorf("of a remedy: %+v", swept)
	}
}

// In a file of curves, separate parts on the same machine are lanes.
func TestChooseOfCurves(t *testing.T) {
	series := func(source, machine string, kind Kind) Curve {
		return Curve{Name: source + machine + string(kind), Source: source, Machine: machine, Kind: kind, Points: []Point{{2, 7, 7, 7, 1}}}
	}
	all := []Curve{series("s", "m", Shared), series("s", "n", Sharded), series("t", "m", Sharded), series("s", "m", Sharded)}
	if got := WithRemedies(all, all[0]); len(got.Lanes) != 1 || len(got.Batches) != 0 {
		t.Errorf("%+v", got)
	}
	if got := WithRemedies(all[:3], all[0]); len(got.Lanes) != 0 {
		t.Errorf("of another machine or source: %+v", got)
	}
}

func TestList(t *testing.T) {
	text := List(labSeries())
	for _, want := range []string{"6 series; * is the one used without -series:\n", "CpuScaling/sweep=shapes/work=shapes/n=9\n  native_P_to_1  (1 2 8)\n* native_P_to_P  (1 2 8)\n", "work=matched/n=9\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the list lacks %q:\n%s", want, text)
		}
	}
	if text := List([]Curve{{Name: "a"}, {Name: "b"}}); text != "2 series:\n  a  ()\n  b  ()\n" {
		t.Errorf("without a default: %q", text)
	}
}

func TestNamed(t *testing.T) {
	all := labSeries()
	if got, err := Named(all, ""); err != nil || len(got) != 2 || got[0].Source != "m" || len(got[0].Points) != 2 || len(got[0].Above) != 1 {
		t.Errorf("the curves of one channel: %+v, %v", got, err)
	}
	if got, err := Named(all, "matched"); err != nil || len(got) != 3 {
		t.Errorf("of matched: %+v, %v", got, err)
	}
	if _, err := Named(all, "none"); !errors.Is(err, ErrWhich) {
		t.Errorf("none: %v", err)
	}
}
