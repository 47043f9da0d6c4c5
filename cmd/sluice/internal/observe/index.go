package observe

// An index has the row of each key, in the order in which they come.
type index[K comparable] map[K]int32

// rowOf returns the row of key, and reports whether it is new: then it has appended it. Keys
// beyond the first limit have the last row.
func rowOf[K comparable, R any](x index[K], rows *[]R, key K, limit int, first R) (i int32, added bool) {
	i, ok := x[key]
	switch {
	case ok:
		return i, false
	case len(x) == limit:
		return int32(limit - 1), false
	}
	i = int32(len(x))
	x[key], *rows = i, append(*rows, first)
	return i, true
}

// A union is sets of numbers that were joined: each refers to another one of its set, or
// to itself.
type union []int32

// find returns the number that stands for the set of i.
func (u union) find(i int32) int32 {
	for u[i] != i {
		u[i] = u[u[i]]
		i = u[i]
	}
	return i
}

func (u union) join(a, b int32) { u[u.find(a)] = u.find(b) }
