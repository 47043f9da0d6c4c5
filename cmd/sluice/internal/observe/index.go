package observe

// An index numbers keys in the order in which they come.
type index[K comparable] map[K]int32

// of returns the number of key, and reports whether it is new. Keys beyond the first
// limit have the last number.
func (x index[K]) of(key K, limit int) (i int32, added bool) {
	i, ok := x[key]
	switch {
	case ok:
		return i, false
	case len(x) == limit:
		return int32(limit - 1), false
	}
	i = int32(len(x))
	x[key] = i
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
