package observe

import "strings"

// A stack shows no lock that was taken before a call, but which type's methods a goroutine
// is in: one that waits inside a method of a type, while others wait for a lock in methods
// of the same type, may hold it.

// Owner returns what a lock that function takes most likely belongs to: the receiver's
// type with its package, or, without a receiver, the function around all closures.
func Owner(function string) string {
	pkg := packageOf(function)
	if pkg == function {
		return function
	}
	first, _, _ := strings.Cut(function[len(pkg)+1:], ".")
	return pkg + "." + first
}

// holds notes what the goroutines of each row may hold.
func holds(rows []Standing) {
	locks := map[string]int{} // nodes, by owner
	slots := -1
	for i := range rows {
		switch r := &rows[i]; {
		case r.Op == Lock && len(r.Through) > 0 && r.Node >= 0:
			locks[Owner(r.Through[0].Function)] = r.Node
		case r.Op == Acquire && strings.HasPrefix(r.In, "database/sql."):
			slots = r.Node
		}
	}
	for i := range rows {
		r := &rows[i]
		// A transaction has a connection until it ends, and a goroutine that waits for
		// that: the goroutine is its only trace in a dump.
		if slots >= 0 && r.At.Function == "database/sql.(*Tx).awaitDone" {
			r.Holds = append(r.Holds, Hold{slots, r.At})
		}
		for at, f := range r.Through {
			owner := Owner(f.Function)
			again := at > 0 && owner == Owner(r.Through[at-1].Function)
			if node, locked := locks[owner]; locked && !again && node != r.Node && (at > 0 || r.Op != Lock) {
				r.Holds = append(r.Holds, Hold{node, f})
			}
		}
	}
}
