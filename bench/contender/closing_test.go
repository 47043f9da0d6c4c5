package contender

import "testing"

// What was sent before the end is received, however late the receiver is.
func TestClosingDeliversTheRest(t *testing.T) {
	for _, c := range []Contender{NativeClosing(), SelectClosing()} {
		t.Run(c.Name, func(t *testing.T) {
			for range 50 { // a select that finds both ready takes either
				ch := c.Make(8)
				ch.SendRange(0, 8)
				ch.Close()
				if v, ok := ch.Recv(); v != 0 || !ok {
					t.Fatalf("first %d, %v", v, ok)
				}
				got := ch.Drain()
				if got.Count != 7 || got.Sum != 28 || got.Unordered != 0 {
					t.Fatalf("of 1 to 7, %+v arrived", got)
				}
				if v, ok := ch.Recv(); ok {
					t.Fatalf("%d after the end", v)
				}
			}
		})
	}
}
