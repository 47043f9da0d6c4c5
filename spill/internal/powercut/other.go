//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "powercut: only supported on Linux")
	os.Exit(2)
}
