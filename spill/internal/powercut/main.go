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
	"syscall"
	"unsafe"

	"github.com/sluice-go/sluice/spill/internal/crash"
)

func main() {
	n := flag.Int("n", 20, "number of power cuts")
	child := flag.String("child", "", "run the load on the queue in this directory")
	generation := flag.Uint64("generation", 0, "number of the process that runs the load")
	flag.Parse()
	if *child != "" {
		fmt.Println("E", crash.Load(*child, *generation, func() error { return powered(filepath.Join(*child, "queue.db")) }))
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
	disk := disk{image: filepath.Join(dir, "image"), at: filepath.Join(dir, "mounted")}
	if err := disk.format(); err != nil {
		return err
	}
	l := crash.NewLedger()
	for generation := range n {
		if err := disk.mount(); err != nil {
			return err
		}
		err := cut(disk, l, generation)
		if err := errors.Join(err, disk.unmount()); err != nil {
			return fmt.Errorf("cut %d: %w", generation, err)
		}
	}
	if err := disk.mount(); err != nil {
		return err
	}
	err = l.Close(filepath.Join(disk.at, "queue"))
	if err := errors.Join(err, disk.unmount()); err != nil {
		return err
	}
	fmt.Printf("%d power cuts: %v\n", n, l)
	return nil
}

// linesOnTheWay exceeds the number of ledger lines that fit into a pipe.
const linesOnTheWay = 20_000

// cut runs the load until its ledger has a random number of lines, then cuts the power.
func cut(d disk, l *crash.Ledger, generation int) error {
	l.Restart()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self, "-child", filepath.Join(d.at, "queue"), "-generation", strconv.Itoa(generation))
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
			if err := d.cut(); err != nil {
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

// A disk is an ext4 file system in a file.
type disk struct{ image, at string }

const diskSize = 256 << 20

func (d disk) format() error {
	if err := os.Mkdir(d.at, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(d.image, diskSize); err != nil {
		return err
	}
	return command("mkfs.ext4", "-q", "-F", d.image)
}

func (d disk) mount() error   { return command("mount", "-o", "loop", d.image, d.at) }
func (d disk) unmount() error { return command("umount", d.at) }

// cut shuts the file system down in the state of its disk: FS_IOC_SHUTDOWN, without a
// flush of the journal.
func (d disk) cut() error {
	const shutdown, withoutFlush = 0x8004587d, 2
	top, err := os.Open(d.at)
	if err != nil {
		return err
	}
	defer func() { _ = top.Close() }()
	how := uint32(withoutFlush)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, top.Fd(), shutdown, uintptr(unsafe.Pointer(&how)))
	if errno != 0 {
		return fmt.Errorf("shut down %s: %w", d.at, errno)
	}
	return nil
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

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
