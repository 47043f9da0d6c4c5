package workers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/stage"
	"github.com/sluice-go/sluice/workers"
)

// TestResultsOfClosedChannel: f fails with ErrClosed of a channel that it sends to. A
// receiver of the results must not take that for the last result.
func TestResultsOfClosedChannel(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, wrapped := range []bool{false, true} {
			down := sluice.NewBounded[int](1, nil)
			down.Close()
			results := workers.Map(t.Context(), backlog(100), 3, func(ctx context.Context, v int) (int, error) {
				err := down.Send(ctx, v)
				if wrapped {
					err = fmt.Errorf("job %d: %w", v, err)
				}
				return 0, err
			}, &workers.MapOptions[int]{Ordered: ordered})
			values := sluice.NewValues(t.Context(), results)
			for range values.All() {
				t.Error("a job has succeeded")
			}
			_, try := results.TryRecv()
			for method, err := range map[string]error{"Values": values.Err(), "TryRecv": try} {
				if err == nil || errors.Is(err, sluice.ErrClosed) {
					t.Errorf("%s: %v, want an error that is not ErrClosed", method, err)
				}
			}
			if err := results.Err(); !errors.Is(err, sluice.ErrClosed) {
				t.Errorf("Err: %v, want the error of f", err)
			}
		}
	}
}

// TestResultsOfEmptyChannel: f fails with ErrEmpty of a channel that it receives from. At the
// end of the results, TryRecv and a Select report an error that does not say "not yet".
func TestResultsOfEmptyChannel(t *testing.T) {
	spare := sluice.NewBounded[int](1, nil)
	for _, wrapped := range []bool{false, true} {
		results := workers.Map(t.Context(), backlog(100), 3, func(_ context.Context, v int) (int, error) {
			_, err := spare.TryRecv()
			if wrapped {
				err = fmt.Errorf("job %d: %w", v, err)
			}
			return 0, err
		}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		chosen, err := sluice.Select(ctx, sluice.OnRecv(results))
		cancel()
		if chosen == nil {
			t.Fatalf("Select waits for results that have ended: %v", err)
		}
		_, try := results.TryRecv()
		for method, err := range map[string]error{"Select": err, "TryRecv": try} {
			if err == nil || errors.Is(err, sluice.ErrEmpty) || errors.Is(err, sluice.ErrClosed) {
				t.Errorf("%s: %v, want an error that is neither ErrEmpty nor ErrClosed", method, err)
			}
		}
		if err := results.Err(); !errors.Is(err, sluice.ErrEmpty) {
			t.Errorf("Err: %v, want the error of f", err)
		}
	}
}

// Each method of a zero value panics with the name of the constructor.
func TestResultsZeroValue(t *testing.T) {
	for _, call := range []func(*workers.Results[int]){
		func(r *workers.Results[int]) { _, _ = r.Recv(t.Context()) },
		func(r *workers.Results[int]) { _, _ = r.RecvBatch(t.Context(), nil) },
		func(r *workers.Results[int]) { _, _ = r.TryRecv() },
		func(r *workers.Results[int]) { r.Ready() },
		func(r *workers.Results[int]) { r.All() },
		func(r *workers.Results[int]) { _ = r.Err() },
		func(r *workers.Results[int]) { r.Close() },
		func(r *workers.Results[int]) { stage.End(r) },
	} {
		mustPanic(t, "Results", []string{"zero value", "Map"}, func() { call(new(workers.Results[int])) })
	}
}
