package contender

import "testing"

// Values sent before the end are received, however late the receiver is.
func TestClosingDeliversTheRest(t *testing.T) {
	for _, c := range []Contender{NativeClosing(), SelectClosing()} {
		t.Run(c.Name, func(t *testing.T) {
			for range 50 { // a select with both cases ready chooses at random
				ch := c.Make(8)
				ch.SendRange(0, 8)
				ch.Close()
				if v, ok := ch.Recv(); v != 0 || !ok {
					t.Fatalf("first %d, %v", v, ok)
				}
				got := ch.Drain()
				if got.Count != 7 || got.Sum != 28 || got.Unordered != 0 {
					t.Fatalf("sent 1 to 7, received %+v", got)
				}
				if v, ok := ch.Recv(); ok {
					t.Fatalf("received %d after the end", v)
				}
			}
		})
	}
}
