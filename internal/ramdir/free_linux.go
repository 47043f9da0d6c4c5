package ramdir

import "syscall"

const place = "/dev/shm"

// free returns how many bytes are free for files in dir, 0 if that is unknown.
func free(dir string) uint64 {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0
	}
	return s.Bavail * uint64(s.Bsize)
}
