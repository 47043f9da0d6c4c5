// Package loopdisk provides file systems whose power can be cut: for tests of what a
// program has stored. It needs Linux, root, mkfs.ext4 and loop devices.
package loopdisk
