package sluicetest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
	"github.com/sluice-go/sluice/sluicetest/internal/mutant"
)

// kind describes a channel of package mutant.
func kind(limit int, overflow sluice.Overflow, fault mutant.Fault) sluicetest.Kind {
	k := sluicetest.Kind{
		Capacity:  limit,
		Overflow:  overflow,
		Allocates: fault != mutant.Allocates,
		Numbers: func(onDrop func(uint64)) sluicetest.Channel[uint64] {
			return mutant.New(limit, overflow, onDrop, fault)
		},
		Pointers: func() sluicetest.Channel[*sluicetest.Parcel] {
			return mutant.New[*sluicetest.Parcel](limit, overflow, nil, fault)
		},
	}
	// No fault depends on the type of its elements, beside numbers and pointers.
	k = k.OverBytes(func(int) sluicetest.Channel[[]byte] { return mutant.New[[]byte](limit, overflow, nil, fault) })
	if limit == unbounded && overflow == sluice.Block {
		k.Memory = &sluicetest.Memory{Idle: 512, Queued: 16, QueuedPeak: 32, Drained: 4096}
	}
	if fault == mutant.DropLocked { // only the watchdog detects some of its hangs
		k.Timeout = 5 * time.Second
	}
	return k
}

// unbounded is a limit that is never reached.
const unbounded = 1 << 30

// faultVariable passes the fault to a child process of TestMutants.
const faultVariable = "SLUICETEST_FAULT"

// TestReference: a channel without a fault passes, with every capacity and
// policy that makes a difference to the suite. The kinds in which faults show run in full with a
// fault, and if every test runs.
func TestReference(t *testing.T) {
	fault := mutant.Fault(os.Getenv(faultVariable))
	for _, limit := range []int{0, 1, 2, 5, 64, unbounded} {
		for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
			if limit == 0 && overflow == sluice.DropOldest {
				continue
			}
			name := fmt.Sprintf("%v %d", overflow, limit)
			k := kind(limit, overflow, fault)
			shows := slices.ContainsFunc(mutants, func(row mutantRow) bool { return row.kind == name })
			k.Variant = !shows || fault == "" && !suite.All()
			t.Run(name, func(t *testing.T) {
				if !shows {
					suite.Needs(t, "the kinds in which no fault shows")
				}
				sluicetest.Run(t, k)
			})
		}
	}
}

// TestMutants: a channel with one fault fails each test of the suite that
// targets the fault, with the expected message. A mutant may hang or crash its
// process, so each runs in a child process.
func TestMutants(t *testing.T) {
	for _, row := range slices.Concat(mutants, mutantsByRace()) {
		says := regexp.MustCompile(row.says)
		for _, caughtBy := range row.caughtBy {
			t.Run(string(row.fault)+"/"+caughtBy, func(t *testing.T) {
				t.Parallel()
				output := runMutant(t, row.fault, row.kind+"/"+caughtBy)
				if !says.MatchString(output) {
					t.Errorf("it failed, but did not report %q:\n%s", row.says, output)
				}
			})
		}
	}
}

func mutantsByRace() []mutantRow {
	if suite.Race {
		return racedMutants
	}
	return unracedMutants
}

// TestEveryFaultIsCaught checks that the tables contain every fault.
func TestEveryFaultIsCaught(t *testing.T) {
	all := slices.Concat(mutants, unracedMutants, racedMutants)
	for _, fault := range mutant.Faults {
		if !slices.ContainsFunc(all, func(row mutantRow) bool { return row.fault == fault }) {
			t.Errorf("no test of the suite is said to catch %q", fault)
		}
	}
}

// runMutant runs one test of TestReference with a fault in a child process and
// returns the output of the failure.
func runMutant(t *testing.T, fault mutant.Fault, test string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pattern := "^TestReference$"
	for part := range strings.SplitSeq(strings.ReplaceAll(test, " ", "_"), "/") {
		pattern += "/^" + part + "$"
	}
	child := exec.Command(program, "-test.run="+pattern)
	child.Env = append(os.Environ(), faultVariable+"="+string(fault),
		fmt.Sprintf("GOMAXPROCS=%d", runtime.GOMAXPROCS(0)))
	output, err := child.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("%s passes (%v):\n%s", test, err, output)
	}
	return string(output)
}
