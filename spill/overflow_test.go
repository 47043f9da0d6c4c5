package spill

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// TestPolicyOptions: options of a policy that make no sense are an error that names them, and
// one hook gets what either option selects.
func TestPolicyOptions(t *testing.T) {
	drop, undelivered := func(int) {}, func(int, sluice.Reason) {}
	for _, wrong := range []struct {
		overflow    sluice.Overflow
		maxAge      time.Duration
		drop        func(int)
		undelivered func(int, sluice.Reason)
		want        string
	}{
		{overflow: sluice.DropLeastUrgent, want: "Overflow is DropLeastUrgent"},
		{overflow: 17, want: "Overflow(17)"},
		{maxAge: -1, want: "MaxAge is -1ns"},
		{overflow: sluice.DropOldest, drop: drop, undelivered: undelivered, want: "not both"},
		{drop: drop, want: "OnDrop requires"},
		{overflow: sluice.Reject, drop: drop, want: "with Reject nothing is dropped"},
	} {
		c := config[int]{function: "Open"}
		err := c.setPolicy(wrong.overflow, wrong.maxAge, wrong.drop, wrong.undelivered)
		if err == nil || !strings.Contains(err.Error(), wrong.want) || !strings.HasPrefix(err.Error(), "spill: Open: ") {
			t.Errorf("got %v, want %q", err, wrong.want)
		}
	}
	for _, right := range []struct {
		overflow    sluice.Overflow
		maxAge      time.Duration
		drop        bool
		undelivered bool
	}{{}, {undelivered: true}, {maxAge: 1, drop: true}, {overflow: sluice.DropNewest, drop: true}, {overflow: sluice.DropOldest, undelivered: true}} {
		var got []string
		var onDrop func(int)
		var onUndelivered func(int, sluice.Reason)
		if right.drop {
			onDrop = func(int) { got = append(got, "dropped") }
		}
		if right.undelivered {
			onUndelivered = func(_ int, why sluice.Reason) { got = append(got, why.String()) }
		}
		var c config[int]
		if err := c.setPolicy(right.overflow, right.maxAge, onDrop, onUndelivered); err != nil {
			t.Errorf("%+v: %v", right, err)
		}
		if c.onDrop != nil {
			c.onDrop(1, sluice.TooOld)
		}
		if want := right.drop || right.undelivered; (len(got) == 1) != want || right.undelivered && got[0] != "TooOld" {
			t.Errorf("%+v: the hook was called with %q", right, got)
		}
	}
}

// TestInTurn: each call is made once, whichever of them panic or end the goroutine.
func TestInTurn(t *testing.T) {
	for name, fail := range map[string]func(){"return": func() {}, "panic": func() { panic("hook") }, "Goexit": runtime.Goexit} {
		var calls []int
		done := make(chan any)
		go func() {
			defer func() { done <- recover() }()
			inTurn(5, func(i int) {
				if calls = append(calls, i); i == 1 || i == 3 {
					fail()
				}
			})
		}()
		if p := <-done; !slices.Equal(calls, []int{0, 1, 2, 3, 4}) || (name == "panic") != (p == "hook") {
			t.Errorf("%s: calls %v, panic %v", name, calls, p)
		}
	}
}
