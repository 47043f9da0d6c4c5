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
	nodes := map[string]int{} // locks and slots, by the type whose methods hold them
	for i := range rows {
		switch r := &rows[i]; {
		case r.Op == Lock && len(r.Through) > 0 && r.Node >= 0:
			nodes[Owner(r.Through[0].Function)] = r.Node
		case r.Op == Acquire && strings.HasPrefix(r.In, "database/sql."):
			// A transaction has a connection until it ends, and a goroutine that waits
			// for that: the goroutine is its only trace in a dump.
			nodes["database/sql.(*Tx)"] = r.Node
		}
	}
	for i := range rows {
		r, inner := &rows[i], ""
		for at, f := range append([]Frame{r.At}, r.Through...) {
			owner := Owner(f.Function)
			if node, ok := nodes[owner]; ok && owner != inner && node != r.Node && (at > 1 || r.Op != Lock) {
				r.Holds = append(r.Holds, Hold{node, f})
			}
			inner = owner
		}
	}
}
