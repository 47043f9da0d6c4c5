package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/sluice-go/sluice/spill/otelstorage"
)

var (
	storageDir = flag.String("storage.dir", "", "the folder of BenchmarkFill and BenchmarkDrain, which stays; a temporary one by default")
	itemSize   = flag.Int("storage.size", 2<<20, "bytes of an item, at least 8")
	bulk       = flag.Int("storage.bulk", 1, "how many items are put at once")
)

// A queue has items with ascending numbers from 0 on.
type queue interface {
	put(items ...[]byte) error
	take() (n uint64, item []byte, err error) // also removes the item
	next() uint64                             // the number of the next item that is put
	close() error
}

// queues are the kinds, by name. Files beside this one may add some.
var queues = map[string]func(dir string) (queue, error){
	"sluice_storage": func(dir string) (queue, error) { return open(otelstorage.NewFactory(), dir) },
	"file_storage":   func(dir string) (queue, error) { return open(filestorage.NewFactory(), dir) },
}

// BenchmarkFill fills a storage extension, and BenchmarkDrain drains it, as the sending queue of an
// exporter does. They report the largest resident memory of the process, and the space on disk. Each
// run is one process:
//
//	go test -run - -bench Fill/sluice_storage -benchtime 2048x -args -storage.dir DIR
//	echo 1 | sudo tee /proc/sys/vm/drop_caches
//	go test -run - -bench Drain/sluice_storage -benchtime 2048x -args -storage.dir DIR
func BenchmarkFill(b *testing.B) {
	items := make([][]byte, *bulk)
	for i := range items {
		items[i] = make([]byte, *itemSize)
		for at := range items[i] {
			items[i][at] = byte(rand.Uint32())
		}
	}
	run(b, func(q queue) error {
		for i, item := range items {
			binary.LittleEndian.PutUint64(item, q.next()+uint64(i))
		}
		return q.put(items...)
	})
}

func BenchmarkDrain(b *testing.B) {
	run(b, func(q queue) error {
		n, item, err := q.take()
		if err == nil && (len(item) != *itemSize || binary.LittleEndian.Uint64(item) != n) {
			err = errors.New("item " + strconv.FormatUint(n, 10) + " is not what was put")
		}
		return err
	})
}

func run(b *testing.B, step func(queue) error) {
	if *storageDir == "" {
		b.Skip("by hand: -args -storage.dir DIR")
	}
	for name, openIn := range queues {
		b.Run(name, func(b *testing.B) {
			start := time.Now()
			q, err := openIn(*storageDir)
			if err != nil {
				b.Fatal(err)
			}
			opened := time.Since(start)
			b.SetBytes(int64(*itemSize))
			for b.Loop() {
				if err := step(q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(opened.Seconds(), "s-to-open")
			b.ReportMetric(float64(resident()), "MiB-resident")
			b.ReportMetric(float64(onDisk(*storageDir)>>20), "MiB-on-disk")
			if err := q.close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// stored is a queue over a storage extension. It does what the persistent queue of exporterhelper does.
type stored struct {
	client   storage.Client
	from, to uint64
}

func open(factory extension.Factory, dir string) (queue, error) {
	ctx := context.Background()
	config := factory.CreateDefaultConfig()
	switch c := config.(type) {
	case *otelstorage.Config:
		c.Directory = dir
	case *filestorage.Config:
		c.Directory = dir
	}
	made, err := factory.Create(ctx, extensiontest.NewNopSettings(factory.Type()), config)
	if err == nil {
		err = made.Start(ctx, componenttest.NewNopHost())
	}
	if err != nil {
		return nil, err
	}
	client, err := made.(storage.Extension).GetClient(ctx, component.KindExporter, component.MustNewID("bench"), "logs")
	if err != nil {
		return nil, err
	}
	q := &stored{client: client}
	state, err := client.Get(ctx, "qmv0")
	if len(state) > 0 {
		q.from, q.to = binary.LittleEndian.Uint64(state), binary.LittleEndian.Uint64(state[8:])
	}
	return q, err
}

// commit writes the state of the queue, and other operations.
func (q *stored) commit(ops ...*storage.Operation) error {
	state := make([]byte, 30) // about as long as exporterhelper's state
	binary.LittleEndian.PutUint64(state, q.from)
	binary.LittleEndian.PutUint64(state[8:], q.to)
	return q.client.Batch(context.Background(), append(ops, storage.SetOperation("qmv0", state))...)
}

func (q *stored) put(items ...[]byte) error {
	var ops []*storage.Operation
	for _, item := range items {
		ops = append(ops, storage.SetOperation(strconv.FormatUint(q.to, 10), item))
		q.to++
	}
	return q.commit(ops...)
}

func (q *stored) take() (n uint64, item []byte, err error) {
	n = q.from
	key := strconv.FormatUint(n, 10)
	q.from++
	got := storage.GetOperation(key)
	if err := q.commit(got); err != nil {
		return n, nil, err
	}
	return n, got.Value, q.commit(storage.DeleteOperation(key))
}

func (q *stored) next() uint64 { return q.to }
func (q *stored) close() error { return q.client.Close(context.Background()) }

// resident returns the largest resident memory so far in MiB.
func resident() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		return -1
	}
	return kib >> 10
}

// onDisk returns the bytes that the files in dir use.
func onDisk(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			n += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	return n
}
