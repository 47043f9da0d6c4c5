package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// entry is a median in results.json, at a point with labels "key=value".
func entry(experiment string, section lab.SectionID, labels string, procs int, oversubscribed bool, contender lab.ContenderID, ns float64) string {
	var list []string
	for label := range strings.FieldsSeq(labels) {
		key, value, _ := strings.Cut(label, "=")
		list = append(list, fmt.Sprintf(`{"key":%q,"value":%q}`, key, value))
	}
	return fmt.Sprintf(`{"name":%q,"sections":[{"name":%q,"points":[{"labels":[%s],"gomaxprocs":%d,"oversubscribed":%v,
		"entries":[{"contender":%q,"summaries":{"ns/op":{"median":%v}}}]}]}]}`,
		experiment, section, strings.Join(list, ","), procs, oversubscribed, contender, ns)
}

func results(experiments ...string) string {
	return `{"schema":2,"tool":"sluice lab","machine":{"cpu":"Z80","cpus":4,"goos":"linux","goarch":"amd64","go":"go1.27"},"experiments":[` +
		strings.Join(experiments, ",") + `]}`
}

// TestPrices: each price comes from its place, at the last point that is not
// oversubscribed.
func TestPrices(t *testing.T) {
	p, err := parsePrices(strings.NewReader(results(
		entry(lab.DirectSend, lab.SectionOneWay, "capacity=0", 2, false, lab.Native, 100),
		entry(lab.DirectSend, lab.SectionOneWay, "capacity=0", 4, false, lab.Native, 101),
		entry(lab.DirectSend, lab.SectionOneWay, "capacity=1", 4, false, lab.Native, 999),
		entry(lab.DirectSend, lab.SectionOneWay, "capacity=0", 8, true, lab.Native, 999),
		entry(lab.DirectSend, lab.SectionRequest, "capacity=0", 2, false, lab.Native, 204),
		entry(lab.CPUScaling, lab.SectionShapes, "", 1, false, lab.NativeManyToOne, 103),
		entry(lab.CPUScaling, lab.SectionShapes, "", 2, false, lab.NativeManyToOne, 999),
		entry(lab.CPUScaling, lab.SectionShapes, "", 2, false, lab.NativeOneToOne, 104),
		entry(lab.CPUScaling, lab.SectionRemedies, "work=one-consumer", 2, false, lab.SharedSlices, 105),
		entry(lab.CPUScaling, lab.SectionRemedies, "work=matched", 2, false, lab.SharedSlices, 999),
		entry(lab.CPUScaling, lab.SectionRemedies, "work=one-consumer", 2, false, lab.OwnSlices, 106),
		entry(lab.CPUScaling, lab.SectionProducers, "producers=32", 4, false, lab.ShardedLanes, 107),
		entry(lab.Buffers, lab.SectionCapacity, "workers=100 capacity=100", 4, false, lab.Native, 108),
		entry(lab.Buffers, lab.SectionCapacity, "workers=10 capacity=100", 4, false, lab.Native, 999),
	)))
	if err != nil {
		t.Fatal(err)
	}
	want := Reference()
	want.Unbuffered, want.Wakeup, want.OneP, want.Buffered, want.Batched, want.OwnSlices, want.Sharded, want.Contended = 101, 102, 103, 104, 105, 106, 107, 108
	want.Source, want.OtherMachine = "the lab on Z80, 4 CPUs, linux/amd64, go1.27", false
	if p != want {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

// TestSomePrices: prices that a run did not measure are the reference's, and
// the source mentions it.
func TestSomePrices(t *testing.T) {
	p, err := parsePrices(strings.NewReader(results(entry(lab.DirectSend, lab.SectionRequest, "capacity=0", 2, false, lab.Native, 400))))
	if err != nil || p.Wakeup != 200 || p.Unbuffered != Reference().Unbuffered || !strings.Contains(p.Source, "7 of 8 prices from a reference machine") {
		t.Errorf("%+v, %v", p, err)
	}
	if p.sentence() == Reference().sentence() || !strings.Contains(Reference().sentence(), "not of the service's machine") {
		t.Errorf("got: %s", p.sentence())
	}
}

// TestNoPrices: unreadable files are one-line errors.
func TestNoPrices(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "not written by sluice lab"},
		{"<html>", "not written by sluice lab"},
		{`{"schema":9,"tool":"sluice lab"}`, "unsupported schema 9"},
		{results(), "no prices"},
		{results(entry(lab.DirectSend, lab.SectionRequest, "capacity=0", 2, false, lab.Native, -1)), "no prices"},
	} {
		path := filepath.Join(t.TempDir(), "results.json")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := ReadPrices(path)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), path) || strings.Contains(err.Error(), "\n") || p != (Prices{}) {
			t.Errorf("%q: %+v, %v", test.text, p, err)
		}
	}
	if _, err := ReadPrices(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file was read")
	}
}

// TestPricesDecide: gains are predicted from the given prices.
func TestPricesDecide(t *testing.T) {
	expensive := Reference()
	expensive.OwnSlices = expensive.Contended
	gain := func(p Prices) float64 {
		return Diagnose(service(hotService...), p).found(LockContention).Best().Gain.Mid
	}
	if batch, none := gain(Reference()), gain(expensive); batch < 1.2*none {
		t.Errorf("slices that cost as much as single values: ×%.2f, else ×%.2f", none, batch)
	}
}

// TestLabMeasuresPrices: a standard run of the lab has every price at its place.
func TestLabMeasuresPrices(t *testing.T) {
	for _, at := range labPrices {
		experiments, err := lab.Select([]string{at.experiment})
		if err != nil {
			t.Fatal(err)
		}
		run := &report.Report{Experiments: []report.Experiment{{Study: experiments[0].Study}}}
		for _, section := range experiments[0].Sections(lab.Scale{CPUs: 2}) {
			measured := report.Section{Sweep: section.Sweep}
			for _, p := range section.Points {
				point := report.Point{Setting: p.Setting, Oversubscribed: p.Beyond}
				for _, e := range p.Entries {
					entry := report.Entry{Summaries: map[string]stat.Summary{measure.NsPerOp: {Median: 1}}}
					entry.Contender = e.Contender
					point.Entries = append(point.Entries, entry)
				}
				measured.Points = append(measured.Points, point)
			}
			run.Experiments[0].Sections = append(run.Experiments[0].Sections, measured)
		}
		if _, ok := at.find(run); !ok {
			t.Errorf("%s, section %s has no %s with labels %v", at.experiment, at.section, at.contender, at.labels)
		}
	}
}

// TestPricesOfFolder: the folder of a run stands for its results.json.
func TestPricesOfFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadPrices(dir); err == nil || !strings.Contains(err.Error(), report.JSONFile) {
		t.Errorf("without a run: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, report.JSONFile), []byte(results(entry(lab.DirectSend, lab.SectionOneWay, "capacity=0", 2, false, lab.Native, 100))), 0o644); err != nil {
		t.Fatal(err)
	}
	byFile, err := ReadPrices(filepath.Join(dir, report.JSONFile))
	byFolder, folderErr := ReadPrices(dir)
	if err != nil || folderErr != nil || byFolder != byFile || byFolder.Unbuffered != 100 {
		t.Errorf("%+v, %v; %+v, %v", byFile, err, byFolder, folderErr)
	}
}
