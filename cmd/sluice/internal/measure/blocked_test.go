package measure

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// sleeper receives from c: a profile shows its name.
//
//go:noinline
func sleeper(c <-chan int) { <-c }

// classOfTest separates the waits of sleeper from all others.
func classOfTest(functions []string) string {
	if slices.ContainsFunc(functions, func(f string) bool { return strings.HasSuffix(f, "measure.sleeper") }) &&
		strings.HasPrefix(functions[0], "runtime.chanrecv") {
		return "sleeper"
	}
	return ""
}

// letSleep is work in which sleeper waits once. In a bubble time advances only
// when all goroutines wait, so sleeper has parked when the sleep ends.
func letSleep(t *testing.T) func() error {
	return func() error {
		synctest.Test(t, func(*testing.T) {
			c := make(chan int)
			go sleeper(c)
			time.Sleep(time.Second)
			c <- 1
		})
		return nil
	}
}

// Blocked counts a wait under its class, but not a wait that ended before.
func TestBlocked(t *testing.T) {
	blocked, err := Blocked(letSleep(t), classOfTest)
	// One wait, of more nanoseconds than there are waits.
	if err != nil || blocked["sleeper"] <= 1 || len(blocked) != 1 {
		t.Errorf("a wait: %v, %v", blocked, err)
	}
	blocked, err = Blocked(func() error { return nil }, classOfTest)
	if err != nil || blocked["sleeper"] != 0 {
		t.Errorf("no wait, after one that was over: %v, %v", blocked, err)
	}
	before, err := waits(classOfTest)
	if err != nil {
		t.Fatal(err)
	}
	_ = letSleep(t)()
	after, err := waits(classOfTest)
	if err != nil || after["sleeper"] != before["sleeper"] {
		t.Errorf("the profile is still on: %v, then %v, %v", before, after, err)
	}
}

func TestBlockedFailsWithItsWork(t *testing.T) {
	wrong := errors.New("a value is missing")
	if blocked, err := Blocked(func() error { return wrong }, classOfTest); !errors.Is(err, wrong) || blocked != nil {
		t.Errorf("%v, %v", blocked, err)
	}
}
