//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "powercut: needs the file systems of Linux")
	os.Exit(2)
}
