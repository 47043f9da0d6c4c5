package spill

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
)

// TestOptions: what makes no sense is an error that says what.
func TestOptions(t *testing.T) {
	for says, err := range map[string]error{
		"Limit is -1":       second(Open[int](t.TempDir(), &Options[int]{Limit: -1})),
		"DiskLimit is -1":   second(Open[int](t.TempDir(), &Options[int]{DiskLimit: -1})),
		"below the 8 bytes": second(Open[int64](t.TempDir(), &Options[int64]{Limit: 7})),
		"Options.Size must": second(Open[*int](t.TempDir(), nil)),
		"has pointers":      second(Open[[2]struct{ s []int }](t.TempDir(), nil)),
		"name of the codec": second(Open(t.TempDir(), &Options[int]{Codec: nameless{}})),
		"its field Host be lost": second(Open[struct {
			time.Time
			Host string
		}](t.TempDir(), nil)),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "Size returned -1") {
			t.Errorf("a negative size: %s", p)
		}
	}()
	c, err := Open(t.TempDir(), &Options[*int]{Size: func(*int) int { return -1 }})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.TrySend(nil)
}

type nameless struct{ codec.Codec[int] }

func (nameless) Name() string { return "with\nnewline" }

// TestListed: a channel with a name is among those of the live page.
func TestListed(t *testing.T) {
	c := on(t, new(faulty), &Options[[]byte]{Name: "lines", Limit: 500})
	spilled(t, c, 20)
	for _, named := range sluice.Channels() {
		s, ok := named.Stats()
		if named.Name == "lines" && named.Kind == "spill.Overflow" && ok && s.BytesOnDisk > 0 && s.Len == 20 && s.Bytes > 400 {
			return
		}
	}
	t.Error("it is not listed")
}
