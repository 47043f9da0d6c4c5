package observe

import (
	"cmp"
	"strings"
)

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
	return function[:len(pkg)+1+len(first)]
}

// holders are functions of libraries in which a goroutine stands for a slot that is taken,
// by the name of the limit: a transaction that is open, a response that is not read.
var holders = map[string]string{"database/sql": "database/sql.(*Tx).awaitDone", "http.Transport": "net/http.(*persistConn).readLoop"}

// holds notes what the goroutines of each row may hold.
func holds(o *Observation) {
	nodes := map[string]int{} // locks by their owners, and slots by the functions of holders, from 1
	for i := range o.Stood {
		switch r := &o.Stood[i]; {
		case r.Node < 0:
		case r.Op == Lock && len(r.Through) > 0:
			nodes[Owner(r.Through[0].Function)] = r.Node + 1
		case r.Op == Acquire:
			nodes[holders[o.Nodes[r.Node].Name]] = r.Node + 1
		}
	}
	for i := range o.Stood {
		r, inner := &o.Stood[i], ""
		for at, f := range append([]Frame{r.At}, r.Through...) {
			owner := Owner(f.Function)
			if node := cmp.Or(nodes[owner], nodes[f.Function]) - 1; node >= 0 && owner != inner && node != r.Node && (at > 1 || r.Op != Lock) {
				r.Holds = append(r.Holds, Hold{node, f})
			}
			inner = owner
		}
	}
}
