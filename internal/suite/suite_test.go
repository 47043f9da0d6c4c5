package suite

import (
	"flag"
	"testing"
)

// named sets which tests -run names, until the test ends.
func named(t *testing.T, pattern string) {
	t.Helper()
	run := flag.Lookup("test.run").Value
	before := run.String()
	t.Cleanup(func() { _ = run.Set(before) })
	if err := run.Set(pattern); err != nil {
		t.Fatal(err)
	}
}

func TestAmounts(t *testing.T) {
	for _, test := range []struct {
		value, run string
		all, long  bool
		rounds     int
	}{
		{"", "", false, false, 3},
		{"", "TestCrash", true, false, 50},
		{"all", "", true, false, 50},
		{"long", "", true, true, 50},
		{"long", "TestCrash", true, true, 50},
	} {
		t.Setenv(variable, test.value)
		named(t, test.run)
		if All() != test.all || Long() != test.long || Rounds(3, 50) != test.rounds {
			t.Errorf("%+v: All %v, Long %v, %d rounds", test, All(), Long(), Rounds(3, 50))
		}
		proved := false
		t.Run("proved", func(t *testing.T) {
			Proves(t, "that a check fails")
			proved = true
		})
		if proved != test.long {
			t.Errorf("%+v: a test of a test ran: %v", test, proved)
		}
		ran := false
		t.Run("left out", func(t *testing.T) {
			Needs(t, "a server")
			ran = true
		})
		if ran != test.all {
			t.Errorf("%+v: a test that needs a server ran: %v", test, ran)
		}
	}
}

func TestUnknownAmount(t *testing.T) {
	t.Setenv(variable, "everything")
	defer func() {
		if got, want := recover(), `unknown SLUICE_TEST "everything" (want all or long)`; got != want {
			t.Errorf("it panics with %v, want %s", got, want)
		}
	}()
	All()
}
