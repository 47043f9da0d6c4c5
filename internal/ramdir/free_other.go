//go:build !linux

package ramdir

const place = ""

func free(string) uint64 { return 0 }
