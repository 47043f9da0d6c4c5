package spill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// BenchmarkDurable sends b.N records of 1 KiB, from several senders or in batches,
// with a sync for each commit. A receiver receives and acknowledges them
// concurrently in batches of up to 100. Beside it a file is appended to and synced.
func BenchmarkDurable(b *testing.B) {
	b.Run("fsync", func(b *testing.B) {
		f, err := os.Create(b.TempDir() + "/file")
		if err != nil {
			b.Fatal(err)
		}
		record := make([]byte, 1024)
		for range b.N {
			if _, err := f.Write(record); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sent/s")
		_ = f.Close()
	})
	for _, load := range []struct{ senders, batch int }{{1, 1}, {8, 1}, {64, 1}, {1, 100}, {8, 100}} {
		b.Run(fmt.Sprintf("%d-senders/batch-%d", load.senders, load.batch), func(b *testing.B) {
			c, err := OpenDurable[[]byte](b.TempDir(), nil)
			if err != nil {
				b.Fatal(err)
			}
			record := make([]byte, 1024)
			batch := make([][]byte, load.batch)
			for i := range batch {
				batch[i] = record
			}
			var senders sync.WaitGroup
			start := time.Now()
			for s := range load.senders {
				senders.Go(func() {
					for left := (b.N + s) / load.senders; left > 0; {
						n, err := c.SendBatch(context.Background(), batch[:min(left, load.batch)])
						if err != nil {
							b.Error(err)
							return
						}
						left -= n
					}
				})
			}
			var receiver sync.WaitGroup
			receiver.Go(func() {
				buf := make([]*Delivery[[]byte], 100)
				for {
					n, err := c.RecvBatch(context.Background(), buf)
					if err != nil {
						return
					}
					if err := c.Ack(buf[:n]...); err != nil {
						b.Error(err)
						return
					}
				}
			})
			senders.Wait()
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "sent/s")
			c.Close()
			receiver.Wait()
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "records/s")
			if err := c.Shutdown(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkBacklog appends 64 MiB of records of 1 KiB in batches of 100, with a sync
// for each, and then receives and deletes them.
func BenchmarkBacklog(b *testing.B) {
	const records, batch = 64 << 10, 100
	for range b.N {
		c, err := OpenDurable(b.TempDir(), &DurableOptions[[]byte]{MemoryLimit: 2 << 20}) // 1 MiB for values
		if err != nil {
			b.Fatal(err)
		}
		vs := make([][]byte, batch)
		for i := range vs {
			vs[i] = make([]byte, 1024)
		}
		for sent := 0; sent < records; sent += batch {
			if _, err := c.SendBatch(context.Background(), vs[:min(batch, records-sent)]); err != nil {
				b.Fatal(err)
			}
		}
		ackAll(b, c, batch)
		if err := c.Shutdown(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*records/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkReceive receives and acknowledges b.N records of 1 KiB that were stored before, one by one or
// in batches, with a sync for each.
func BenchmarkReceive(b *testing.B) {
	for _, batch := range []int{1, 100} {
		b.Run(fmt.Sprint("batch-", batch), func(b *testing.B) {
			c, err := OpenDurable[[]byte](b.TempDir(), nil)
			if err != nil {
				b.Fatal(err)
			}
			vs := make([][]byte, b.N)
			for i := range vs {
				vs[i] = make([]byte, 1024)
			}
			if _, err := c.SendBatch(context.Background(), vs); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			ackAll(b, c, batch)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			if err := c.Shutdown(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// A writeCounter is a disk that counts the bytes that are written.
type writeCounter struct {
	disk.Disk
	written *atomic.Int64
}

func (d writeCounter) Create(name string) (disk.File, error) { return d.counted(d.Disk.Create(name)) }
func (d writeCounter) Open(name string) (disk.File, error)   { return d.counted(d.Disk.Open(name)) }

func (d writeCounter) counted(f disk.File, err error) (disk.File, error) {
	return countedFile{f, d.written}, err
}

type countedFile struct {
	disk.File
	written *atomic.Int64
}

func (f countedFile) WriteAt(b []byte, at int64) (int, error) {
	f.written.Add(int64(len(b)))
	return f.File.WriteAt(b, at)
}

// BenchmarkCompaction fills a queue with 128 MiB of records of 1 KiB, in batches of 100, and acknowledges them:
// nine of ten at random, all of each segment, or the older half. It reports how many bytes were
// written for each byte of a record, and the size of the files in the end for each byte that is left.
func BenchmarkCompaction(b *testing.B) {
	const records = 128 << 10
	random := rand.New(rand.NewPCG(1, 1))
	for _, load := range []struct {
		name string
		keep func(i int) bool
	}{
		{"in-order", func(i int) bool { return i >= records/2 }},
		{"one-in-10-stays", func(int) bool { return random.IntN(10) == 0 }},
		{"one-in-2-stays", func(int) bool { return random.IntN(2) == 0 }},
	} {
		b.Run(load.name, func(b *testing.B) {
			for range b.N {
				dir, written := b.TempDir(), new(atomic.Int64)
				p, err := (&DurableOptions[[]byte]{}).config()
				if err != nil {
					b.Fatal(err)
				}
				c, err := openQueue(writeCounter{disk.Folder{Dir: dir, NoSync: true}, written}, dir, p, logstore.Options{})
				if err != nil {
					b.Fatal(err)
				}
				vs, ds := make([][]byte, 100), make([]*Delivery[[]byte], 100)
				for i := range vs {
					vs[i] = make([]byte, 1024)
				}
				for range records / 100 {
					if _, err := c.SendBatch(context.Background(), vs); err != nil {
						b.Fatal(err)
					}
				}
				left := 0
				for i := 0; c.Len() > 0; {
					n, err := c.RecvBatch(context.Background(), ds)
					var done []*Delivery[[]byte]
					for _, d := range ds[:n] {
						if i++; load.keep(i) {
							left++
						} else {
							done = append(done, d)
						}
					}
					if err == nil {
						err = c.Ack(done...)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(written.Load())/(records/100*100<<10), "written/byte")
				b.ReportMetric(float64(c.Stats().Disk.Bytes)/float64(left<<10), "disk/left")
				if err := c.Shutdown(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
