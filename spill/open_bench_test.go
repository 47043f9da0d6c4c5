package spill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// The variables that make the test binary fill a queue, until it kills itself.
const (
	backlogFolder = "SPILL_BACKLOG_FOLDER"
	backlogBytes  = "SPILL_BACKLOG_BYTES"
)

// fillAndDie sends a backlog of records of 1 KiB, and kills the process.
func fillAndDie(dir string) error {
	backlog, err := strconv.ParseInt(os.Getenv(backlogBytes), 10, 64)
	if err != nil {
		return err
	}
	c, err := OpenDurable[[]byte](dir, nil)
	if err != nil {
		return err
	}
	batch := make([][]byte, 256)
	for i := range batch {
		batch[i] = make([]byte, 1024)
	}
	for ; backlog > 0; backlog -= 256 << 10 {
		if _, err := c.SendBatch(context.Background(), batch); err != nil {
			return err
		}
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return errors.Join(self.Kill(), errors.New("still alive"))
}

// BenchmarkOpen opens a queue with a backlog of -spill.behind bytes, whose process was killed, and then
// receives and acknowledges all of it in batches of 256, with a sync for each.
func BenchmarkOpen(b *testing.B) {
	for range b.N {
		dir := b.TempDir()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), backlogFolder+"="+dir, fmt.Sprintf("%s=%d", backlogBytes, *behind))
		start := time.Now()
		out, err := child.Output()
		b.ReportMetric(float64(*behind/1024)/time.Since(start).Seconds(), "sent/s")
		if len(out) > 0 {
			b.Fatalf("%s, %v", out, err)
		}
		start = time.Now()
		c, err := OpenDurable[[]byte](dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "ms-open")
		b.ReportMetric(float64(c.Stats().Disk.Bytes)/float64(*behind), "disk/payload")
		start = time.Now()
		ds := make([]*Delivery[[]byte], 256)
		if _, err := c.RecvBatch(context.Background(), ds[:1]); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "ms-first")
		start = time.Now()
		for n := 1; err == nil && n > 0; {
			if err = c.Ack(ds[:n]...); err == nil {
				n, err = c.TryRecvBatch(ds)
			}
		}
		if c.Len() > 0 {
			b.Fatal(err)
		}
		b.ReportMetric(float64(*behind/1024)/time.Since(start).Seconds(), "acked/s")
		b.ReportMetric(float64(c.Stats().Disk.Bytes)/(1<<20), "MiB-left")
		if err := c.Shutdown(); err != nil {
			b.Fatal(err)
		}
	}
}
