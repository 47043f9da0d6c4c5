package sluice_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-go/sluice"
)

// A full queue rejects requests at once, while the caller can still try something else.
func Example_shedLoad() {
	ctx := context.Background()
	requests := sluice.NewBounded(2, &sluice.BoundedOptions[string]{Overflow: sluice.Reject})
	accept := func(request string) int {
		switch err := requests.Send(ctx, request); {
		case errors.Is(err, sluice.ErrFull):
			return 503 // busy: try again later
		case err != nil:
			return 500 // closed
		}
		return 202
	}
	for _, request := range []string{"a", "b", "c"} {
		fmt.Println(request, accept(request))
	}
	// Output:
	// a 202
	// b 202
	// c 503
}
