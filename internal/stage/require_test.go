package stage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	rules "github.com/sluice-go/sluice/internal/stage"
)

// foreign is a type of another package, for which a nil pointer may do.
type foreign struct{}

func TestRequire(t *testing.T) {
	for _, test := range []struct {
		channel any
		want    string
	}{
		{nil, "f: nil sender"},
		{(*sluice.Bounded[int])(nil), "f: the sender is a *sluice.Bounded[int] that no constructor made"},
		{new(sluice.Rendezvous[int]), "*sluice.Rendezvous[int]"},
		{new(sluice.Elastic[int]), "*sluice.Elastic[int]"},
		{new(sluice.Sharded[int]), "*sluice.Sharded[int]"},
		{(*sluice.Lane[int])(nil), "*sluice.Lane[int]"},
		{new(sluice.Lane[int]), "*sluice.Lane[int]"},
		{sluice.LeaveOpen[int](new(sluice.Bounded[int])), "*sluice.Bounded[int]"},
		{sluice.LeaveOpen[int](sluice.NewBounded[int](1, nil)), ""},
		{(*foreign)(nil), ""},
		{foreign{}, ""},
		{sluice.NewRendezvous[int](nil), ""},
		{sluice.NewBounded[int](1, nil), ""},
		{sluice.NewElastic[int](1, nil), ""},
		{sluice.NewSharded[int](1, nil), ""},
		{sluice.NewSharded[int](1, nil).Lane(), ""},
	} {
		if got := refusal(test.channel); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("Require of %T: %q, want %q", test.channel, got, test.want)
		}
	}
}

// refusal returns the text of the panic, if any.
func refusal(channel any) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint(r)
		}
	}()
	rules.Require("f", "sender", channel)
	return ""
}
