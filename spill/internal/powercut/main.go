//go:build linux

// Command powercut checks the guarantees of a Durable when the power fails. It mounts a
// file system of its own, runs a load on it in another process, and shuts the file system
// down under the load, so that neither dirty pages nor the journal reach its disk. Then
// it mounts the file system again and accounts for every record. It needs root, mkfs.ext4
// and a loop device, so it is not a test. Its figures are in docs/spill.md.
//
//	go run ./spill/internal/powercut -n 100
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/sluice-go/sluice/internal/loopdisk"
	"github.com/sluice-go/sluice/spill/internal/crash"
)

func main() {
	n := flag.Int("n", 20, "number of power cuts")
	child := flag.String("child", "", "run the load on the queue in this directory")
	generation := flag.Uint64("generation", 0, "number of the process that runs the load")
	flag.Parse()
	if *child != "" {
		fmt.Println("E", crash.Load(*child, *generation, func() error { return powered(filepath.Join(*child, "log.lock")) }))
		return
	}
	if err := run(*n); err != nil {
		fmt.Fprintln(os.Stderr, "powercut:", err)
		os.Exit(1)
	}
}

func run(n int) (err error) {
	dir, err := os.MkdirTemp("", "powercut-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	disk := loopdisk.Disk{Image: filepath.Join(dir, "image"), At: filepath.Join(dir, "mounted")}
	if err := os.Mkdir(disk.At, 0o700); err != nil {
		return err
	}
	if err := disk.Format(); err != nil {
		return err
	}
	l := crash.NewLedger()
	for generation := range n {
		if err := disk.Mount(); err != nil {
			return err
		}
		err := cut(disk, l, generation)
		if err := errors.Join(err, disk.Unmount()); err != nil {
			return fmt.Errorf("cut %d: %w", generation, err)
		}
	}
	if err := disk.Mount(); err != nil {
		return err
	}
	err = l.Close(filepath.Join(disk.At, "queue"))
	if err := errors.Join(err, disk.Unmount()); err != nil {
		return err
	}
	fmt.Printf("%d power cuts: %v\n", n, l)
	return nil
}

// linesOnTheWay exceeds the number of ledger lines that fit into a pipe.
const linesOnTheWay = 20_000

// cut runs the load until its ledger has a random number of lines, then cuts the power.
func cut(d loopdisk.Disk, l *crash.Ledger, generation int) error {
	l.Restart()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self, "-child", filepath.Join(d.At, "queue"), "-generation", strconv.Itoa(generation))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	defer func() {
		_ = child.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait()
	}()
	lines, dark := rand.IntN(1500), false
	read := bufio.NewScanner(out)
	for n := 0; read.Scan(); n++ {
		if dark && read.Text()[0] == 'E' {
			return nil // the load has noticed
		}
		if err := l.Enter(read.Text()); err != nil {
			return err
		}
		if n == lines {
			if err := d.Cut(); err != nil {
				return err
			}
			dark = true
		}
		if n > lines+linesOnTheWay {
			return errors.New("the load continues without a disk")
		}
	}
	return read.Err()
}

// powered returns an error if the file system of a file was shut down. A sync that is in progress then may
// succeed without having stored anything, which no program on a machine without power would see.
func powered(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}
