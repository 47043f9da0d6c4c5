package doctor

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// goker is what is missing in the blocking bugs that ship with the tests of the runtime
// (runtime/testdata/testgoroutineleakprofile/goker), by the comments in the programs and
// their README.md. Several words: the bug can be seen as either.
var goker = map[string]string{
	"Cockroach10214": "lock order", "Cockroach1055": "done", "Cockroach10790": "sender", "Cockroach13197": "cancel",
	"Cockroach13755": "cancel", "Cockroach1462": "receiver", "Cockroach16167": "unlock", "Cockroach18101": "receiver",
	"Cockroach2448": "receiver", "Cockroach24808": "receiver", "Cockroach25456": "close", "Cockroach35073": "receiver",
	"Cockroach35931": "receiver", "Cockroach3710": "unlock", "Cockroach584": "unlock", "Cockroach6181": "unlock",
	"Cockroach7504": "lock order", "Cockroach9935": "unlock", "Etcd10492": "unlock", "Etcd5509": "unlock",
	"Etcd6708": "unlock", "Etcd6857": "receiver", "Etcd6873": "close", "Etcd7492": "receiver", "Etcd7902": "close",
	"Grpc1275": "sender", "Grpc1424": "close", "Grpc1460": "sender", "Grpc3017": "unlock", "Grpc660": "receiver",
	"Grpc795": "unlock", "Grpc862": "cancel", "Hugo3251": "lock order", "Hugo5379": "unlock", "Istio16224": "receiver",
	"Istio17860": "receiver", "Istio18454": "sender, receiver", "Kubernetes10182": "receiver", "Kubernetes11298": "signal",
	"Kubernetes13135": "lock order", "Kubernetes1321": "receiver", "Kubernetes25331": "receiver", "Kubernetes26980": "sender",
	"Kubernetes30872": "lock order", "Kubernetes38669": "receiver", "Kubernetes5316": "receiver",
	"Kubernetes58107": "signal, unlock", "Kubernetes62464": "unlock", "Kubernetes6632": "receiver", "Kubernetes70277": "close",
	"Moby17176": "unlock", "Moby21233": "receiver", "Moby25348": "done", "Moby27782": "signal, receiver",
	"Moby28462": "receiver", "Moby30408": "signal", "Moby33781": "receiver", "Moby36114": "unlock", "Moby4951": "lock order",
	"Moby7559": "unlock", "Serving2137": "receiver, slot", "Syncthing4829": "unlock", "Syncthing5795": "close",
}

// TestGoKer names the line of the leak and what is missing there, from the leak profile
// and from two dumps that do not have what the collector found.
func TestGoKer(t *testing.T) {
	programs := capturesOf(t, "goker")
	happened, proved, named, missing := 0, 0, 0, 0
	for name, want := range goker {
		p := programs[name]
		if p == nil {
			p = &program{}
		}
		truth := observationOf(t, readFiles(t, p.profile()))
		byProfile := mostSure(stuck(truth))
		if byProfile == nil {
			t.Log(name, "did not happen")
			continue
		}
		happened++
		if leaksAt(truth, byProfile) {
			proved++
		}
		byDumps := mostSure(stuck(observationOf(t, readFiles(t, p.dumps()))))
		if byDumps == nil {
			t.Logf("%s: two dumps: nothing; missing: %s", name, want)
			continue
		}
		if leaksAt(truth, byDumps) {
			named++
		} else {
			t.Logf("%s: not a place of the leak: %s", name, byDumps.Text)
		}
		if slices.Contains(strings.Split(want, ", "), byDumps.Missing) {
			missing++
		} else {
			t.Logf("%s: missing: %q, not %q: %s", name, byDumps.Missing, want, byDumps.Text)
		}
	}
	t.Logf("of %d bugs, %d happened. The leaking line is named with the leak profile: %d; from two dumps: %d; what is missing: %d",
		len(goker), happened, proved, named, missing)
	rare := len(goker) - happened // the scheduler decides
	if rare > 3 || proved < 60-rare || named < 45-rare || missing < 45-rare {
		t.Error("too few: 60, 45 and 45 are due")
	}
}

// TestHealthy calls nothing stuck in programs that are at rest, at work, or as fast as
// their slowest part.
func TestHealthy(t *testing.T) {
	programs := capturesOf(t, "healthy")
	if len(programs) < 34 {
		t.Errorf("%d programs, and 34 are due", len(programs))
	}
	for name, p := range programs {
		for _, files := range [][]capture.File{p.dumps(), p.dumps()[1:]} {
			if b := mostSure(stuck(observationOf(t, readFiles(t, files)))); b != nil {
				t.Errorf("%s: %d dumps: %.2f %s: %s %+v", name, len(files), b.Probability, b.Kind, b.Text, b.At)
			}
		}
	}
}

// mostSure returns the blockage that the doctor would name, or nil.
func mostSure(all []blockage) *blockage {
	if len(all) == 0 || all[0].Probability < sure {
		return nil
	}
	return &all[0]
}

// leaksAt reports whether goroutines at the place of b are leaked.
func leaksAt(truth *observe.Observation, b *blockage) bool {
	return slices.ContainsFunc(truth.Stood, func(r observe.Standing) bool {
		return r.At.Function == b.At.Function && r.At.Line == b.At.Line
	})
}

func readFiles(t *testing.T, files []capture.File) *capture.Capture {
	c, err := capture.Read(nil, files)
	if err != nil {
		t.Error(err)
		return &capture.Capture{}
	}
	return c
}

func observationOf(t *testing.T, c *capture.Capture) *observe.Observation {
	o, err := observe.Of(c)
	if err != nil {
		t.Log(err) // nothing leaked, for one
		return &observe.Observation{}
	}
	return o
}
