package otelstorage

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/storagetest"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"
)

var kills = flag.Int("kills", 5, "how often TestKilled kills the process")

const childDir = "OTELSTORAGE_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := export(dir, os.Args[1]); err != nil {
			fmt.Println("error", err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// export sends logs with the numbers from first on to an exporter whose sending queue is stored in
// dir, and prints what the queue has accepted and what was delivered. With "" it only delivers.
func export(dir, first string) error {
	factory := NewFactory()
	id := component.NewID(factory.Type())
	config := factory.CreateDefaultConfig().(*Config)
	config.Directory = dir
	host := storagetest.NewStorageHost().WithExtension(id, &folders{config, exportertest.NewNopSettings(id.Type()).Logger})
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.StorageID, queue.QueueSize, queue.NumConsumers = &id, 1000, 4
	queue.BlockOnOverflow = true
	deliver := func(_ context.Context, logs plog.Logs) error {
		for _, resource := range logs.ResourceLogs().All() { // a batch may have several
			number, _ := resource.Resource().Attributes().Get("number")
			if _, err := fmt.Println("delivered", number.Int()); err != nil {
				return err
			}
		}
		return nil
	}
	settings := exportertest.NewNopSettings(component.MustNewType("test"))
	settings.ID = component.MustNewID("test") // the same each time
	e, err := exporterhelper.NewLogs(ctx, settings, new(struct{}), deliver,
		exporterhelper.WithQueue(configoptional.Some(queue)))
	if err != nil {
		return err
	}
	if err := e.Start(ctx, host); err != nil {
		return err
	}
	fmt.Println("started")
	number, err := strconv.Atoi(first)
	if err != nil {
		select {}
	}
	for ; ; number++ {
		logs := plog.NewLogs()
		resource := logs.ResourceLogs().AppendEmpty()
		resource.Resource().Attributes().PutInt("number", int64(number))
		resource.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr(strings.Repeat("x", rand.IntN(20_000)))
		if err := e.ConsumeLogs(ctx, logs); err != nil {
			return err
		}
		fmt.Println("accepted", number)
	}
}

// TestKilled kills a process that fills and drains the queue of an exporter, at random. Each log that the
// queue has accepted is delivered.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	accepted, missing, twice := 0, map[int]bool{}, 0
	delivered := map[int]bool{}
	// run starts the process, and kills it after the given number of lines, or when nothing is missing.
	run := func(first string, lines int) {
		child := exec.Command(os.Args[0], first)
		child.Env = append(os.Environ(), childDir+"="+dir)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		hung := time.AfterFunc(time.Minute, func() { _ = child.Process.Kill() })
		defer hung.Stop()
		scanner := bufio.NewScanner(out)
		for n := 0; scanner.Scan(); n++ {
			if n == lines {
				_ = child.Process.Kill()
			}
			what, rest, _ := strings.Cut(scanner.Text(), " ")
			number, err := strconv.Atoi(rest)
			switch {
			case what == "accepted" && err == nil:
				accepted = max(accepted, number+1)
				if !delivered[number] {
					missing[number] = true
				}
			case what == "delivered" && err == nil:
				if delivered[number] {
					twice++
				}
				delivered[number] = true
				delete(missing, number)
			case what != "started" && n < lines: // the last line may be cut
				t.Fatal(scanner.Text())
			}
			if first == "" && len(missing) == 0 {
				_ = child.Process.Kill()
			}
		}
		_ = child.Wait()
	}
	for range *kills {
		run(strconv.Itoa(accepted+1000), rand.IntN(2000))
	}
	run("", 1<<30)
	if len(missing) > 0 {
		t.Errorf("%d of %d logs are lost", len(missing), len(delivered)+len(missing))
	}
	t.Logf("%d kills, %d logs delivered, %d of them twice", *kills, len(delivered), twice)
}
