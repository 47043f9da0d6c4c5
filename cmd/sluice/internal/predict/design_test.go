package predict

import (
	"slices"
	"testing"
)

func TestGeneration(t *testing.T) {
	for version, want := range map[string]generationOf{
		"Go 1.26.8": sinceSpinbit, "Go 1.24": sinceSpinbit, "go1.25": sinceSpinbit, "Go 1.24 spinbit": sinceSpinbit,
		"spinbit cleaned": sinceSpinbit, "Go tip Nov-2024 spinbit (=1.24)": sinceSpinbit,
		"Go 1.24 nospinbitmutex": beforeSpinbit, "Go 1.19.3": beforeSpinbit, "Go ~1.16": beforeSpinbit, "Go <=1.23 implied": beforeSpinbit,
		"Go 1.8/1.9": beforeSpinbit, "tristate": beforeSpinbit, "Go r59 old mutex": beforeSpinbit, "Go 2011 futex lock": beforeSpinbit,
		"C++": notGo, "Swift": notGo, "OCaml 5.2": notGo, "Kotlin/JVM": notGo, "": notGo,
	} {
		if got := generation(version); got != want {
			t.Errorf("generation(%q) = %d, want %d", version, got, want)
		}
	}
}

func TestArchitecture(t *testing.T) {
	for machine, want := range map[string]string{
		"AWS c6g.metal Graviton2 64 cores": "arm64", "Apple M1 8 cores darwin/arm64": "arm64", "M1 Ultra 18c": "arm64",
		"i7-13700H": "amd64", "2x Xeon E5620 16 HT": "amd64", "AMD EPYC linux/amd64": "amd64", "Ryzen 5950X 16c/32t": "amd64",
		"ppc64le 128 threads": "ppc64le", "8-thread laptop": "", "128-core server": "",
	} {
		if got := (Curve{Machine: machine}).Architecture(); got != want {
			t.Errorf("architecture of %q is %q, want %q", machine, got, want)
		}
	}
}

// A channel has the rank of its lock.
func TestRank(t *testing.T) {
	rank := func(d Design, version string) int { return Curve{Design: d, Version: version}.rank() }
	if rank(ChannelDesign, "Go 1.24") != rank(ShortLock, "") || rank(ChannelDesign, "Go 1.23") != rank(SleepingLock, "") {
		t.Error("a channel does not have the rank of its lock")
	}
	if rank("", "Go 1.24") >= 0 {
		t.Error("no design has a rank")
	}
	if order := Order(); !slices.IsSortedFunc(order, func(a, b Design) int { return rank(a, "") - rank(b, "") }) || len(order) != 5 {
		t.Errorf("order %v", order)
	}
}

func TestScoreOrder(t *testing.T) {
	curve := func(machine string, d Design, xs ...float64) Curve {
		c := Curve{Machine: machine, Design: d}
		for i, x := range xs {
			c.Points = append(c.Points, Point{1 << i, x})
		}
		return c
	}
	curves := []Curve{
		curve("a", RetryLoop, 900, 10, 10, 10),
		curve("a", SeparateParts, 100, 100, 25, 40), // wrong at 1, right at 2 and 8, too close at 4
		curve("b", FetchAndAdd, 1, 1, 1, 1),         // another machine
		curve("a", RetryLoop, 1, 1, 1, 1, 1),        // of the same design as the first: compared with the second only
		curve("a", "", 1e9, 1e9, 1e9),               // without a design
	}
	if got, want := scoreOrder(curves, 0), (OrderScore{Above: 0, Pairs: 7, Right: 6}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := scoreOrder(curves, 2), (OrderScore{Above: 2, Pairs: 3, Right: 3}); got != want || got.Share() != 1 {
		t.Errorf("%+v, want %+v", got, want)
	}
}
