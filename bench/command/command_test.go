package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestParse: a mistake is a Misuse of one line, and help is printed on request alone.
func TestParse(t *testing.T) {
	for _, test := range []struct {
		args   string
		procs  []int
		status int
		says   string // on the standard error
	}{
		{"", []int{1, 2, 8}, 0, ""},
		{"-procs 3,4", []int{3, 4}, 0, ""},
		{"-procs 1,x", nil, 2, `invalid number of processors "x"`},
		{"-procs 0", nil, 2, `"0"`},
		{"-nonsense", nil, 2, "not defined"},
		{"-h", nil, 0, ""},
	} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		procs := Procs(flags)
		var out, failed strings.Builder
		err := Parse(flags, strings.Fields(test.args), &out)
		status := Status("test", err, &failed)
		if status != test.status || !strings.Contains(failed.String(), test.says) || strings.Count(failed.String(), "\n") != status/2 {
			t.Errorf("%s: status %d, %q", test.args, status, failed.String())
		}
		if test.procs != nil && !slices.Equal(*procs, test.procs) {
			t.Errorf("%s: %v", test.args, *procs)
		}
		if usage := strings.HasPrefix(out.String(), "Usage of test:\n"); usage != (test.args == "-h") {
			t.Errorf("%s: printed %q", test.args, out.String())
		}
	}
}

// TestStatus: a Misuse wraps its reason, and other errors are reported in full.
func TestStatus(t *testing.T) {
	if err := fmt.Errorf("more: %w", Misused("wrong: %w", io.EOF)); !errors.Is(err, io.EOF) || Status("test", err, io.Discard) != 2 {
		t.Errorf("%v is no mistake", err)
	}
	var out strings.Builder
	if status := Status("test", errors.New("one\ntwo"), &out); status != 1 || out.String() != "test: one\ntwo\n" {
		t.Errorf("status %d, %q", status, out.String())
	}
}
