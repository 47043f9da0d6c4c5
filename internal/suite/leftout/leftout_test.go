// Package leftout shows that go test leaves tests out. go test prints nothing of a package that
// passes, skipped tests included, except that there were no tests to run: unless every test runs,
// that is the line of this package.
package leftout

import (
	"flag"
	"os"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !suite.All() {
		if err := flag.Set("test.run", "^$"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestEveryTestRuns runs only if every other test does.
func TestEveryTestRuns(t *testing.T) { suite.Needs(t, "SLUICE_TEST=all") }
