package livepage_test

import (
	"fmt"
	"os"
	"time"

	"github.com/sluice-go/sluice/livepage"
)

// A service writes what its goroutines did before a request took too long, or before a job
// waited for ten seconds.
func ExampleNewFlightRecorder() {
	dir, err := os.MkdirTemp("", "flights")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	done := make(chan struct{})
	recorder, err := livepage.NewFlightRecorder(dir, &livepage.FlightOptions{
		OldestValue: map[string]time.Duration{"jobs": 10 * time.Second},
		Latency:     200 * time.Millisecond,
		OnWrite: func(path, why string) { // now: sluice doctor FILE
			fmt.Println(why)
			close(done)
		},
		OnError: func(err error) { fmt.Println(err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer recorder.Close()

	recorder.Observe(50 * time.Millisecond) // after each request
	recorder.Observe(300 * time.Millisecond)
	<-done
	// Output:
	// a latency of 300ms is above the limit of 200ms
}
