package stress

import (
	"errors"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

var errNotLinearizable = errors.New("no sequential order of the calls explains their results")

// Explain returns an error if model cannot produce the run.
func Explain(run Run, model porcupine.Model) error {
	if !porcupine.CheckOperations(model, run.History) {
		return errNotLinearizable
	}
	// The model infers the dropped values from the missing ones. The hook must
	// have seen the same values.
	var missing, received []byte
	for _, o := range run.History {
		switch c, r := o.Input.(Call), o.Output.(Result); {
		case r.Err != nil:
		case c.Op <= TrySend:
			missing = append(missing, c.Value)
		case c.Op == Recv || c.Op == TryRecv:
			received = append(received, r.Value)
		}
	}
	missing = slices.DeleteFunc(missing, func(v byte) bool { return slices.Contains(received, v) })
	dropped := slices.Sorted(slices.Values(run.Dropped))
	if slices.Sort(missing); !slices.Equal(missing, dropped) {
		return fmt.Errorf("%v were sent and not received, OnUndelivered saw %v", missing, dropped)
	}
	return nil
}
