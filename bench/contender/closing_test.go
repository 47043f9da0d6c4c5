package contender

import "testing"

// Values sent before the end are received, however late the receiver is.
func TestClosingDeliversTheRest(t *testing.T) {
	for _, c := range []Contender{NativeClosing(), SelectClosing()} {
		t.Run(c.Name, func(t *testing.T) {
			for range 50 { // a select with both cases ready chooses at random
				ch := c.Make(8)
				ch.Send(0, 8)
				ch.Close()
				if first := ch.Recv(1); first.Count != 1 || first.Last() != 0 {
					t.Fatalf("first %+v", first)
				}
				got := ch.Recv(All)
				if got.Count != 7 || got.Sum != 28 || got.Unordered != 0 {
					t.Fatalf("sent 1 to 7, received %+v", got)
				}
				if rest := ch.Recv(1); rest.Count > 0 {
					t.Fatalf("received %+v after the end", rest)
				}
			}
		})
	}
}
