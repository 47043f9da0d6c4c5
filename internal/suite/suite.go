// Package suite decides how much of the tests runs. The environment variable SLUICE_TEST is the only
// switch, for all modules of this repository:
//
//   - Without it, tests use this process and its memory: no servers, no processes that are
//     killed, no programs that they build, no stored corpora, and as few rounds as the planted
//     faults need to be found.
//   - With SLUICE_TEST=all, as in continuous integration, every test runs. So does a test that
//     go test -run names.
//   - With SLUICE_TEST=long, the same tests take the most rounds, as before a release.
//
// A test that is left out is a skipped one, so go test -v lists it with the reason. Without -v only
// package leftout shows it.
package suite

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

const variable = "SLUICE_TEST"

// All reports whether every test runs. It panics if the variable has an unknown value.
func All() bool {
	switch value := os.Getenv(variable); value {
	case "":
		named := flag.Lookup("test.run")
		return named != nil && named.Value.String() != ""
	case "all", "long":
		return true
	default:
		panic(fmt.Sprintf("unknown %s %q (want all or long)", variable, value))
	}
}

// Long reports whether tests take the most rounds. Package sluicetest calls it in programs of others,
// whose variable may have any value.
func Long() bool { return os.Getenv(variable) == "long" }

// Rounds returns a number of rounds: few, or many if every test runs.
func Rounds(few, many int) int {
	if All() {
		return many
	}
	return few
}

// Proves skips a test of a test: one that plants faults in what a slow test looks at. It has to run
// when either changes, and before a release.
func Proves(t *testing.T, what string) {
	t.Helper()
	if !Long() {
		t.Skipf("%s=long runs it: it proves %s", variable, what)
	}
}

// Needs skips a test that needs what only a run of all tests should use, such as "a NATS server".
func Needs(t testing.TB, what string) {
	t.Helper()
	if _, bench := t.(*testing.B); !bench && !All() {
		t.Skipf("%s=all runs it: it needs %s", variable, what)
	}
}
