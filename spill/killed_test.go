package spill

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

// segmentsFolder is the variable that makes the test binary open and spill until it is killed.
const segmentsFolder = "SPILL_SEGMENTS_FOLDER"

// openAndSpill makes files in dir, and prints a line for each channel, until it fails.
func openAndSpill(dir string) error {
	for {
		c, err := OpenElastic(dir, &ElasticOptions[[]byte]{MemoryLimit: 1000})
		if err != nil {
			return err
		}
		for range 10 {
			if err := c.Send(context.Background(), make([]byte, 100)); err != nil {
				return err
			}
		}
		c.Close()
		for range c.Drain() {
		}
		fmt.Println("opened")
	}
}

// TestKilledWithSegments: a process that is killed while it creates files leaves none.
func TestKilledWithSegments(t *testing.T) {
	suite.Needs(t, "processes that are killed")
	dir := t.TempDir()
	for n := range 20 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), segmentsFolder+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 10 + n {
			if !lines.Scan() {
				t.Fatalf("the process ended by itself: %v", lines.Err())
			}
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Fatalf("kill %d left %v, %v", n, left, err)
		}
	}
}

// TestSegmentsLeft: files of killed processes, from file systems without unnamed files, are
// removed at the next Open; other files stay.
func TestSegmentsLeft(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"spill-17.segment", "spill-4.segment", "spill-4.segments", "segment"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := OpenElastic[uint64](dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || fmt.Sprint(left) != fmt.Sprint([]string{filepath.Join(dir, "segment"), filepath.Join(dir, "spill-4.segments")}) {
		t.Errorf("left: %v, %v", left, err)
	}
}
