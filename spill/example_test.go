package spill_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/spill"
)

// A channel of lines that takes a megabyte of memory, and has the rest on disk.
func ExampleOpen() {
	ctx := context.Background()
	lines, err := spill.OpenElastic(os.TempDir(), &spill.ElasticOptions[string]{MemoryLimit: 1 << 20})
	if err != nil {
		fmt.Println(err) // names the folder, and why nothing can be written there
		return
	}
	for n := range 100_000 {
		if err := lines.Send(ctx, fmt.Sprintf("line %d of a service that logs more than anybody reads", n)); err != nil {
			fmt.Println(err)
			return
		}
	}
	lines.Close()

	fmt.Println("queued:", lines.Len(), "some on disk:", lines.Stats().BytesOnDisk > 0)
	received := 0
	for range lines.All(ctx) {
		received++
	}
	fmt.Println("received:", received, "on disk:", lines.Stats().BytesOnDisk)
	// Output:
	// queued: 100000 some on disk: true
	// received: 100000 on disk: 0
}

// A queue of jobs that survives the process: what was not acknowledged comes again.
func ExampleOpenDurable() {
	ctx := context.Background()
	dir := filepath.Join(os.TempDir(), fmt.Sprint("jobs-", os.Getpid()))
	defer os.RemoveAll(dir)

	jobs, err := spill.OpenDurable[string](dir, nil)
	if err != nil {
		fmt.Println(err) // in use, not a queue, another version, another codec, …
		return
	}
	if n, err := jobs.SendBatch(ctx, []string{"resize", "upload", "notify"}); err != nil {
		fmt.Println(n, err)
		return
	}
	first, _ := jobs.Recv(ctx)
	second, _ := jobs.Recv(ctx)
	fmt.Println(first.Value, first.Ack()) // done, for good
	fmt.Println(second.Value)             // and here the process ends
	_ = jobs.Shutdown()

	jobs, err = spill.OpenDurable[string](dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer jobs.Shutdown()
	jobs.Close() // nothing more to send
	for job := range jobs.All(ctx) {
		fmt.Println("again or at last:", job.Value, job.Ack())
	}
	// Output:
	// resize <nil>
	// upload
	// again or at last: upload <nil>
	// again or at last: notify <nil>
}
