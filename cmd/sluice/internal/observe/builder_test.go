package observe

import (
	"slices"
	"testing"
)

// A role has the shortest name that tells it from others; a closure has that of the function
// around it, and its line if that function has other roles.
func TestRoleNames(t *testing.T) {
	frame := func(function string, line int) Frame {
		return Frame{Function: function, File: "/src/main.go", Line: line}
	}
	b := builder{o: Observation{Roles: []Role{
		{Start: frame("main.main", 9)},
		{Start: frame("main.run.func1", 30), By: frame("main.run", 27)},
		{Start: frame("main.run.func2.1", 40), By: frame("main.run.func2", 39)},
		{Start: frame("main.run.func3", 52), By: frame("sync.(*WaitGroup).Go", 237)},
		{Start: frame("main.start.func1", 70)},
		{Start: frame("example.com/a.serve", 1)},
		{Start: frame("example.com/b.serve", 2)},
		{Start: frame("main.copy", 3)},
		{Start: frame("main.copy", 3)},
	}}}
	b.nameRoles()
	var got []string
	for _, r := range b.o.Roles {
		got = append(got, r.Name)
	}
	want := []string{"main", "run (main.go:27)", "run (main.go:39)", "run (main.go:52)", "start", "a.serve", "b.serve", "copy 1", "copy 2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
