package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A rust is a channel of Rust, in the program of bench/rust.
type rust struct{ name, slots string }

// rustProgram is the environment variable with the path of that program, if it is built.
const rustProgram = "BOARD_RUST"

// rustRows returns the channels of Rust with so many slots.
func rustRows(slots string) (rows []row) {
	for _, name := range []string{"crossfire", "kanal"} {
		if slots == "0" && name == "crossfire" {
			continue // it has at least one slot
		}
		rows = append(rows, row{name: "Rust " + name + ", async", waits: "parks", rust: true, close: "drop", ctx: "by drop",
			note: "tasks of tokio with as many threads as P", what: rust{name, slots}})
	}
	return rows
}

// rustCan reports whether a row is a channel of Rust that can be measured.
func rustCan(r row) bool { return r.rust && os.Getenv(rustProgram) != "" }

// measure returns the nanoseconds per value that the program prints, for the senders and
// receivers in the name of a column, such as "8->1".
func (c rust) measure(column string, procs int, d time.Duration) (float64, error) {
	senders, receivers, _ := strings.Cut(column, "->")
	out, err := exec.Command(os.Getenv(rustProgram), c.name, c.slots, senders, receivers,
		strconv.Itoa(procs), strconv.FormatInt(d.Milliseconds(), 10)).Output()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", os.Getenv(rustProgram), err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// buildRust builds the program, and lets this process and its children measure it.
func buildRust(ctx context.Context) error {
	const folder = "bench/rust"
	c := exec.CommandContext(ctx, "cargo", "build", "--release", "--locked", "--quiet")
	c.Dir, c.Stderr = folder, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("cargo build in %s: %w", folder, err)
	}
	path, err := filepath.Abs(filepath.Join(folder, "target", "release", "channels"))
	if err != nil {
		return err
	}
	return os.Setenv(rustProgram, path)
}
