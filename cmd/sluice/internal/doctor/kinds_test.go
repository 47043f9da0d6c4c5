package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestWhichChannel: a finding about a built-in channel says when that is enough,
// and which kind of sluice fits otherwise, with the goroutines seen there.
func TestWhichChannel(t *testing.T) {
	give := at(profile.Select, "(*Bus).Put")
	selecting := []part{
		cpu(1.1, shares{profile.ChannelWork: 0.3, profile.ChannelLock: 0.05, profile.AfterPark: 0.27, profile.UserCode: 0.38}, on{give, 0.2, 0.03, 0.1}, on{receive, 0.15, 0.02, 0.05}),
		goroutinesAt(in(give, 1, 1), in(receive, 1, 0)), metrics(0.001, 3_000_000),
	}
	for name, test := range map[string]struct {
		d      *Diagnosis
		kind   Kind
		remedy RemedyName // the one to put first
		says   []string
	}{
		"slices of many":      {diagnose(hotService...), LockContention, Batch, []string{"a built-in chan []T is enough if its senders have slices already", "sluice.NewBounded(1024, nil) (65 goroutines use this line)"}},
		"a lane each":         {diagnose(hotService...), LockContention, Shard, []string{"a built-in channel for each sender is enough", "sluice.NewSharded(1024, nil) with a Lane for each (65 goroutines"}},
		"slices of one":       {diagnose(pipelineService...), TransferCost, Batch, []string{"otherwise sluice.NewBounded(1024, nil) (1 goroutine uses this line)"}},
		"slots":               {diagnose(pipelineService...), TransferCost, Buffer, []string{"a built-in channel is enough; sluice.NewBounded(128, nil) if sends also need a context"}},
		"slots of a select":   {diagnose(selecting...), TransferCost, Buffer, []string{"if the other case of the select is a context, Send and Recv of sluice.NewBounded(128, nil) take it instead"}},
		"no channel would do": {diagnose(pipelineService...), TransferCost, Fuse, nil},
	} {
		found := test.d.found(test.kind)
		if found == nil {
			t.Fatalf("%s: %s", name, test.d.Answer)
		}
		parts := selecting
		switch {
		case test.kind == LockContention:
			parts = hotService
		case name != "slots of a select":
			parts = pipelineService
		}
		f := gather(service(parts...), Reference())
		one := *found
		one.Remedies = []Remedy{{Name: test.remedy}}
		if name == "slots of a select" {
			one.At = &f.costliest(isOp(profile.Select)).Place
		}
		said := f.kindFor(&one)
		for _, want := range test.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s: no %q in %q", name, want, said)
			}
		}
		if test.says == nil && said != "" {
			t.Errorf("%s: %q", name, said)
		}
		if best := found.Best(); best.Name == test.remedy && found.Channel != said {
			t.Errorf("%s: %q in the finding, want %q", name, found.Channel, said)
		}
	}
}

// TestOursNeedNoKind: operations of sluice's channels have their own words.
func TestOursNeedNoKind(t *testing.T) {
	ours := send
	ours.Call = "Send"
	d := diagnose(cpu(1.5, shares{profile.ChannelWork: 0.2, profile.ChannelLock: 0.7, profile.UserCode: 0.1}, on{ours, 0.5, 0.4, 0.01}, on{receive, 0.4, 0.3, 0.01}),
		goroutinesAt(in(ours, 65, 0), in(receive, 1, 0)), metrics(0.4, 100_000))
	if f := d.found(LockContention); f == nil || f.Channel != "" {
		t.Errorf("%+v", f)
	}
}
